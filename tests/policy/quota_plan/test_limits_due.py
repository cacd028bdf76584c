"""What is due at a moment: set, taken back, left to whoever changed it, or waiting for a mode or the end of a pause."""

from __future__ import annotations

import pytest

from policy.quota_plan.limits_due import (
    CHANGED_BY_HAND,
    IN_FORCE,
    MISSED,
    OVER,
    RECORD_LOST,
    Due,
    Outcome,
    Override,
    PlanRecord,
    SetLimit,
    find_due,
    next_number,
    state_of,
)
from policy.quota_plan.planned_quotas import LimitKey, Plan, PlanError, PlannedQuota

ALICE = LimitKey("workq", "ncpus", ("u", "alice"))


class Server:
    """A server with alice's limit, and the passes that keep it as planned."""

    def __init__(self, plan: Plan, has: int | None = 4) -> None:
        self.plan, self.has = plan, has
        self.record = PlanRecord()
        self.why_not = self.paused = ""

    def look(self, now_s: float) -> Due:
        return find_due(self.plan, self.record, {ALICE: self.has}, now_s, lambda _: self.why_not, self.paused)

    def run_pass(self, now_s: float) -> Due:
        due = self.look(now_s)
        self.record = due.record
        for step in due.steps:
            assert step.found == self.has
            self.has = step.value
        self.record = self.record.confirmed([step.limit for step in due.steps], now_s)
        return due

    def state(self, number: int, now_s: float) -> str:
        due = self.look(now_s)
        return next(state_of(entry, due, now_s)[0] for entry in self.plan if entry.number == number)


def entry(number: int, from_s: float, until_s: float, quota: int | None = 8) -> PlannedQuota:
    return PlannedQuota(number, ALICE, quota, from_s, until_s, "root")


def test_a_quota_is_set_when_its_time_comes_and_taken_back_at_its_end() -> None:
    server = Server((entry(1, 10, 20),))
    assert server.run_pass(9).steps == []
    assert server.state(1, 9) == "planned"
    assert server.run_pass(10).steps == [SetLimit(ALICE, 4, 8, 1)]
    assert server.run_pass(15).steps == []
    assert server.state(1, 15) == IN_FORCE
    assert server.run_pass(20).steps == [SetLimit(ALICE, 8, 4, 0)]
    assert (server.has, server.record.overrides, server.state(1, 21)) == (4, {}, OVER)


@pytest.mark.parametrize("before", [None, 0, 4])
@pytest.mark.parametrize("quota", [None, 0, 8])
def test_no_entry_is_a_value_too(before: int | None, quota: int | None) -> None:
    server = Server((entry(1, 10, 20, quota),), before)
    server.run_pass(10)
    assert server.has == quota
    server.run_pass(20)
    assert server.has == before


def test_an_entry_that_follows_another_goes_back_to_what_was_before_the_first() -> None:
    server = Server((entry(1, 10, 20), entry(2, 20, 30, 16)))
    server.run_pass(10)
    assert server.run_pass(20).steps == [SetLimit(ALICE, 8, 16, 2)]
    assert (server.state(1, 20), server.state(2, 20)) == (OVER, IN_FORCE)
    server.run_pass(30)
    assert server.has == 4


def test_what_somebody_changed_meanwhile_is_left_and_said_once() -> None:
    server = Server((entry(1, 10, 20), entry(2, 30, 40)))
    server.run_pass(10)
    server.has = 77
    due = server.run_pass(12)
    assert (due.steps, server.has) == ([], 77)
    assert due.notes == [
        "u:alice (ncpus) in queue workq is 77, entry 1 had set it to 8: changed by hand, and left as it is"
    ]
    assert server.run_pass(13).notes == server.run_pass(20).notes == []
    assert (server.has, server.state(1, 25)) == (77, CHANGED_BY_HAND)
    # The next entry begins anew, from what is there then.
    server.run_pass(30)
    assert server.has == 8
    server.run_pass(40)
    assert server.has == 77


def test_the_value_of_before_set_by_hand_is_a_change_too() -> None:
    server = Server((entry(1, 10, 20),))
    server.run_pass(10)
    server.has = 4
    assert server.run_pass(11).steps == []
    assert server.state(1, 11) == CHANGED_BY_HAND


def test_a_pass_killed_before_or_after_the_request_is_made_good() -> None:
    for was_sent in (False, True):
        server = Server((entry(1, 10, 20),))
        server.record = server.look(10).record
        server.has = 8 if was_sent else 4
        assert len(server.run_pass(11).steps) == (not was_sent)
        assert (server.has, server.state(1, 11)) == (8, IN_FORCE)
        server.record = server.look(20).record
        server.has = 4 if was_sent else 8
        server.run_pass(21)
        assert (server.has, server.record.overrides, server.state(1, 21)) == (4, {}, OVER)


def test_a_refused_quota_is_tried_again_until_its_end_and_then_missed() -> None:
    server = Server((entry(1, 10, 20),))
    for now_s in (10, 11, 19):
        due = server.look(now_s)
        assert due.steps == [SetLimit(ALICE, 4, 8, 1)]
        server.record = due.record
    assert server.run_pass(20).steps == []
    assert (server.has, server.state(1, 20), server.record.overrides) == (4, MISSED, {})


def test_nothing_new_is_set_in_observe_and_what_was_set_goes_back() -> None:
    server = Server((entry(1, 10, 20), entry(2, 20, 30, 16)))
    server.run_pass(10)
    server.why_not = "queue workq is in observe"
    due = server.run_pass(20)
    assert due.steps == [SetLimit(ALICE, 8, 4, 0)]
    assert due.waits == {2: "queue workq is in observe"}
    assert state_of(server.plan[1], due, 20) == ("waits", "queue workq is in observe")
    server.run_pass(30)
    assert server.state(2, 30) == MISSED
    server = Server((entry(1, 10, 20),))
    server.why_not = "queue workq is in observe"
    server.run_pass(12)
    server.why_not = ""
    server.run_pass(13)
    assert (server.has, server.state(1, 13)) == (8, IN_FORCE)


def test_during_a_pause_nothing_is_set_or_taken_back() -> None:
    server = Server((entry(1, 10, 20), entry(2, 30, 40)))
    server.run_pass(10)
    server.paused = "pbsteer is paused (works)"
    due = server.run_pass(20)
    assert (due.steps, due.undo_waits) == ([], {ALICE: server.paused})
    assert state_of(server.plan[0], due, 20) == ("to go back", server.paused)
    assert server.run_pass(31).waits == {2: server.paused}
    server.paused = ""
    server.run_pass(35)
    assert server.has == 8
    server.run_pass(40)
    assert server.has == 4


def test_a_withdrawn_quota_goes_back_at_once() -> None:
    server = Server((entry(1, 10, 20),))
    server.run_pass(10)
    server.plan = ()
    server.run_pass(11)
    assert (server.has, server.record) == (4, PlanRecord({}, {}))


def test_a_limit_that_cannot_be_read_is_left_alone() -> None:
    plan = (entry(1, 10, 20),)
    due = find_due(plan, PlanRecord(), {}, 10, lambda _: "")
    assert (due.steps, due.waits) == ([], {1: "u:alice (ncpus) in queue workq cannot be read"})


def test_without_the_record_what_had_begun_is_left_and_what_comes_is_set() -> None:
    server = Server((entry(1, 10, 20), entry(2, 20, 30, 16)), has=8)
    server.record = PlanRecord(lost=True)
    server.run_pass(12)
    assert (server.has, server.state(1, 12), server.record.lost) == (8, RECORD_LOST, False)
    server.run_pass(20)
    server.run_pass(30)
    assert (server.has, server.state(2, 30)) == (8, OVER)


def test_a_record_reads_back_and_what_is_none_is_refused() -> None:
    server = Server((entry(1, 10, 20), entry(2, 0, 5)))
    server.run_pass(10)
    assert PlanRecord.from_data(server.record.to_data()) == server.record
    assert server.record.outcomes == {1: Outcome(IN_FORCE, 10), 2: Outcome(MISSED, 10)}
    good = server.record.to_data()
    for bad in (
        None,
        {**good, "version": 2},
        {**good, "overrides": [{}]},
        {**good, "overrides": 3},
        {**good, "outcomes": {"1": {"stage": "gone", "at_s": 1, "found": None}}},
        {**good, "outcomes": {"x": {}}},
    ):
        with pytest.raises(PlanError):
            PlanRecord.from_data(bad)


@pytest.mark.parametrize("fate", [Outcome(CHANGED_BY_HAND, 50.0, 64), Outcome(IN_FORCE, 50.0), None])
def test_an_entry_that_is_planned_after_a_withdrawal_has_a_fate_of_its_own(fate: Outcome | None) -> None:
    is_set = fate is None or fate.stage == IN_FORCE
    overrides = {ALICE: Override(4, 4, 9, 3, confirmed=True)} if is_set else {}
    record = PlanRecord(overrides, {3: fate} if fate is not None else {})
    plan = (PlannedQuota(2, ALICE, 7, 10.0, 20.0),)
    number = next_number(plan, record)
    assert number == 4
    bob = LimitKey("workq", "ncpus", ("u", "bob"))
    new = PlannedQuota(number, bob, 512, 90.0, 500.0)
    due = find_due((*plan, new), record, {ALICE: 9, bob: 8}, 100.0, lambda _: "")
    assert SetLimit(bob, 8, 512, number) in due.steps


def test_the_first_entry_is_number_one_and_others_follow() -> None:
    assert next_number((), PlanRecord()) == 1
    assert next_number((PlannedQuota(5, ALICE, 7, 10.0, 20.0),), PlanRecord()) == 6
