"""Who still saves, so that the hooks may not go yet: without the one at their end, such jobs would have ended for good.

It looks at the marks of the jobs that run. Nobody is asked any more where the queues are in ``observe``, so the longest
that is to be waited for then is ``checkpoint.grace_s`` and the time for which an end after it still counts as saved.
"""

from __future__ import annotations

from collections.abc import Mapping

from hooks.checkpoint.epilogue import AWAY_S
from hooks.checkpoint.method import SAVING
from hooks.pbs.job_ids import is_running, read_start_s
from hooks.pbs.job_mark import read_marks


def find_savers(jobs: Mapping[str, Mapping[str, str]], now_s: float) -> dict[str, int]:
    """The jobs, and subjobs by their array, that were asked to save in the run that they are in, with the end of their
    time where that is to come. The attributes needed are ``job_state``, ``stime`` and ``estimated``."""
    found = {}
    for job_id, texts in jobs.items():
        for index, mark in read_marks(texts).items():
            # Of a subjob this does not tell whether it runs yet: that it may is enough.
            is_asked = is_running(texts) and mark.is_of_run(read_start_s(texts)) if index is None else True
            until_s = mark.until_s + AWAY_S
            if mark.how in SAVING and is_asked and until_s > now_s:
                found[job_id if index is None else job_id.replace("[]", f"[{index}]", 1)] = until_s
    return found
