"""A simulated PBS server with its MoMs: its clock moves jobs from submission to history, and calls the hooks. What it
has is in ``objects``, what it is asked in ``requests``."""
