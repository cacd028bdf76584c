"""Judges one submission or alteration of a job, and derives its estimate, priority and stripe from it."""
