"""What can be done to jobs, runs, vnodes, queues, quotas and the server as a whole: each module makes the operations on
one kind of target, and says what they would mean there."""
