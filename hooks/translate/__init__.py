"""Translates PBS's status into a snapshot of the policy, one kind of object per file."""
