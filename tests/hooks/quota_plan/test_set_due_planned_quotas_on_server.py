"""Planned quotas through the real periodic hook on a simulated server: set, taken back, left, put off, on record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hooks.audit.shared_audit_file import CHANGES
from hooks.quota_plan.published_quota_plan import PublishedPlan
from hooks.quota_plan.quota_plan_files import (
    QUOTA_PLAN,
    QUOTA_PLAN_RECORD,
    QUOTA_PLAN_SHOWN,
    plan_locked,
    read_plan,
    read_plan_files,
    write_plan,
)
from hooks.store.state_files import State
from policy.model.limit_attributes import EntityKey, parse_limits
from policy.quota_plan.planned_quotas import LimitKey, PlanError, PlannedQuota
from sim.demo.demo_cluster_with_hooks import DemoCluster

ALICE: EntityKey = ("u", "alice")
SOFT = "max_run_res_soft.ncpus"


class Site:
    """A small demo cluster, alice's quota in workq being 100."""

    def __init__(self) -> None:
        self.demo = DemoCluster(vnodes=16, jobs=0)
        self.state = State(self.demo.state_folder)
        self.qmgr(f"set queue workq {SOFT} = '[u:alice=100],[u:bob=50]'")
        self.demo.step()

    def qmgr(self, line: str) -> None:
        assert self.demo.run(["qmgr", "-c", line]).ok

    def plan(self, *entries: PlannedQuota) -> None:
        write_plan(self.state, entries)

    def entry(self, number: int, quota: int | None, in_s: float, for_s: float, **limit: Any) -> PlannedQuota:
        key = LimitKey("workq", "ncpus", ALICE)._replace(**limit)
        return PlannedQuota(number, key, quota, self.demo.now_s + in_s, self.demo.now_s + in_s + for_s, "olga")

    def run_passes(self, seconds: float = 1) -> None:
        """Passes until so many seconds later, at least one."""
        until_s = self.demo.now_s + seconds
        while self.demo.now_s < until_s:
            self.demo.step()

    def limits(self, queue: str = "workq", attribute: str = SOFT) -> dict[EntityKey, int]:
        status = self.demo.server_status()
        texts = status.queues[queue] if queue else status.server
        return parse_limits(texts.get(attribute, ""), "test").entries

    def shown(self) -> dict[int, tuple[str, str, int | None]]:
        published = PublishedPlan.from_data(self.state.read_published(QUOTA_PLAN_SHOWN))
        return {each.entry.number: (each.state, each.why, each.before) for each in published.quotas}

    def notes(self) -> list[str]:
        (last,) = self.demo.journal(1)
        found: list[str] = last["notes"]
        return found

    def sets(self) -> list[str]:
        return [sentence for entry in self.demo.journal(1000) for sentence in entry["quotas_set"]]

    def audit(self) -> list[dict[str, str]]:
        path = self.state.path / CHANGES
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.demo.close()


def test_a_planned_quota_is_set_and_taken_back_and_both_are_on_record(site: Site) -> None:
    site.plan(site.entry(1, 200, 60, 120), site.entry(2, 8, 60, 120, entity=("u", "PBS_GENERIC")))
    site.run_passes(30)
    assert (site.limits()[ALICE], site.shown()[1]) == (100, ("planned", "", None))
    site.run_passes(60)
    assert site.limits() == {ALICE: 200, ("u", "bob"): 50, ("u", "PBS_GENERIC"): 8}
    assert site.shown()[1] == ("in force", "", 100)
    site.run_passes(120)
    assert site.limits() == {ALICE: 100, ("u", "bob"): 50}
    assert site.shown()[2] == ("over", "", None)
    assert site.sets() == [
        "u:PBS_GENERIC (ncpus) in queue workq: none → 8, by entry 2 of the quota plan",
        "u:alice (ncpus) in queue workq: 100 → 200, by entry 1 of the quota plan",
        "u:PBS_GENERIC (ncpus) in queue workq: 8 → none, back to what it was before the quota plan",
        "u:alice (ncpus) in queue workq: 200 → 100, back to what it was before the quota plan",
    ]
    first = f"qmgr -c 'set queue workq {SOFT} += [u:PBS_GENERIC=8],[u:alice=200]'"
    lines = [(line["stage"], line["user"], line["command"]) for line in site.audit()]
    assert lines[:2] == [("sending", "root (quota plan by olga)", first), ("done", "root (quota plan by olga)", first)]
    assert {stage for stage, *_ in lines} == {"sending", "done"}
    assert lines[-1][1] == "root (quota plan)"
    for name in (QUOTA_PLAN, QUOTA_PLAN_RECORD):
        assert (site.state.path / name).stat().st_mode & 0o777 == 0o600


def test_a_server_wide_quota_another_resource_and_a_priority(site: Site) -> None:
    site.plan(
        site.entry(1, 300, 0, 60, queue="", entity=("o", "PBS_ALL")),
        site.entry(2, 3, 0, 60, resource="user_priority"),
        site.entry(3, 2, 0, 60, queue="gpu", resource="ngpus", entity=("g", "chem")),
    )
    before = site.limits("gpu", "max_run_res_soft.ngpus"), site.limits("workq", "max_run_res_soft.user_priority")
    site.run_passes()
    assert site.limits("")[("o", "PBS_ALL")] == 300
    assert site.limits("workq", "max_run_res_soft.user_priority")[ALICE] == 3
    assert site.limits("gpu", "max_run_res_soft.ngpus")[("g", "chem")] == 2
    site.run_passes(90)
    assert site.limits("") == {}
    after = site.limits("gpu", "max_run_res_soft.ngpus"), site.limits("workq", "max_run_res_soft.user_priority")
    assert after == before


def test_what_is_changed_by_hand_is_left(site: Site) -> None:
    site.plan(site.entry(1, 200, 0, 60))
    site.run_passes()
    site.qmgr(f"set queue workq {SOFT} += [u:alice=77]")
    site.run_passes()
    assert "is 77, entry 1 had set it to 200: changed by hand, and left as it is" in site.notes()[0]
    site.run_passes(90)
    assert (site.limits()[ALICE], site.shown()[1][0]) == (77, "changed by hand")


def test_nothing_is_set_in_observe_nor_taken_back_in_a_pause(site: Site) -> None:
    site.plan(site.entry(1, 200, 0, 60))
    site.qmgr("set queue workq resources_available.pbsteer_mode = observe")
    site.run_passes()
    assert site.limits()[ALICE] == 100
    assert site.shown()[1] == ("waits", "queue workq is in observe", None)
    assert "1 planned quota to be set, not yet: queue workq is in observe" in site.notes()
    site.qmgr("set queue workq resources_available.pbsteer_mode = drive")
    site.run_passes()
    assert site.limits()[ALICE] == 200
    site.qmgr("set server resources_available.pbsteer_paused = works")
    site.run_passes(90)
    assert site.limits()[ALICE] == 200
    assert "1 planned quota to go back, not yet: pbsteer is paused (works)" in site.notes()
    site.qmgr("unset server resources_available.pbsteer_paused")
    site.run_passes()
    assert site.limits()[ALICE] == 100


@pytest.mark.parametrize(
    "text", ["{", "[]", "null", "", '{"version": 9}', '{"version": 1, "quotas": [{}]}', "\xff", "[" * 100_000]
)
def test_a_broken_plan_stops_no_pass_and_is_named(site: Site, text: str) -> None:
    site.plan(site.entry(1, 200, 0, 600))
    site.run_passes()
    (site.state.path / QUOTA_PLAN).write_bytes(text.encode("latin-1"))
    site.run_passes()
    assert any(QUOTA_PLAN in note and "no planned quota is set or taken back" in note for note in site.notes())
    assert (site.limits()[ALICE], site.demo.journal(1)[0]["failures"]) == (200, [])
    with pytest.raises(PlanError, match=QUOTA_PLAN):
        read_plan(site.state)
    site.plan()
    site.run_passes()
    assert site.limits()[ALICE] == 100


def test_a_broken_record_leaves_what_had_begun(site: Site) -> None:
    site.plan(site.entry(1, 200, 0, 60), site.entry(2, 20, 0, 60, entity=("u", "bob")))
    site.run_passes()
    (site.state.path / QUOTA_PLAN_RECORD).write_text("{")
    site.plan(site.entry(1, 200, -60, 90), site.entry(3, 30, 30, 60, entity=("u", "carol")))
    site.run_passes()
    assert any("quota-plan-record.json cannot be used" in note for note in site.notes())
    site.run_passes(60)
    assert (site.limits()[ALICE], site.limits()[("u", "carol")]) == (200, 30)
    assert site.shown()[1][0] == "record lost"
    assert not any("record" in note for note in site.notes())


def test_a_refusal_is_a_failure_of_the_pass_and_tried_again(site: Site) -> None:
    site.plan(site.entry(1, 200, 0, 600, resource="nosuch"))
    site.run_passes()
    (failure,) = site.demo.journal(1)[0]["failures"]
    assert failure.startswith("planned quotas: cannot set [u:alice=200] of max_run_res_soft.nosuch of queue workq")
    assert site.audit()[-1]["stage"] == "failed"
    site.run_passes()
    assert site.demo.journal(1)[0]["failures"] == [failure]
    assert site.shown()[1][0] == "waits"


def test_a_queue_that_is_not_there_is_named(site: Site) -> None:
    site.plan(site.entry(1, 200, 0, 600, queue="gone"))
    site.run_passes()
    assert "1 planned quota to be set, not yet: there is no queue gone" in site.notes()


def test_without_a_plan_no_file_is_made(site: Site) -> None:
    site.run_passes()
    assert not list(site.state.path.glob("quota-plan*"))
    assert read_plan_files(site.state).plan == ()


def test_two_commands_do_not_write_the_plan_at_once(tmp_path: Path) -> None:
    state = State(tmp_path)
    with plan_locked(state), pytest.raises(BlockingIOError), plan_locked(state):
        pass
    with plan_locked(state):
        pass
