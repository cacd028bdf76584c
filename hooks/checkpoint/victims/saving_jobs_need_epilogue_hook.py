"""Jobs still saving. Do not remove the epilogue hook while there are any: it is what requeues them.

They are found by the marks of the running jobs, and gone ``checkpoint.grace_s``, plus the time in which an end still
counts as saved, after the last request.
"""

from __future__ import annotations

from collections.abc import Mapping

from hooks.checkpoint.on_job_host.decide_requeue_at_job_end import AWAY_S
from hooks.checkpoint.save_method.read_save_method_job_asked_for import SAVING
from hooks.pbs.job_attributes.job_ids_and_states import is_running, read_start_s, subjob_id
from hooks.pbs.job_attributes.victim_mark import read_marks


def find_savers(jobs: Mapping[str, Mapping[str, str]], now_s: float) -> dict[str, int]:
    """The jobs, and subjobs by the marks on their array, that were asked to save in their current run, each with the
    end of its time if that is still to come. Needs the attributes ``job_state``, ``stime`` and ``estimated``."""
    found = {}
    for job_id, texts in jobs.items():
        for index, mark in read_marks(texts).items():
            # The array's attributes do not say whether a subjob still runs: that it may is enough.
            is_asked = is_running(texts) and mark.is_of_run(read_start_s(texts)) if index is None else True
            until_s = mark.until_s + AWAY_S
            if mark.how in SAVING and is_asked and until_s > now_s:
                found[job_id if index is None else subjob_id(job_id, index)] = until_s
    return found
