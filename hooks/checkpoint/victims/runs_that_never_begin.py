"""Runs whose program never begins: the MoM waits to open the job's output, a FIFO that no program reads, say.

PBS's requeue and deletion wait for such a run as long as the MoM does, and its walltime does not count. A requeue by
``force`` ends it at once; it has nothing to save and no output to lose.
"""

from __future__ import annotations

from hooks.pbs.job_attributes.job_ids_and_states import RUNS_AT_HOST, read_start_s
from hooks.pbs.server_status_type_and_attributes import Attributes

USED = "resources_used"
"""The attribute that PBS clears at a requeue, and has again as soon as the MoM reports that the program runs."""
_SENT_TO_MOM, _BEING_REQUEUED = "41", "60"
_BEGINS_S = 60.0
"""A program begins a second or two after its job's start; a site's prologue may take longer."""


def has_nothing_to_save(texts: Attributes, now_s: float) -> bool:
    """Whether a run that began long ago is not yet known to run, so that no save can be asked of it."""
    return texts.get("substate", "") in (_SENT_TO_MOM, _BEING_REQUEUED) and _began_long_ago(texts, now_s)


def may_never_end(texts: Attributes, now_s: float) -> bool:
    """Whether a deleted run may be one that never begins: :func:`never_begins` tells, with what it has used."""
    is_there = texts.get("substate", "") in (_SENT_TO_MOM, RUNS_AT_HOST, _BEING_REQUEUED)
    return is_there and _began_long_ago(texts, now_s)


def never_begins(texts: Attributes, now_s: float) -> bool:
    """Whether the program of a run that began long ago has not begun. ``texts`` have all that the run has used."""
    return may_never_end(texts, now_s) and not any(name.partition(".")[0] == USED for name in texts)


def _began_long_ago(texts: Attributes, now_s: float) -> bool:
    start_s = read_start_s(texts)
    return start_s is not None and now_s - start_s > _BEGINS_S
