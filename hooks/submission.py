"""A submission judged: can it ever run where it goes, and which estimate shall PBS's scheduler plan with.

Only what holds whatever happens is refused: more than all vnodes of the queue have together, or in one chunk more than
its largest host. All else may come to fit, and is the passes' business.
"""

from __future__ import annotations

from collections.abc import Mapping

from hooks.summary import QueueSummary
from policy.request import Chunk, Request, RequestError, parse_request
from policy.settings import BackfillSettings
from policy.units import UnitError, parse_amount, parse_duration_s


def find_impossible(
    asked: Mapping[str, str], queue: str, summary: QueueSummary, consumables: frozenset[str]
) -> str | None:
    """Why a job with this ``Resource_List`` can never run in the queue; None where it can, or cannot be read."""
    if not summary.together:
        return None
    request = _read_request(asked, consumables)
    if request is None:
        return None
    for resource, amount in request.totals:
        most = summary.together.get(resource, 0)
        if amount > most:
            return (
                f"this job can never run in queue {queue}: it asks for {_show(resource, amount)},"
                f" and all vnodes open to that queue have {_show(resource, most)} together"
            )
    for chunk in request.chunks:
        for resource, amount in chunk.amounts:
            most = summary.largest.get(resource, 0)
            if amount > most:
                return (
                    f"this job can never run in queue {queue}: one chunk asks for {_show(resource, amount)},"
                    f" and the largest host open to that queue has {_show(resource, most)}"
                )
    return None


def shrink_estimate(asked: Mapping[str, str], settings: BackfillSettings) -> int | None:
    """The ``soft_walltime`` to set, in seconds: p times the walltime above the threshold (docs/policies.md, P3).

    None where the job is to keep what it has: a soft walltime already, no walltime, a short one, or a range of them.
    """
    if settings.shrink_factor is None or any(asked.get(name) for name in _OWN_ESTIMATES) or not asked.get("walltime"):
        return None
    try:
        walltime_s = parse_duration_s(asked["walltime"])
    except UnitError:
        return None
    return max(1, round(settings.shrink_factor * walltime_s)) if walltime_s > settings.shrink_threshold_s else None


_OWN_ESTIMATES = ("soft_walltime", "min_walltime", "max_walltime")


def _read_request(asked: Mapping[str, str], consumables: frozenset[str]) -> Request | None:
    select = asked.get("select", "")
    if select:
        try:
            return parse_request(select, "", consumables)
        except RequestError:
            return None
    amounts = {name: parse_amount(text) for name, text in asked.items() if name in consumables}
    known = sorted((name, amount) for name, amount in amounts.items() if amount)
    return Request((Chunk(1, tuple(known)),)) if known else None


def _show(resource: str, amount: int) -> str:
    return f"{resource}={amount}kb" if resource.endswith("mem") else f"{resource}={amount}"
