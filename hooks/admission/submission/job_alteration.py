"""Judges an alteration: refuses what a submission would be refused for, and derives anew what queuejob derived.

A new walltime gives a new estimate, a new select, place or preference a new stripe; a manager's own value for these is
kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable, NamedTuple

from hooks.admission.submission.impossible_requests_and_shrunk_soft_walltime import (
    Preemptibility,
    RereadSummary,
    find_impossible,
    find_nonsense,
    shrink_estimate,
)
from hooks.admission.submission.stripe_select import restripe
from hooks.pbs.custom_resources import APPLICATION, LAYOUT, OWN_SELECT, STRIPE_NODES, WIDTH
from hooks.pbs.job_attributes.job_ids_and_states import NO_CHECKPOINT
from hooks.pbs.job_attributes.resource_list import without_empty
from hooks.pbs.job_attributes.select_before_striping import own_place, undo_stripe, without_stripe
from hooks.store.event_hook_summary import Summary
from policy.settings.site_settings import Settings

_CHUNKS = frozenset({"select", "place"})
_LAYOUT = frozenset({LAYOUT, WIDTH, STRIPE_NODES, APPLICATION})
_TIMES = frozenset({"walltime", "min_walltime", "max_walltime"})


class Alteration(NamedTuple):
    """One alteration. ``before``: the job's resource list; ``changes``: what changes in it (an empty text unsets); its
    queue and owner; whether it runs. ``is_privileged`` says whether a manager or operator asks, which PBS takes long to
    find out. ``preemptibility``: what happens to its work when it is cut; ``keeps_otherwise``: the alteration may
    change that."""

    before: Mapping[str, str]
    changes: Mapping[str, str]
    queue: str
    user: str
    running: bool
    is_privileged: Callable[[], bool]
    preemptibility: Preemptibility = Preemptibility()
    keeps_otherwise: bool = False


def refuse_alteration(
    alteration: Alteration, summary: Summary, settings: Settings, reread: RereadSummary
) -> str | None:
    """The sentence to refuse an alteration with; None if it is allowed. Alterations of managers and operators, and of
    jobs that run, are not refused here."""
    if alteration.running:
        return None
    after = _after(alteration)

    def reread_for_user() -> Summary | None:
        # Looking at the vnodes holds the server up, and is in vain for a manager, whom nothing is refused.
        return None if alteration.is_privileged() else reread()

    refusal = find_impossible(after, alteration.queue, summary, settings, reread_for_user) or find_nonsense(after)
    return None if refusal is None or alteration.is_privileged() else refusal


class PreemptibilityChange(NamedTuple):
    """An alteration's ``Rerunable`` and ``Checkpoint``, None for one that it does not name, and the job's values of
    both."""

    rerunable: bool | None
    checkpoint: str | None
    was_rerunable: bool
    was_checkpoint: str


def refuse_unpreemptible(change: PreemptibilityChange) -> str | None:
    """The sentence to refuse an alteration by which a running job could no longer be preempted, or no longer be saved;
    None if it does neither."""
    if change.rerunable is False and change.was_rerunable:
        what = "not rerunnable (qalter -r n)"
    elif change.checkpoint == NO_CHECKPOINT and change.was_checkpoint != NO_CHECKPOINT:
        what = "not checkpointable (qalter -c n)"
    else:
        return None
    return (
        f"a running job can be made {what} by managers and operators alone, since it may run on cores that others are"
        " entitled to (quota.confine_unpreemptible); submit it so, and it starts within quota"
    )


def follow_alteration(alteration: Alteration, summary: Summary, settings: Settings) -> dict[str, str | int | None]:
    """What to set beside the changes, so that everything derived from them stays right: durations in seconds; None
    unsets."""
    return {**_follow_times(alteration, summary, settings), **_follow_chunks(alteration, summary, settings)}


def _after(alteration: Alteration) -> dict[str, str]:
    """The job's own resource list after the alteration, without a stripe."""
    own = without_stripe(alteration.before)
    return without_empty({**own, **alteration.changes})


def _follow_times(alteration: Alteration, summary: Summary, settings: Settings) -> dict[str, str | int | None]:
    """The estimate for the new walltime. PBS refuses a walltime below the estimate, and an estimate beside a range."""
    changes = alteration.changes
    had = "soft_walltime" in alteration.before
    if "soft_walltime" in changes or (_TIMES.isdisjoint(changes) and not alteration.keeps_otherwise):
        return {}
    after = {name: text for name, text in _after(alteration).items() if name != "soft_walltime"}
    advised = summary.mode(alteration.queue) == "advise"
    estimate_s = (
        shrink_estimate(after, alteration.user, summary.past, settings, alteration.preemptibility) if advised else None
    )
    if estimate_s is not None:
        return {"soft_walltime": estimate_s}
    return {"soft_walltime": None} if had else {}


def _follow_chunks(alteration: Alteration, summary: Summary, settings: Settings) -> dict[str, str | None]:
    """The stripe for the new select, place and preferences. A running job keeps its chunks."""
    changes, before = alteration.changes, alteration.before
    if alteration.running or not (_CHUNKS | _LAYOUT).intersection(changes):
        return {}
    striped = bool(before.get(OWN_SELECT))
    if not _CHUNKS.isdisjoint(changes) and alteration.is_privileged():
        # A manager's chunks are the job's own from now on.
        if not striped:
            return {}
        place = {} if "place" in changes else {"place": own_place(before.get("place", ""))}
        select = {} if "select" in changes else {"select": before[OWN_SELECT]}
        return {**select, **place, OWN_SELECT: None}
    after = _after(alteration)
    if summary.mode(alteration.queue) == "advise":
        of_queue = settings.for_queue(alteration.queue)
        stripe = restripe(after, alteration.user, summary.queues[alteration.queue], summary, of_queue)
        if stripe:
            return stripe
    if not striped:
        return {}
    return {**undo_stripe(before), **{name: after[name] for name in _CHUNKS.intersection(after)}}
