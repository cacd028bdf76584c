"""How a job has ended whose script has left an exit status, also if the scheduler has killed it at a limit.

The scheduler signals all processes of such a job. The script may still note that its program was killed, before it is
killed itself; the scheduler's history then names the limit.
"""

from __future__ import annotations

import signal

from hooks.pbs.files_and_output.accounting_fields import KILLED_AT_LIMIT
from migration.schedulers.scheduler_interface import Ended, LocalScheduler

_KILLED = frozenset(str(128 + number) for number in (signal.SIGTERM, signal.SIGKILL))
_LIMITS = frozenset(("TIMEOUT", "OUT_OF_MEMORY", "DEADLINE", *KILLED_AT_LIMIT.values()))
"""The words of Slurm, as in its ``squeue`` manual, and of PBS."""


def find_end(scheduler: LocalScheduler, local_id: str, status: str) -> Ended:
    """The end of the job with this exit status, or with the limit at which it was killed. Raises SchedulerSilent,
    RequestUnanswered."""
    if status in _KILLED:
        ended = scheduler.history(local_id)
        if ended is not None and ended.exit in _LIMITS:
            return ended
    return Ended(status, ran=True)
