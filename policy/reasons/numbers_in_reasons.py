"""How the sentences of reasons write numbers: counts, amounts of resources with their units, quotas and classes."""

from __future__ import annotations

from collections.abc import Collection

from policy.model.pbs_units import SIZES, show_count
from policy.model.priority_class import show_class
from policy.reasons.reason_names import Facts, Number


def class_name(number: Number) -> str:
    """A priority class in words."""
    return show_class(number) if isinstance(number, int) else str(number)


def show_counted(count: Number, noun: str) -> str:
    """``1 chunk``, ``2,000 chunks``."""
    return show_count(count, noun) if isinstance(count, int) else f"{count} {noun}s"


def show_cores(count: Number) -> str:
    """``1 core``, ``2,000 cores``."""
    return show_counted(count, "core")


def are(count: Number, what: str = "") -> str:
    """``4 are``, ``1 core is``, ``2 more are``."""
    number = show_cores(count) if what == "core" else f"{count} {what}".strip()
    return f"{number} {'is' if count == 1 else 'are'}"


def lacking(need: Number, there: Number, kept: Number = 0) -> int:
    """How many are missing, at least 0, if some of those that are there are kept for others."""
    if not (isinstance(need, int) and isinstance(there, int) and isinstance(kept, int)):
        return 0
    return max(0, need + kept - there)


def sizes_in(facts: Facts, resource: Number) -> Collection[Number]:
    """The resources that are sizes. Reasons of earlier versions have no unit."""
    return (resource,) if "unit" in facts else SIZES


def resource_noun(resource: Number, sizes: Collection[Number]) -> str:
    """What a number of a resource is followed by: its name, with the unit where it is a size."""
    return f"kb of {resource}" if resource in sizes else str(resource)


def show_quota(
    limit: Number, resource: Number, scope: Number, queue: str | None = None, sizes: Collection[Number] = SIZES
) -> str:
    """A quota as the object of a sentence: its resource unless that is cores, and its scope unless that is this
    ``queue``. ``sizes`` are the resources that are sizes."""
    of = "" if resource == "ncpus" else f" {resource_noun(resource, sizes)}"
    where = on_whole_cluster(scope) or ("" if scope == queue else f" in queue {scope}")
    return f"a quota of {limit}{of}{where}"


def on_whole_cluster(scope: Number) -> str:
    """That a quota is the server's, where it is."""
    return "" if scope else " on the whole cluster"


def quota_named(facts: Facts) -> str:
    """The quota that a reason names. Reasons of earlier versions name only cores in a queue."""
    resource = facts.get("counted", facts.get("resource", "ncpus"))
    return show_quota(facts["limit"], resource, facts["queue"], sizes=sizes_in(facts, resource))


def resource_but_cores(facts: Facts) -> str:
    """What the priority quota counts, where that is not cores."""
    counted = facts.get("counted", "ncpus")
    return "" if counted == "ncpus" else f" {resource_noun(counted, sizes_in(facts, counted))}"
