"""P4: which vnodes come first for a job, and which are good enough for it."""
