"""The bundled hook at a start: what it lets through, and what it writes on the job."""

from __future__ import annotations

import time
from typing import Any

import pytest

from hooks.pbs.job_attributes.job_altered_since_plan import HELD
from hooks.store.event_hook_summary import LONGEST_CYCLE_S, SUMMARY
from tests.hooks.run_bundled_hook import SUMMARY_DATA, Hook


def test_runjob_refuses_what_does_not_fit(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    vnodes = {"v1": {"resources_available": {"ncpus": 8}, "resources_assigned": {"ncpus": 4}, "jobs": "9.s/0"}}
    events = [
        {"queue": queue, "exec_vnode": f"(v1:ncpus={cores})"}
        for queue, cores in (("workq", 4), ("workq", 5), ("R9", 5))
    ]
    answer = hook.run("runjob", events=events, vnodes=vnodes)
    assert answer["verdicts"] == [
        None,
        "pbsteer: vnode v1 has ncpus=8, of which 4 are in use: there is no room for 5 more",
        None,
    ]


@pytest.mark.parametrize(
    ("requestor", "queues", "seen_s_ago", "refused"),
    [
        ("Scheduler", ["workq"], 5, True),
        ("Scheduler", ["workq"], LONGEST_CYCLE_S + 5, False),
        ("Scheduler", ["workq"], -3600, False),
        ("Scheduler", ["other"], 5, False),
        ("Scheduler", [], 5, False),
        ("root", ["workq"], 5, False),
    ],
)
def test_in_a_cycle_for_reservations_the_scheduler_starts_no_job_of_a_driven_queue(
    hook: Hook, requestor: str, queues: list[str], seen_s_ago: float, refused: bool
) -> None:
    hook.state.publish(
        SUMMARY, {**SUMMARY_DATA, "in_cycle": queues, "planned_s": time.time() - seen_s_ago}, shared=False
    )
    idle = {"v1": {"resources_available": {"ncpus": 8}, "resources_assigned": {"ncpus": 0}}}
    starts = [{"queue": queue, "requestor": requestor, "exec_vnode": "(v1:ncpus=1)"} for queue in ("workq", "R9")]
    verdict, in_reservation = hook.run("runjob", events=starts, vnodes=idle)["verdicts"]
    assert in_reservation is None
    assert (verdict is not None) == refused
    assert not refused or "serves only reservations" in verdict


@pytest.mark.parametrize(
    ("lists", "own", "variables"),
    [
        ("none", None, {}),
        ("none", "x", {"PBSTEER_VNODES": "x"}),
        ("environment", None, {"PBSTEER_VNODES": "v1:v1:8:1:0:0-1"}),
        ("bind", "x", {"PBSTEER_VNODES": "v1:v1:8:1:0:0-1"}),
    ],
)
def test_a_start_hands_over_the_list_of_cores_where_the_site_wants_it(
    hook: Hook, lists: str, own: str | None, variables: dict[str, str]
) -> None:
    data = {**SUMMARY_DATA, "lists": {"7.s": "v1:v1:8:1:0:0-1"}, "starting": {"7.s": False}}
    hook.state.publish(SUMMARY, data, shared=False)
    given = {} if own is None else {"PBSTEER_VNODES": own}
    start = {"id": "7.s", "queue": "workq", "requestor": "root", "exec_vnode": "(v1:ncpus=2)", "Variable_List": given}
    other = {**start, "id": "8.s", "Variable_List": dict(given)}
    vnodes = {"v1": {"resources_available": {"ncpus": 8}, "resources_assigned": {"ncpus": 0}}}
    answer = hook.run("runjob", events=[start, other], vnodes=vnodes, settings={"ranking": {"lists": lists}})
    assert answer["verdicts"] == [None, None]
    assert answer["events"][0]["variables"] == variables
    # A start that has none does not keep one from before.
    left = given if lists == "none" else dict.fromkeys(given, "")
    assert answer["events"][1]["variables"] == left


@pytest.mark.parametrize(
    ("of_queue", "wish", "method", "written"),
    [
        ("signal", {}, "requeue", {"pbsteer_save": "signal"}),
        ("signal", {"pbsteer_save": "requeue"}, "requeue", {"pbsteer_save": "requeue"}),
        ("signal", {}, "signal", {}),
        ("requeue", {}, "signal", {}),
        ("", {}, "requeue", {}),
    ],
)
def test_a_start_writes_on_the_job_what_its_host_could_not_know(
    hook: Hook, of_queue: str, wish: dict[str, str], method: str, written: dict[str, str]
) -> None:
    queues: Any = SUMMARY_DATA["queues"]
    workq = {**queues["workq"], "save": of_queue}
    hook.state.publish(SUMMARY, {**SUMMARY_DATA, "queues": {"workq": workq}}, shared=False)
    vnodes = {"v1": {"resources_available": {"ncpus": 8}, "resources_assigned": {"ncpus": 4}, "jobs": "9.s/0"}}
    starts = [{"queue": "workq", "exec_vnode": f"(v1:ncpus={cores})", "Resource_List": wish} for cores in (4, 5)]
    answer = hook.run("runjob", events=starts, vnodes=vnodes, settings={"checkpoint": {"method": method}})
    assert [event["resources"] for event in answer["events"]] == [written, wish]


def test_runjob_keeps_stripes_apart_and_starts_off_vnodes_that_take_no_jobs(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    settings = {"stripe": {"stagger_s": 100}, "schedule": {"budget_s": 5}}
    idle = {"resources_available": {"ncpus": 8}, "resources_assigned": {"ncpus": 0}}
    vnodes = {"v1": idle, "v2": idle, "v3": {**idle, "state": 1}}

    def start(job_id: str, requestor: str, place: str, **wishes: str) -> dict[str, Any]:
        return {"id": job_id, "requestor": requestor, "queue": "workq", "exec_vnode": place, "Resource_List": wishes}

    both, stripe = "(v1:ncpus=1)+(v2:ncpus=1)", {"pbsteer_asked": "1:ncpus=2:mpiprocs=2"}
    events = [
        start("1.s", "Scheduler", both, **stripe),
        start("2.s", "Scheduler", both, **stripe),
        start("7.s", "root", both),
        start("8.s", "root", both, **stripe),
        start("2.s", "root", both, **stripe),
        start("3.s", "Scheduler", both),
        start("4.s", "Scheduler", "(v1:ncpus=1)", **stripe),
        start("5.s", "Scheduler", "(v3:ncpus=1)"),
        start("5.s", "root", "(v3:ncpus=1)"),
    ]
    verdicts = hook.run("runjob", events=events, vnodes=vnodes, settings=settings)["verdicts"]
    assert [verdict is None for verdict in verdicts] == [True, False, False, True, True, True, True, False, True]
    assert "two of them start 100 s apart there" in verdicts[1]
    assert verdicts[7] == "pbsteer: vnode v3 is offline"


def test_runjob_refuses_vnodes_that_no_longer_meet_requirements(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    now_s = int(time.time())
    readings = {"v1": f"t={now_s};mem=9000/9000;temp=40", "v2": f"t={now_s};mem=500/9000;temp=40", "v3": ""}
    vnodes = {
        name: {"resources_available": {"ncpus": 8, "pbsteer_reading": text}, "resources_assigned": {"ncpus": 0}}
        for name, text in readings.items()
    }

    def start(vnode: str, requestor: str = "Scheduler", **needs: str) -> dict[str, Any]:
        place = f"({vnode}:ncpus=1)"
        return {"requestor": requestor, "queue": "workq", "exec_vnode": place, "Resource_List": needs}

    events = [
        start("v1", pbsteer_min_mem="1gb", pbsteer_max_temp="60"),
        start("v2", pbsteer_min_mem="1gb"),
        start("v1", pbsteer_max_temp="30"),
        start("v3", pbsteer_min_mem="1gb"),
        start("v3"),
        start("v2", "root", pbsteer_min_mem="1gb"),
    ]
    answer = hook.run("runjob", events=events, vnodes=vnodes)
    assert [verdict is None for verdict in answer["verdicts"]] == [True, False, False, False, True, True]
    assert answer["logged"] == []


def test_runjob_counts_starts_that_are_under_way(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    vnodes = {"v1": {"resources_available": {"ncpus": 8}, "resources_assigned": {}, "jobs": "9.s/0, 9.s/1, 9.s/2"}}
    jobs = {"9.s": {"exec_vnode": "(v1:ncpus=3)"}}
    events = [{"queue": "workq", "exec_vnode": f"(v1:ncpus={cores})"} for cores in (5, 6)]
    answer = hook.run("runjob", events=events, vnodes=vnodes, jobs=jobs)
    assert [verdict is None for verdict in answer["verdicts"]] == [True, False]


@pytest.mark.parametrize(
    ("requestor", "seen_s_ago", "interval_s", "refused"),
    [
        ("Scheduler", 5, 15, True),
        ("Scheduler", LONGEST_CYCLE_S + 5, 15, False),
        ("Scheduler", LONGEST_CYCLE_S + 5, 60, True),
        ("Scheduler", 86400, 60, False),
        ("root", 5, 15, False),
    ],
)
def test_what_is_kept_for_a_resumed_job_is_free_again_once_passes_are_silent(
    hook: Hook, requestor: str, seen_s_ago: float, interval_s: int, refused: bool
) -> None:
    data = {**SUMMARY_DATA, "kept": {"v1": None}, "planned_s": time.time() - seen_s_ago}
    hook.state.publish(SUMMARY, data, shared=False)
    idle = {"v1": {"resources_available": {"ncpus": 8}, "resources_assigned": {"ncpus": 0}}}
    start = {"queue": "workq", "requestor": requestor, "exec_vnode": "(v1:ncpus=1)"}
    settings = {"schedule": {"interval_s": interval_s}}
    (verdict,) = hook.run("runjob", events=[start], vnodes=idle, settings=settings)["verdicts"]
    assert verdict == ("pbsteer: vnode v1 is kept for a job that is to be resumed" if refused else None)


@pytest.mark.parametrize(("state", "refused"), [(1, False), (2, True), (3, True), (7, False)])
@pytest.mark.parametrize("job_id", ["7.s", "7[2].s"])
def test_a_planned_start_of_a_job_that_was_held_since_is_refused(
    hook: Hook, job_id: str, state: int, refused: bool
) -> None:
    """An administrator's own start of a held job is not judged."""
    planned = {**SUMMARY_DATA, "planned": {job_id: "as it was"}, "planned_s": time.time()}
    hook.state.publish(SUMMARY, planned, shared=False)
    idle = {"v1": {"resources_available": {"ncpus": 8}, "resources_assigned": {"ncpus": 0}}}
    whole = {"job_state": state, "mtime": 1}
    start = {"queue": "workq", "requestor": "root", "exec_vnode": "(v1:ncpus=1)"}
    of_job = {"id": job_id, **(whole if job_id == "7.s" else {"job_state": 1})}
    others = {"7.s": whole, "7[].s": whole}
    verdicts = hook.run(
        "runjob", events=[{**start, **of_job}, {**start, **of_job, "id": "8.s"}], vnodes=idle, jobs=others
    )["verdicts"]
    assert verdicts == [f"pbsteer: {HELD}" if refused else None, None]
