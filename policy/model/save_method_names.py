"""The names of the methods by which a preempted job saves its work, and the exit status that says that it has.

The epilogue hook loads this at each job's end, in a process of its own, so the module imports nothing.
"""

SAVE_METHODS = ("requeue", "signal", "checkpoint")
"""How a preempted job may save its work; the first, the default, does not save it (docs/saving.md)."""
SAVED_STATUS = 85
"""The exit status of a job that has saved its work, unless the site sets another."""
