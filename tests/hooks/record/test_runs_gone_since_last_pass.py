"""What ended between two passes is known from what ran before, and only where it can be known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.record.runs_gone_since_last_pass import counts_cpu_time, find_finished, learns, note_runs
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Finished
from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.settings.site_settings import BackfillSettings, Settings
from tests.hooks.sample_server_statuses import NOW_S, job, running, server_status, snapshot_of, vnode

INTERVAL_S = 15
LEARNING = Settings(stripe=StripeSettings(layout="learn"))
PREDICTING = Settings(backfill=BackfillSettings(predictor="ratio"))


def noted(jobs: Mapping[str, Any], settings: Settings = PREDICTING, before: Any = None, **parts: Any) -> Any:
    """What a pass over these jobs writes down, as it comes back from the file."""
    status = server_status(jobs, **parts)
    return json.loads(json.dumps(note_runs(snapshot_of(status, settings), before or {}, settings, status.jobs)))


def later(jobs: Mapping[str, Any], after_s: float = 10) -> ServerStatus:
    return ServerStatus.from_data({**server_status(jobs).to_data(), "time_s": NOW_S + after_s})


def test_a_run_that_is_gone_has_ended_now() -> None:
    before = noted({"1.s": running(2), "2.s": running(3)})
    (run,) = find_finished(before, later({"2.s": running(3)}), (), INTERVAL_S)
    assert run == Finished("1.s", "alice", "", 2, 1795207100.0, NOW_S + 10, 600.0)
    assert run.cpu_s is None


def test_a_wish_for_a_layout_is_noted_and_assumed_in_older_notes() -> None:
    wishing = {**running(), "Resource_List.pbsteer_layout": "pack"}
    before = noted({"1.s": running(), "2.s": wishing, "3.s": running()})
    before["runs"]["3.s"] = before["runs"]["3.s"][:7]
    runs = find_finished(before, later({}), (), INTERVAL_S)
    assert {run.id: run.asked_layout for run in runs} == {"1.s": False, "2.s": True, "3.s": True}


def test_a_job_that_leaves_its_layout_to_the_policy_asks_for_none() -> None:
    before = noted({"1.s": {**running(), "Resource_List.pbsteer_layout": "auto"}})
    (run,) = find_finished(before, later({}), (), INTERVAL_S)
    assert not run.asked_layout


WRF = {**running(), "Resource_List.pbsteer_app": "wrf"}


def used(cpu: str, wall: str) -> dict[str, str]:
    return {**WRF, "resources_used.cput": cpu, "resources_used.walltime": wall}


@pytest.mark.parametrize(
    ("cpu", "wall", "cpu_s"),
    [("00:05:00", "00:02:30", 420.0), ("00:00:00", "00:02:30", 0.0), ("00:05:00", "00:01:44", None),
     ("00:05:00", "00:00:00", None), ("soon", "00:02:30", None)],
)  # fmt: skip
def test_the_cpu_time_counted_last_stands_for_the_whole_run_if_it_is_of_half_of_it(
    cpu: str, wall: str, cpu_s: float | None
) -> None:
    """The run takes 210 s, of which 200 had passed at the last pass."""
    first = noted({"1.s": WRF}, LEARNING)
    before = noted({"1.s": used(cpu, wall)}, LEARNING, first)
    (run,) = find_finished(before, later({}), (), INTERVAL_S)
    assert run.cpu_s == cpu_s
    assert not run.asked_layout


def test_a_later_pass_without_a_count_keeps_the_one_before() -> None:
    first = noted({"1.s": used("00:05:00", "00:02:30")}, LEARNING)
    (run,) = find_finished(noted({"1.s": WRF}, LEARNING, first), later({}), (), INTERVAL_S)
    assert run.cpu_s == 420.0


@pytest.mark.parametrize(
    ("layout", "learn_from", "does"),
    [("learn", "cpu-time", True), ("auto", "cpu-time", True), ("learn", "speed", False), ("stripe", "cpu-time", False)],
)
def test_cpu_time_is_read_only_where_it_is_learned_from(layout: str, learn_from: str, does: bool) -> None:
    settings = Settings(stripe=StripeSettings(layout=layout, learn_from=learn_from))
    assert counts_cpu_time(settings) is does


def test_a_run_without_walltime_has_an_infinite_estimate() -> None:
    texts = running()
    del texts["Resource_List.walltime"]
    (run,) = find_finished(noted({"1.s": texts}), later({}), (), INTERVAL_S)
    assert run.estimate_s == UNLIMITED_S


@pytest.mark.parametrize("state", ["Q", "H", "R", "E", "S", "W"])
def test_a_run_that_the_server_still_has_has_not_ended(state: str) -> None:
    before = noted({"1.s": running()})
    assert find_finished(before, later({"1.s": job(state)}), (), INTERVAL_S) == ()


def test_what_was_preempted_teaches_nothing() -> None:
    before = noted({"1.s": running(), "2.s": running()})
    assert [run.id for run in find_finished(before, later({}), {"1.s": 1}, INTERVAL_S)] == ["2.s"]


def test_a_subjob_that_waits_again_has_not_ended() -> None:
    array = job("B", 1, array_indices_remaining="4-6")
    before = noted({"8[].s": array, "8[2].s": running(1), "8[3].s": running(1)})
    requeued = job("B", 1, array_indices_remaining="3-6")
    assert [run.id for run in find_finished(before, later({"8[].s": requeued}), (), INTERVAL_S)] == ["8[2].s"]
    assert len(find_finished(before, later({}), (), INTERVAL_S)) == 2


@pytest.mark.parametrize(("after_s", "count"), [(1, 1), (45, 1), (46, 0), (86_400, 0), (0, 0), (-100, 0)])
def test_after_a_long_pause_or_a_clock_that_went_back_nobody_knows_when_it_ended(after_s: float, count: int) -> None:
    before = noted({"1.s": running()})
    assert len(find_finished(before, later({}, after_s), (), INTERVAL_S)) == count


@pytest.mark.parametrize("before", [{}, {"time_s": None}, {"time_s": NOW_S}, {"time_s": NOW_S, "runs": {"1.s": [1]}},
                                    {"time_s": NOW_S, "runs": []}, {"time_s": "x", "runs": {}}])  # fmt: skip
def test_a_file_that_makes_no_sense_teaches_nothing(before: Any) -> None:
    assert find_finished(before, later({}), (), INTERVAL_S) == ()


def test_a_run_over_more_nodes_than_it_needed_is_noted_as_such() -> None:
    texts = running(
        Resource_List__select="1:ncpus=4:mpiprocs=4", exec_vnode="+".join(["(v1:ncpus=1)+(v2:ncpus=1)"] * 2)
    )
    before = noted({"1.s": {**texts, "Resource_List.pbsteer_app": "wrf"}}, LEARNING)
    (run,) = find_finished(before, later({}), (), INTERVAL_S)
    assert (run.application, run.cores, run.vnodes, run.fewest) == ("wrf", 4, 2, 1)


def test_what_was_noted_at_the_start_of_a_run_stays_though_vnodes_go_down() -> None:
    jobs = {"1.s": running(2) | {"Resource_List.pbsteer_app": "wrf"}}
    first = noted(jobs, LEARNING)
    assert noted(jobs, LEARNING, first, vnodes={"v1": vnode(state="down")}) == first
    again = {"1.s": jobs["1.s"] | {"stime": "1795207200"}}
    assert noted(again, LEARNING, first)["runs"]["1.s"][3] == 1795207200.0


@pytest.mark.parametrize(("settings", "does"), [(Settings(), False), (LEARNING, True), (PREDICTING, True)])
def test_only_who_learns_writes_down_what_runs(settings: Settings, does: bool) -> None:
    assert learns(settings) is does
