"""The custom resources that the hooks on hosts read or write: how a job saves its work, and a host's last reading.

The epilogue hook loads this at each job's end, in a process of its own, so the module imports nothing.
"""

SAVE = "pbsteer_save"
"""Of a queue or a job: how the job saves its work when it is preempted (docs/saving.md). The job's host needs it, so it
has PBS's flag ``m``: without that, MoMs do not get it."""
READING = "pbsteer_reading"
"""Of a vnode: its host's last reading (hooks/telemetry/host_reading_format.py; docs/policies.md, P4)."""
