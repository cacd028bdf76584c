"""A job is moved to another queue: refused between the decision on its start and the start.

The start would otherwise be one in a queue whose quota and limits no pass has looked at. The server runs this hook for
`qmove` alone, not where a routing queue passes a job on.
"""

from __future__ import annotations

import time
from typing import Any

from hooks.admission.submission.job_about_to_start import refuse_before_start
from hooks.pbs.managers_and_operators import may_manage
from hooks.store.event_hook_summary import read_summary
from hooks.store.hook_settings import read_config


def handle(pbs: Any) -> str | None:
    """Judge the move of this event's job."""
    summary = read_summary(pbs.pbs_conf["PBS_HOME"])
    if not summary.unguarded:
        return None
    budget_s = read_config(pbs.hook_config_filename).schedule.budget_s
    refusal = refuse_before_start(str(pbs.event().job.id), summary, time.time(), budget_s)
    return refusal if refusal and not may_manage(pbs) else None
