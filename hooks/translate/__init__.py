"""PBS's status as a snapshot of the policy, one kind of object in each file."""
