"""Judges a submission: whether it can ever run in its queue, and which estimate PBS's scheduler plans with.

A job is refused only if it can never run: it asks for more than all vnodes of the queue have together, for a chunk
larger than its largest host, for more hosts than there are, for a host or vnode that does not exist, or has an invalid
preference. Any other job may fit one day, and is left to the passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable, NamedTuple, Union

from hooks.store.event_hook_summary import QueueSummary, Summary
from hooks.translate.job.job_preferences import read_preferences, read_saves
from policy.backfill.shrunk_estimate_and_may_be_cut import Estimates
from policy.model.host_names import is_host_among
from policy.model.job_preferences import AUTO
from policy.model.job_request import Chunk, Request, RequestError, parse_request
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.ledger_between_passes import Ledger
from policy.model.pbs_units import UnitError, parse_duration_s, parse_resource, show_resource
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.settings.site_settings import Settings
from policy.striping.spread_ranks import cut

RereadSummary = Callable[[], Union[Summary, None]]
"""Returns the summary as it would be now, or None if that cannot be known."""


def find_impossible(
    resource_list: Mapping[str, str],
    queue: str,
    summary: Summary,
    settings: Settings,
    reread: RereadSummary | None = None,
) -> str | None:
    """Why a job with this ``Resource_List`` can never run in the queue; None if it can, if the list cannot be read, or
    if the settings let such jobs wait in a queue of that mode.

    With ``reread`` a refusal is judged again by the server's present vnodes, and dropped if they cannot be read.

    A chunk that is too large for any host is no reason if the job may be striped and so cut.
    """
    if not settings.submission.refuses_impossible_in(summary.mode(queue)):
        return None
    why = _find_why(resource_list, queue, summary, settings)
    if why and reread is not None:
        now = reread()
        why = _find_why(resource_list, queue, now, settings) if now is not None else ""
    return f"this job can never run in queue {queue}: {why}" if why else None


def _find_why(resource_list: Mapping[str, str], queue: str, summary: Summary, settings: Settings) -> str:
    here = summary.queues[queue]
    # Nothing is known of a vnode before it has reported its cores.
    request = _read_request(resource_list, here, summary) if here.together.get("ncpus") else None
    if request is None:
        return ""
    sizes = summary.sizes
    why = _find_too_much(request, here, sizes) or _find_unknown(request, summary.names)
    if why and _may_be_striped(resource_list, settings.for_queue(queue)):
        pieces = cut(request)
        why = _find_too_much(pieces or request, here, sizes) or _find_unknown(request, summary.names)
    return why


def _may_be_striped(resource_list: Mapping[str, str], settings: Settings) -> bool:
    """Whether the job's chunks may go to several hosts in pieces. ``settings`` are those of its queue."""
    preferences = read_preferences(resource_list, settings.ranking)
    if preferences.layout is not None:
        return preferences.layout.kind in ("stripe", AUTO)
    layout, _ = settings.stripe.layout_of("", preferences.application)
    return layout in ("stripe", "learn", AUTO)


def _find_too_much(request: Request, queue: QueueSummary, sizes: frozenset[str]) -> str:
    for resource, amount in request.totals:
        most = queue.together.get(resource, 0)
        if amount > most:
            return (
                f"it asks for {show_resource(resource, amount, sizes)},"
                f" and all vnodes open to that queue have {show_resource(resource, most, sizes)} together"
            )
    # A packed job is on one host as a whole.
    parts = [request.totals] if request.place == "pack" else [chunk.amounts for chunk in request.chunks]
    for amounts in parts:
        for resource, amount in amounts:
            most = queue.largest.get(resource, 0)
            if amount > most:
                part = "with place=pack one host has to have" if request.place == "pack" else "one chunk asks for"
                return (
                    f"{part} {show_resource(resource, amount, sizes)},"
                    f" and the largest host open to that queue has {show_resource(resource, most, sizes)}"
                )
    pieces = sum(chunk.pieces for chunk in request.chunks)
    for place, most, what in (("scatter", queue.hosts, "hosts"), ("vscatter", queue.vnodes, "vnodes")):
        if request.place == place and pieces > most:
            return f"with place={place} it asks for {pieces} {what}, and {most} are open to that queue"
    return ""


def _find_unknown(request: Request, names: frozenset[str]) -> str:
    for chunk in request.chunks:
        for name, value in chunk.wants:
            if name in ("host", "vnode") and names:
                is_there = is_host_among(names, value.lower()) if name == "host" else value.lower() in names
                if not is_there:
                    return f"it asks for {name}={value[:80]}, and there is no such {name}"
    return ""


def find_nonsense(resource_list: Mapping[str, str]) -> str | None:
    """Why a job's preferences can never be met; None if they can."""
    unread = read_preferences(resource_list, RankingSettings()).unread
    return f"this job can never run as it asks: {'; '.join(unread)}" if unread else None


class Preemptibility(NamedTuple):
    """What becomes of a job's work when it is cut: whether it may be rerun, and whether it saves (None: as the settings
    have it)."""

    rerunable: bool = True
    saves: bool | None = None


def read_preemptibility(
    rerunable: object, checkpoint: object, resource_list: Mapping[str, str], settings: Settings, *, array: bool = False
) -> Preemptibility:
    """The :class:`Preemptibility` of a job by its ``Rerunable`` (None: a program other than qsub left it out, and PBS
    requeues no such job), ``Checkpoint`` (None before PBS has set its default) and preferences."""
    save = read_preferences(resource_list, settings.ranking)
    return Preemptibility(bool(rerunable), read_saves(str(checkpoint or ""), save, array=array))


def shrink_estimate(
    resource_list: Mapping[str, str],
    user: str,
    past: Ledger,
    settings: Settings,
    preemptibility: Preemptibility = Preemptibility(),  # noqa: B008 - a value
) -> int | None:
    """The ``soft_walltime`` to set, in seconds: the estimate that backfilling tests with (docs/policies.md, P3).

    ``past`` is what the predictor knows of the users' runs. None if the job keeps what it has: it has a soft walltime
    already, no walltime, one that is not shrunk, or a range; or the job cannot be cut, or the settings cut none.
    """
    if any(resource_list.get(name) for name in _OWN_ESTIMATES) or not resource_list.get("walltime"):
        return None
    try:
        walltime_s = parse_duration_s(resource_list["walltime"])
    except UnitError:
        return None
    job = Job(
        "",
        user,
        _ANY_REQUEST,
        "",
        0.0,
        float(walltime_s),
        rerunable=preemptibility.rerunable,
        saves=preemptibility.saves,
    )
    short_s = max(1, round(Estimates(settings, past, 0.0).advised_s(job)))
    return short_s if short_s < walltime_s else None


_ANY_REQUEST = Request.of_cores(1)
_OWN_ESTIMATES = ("soft_walltime", "min_walltime", "max_walltime")


def _read_request(resource_list: Mapping[str, str], queue: QueueSummary, summary: Summary) -> Request | None:
    select, consumables, sizes = resource_list.get("select", ""), summary.consumables, summary.sizes
    if select:
        try:
            return parse_request(select, resource_list.get("place", "") or queue.place, consumables, sizes)
        except RequestError:
            return None
    amounts = {name: parse_resource(name, text, sizes) for name, text in resource_list.items() if name in consumables}
    known = sorted((name, amount) for name, amount in amounts.items() if amount)
    return Request((Chunk(1, tuple(known)),)) if known else None
