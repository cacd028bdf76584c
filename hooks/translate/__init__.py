"""Translates PBS's status into a snapshot of the policy, one kind of object per file: queues, vnodes and their
readings, the site's order. Jobs are in ``job``, reservations and dedicated time in ``closures``."""
