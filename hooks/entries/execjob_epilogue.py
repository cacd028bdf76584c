"""A job has ended on this host: queue it again where it ended because a pass had asked it to save its work.

It runs on the first host of each job that ends, in a process of its own. It asks the server one thing, with
a time limit, and changes nothing where it has no reason to: a job that nobody asked ends as ever.
"""

from __future__ import annotations

import time
from typing import Any

from hooks.config import read_config
from hooks.ended import (
    ask_server,
    could_be_asked,
    has_failed_restart,
    may_be_run_again,
    was_asked_to_end,
)
from policy.settings import CheckpointSettings

_ANSWER_S = 5


def handle(pbs: Any) -> str | None:
    """Judge the end of this event's job."""
    job = pbs.event().job
    if not job.in_ms_mom() or job.Exit_status is None:
        return None
    exit_status = int(job.Exit_status)
    if has_failed_restart(pbs.pbs_conf["PBS_HOME"], str(job.id)):
        pbs.logjobmsg(str(job.id), "pbsteer: it could not be started again from its checkpoint, and is queued again")
        job.rerun()
        return None
    if not may_be_run_again(exit_status):
        return None
    import pbs_ifl  # type: ignore[import-not-found, unused-ignore]

    try:
        asked = ask_server(pbs_ifl, str(job.id), _ANSWER_S)
        checkpoint = read_config(pbs.hook_config_filename).checkpoint
        could_be = could_be_asked(job, checkpoint.method)
        is_to_run_again = was_asked_to_end(exit_status, checkpoint.exit_status, asked, time.time(), could_be=could_be)
    except Exception:
        # Nobody can tell, as where no server answers: then the exit status of a job that wishes to be asked has to.
        if exit_status == CheckpointSettings().exit_status and could_be_asked(job, CheckpointSettings().method):
            job.rerun()
        raise
    if is_to_run_again:
        why = "as it was asked to" if asked else "and the server does not say whether it was asked to"
        pbs.logjobmsg(str(job.id), f"pbsteer: it ended with {exit_status} {why}, and is queued again")
        job.rerun()
    return None
