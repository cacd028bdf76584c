"""In ``advise`` a user's ``qsub -p`` stays below the priority by which PBS's scheduler takes beneficiaries first.

A pass gives each waiting job its level (hooks/act/job_priorities_for_pbs_sched.py). Until the next one a submission or
an alteration counts as its user made it: at PBS's highest priority an older job would get the cores of a victim.
"""

from __future__ import annotations

import re
from typing import Any

BENEFICIARY = 1023
"""The highest priority in PBS, used for beneficiaries only."""


def lower_priority(job: Any) -> None:
    """Lower the priority of a submitted or altered job if it is that of beneficiaries."""
    if is_highest(job):
        job.Priority = BENEFICIARY - 1


def is_highest(job: Any) -> bool:
    """Whether a submission or an alteration names the priority of beneficiaries."""
    # PBS's own type for it is no number, and it takes a sign.
    priority = re.fullmatch(r"\+?([0-9]+)", str(getattr(job, "Priority", None) or ""))
    return priority is not None and int(priority[1]) >= BENEFICIARY
