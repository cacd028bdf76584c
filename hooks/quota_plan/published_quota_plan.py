"""The plan of quotas as the last pass published it: each entry with its state, for those who may read the journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from policy.quota_plan.limits_due import IN_FORCE, Due, state_of
from policy.quota_plan.planned_quotas import Plan, PlanError, PlannedQuota

TO_GO_BACK = "to go back"
_LIVE = ("planned", "waits", IN_FORCE, TO_GO_BACK)


class ShownQuota(NamedTuple):
    """An entry, its state in words, why it waits ("" if it does not), and, while it is set, the value to go back to.
    ``sets_limit``: whether its limit has its value, or was about to get it in the pass that published this."""

    entry: PlannedQuota
    state: str
    why: str = ""
    before: int | None = None
    sets_limit: bool = False

    @property
    def is_live(self) -> bool:
        """Whether it will still be set or taken back."""
        return self.state in _LIVE

    @property
    def is_set(self) -> bool:
        """Whether its limit was seen to have its value."""
        return self.state in (IN_FORCE, TO_GO_BACK)

    def to_data(self) -> dict[str, Any]:
        """The entry with its state as plain data."""
        return {
            **self.entry.to_data(),
            "state": self.state,
            "why": self.why,
            "before": self.before,
            "sets_limit": self.sets_limit,
        }


class PublishedPlan(NamedTuple):
    """The entries, and why the plan cannot be used ("" if it can)."""

    quotas: tuple[ShownQuota, ...] = ()
    problem: str = ""

    @classmethod
    def of(cls, plan: Plan, due: Due, now_s: float, problem: str) -> PublishedPlan:
        """The plan at a moment."""
        shown = []
        for entry in plan:
            state, why = state_of(entry, due, now_s)
            override = due.record.overrides.get(entry.limit)
            is_set = override is not None and override.number == entry.number
            before = override.before if override is not None and is_set else None
            shown.append(ShownQuota(entry, state, why, before, is_set))
        return cls(tuple(shown), problem)

    def to_data(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {"problem": self.problem, "quotas": [each.to_data() for each in self.quotas]}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> PublishedPlan:
        """The plan of plain data; what cannot be understood is left out, as another version may have written it."""
        shown = []
        quotas = data.get("quotas")
        for each in quotas if isinstance(quotas, list) else ():
            try:
                entry, before = PlannedQuota.from_data(each, "entry"), each.get("before")
            except (PlanError, AttributeError):
                continue
            before = before if isinstance(before, int) else None
            state, why = str(each.get("state", "")), str(each.get("why", ""))
            shown.append(ShownQuota(entry, state, why, before, each.get("sets_limit") is True))
        return cls(tuple(shown), str(data.get("problem", "")))


NO_PLAN = PublishedPlan()
