"""The limits that a quota plan brings in the time ahead."""

from __future__ import annotations

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.quota_plan.limits_ahead_by_quota_plan import planned_limits
from hooks.quota_plan.published_quota_plan import PublishedPlan, ShownQuota
from policy.model.limit_attributes import EntityKey
from policy.quota_plan.planned_quotas import LimitKey, PlannedQuota
from tests.hooks.sample_server_statuses import server_status

ALICE: EntityKey = ("u", "alice")
SOFT = "max_run_res_soft.ncpus"
DRIVEN = {"workq": "drive"}


def entry(number: int, quota: int | None, begin_s: float, end_s: float) -> PlannedQuota:
    return PlannedQuota(number, LimitKey("workq", "ncpus", ALICE), quota, begin_s, end_s, "olga")


def status(quota: int) -> ServerStatus:
    return server_status(queues={"workq": {"started": "True", "enabled": "True", SOFT: f"[u:alice={quota}],[u:bob=5]"}})


def ahead(plan: PublishedPlan, quota: int = 10, modes: dict[str, str] = DRIVEN) -> dict[float, dict[str, int]]:
    """Quotas of users in workq by the moment from which they hold."""
    found = planned_limits(status(quota), modes, plan, 0, 1000)
    return {each.at_s: {entity[1]: value for entity, value in each.queues[0].quotas.entries.items()} for each in found}


def test_a_planned_quota_holds_from_its_begin_to_its_end() -> None:
    plan = PublishedPlan((ShownQuota(entry(1, 30, 100, 400), "planned"),))
    assert ahead(plan) == {100: {"alice": 30, "bob": 5}, 400: {"alice": 10, "bob": 5}}


def test_one_that_is_set_goes_back_to_what_was_before() -> None:
    plan = PublishedPlan((ShownQuota(entry(1, 30, -50, 400), "in force", before=7, sets_limit=True),))
    assert ahead(plan, quota=30) == {400: {"alice": 7, "bob": 5}}


def test_one_that_was_about_to_be_set_goes_back_too_and_to_what_was_before_the_one_ahead_of_it() -> None:
    waits = PublishedPlan((ShownQuota(entry(2, 30, -1, 400), "waits", before=7, sets_limit=True),))
    assert ahead(waits, quota=30) == {400: {"alice": 7, "bob": 5}}
    assert ahead(waits, quota=20) == {0: {"alice": 30, "bob": 5}, 400: {"alice": 7, "bob": 5}}


def test_a_pass_goes_by_its_own_record_for_what_has_just_ended() -> None:
    """The server was read before the pass takes the quota back."""
    found = planned_limits(status(30), DRIVEN, PublishedPlan(), 0, 1000, before={entry(1, 30, 0, 0).limit: 7})
    assert [(each.at_s, each.queues[0].quotas.entries) for each in found] == [(0, {ALICE: 7, ("u", "bob"): 5})]


def test_what_ends_beyond_the_time_ahead_stays() -> None:
    plan = PublishedPlan((ShownQuota(entry(1, 30, 100, 4000), "planned"),))
    assert ahead(plan) == {100: {"alice": 30, "bob": 5}}


def test_a_withdrawn_one_and_one_to_come_in_a_queue_in_observe_bring_nothing() -> None:
    shown = ShownQuota(entry(1, 30, 100, 400), "planned")
    assert ahead(PublishedPlan((shown._replace(state="missed"),))) == {}
    assert ahead(PublishedPlan((shown,)), modes={"workq": "observe"}) == {}


def test_one_that_is_set_in_a_queue_in_observe_ends_at_its_time() -> None:
    plan = PublishedPlan((ShownQuota(entry(1, 30, -50, 400), "in force", before=7, sets_limit=True),))
    assert ahead(plan, quota=30, modes={"workq": "observe"}) == {400: {"alice": 7, "bob": 5}}


def test_one_that_was_changed_by_hand_since_is_left() -> None:
    plan = PublishedPlan((ShownQuota(entry(1, 30, -50, 400), "in force", before=7, sets_limit=True),))
    assert ahead(plan, quota=31) == {}


def test_a_limit_that_cannot_be_read_is_left_as_passes_leave_it() -> None:
    texts = {"started": "True", "enabled": "True", SOFT: "[u:alice=10],[u:bob=x],[u:carl=0]"}
    found = server_status(queues={"workq": texts})
    plan = PublishedPlan((ShownQuota(entry(1, 30, 100, 400), "planned"),))
    assert planned_limits(found, DRIVEN, plan, 0, 1000) == []
