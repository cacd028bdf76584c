"""Runs programs and file operations as the user of a job, through one root helper that knows a fixed list of them."""
