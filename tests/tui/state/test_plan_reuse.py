"""Plans that hold: kept while nothing moves, made anew for whatever may change them; what is kept is what would be
decided."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy import Ledger, Settings
from policy.model.jobs_runs_vnodes_queues import Window
from tests.tui.scripted_server import NOON_S, a_job, a_server_status, changed, many_jobs, running, with_job
from tui.backends.pass_journal import Passes
from tui.state.cluster_view import LASTS_S, ClusterView, in_plan_order, is_still_current, see


def seconds_of_work() -> float:
    return next(_COUNT)


_COUNT = itertools.count()


def a_cluster(
    server_status: ServerStatus, settings: Settings | None = None, ledger: Ledger | None = None
) -> ClusterView:
    return see(server_status, settings or Settings(), ledger or Ledger(), 0.1)


def later(server_status: ServerStatus, seconds: float) -> ServerStatus:
    return replace(server_status, time_s=server_status.time_s + seconds)


def test_nothing_is_decided_anew_where_only_the_time_went_on() -> None:
    first = a_cluster(a_server_status()).decided(seconds_of_work)
    second = a_cluster(later(a_server_status(), 5)).decided(seconds_of_work, before=first)
    assert second.decision is first.decision
    assert second.now_s == first.now_s + 5
    assert (
        a_cluster(later(a_server_status(), LASTS_S)).decided(seconds_of_work, before=second).decision
        is not first.decision
    )


PICTURE = a_server_status()


@pytest.mark.parametrize(
    "server_status",
    [
        with_job(PICTURE, "99.hpc1", a_job("dave", 1)),
        changed(PICTURE, jobs={job: texts for job, texts in PICTURE.jobs.items() if job != "13.hpc1"}),
        changed(PICTURE, vnodes={**PICTURE.vnodes, "v1": {**PICTURE.vnodes["v1"], "state": "offline"}}),
        changed(PICTURE, queues={**PICTURE.queues, "workq": {**PICTURE.queues["workq"], "started": "False"}}),
        changed(PICTURE, server={**PICTURE.server, "scheduling": "odd"}),
        changed(PICTURE, scheds={**PICTURE.scheds, "another": {"scheduling": "True"}}),
        changed(PICTURE, resources={**PICTURE.resources, "licences": {"type": "long", "flag": "q"}}),
        changed(PICTURE, reservations={"R1.hpc1": {"queue": "R1"}}),
        changed(PICTURE, time_s=NOON_S - 1),
    ],
)
def test_whatever_changed_is_decided_on(server_status: ServerStatus) -> None:
    first = a_cluster(PICTURE).decided(seconds_of_work)
    assert a_cluster(server_status).decided(seconds_of_work, before=first).decision is not first.decision


def test_other_closures_are_decided_on() -> None:
    closed = {"workq": (Window(NOON_S, NOON_S + 60, "dedicated time"),)}
    first = see(PICTURE, Settings(), Ledger(), 0.1, passes=Passes(closed={})).decided(seconds_of_work)
    same = see(PICTURE, Settings(), Ledger(), 0.1, passes=Passes(closed={})).decided(seconds_of_work, before=first)
    assert same.decision is first.decision
    other = see(PICTURE, Settings(), Ledger(), 0.1, passes=Passes(closed=closed)).decided(seconds_of_work, before=first)
    assert other.decision is not first.decision


def test_other_settings_and_another_ledger_are_decided_on() -> None:
    first = a_cluster(PICTURE).decided(seconds_of_work)
    settings = Settings.from_data({"quota": {"exempt_s": 1}}, "here")
    ledger = Ledger(preemptions={"11.hpc1": 1})
    assert first.decision is not None
    assert is_still_current(first.decision, first, a_cluster(PICTURE))
    assert not is_still_current(first.decision, first, a_cluster(PICTURE, settings))
    assert not is_still_current(first.decision, first, a_cluster(PICTURE, ledger=ledger))


def test_the_end_of_a_run_is_decided_on() -> None:
    server_status = with_job(PICTURE, "98.hpc1", {**running("dave", 1, "v1"), "stime": str(int(NOON_S - 7200 + 20))})
    first = a_cluster(server_status).decided(seconds_of_work)
    assert first.decision is not None
    assert is_still_current(first.decision, first, a_cluster(later(server_status, 19)))
    assert not is_still_current(first.decision, first, a_cluster(later(server_status, 20)))


@pytest.mark.parametrize("server_status", [PICTURE, many_jobs(300)])
@pytest.mark.parametrize("seconds", [1, 15, 59])
def test_what_is_kept_is_what_would_be_decided(server_status: ServerStatus, seconds: float) -> None:
    first = a_cluster(server_status).decided(seconds_of_work)
    kept = a_cluster(later(server_status, seconds)).decided(seconds_of_work, before=first)
    anew = a_cluster(later(server_status, seconds)).decided(seconds_of_work)
    assert kept.decision is not None
    assert anew.decision is not None
    assert kept.decision is first.decision
    assert kept.decision.starts == anew.decision.starts
    assert kept.decision.preempts == anew.decision.preempts
    assert {job: reason.code for job, reason in kept.decision.reasons.items()} == {
        job: reason.code for job, reason in anew.decision.reasons.items()
    }
    assert kept.job_ids == anew.job_ids


def test_waiting_jobs_come_by_promise_then_class_then_queue_order_and_strangers_last() -> None:
    order = ["a", "b", "c", "d"]
    assert in_plan_order(["x", "d", "c", "b", "a"], order, {}, {}) == ["a", "b", "c", "d", "x"]
    assert in_plan_order(["x", "d", "c", "b", "a"], order, {"c": 5, "b": 1, "x": 0}, {"d"}) == [
        "d",
        "c",
        "b",
        "x",
        "a",
    ]


def test_the_snapshot_and_the_one_after_the_starts_are_read_without_changing_each_other() -> None:
    """The screen's thread reads one while its workers read the other: with one index for both, each read would first
    bring it to the other version."""
    idle = changed(PICTURE, jobs={job: texts for job, texts in PICTURE.jobs.items() if texts["job_state"] == "Q"})
    decision = a_cluster(idle).decided(seconds_of_work).decision
    assert decision is not None
    before, after = decision.snapshot.cluster(), decision.plan.started.cluster()
    assert decision.plan.starts
    assert before is not after
    assert before.runs.keys() | {start.id for start in decision.plan.starts} == after.runs.keys()
    assert decision.snapshot.cluster() is before
