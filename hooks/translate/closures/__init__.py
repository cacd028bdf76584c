"""Reservations and dedicated time: when vnodes, parts of them, or queues are closed to ordinary jobs."""
