"""Answers beside the plan: why a job waits, what a change would do, and host files."""
