"""What the reasons of quotas and classes claim would help a job: another quota, cores given back, that the job may be
preempted, no cap (docs/policies.md, P1 and P2).

Each function gives True where the claim came true, False where it did not, and None where the sentence makes no such
claim or a condition that it names does not hold.
"""

from __future__ import annotations

from dataclasses import replace

from tests.property.oracles.reason_what_if import Told


def within_that_quota(told: Told) -> bool | None:
    said = told.said(r"with a quota of (\d+), if no other job takes that first")
    if said is None:
        return None
    going = int(dict(told.reason.numbers).get("going", 0))
    return _is_within(told, told.with_quota_named(int(said[1])), told.number("used") + going)


def within_once_given_back(told: Told) -> bool | None:
    said = told.said(r"within it once (\d+) of these are given back")
    changed = told.giving_back(int(said[1])) if said is not None else None
    if said is None or changed is None:
        return None
    return _is_within(told, changed, told.number("used") - int(said[1]))


def _is_within(told: Told, changed: Told, used: int) -> bool | None:
    """Whether the entry, of which so much is to be used now, does not keep the job back any more; no answer where other
    jobs of it took that first."""
    same = changed.same_again()
    if same is None or same.number("entity") != told.reason.number("entity"):
        return True
    return None if int(same.number("used")) > used else False


def lifted_by_that_quota(told: Told) -> bool | None:
    said = told.said(r"a quota of at least (\d+) lifts it")
    return None if said is None else told.with_quota_named(int(said[1])).same_again() is None


def lifted_once_given_back(told: Told) -> bool | None:
    said = told.said(r"or (\d+) of the \d+ in use given back")
    changed = told.giving_back(int(said[1])) if said is not None else None
    return None if changed is None else changed.same_again() is None


def not_once_it_may_be_preempted(told: Told) -> bool:
    """Rerunnable and never preempted before, the job is not confined to its quota."""
    return told.with_job(rerunable=True).with_ledger(preemptions={}).same_again() is None


def not_without_that_cap(told: Told) -> bool | None:
    """Where the sentence names cores of capped runs, they may be taken without the cap."""
    if not told.said("as often as the cap allows"):
        return None
    quota = replace(told.settings.quota, max_preemptions=None)
    return replace(told, settings=replace(told.settings, quota=quota)).same_again() is None
