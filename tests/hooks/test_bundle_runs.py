"""The bundled files run as PBS runs them: isolated, optimised, without a name, several events in one interpreter.

Each test is done by this Python, by the host's own, and by a Python 3.9 where the host has one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hooks.bundle import build, source_digest
from hooks.host_reading import parse_reading
from hooks.state import SUMMARY, State
from hooks.telemetry import load_counts
from policy.ledger import Ledger
from tests.hooks.pictures import job, picture, queue, running, vnode

RUNNER = Path(__file__).parent / "stand_in" / "run_hook.py"
HALF = {"backfill": {"shrink_factor": 0.5}}
SUMMARY_DATA = {
    "queues": {
        "workq": {
            "mode": "advise",
            "together": {"ncpus": 16},
            "largest": {"ncpus": 8},
            "hosts": 2,
            "vnodes": 2,
            "nodes": [[[[["ncpus", 8]]], 2]],
            "place": "",
            "chunk": {},
        }
    },
    "default_queue": "workq",
    "consumables": ["ncpus", "mem"],
    "names": ["v1", "v2"],
    "past": Ledger().to_data(),
    "starting": {"7.s": True, "8.s": False},
    "several": [],
}


def find_pythons() -> list[str]:
    """This Python, and of the host's own and a 3.9 those that run."""
    others = [shutil.which("python3", path=os.defpath), shutil.which("python3.9")]
    run = [
        other
        for other in others
        if other and not subprocess.run([other, "-c", ""], capture_output=True, check=False).returncode
    ]
    return list(dict.fromkeys([sys.executable, *run]))


class Hook:
    """Runs bundles in PBS_HOME ``home``."""

    def __init__(self, python: str, home: Path) -> None:
        self.python = python
        self.home = home
        self.state = State(home / "pbsteer")
        with self.state.locked():
            pass

    def run(self, event: str, *, text: str = "", settings: dict[str, Any] | None = None, **scenario: Any) -> Any:
        files = {"hook.py": text or build(event), "config.json": json.dumps(settings or {})}
        for name, content in files.items():
            (self.home / name).write_text(content, encoding="utf-8")
        scenario = {"home": str(self.home), "config": str(self.home / "config.json"), "events": [{}], **scenario}
        (self.home / "scenario.json").write_text(json.dumps(scenario))
        argv = [
            self.python,
            "-I",
            "-S",
            "-OO",
            str(RUNNER),
            str(self.home / "hook.py"),
            str(self.home / "scenario.json"),
        ]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["optimize"] == 2
        return answer


@pytest.fixture(params=find_pythons(), ids=lambda python: Path(python).name)
def hook(request: pytest.FixtureRequest, tmp_path: Path) -> Hook:
    return Hook(request.param, tmp_path)


def submit(**resources: str) -> dict[str, Any]:
    return {"queue": "workq", "Resource_List": resources}


def test_queuejob_refuses_accepts_and_shrinks_several_times_in_one_interpreter(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    events = [
        submit(select="1:ncpus=9"),
        submit(select="1:ncpus=8", walltime="10:00:00"),
        {"queue": None, "Resource_List": {"ncpus": "9"}},
        submit(),
    ]
    answer = hook.run("queuejob", events=events, settings=HALF)
    refused = [
        verdict is not None and verdict.startswith("pbsteer: this job can never") for verdict in answer["verdicts"]
    ]
    assert refused == [True, False, True, False]
    assert [event["ended"] for event in answer["events"]] == ["255", "0", "255", "0"]
    assert answer["events"][1]["resources"]["soft_walltime"] == "05:00:00"
    assert answer["logged"] == []


def test_queuejob_refuses_a_wish_that_makes_no_sense_and_says_what_is_allowed(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    answer = hook.run("queuejob", events=[submit(pbsteer_layout="wide"), submit(pbsteer_layout="stripe")])
    refusal = "this job can never run as it wishes: pbsteer_layout is 'wide'; allowed is pack, stripe"
    assert answer["verdicts"] == [f"pbsteer: {refusal}", None]


STRIPED = {
    "select": "2:ncpus=2:mpiprocs=2:ompthreads=1",
    "place": "scatter",
    "pbsteer_asked": "1:ncpus=4:mpiprocs=4",
}


def test_queuejob_stripes_in_the_select_and_again_changes_nothing_more(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    settings = {"stripe": {"layout": "stripe"}}
    events = [submit(select="1:ncpus=4:mpiprocs=4"), submit(**STRIPED), submit(select="1:ncpus=4", place="pack")]
    answer = hook.run("queuejob", events=events, settings=settings)
    resources = [event["resources"] for event in answer["events"]]
    assert resources == [STRIPED, STRIPED, {"select": "1:ncpus=4", "place": "pack"}]
    unset = hook.run("queuejob", events=[submit(**STRIPED)])["events"][0]["resources"]
    assert unset == {"select": "1:ncpus=4:mpiprocs=4", "place": "free", "pbsteer_asked": ""}


def alter(before: dict[str, str], changes: dict[str, str], state: int = 1, **more: str) -> dict[str, Any]:
    job_o = {"queue": "workq", "job_state": state, "euser": "alice", "Resource_List": before}
    return {"Resource_List": changes, "job_o": job_o, **more}


def test_modifyjob_refuses_what_could_not_be_submitted_but_not_to_operators(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    before = {"select": "1:ncpus=4", "walltime": "10:00:00"}
    events = [
        alter(before, {"select": "1:ncpus=9"}),
        alter(before, {"pbsteer_layout": "wide"}),
        alter(before, {"select": "1:ncpus=8"}),
        alter(before, {"select": "1:ncpus=9"}, requestor="olga"),
    ]
    refused = [verdict is not None for verdict in hook.run("modifyjob", events=events)["verdicts"]]
    assert refused == [True, True, False, False]


def test_modifyjob_keeps_the_estimate_and_the_stripe_right(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    settings = {**HALF, "stripe": {"layout": "stripe"}}
    before = {**STRIPED, "walltime": "10:00:00", "soft_walltime": "05:00:00"}
    events = [
        alter(before, {"walltime": "04:00:00"}),
        alter(before, {"walltime": "00:10:00"}),
        alter(before, {"select": "1:ncpus=2:mpiprocs=2"}),
        alter(before, {"place": "pack"}),
        alter(before, {"walltime": "04:00:00"}, state=4),
        alter({**before}, {}),
    ]
    answer = hook.run("modifyjob", events=events, settings=settings)
    assert answer["verdicts"] == [None] * len(events)
    own = {"select": "1:ncpus=4:mpiprocs=4", "pbsteer_asked": ""}
    two = {"select": "2:ncpus=1:mpiprocs=1", "place": "scatter", "pbsteer_asked": "1:ncpus=2:mpiprocs=2"}
    assert [event["resources"] for event in answer["events"]] == [
        {"walltime": "04:00:00", "soft_walltime": "02:00:00"},
        {"walltime": "00:10:00", "soft_walltime": ""},
        two,
        {**own, "place": "pack"},
        {"walltime": "04:00:00", "soft_walltime": "02:00:00"},
        {},
    ]


def test_queuejob_predicts_from_what_the_passes_have_learned(hook: Hook) -> None:
    settings = {"backfill": {"predictor": "last-two", "shrink_threshold_s": 60}}
    queues = {"workq": queue("advise")}
    ended = {f"{number}.s": running(stime=str(int(time.time()) - 1000 * number)) for number in (1, 2)}
    for jobs in (ended, {"3.s": job()}):
        hook.run("periodic", world=picture(jobs, queues=queues).to_data(), settings=settings)
    answer = hook.run("queuejob", events=[submit(select="1:ncpus=1", walltime="10:00:00")], settings=settings)
    hours, minutes, seconds = (int(part) for part in answer["events"][0]["resources"]["soft_walltime"].split(":"))
    assert abs(hours * 3600 + minutes * 60 + seconds - 1500) < 60


def test_queuejob_does_nothing_before_the_first_pass_and_in_observe(hook: Hook) -> None:
    observing = {**SUMMARY_DATA, "queues": {"workq": {**SUMMARY_DATA["queues"]["workq"], "mode": "observe"}}}  # type: ignore[index]
    for summary in (None, observing):
        if summary:
            hook.state.publish(SUMMARY, summary, shared=False)
        answer = hook.run("queuejob", events=[submit(select="1:ncpus=99", walltime="10:00:00")], settings=HALF)
        assert answer["verdicts"] == [None]
        assert "soft_walltime" not in answer["events"][0]["resources"]


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


def test_runjob_refuses_vnodes_that_no_longer_meet_the_requirements_but_not_to_administrators(hook: Hook) -> None:
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


def run_pass(hook: Hook, mode: str, **parts: Any) -> Any:
    if "scheds" in parts:
        folder = hook.state.path.parent / "sched_priv"
        folder.mkdir(exist_ok=True)
        (folder / "sched_config").write_text("fair_share: false ALL\n")
        parts["scheds"] = {name: {**texts, "sched_priv": str(folder)} for name, texts in parts["scheds"].items()}
    world = picture({"1.s": job()}, queues={"workq": queue(mode)}, **parts).to_data()
    answer = hook.run("periodic", world=world)
    assert answer["verdicts"] == [None]
    return answer


def acts_of(answer: Any) -> list[list[str]]:
    return [call for call in answer["calls"] if call[0] in ("start", "requeue", "alter", "scheduling")]


def test_a_pass_in_drive_starts_the_job_where_it_fits(hook: Hook) -> None:
    answer = run_pass(hook, "drive", vnodes={"v1": vnode(8, 8), "v2": vnode()})
    assert acts_of(answer) == [["start", "1.s", "(v2:ncpus=2)"]]
    (entry,) = hook.state.read_journal(9)
    assert (entry["acted"], entry["started"], entry["failures"]) == (["workq"], ["1.s"], [])
    assert hook.state.load_ledger()[1] == ""


def test_a_pass_in_drive_takes_vnodes_off_a_lower_class_and_gives_them_to_the_higher(hook: Hook) -> None:
    limits = {
        "max_run_res_soft.ncpus": "[u:alice=4],[u:bob=8]", "max_run_res_soft.user_priority": "[u:alice=1],[u:bob=5]",
    }  # fmt: skip
    queues = {"workq": {**queue("drive"), **limits}}
    beneficiary = {"2.s": job(cores=8, user="bob")}
    vnodes = {"v1": vnode(8, 8)}
    full = picture({"1.s": running(8), **beneficiary}, queues=queues, vnodes=vnodes)
    assert acts_of(hook.run("periodic", world=full.to_data()))[0] == ["requeue", "1.s"]
    # The victim lets go; nobody but the beneficiary gets its cores, though others have waited longer.
    waiting = {"0.s": job(cores=8, qtime="1795200000"), "1.s": job(cores=8), **beneficiary}
    free = picture(waiting, queues=queues, vnodes={"v1": vnode(8, 0)})
    assert acts_of(hook.run("periodic", world=free.to_data()))[0] == ["start", "2.s", "(v1:ncpus=8)"]
    first, second = hook.state.read_journal(9)
    assert [preempt["code"] for preempt in first["preempts"]] == ["preempted-class"]
    assert (first["requeued"], second["started"]) == (["1.s"], ["2.s"])


def test_a_pass_cuts_a_striped_job_into_its_pieces_before_it_starts_it(hook: Hook) -> None:
    striped = job(cores=4, Resource_List__select="1:ncpus=4:mpiprocs=4", Resource_List__pbsteer_layout="stripe")
    answer = hook.run("periodic", world=picture({"1.s": striped}, queues={"workq": queue("drive")}).to_data())
    assert acts_of(answer) == [
        [
            *["alter", "1.s", "Resource_List.select", "4:ncpus=1:mpiprocs=1"],
            *["Resource_List.pbsteer_asked", "1:ncpus=4:mpiprocs=4"],
        ],
        ["start", "1.s", "(v1:ncpus=1)+(v1:ncpus=1)+(v2:ncpus=1)+(v2:ncpus=1)"],
    ]


def test_passes_learn_from_runs_that_have_ended_and_only_where_it_is_wanted(hook: Hook) -> None:
    worlds = [picture(jobs, queues={"workq": queue("drive")}).to_data() for jobs in ({"1.s": running()}, {})]
    for settings, users in (({}, set()), ({"backfill": {"predictor": "ratio"}}, {"alice"})):
        for world in worlds:
            hook.run("periodic", world=world, settings=settings)
        assert hook.state.load_ledger()[0].history.keys() == users
    hook.run("periodic", world=worlds[1], settings=settings)
    assert len(hook.state.load_ledger()[0].history["alice"].last) == 1


@pytest.mark.parametrize("mode", ["observe", "advise"])
def test_a_pass_in_other_modes_only_writes_down_what_it_would_do(hook: Hook, mode: str) -> None:
    assert acts_of(run_pass(hook, mode)) == []
    (entry,) = hook.state.read_journal(9)
    assert [start["job"] for start in entry["starts"]] == ["1.s"]
    assert (entry["acted"], entry["started"]) == ([], [])
    assert not (hook.state.path / "ledger.json").exists()


SCHEDULING = {"default": {"scheduling": "True", "partition": "pbs-default", "state": "idle"}}
SWITCHED_OFF = {"default": {**SCHEDULING["default"], "scheduling": "False"}}
CYCLING = {"default": {**SWITCHED_OFF["default"], "state": "scheduling"}}


def test_a_pass_switches_the_scheduler_off_and_starts_jobs_only_once_it_has_seen_it_off(hook: Hook) -> None:
    first = run_pass(hook, "drive", scheds=SCHEDULING)
    assert acts_of(first) == [["scheduling", "default", "False"]]
    assert acts_of(run_pass(hook, "drive", scheds=CYCLING)) == []
    assert acts_of(run_pass(hook, "drive", scheds=SWITCHED_OFF)) == [["start", "1.s", "(v1:ncpus=2)"]]
    told = [" ".join(entry["notes"]) for entry in hook.state.read_journal(9)]
    assert ["being switched off" in told[0], "ending its last cycle" in told[1], told[2]] == [True, True, ""]


@pytest.mark.parametrize("mode", ["observe", "advise"])
def test_a_pass_that_finds_another_mode_switches_the_scheduler_on_again(hook: Hook, mode: str) -> None:
    run_pass(hook, "drive", scheds=SCHEDULING)
    assert acts_of(run_pass(hook, mode, scheds=SWITCHED_OFF)) == [["scheduling", "default", "True"]]
    assert acts_of(run_pass(hook, mode, scheds=SWITCHED_OFF)) == []


def test_three_passes_that_fail_hand_the_queues_back_and_it_takes_ten_good_ones_to_drive_again(hook: Hook) -> None:
    run_pass(hook, "drive", scheds=SCHEDULING)
    (hook.state.path / ".summary.json.new").symlink_to(".summary.json.new")
    for _ in range(3):
        assert acts_of(run_pass(hook, "drive", scheds=SWITCHED_OFF)) == []
    answer = run_pass(hook, "drive", scheds=SWITCHED_OFF)
    assert acts_of(answer) == [["scheduling", "default", "True"]]
    assert "3 passes in a row have failed: scheduler default is switched on again" in " ".join(answer["logged"])
    (hook.state.path / ".summary.json.new").unlink()
    acts = [acts_of(run_pass(hook, "drive", scheds=SCHEDULING)) for _ in range(11)]
    assert acts == [[["scheduling", "default", "True"]], *[[]] * 9, [["scheduling", "default", "False"]]]
    assert "drives again after 1 more" in " ".join(hook.state.read_journal(2)[0]["notes"])


def test_passes_that_fail_leave_no_victim_held(hook: Hook) -> None:
    mark = "pbsteer for=2.s how=requeue asked=1795207200 until=1795207200 held"
    held = {"1.s": job("H", Hold_Types="s", estimated__site=mark), "2.s": job(cores=99)}
    world = picture(held, queues={"workq": queue("advise")}, scheds=SCHEDULING).to_data()
    (hook.state.path / ".summary.json.new").symlink_to(".summary.json.new")
    for _ in range(3):
        assert acts_of(hook.run("periodic", world=world)) == []
    answer = hook.run("periodic", world=world)
    assert [call[:3] for call in answer["calls"] if call[1:2] == ["1.s"]] == [
        ["release", "1.s", "s"], ["alter", "1.s", "estimated.site"],
    ]  # fmt: skip
    assert "job 1.s is held no longer" in " ".join(answer["logged"])


def test_settings_that_cannot_be_read_count_as_failed_passes(hook: Hook) -> None:
    run_pass(hook, "drive", scheds=SCHEDULING)
    world = picture({"1.s": job()}, queues={"workq": queue("drive")}, scheds=SWITCHED_OFF).to_data()
    acts = [acts_of(hook.run("periodic", world=world, settings={"no": "such table"})) for _ in range(4)]
    assert acts == [[], [], [], [["scheduling", "default", "True"]]]


def test_what_would_be_done_is_counted_by_episode(hook: Hook) -> None:
    for _ in range(3):
        run_pass(hook, "observe")
    hook.run("periodic", world=picture({}, queues={"workq": queue("observe")}).to_data())
    run_pass(hook, "observe")
    assert [entry["would"]["starts"] for entry in hook.state.read_journal(9)] == [1, 1, 1, 1, 2]


def test_a_pass_tells_the_other_hooks_the_modes(hook: Hook) -> None:
    run_pass(hook, "drive")
    answer = hook.run("queuejob", events=[submit(select="17:ncpus=1"), submit(select="16:ncpus=1")])
    assert [verdict is None for verdict in answer["verdicts"]] == [False, True]


def test_a_pass_leaves_the_folder_to_one_that_is_still_busy(hook: Hook) -> None:
    with hook.state.locked():
        answer = run_pass(hook, "drive")
    assert acts_of(answer) == []
    assert "another pass" in answer["logged"][0]


def test_a_pass_whose_hook_is_removed_meanwhile_ends_without_a_word(hook: Hook) -> None:
    begun = "            trust = begin_pass(pbs_ifl, state, settings, sentences)"
    gone = build("periodic").replace(begun, f"            __import__('os').unlink(config)\n{begun}", 1)
    assert gone.count("unlink(config)") == 1
    world = picture({"1.s": job()}, queues={"workq": queue("drive")}).to_data()
    answer = hook.run("periodic", text=gone, world=world)
    assert (answer["logged"], acts_of(answer)) == ([], [])
    # One whose script is still there has only lost its settings, and says so.
    (hook.home / "config.PY").write_text("")
    assert "No such file" in hook.run("periodic", text=gone, world=world)["logged"][-1]


def test_a_pass_that_begins_when_its_hook_is_gone_leaves_no_folder_behind(hook: Hook) -> None:
    shutil.rmtree(hook.state.path)
    world = picture({}, queues={"workq": queue("drive")}).to_data()
    answer = hook.run("periodic", world=world, config=str(hook.home / "gone.CF"))
    assert (answer["logged"], acts_of(answer)) == ([], [])
    assert not hook.state.path.exists()


def test_a_pass_that_finds_the_folder_held_by_the_removal_of_its_hook_is_silent(hook: Hook) -> None:
    held = "        with state.locked():"
    gone = build("periodic").replace(held, f"        __import__('os').unlink(config)\n{held}", 1)
    assert gone.count("unlink(config)") == 1
    world = picture({}, queues={"workq": queue("drive")}).to_data()
    with hook.state.locked():
        answer = hook.run("periodic", text=gone, world=world)
    assert answer["logged"] == []


def test_a_pass_starts_anew_with_a_ledger_that_cannot_be_read_and_says_so(hook: Hook) -> None:
    (hook.state.path / "ledger.json").write_text('{"version": 99}')
    answer = run_pass(hook, "drive")
    assert acts_of(answer) != []
    assert "version 99" in answer["logged"][0]


def test_a_pass_that_cannot_remember_does_nothing(hook: Hook) -> None:
    full = build("periodic").replace("file.write(text)", "raise OSError(28, 'No space left on device')", 1)
    world = picture({"1.s": job()}, queues={"workq": queue("drive")}).to_data()
    answer = hook.run("periodic", text=full, world=world)
    assert (answer["verdicts"], acts_of(answer)) == ([None], [])
    assert "No space left on device" in answer["logged"][0]


def test_no_name_of_a_job_disturbs_a_pass(hook: Hook) -> None:
    names = ["[/red]", "[@click=app.quit]x[/]", "\x1b[2J", "a\nb", "\U0001f600", "'\"\\", "\udcff"]
    jobs = {f"{number}.s": job(Job_Name=name, comment=name) for number, name in enumerate(names)}
    jobs["9.s"] = running(Job_Name="\x00")
    answer = hook.run("periodic", world=picture(jobs, queues={"workq": queue("drive")}).to_data())
    assert len([call for call in acts_of(answer) if call[0] == "start"]) == len(names)
    assert len(hook.state.read_journal(9)) == 1


@pytest.mark.parametrize("event", ["queuejob", "runjob", "periodic"])
def test_an_error_of_ours_lets_pbs_go_on_and_leaves_its_traceback(hook: Hook, event: str) -> None:
    raising = build(event).replace(
        "def handle(pbs: Any) -> str | None:", "def handle(pbs: Any) -> str | None:\n    1 / 0", 1
    )
    answer = hook.run(event, text=raising, events=[{}, {}])
    assert (answer["verdicts"], [each["ended"] for each in answer["events"]]) == ([None, None], ["0", "0"])
    for message in answer["logged"]:
        assert f"the {event} hook failed and lets PBS go on" in message
        assert f"<pbsteer {source_digest()}: hooks/entries/{event}.py>" in message
        assert "1 / 0" in message
        assert "ZeroDivisionError" in message


@pytest.mark.parametrize("event", ["queuejob", "runjob", "periodic"])
def test_a_bundle_that_cannot_even_be_loaded_lets_pbs_go_on_and_is_tried_again(hook: Hook, event: str) -> None:
    broken = build(event).replace("def handle(pbs: Any)", "raise ValueError('broken')\ndef handle(pbs: Any)", 1)
    answer = hook.run(event, text=broken, events=[{}, {}])
    assert answer["verdicts"] == [None, None]
    assert len([message for message in answer["logged"] if "ValueError: broken" in message]) == 2


def test_settings_that_cannot_be_used_let_pbs_go_on(hook: Hook) -> None:
    answer = hook.run("periodic", settings={"nonsense": 1}, world=picture().to_data())
    assert answer["verdicts"] == [None]
    assert "unknown key 'nonsense'" in answer["logged"][0]


def test_a_verdict_is_not_swallowed_inside_an_entry(hook: Hook) -> None:
    ending = build("runjob").replace(
        "def handle(pbs: Any) -> str | None:", "def handle(pbs: Any) -> str | None:\n    pbs.event().reject('mine')", 1
    )
    answer = hook.run("runjob", text=ending)
    assert (answer["verdicts"], answer["logged"]) == (["mine"], [])


def test_an_update_meets_nothing_of_the_version_before(hook: Hook) -> None:
    old = build("queuejob").replace(source_digest(), "0" * 12).partition("import pbs\n\n_refusal")[0]
    first = f"import pbs\nexec(compile({old + '_handle(pbs)'!r}, 'old', 'exec'), {{**globals(), 'pbs': pbs}})\n"
    answer = hook.run("queuejob", text=first + build("queuejob"))
    assert answer["verdicts"] == [None]
    assert {name.split(".")[0] for name in answer["modules"]} == {f"pbsteer_{source_digest()}"}


@pytest.mark.parametrize(
    ("exit_status", "wish", "method", "calls"),
    [
        (0, "", "requeue", False),
        (0, "requeue", "signal", False),
        (0, "", "signal", True),
        (0, "signal", "requeue", True),
        (85, "", "requeue", True),
        (256 + 12, "", "requeue", True),
        (256 + 15, "signal", "signal", False),
    ],
)
def test_an_end_asks_the_server_and_loads_what_that_needs_only_where_the_job_may_have_been_asked(
    hook: Hook, exit_status: int, wish: str, method: str, calls: bool
) -> None:
    event = {"id": "1.s", "Exit_status": exit_status, "Resource_List": {"pbsteer_save": wish} if wish else {}}
    settings = {"checkpoint": {"method": method, "exit_status": 85}}
    answer = hook.run("execjob_epilogue", events=[event], settings=settings)
    assert [verdict for verdict in answer["verdicts"] if verdict] == []
    loaded = {name.partition(".")[2] for name in answer["modules"]}
    assert ("hooks.ifl" in loaded) is calls
    light = {"policy.wishes", "hooks.resources", "hooks.method", "hooks.entries.execjob_epilogue"}
    assert (loaded == light) is not calls


def test_an_end_that_was_asked_for_is_brought_back_and_no_other(hook: Hook) -> None:
    mark = f"pbsteer for=9.s how=signal asked={int(time.time()) - 5} until={int(time.time()) + 60}"
    jobs = {"1.s": running(stime="900") | {"estimated.site": mark}, "2.s": running(stime="900")}
    events = [
        {"id": job_id, "Exit_status": 0, "Resource_List": {"pbsteer_save": "signal"}}
        for job_id in ("1.s", "2.s", "1.s")
    ]
    answer = hook.run("execjob_epilogue", events=events, world=picture(jobs).to_data())
    assert [event["is queued again"] for event in answer["events"]] == [True, False, True]


def test_a_mom_s_run_reports_this_host_once_and_keeps_its_counts_where_pbs_clears_up(hook: Hook) -> None:
    (hook.home / "tmp").mkdir()
    vnodes: dict[str, Any] = {name: {"resources_available": {}, "resources_assigned": {}} for name in ("v1", "v2")}
    answer = hook.run("exechost_periodic", events=[{}, {}], vnodes=vnodes)
    assert (answer["verdicts"], answer["logged"]) == ([None, None], [])
    assert answer["vnodes"]["v2"] == {}
    (text,) = answer["vnodes"]["v1"].values()
    reading = parse_reading(text)
    assert reading is not None
    assert abs(reading.time_s - time.time()) < 60
    assert reading.memory_mib is not None
    assert load_counts(hook.home / "tmp" / "pbsteer_counts.json") is not None


def test_a_mom_s_run_that_cannot_keep_its_counts_reports_what_needs_none(hook: Hook) -> None:
    answer = hook.run("exechost_periodic", vnodes={"v1": {"resources_available": {}, "resources_assigned": {}}})
    assert ";mem=" in answer["vnodes"]["v1"]["pbsteer_reading"]
    assert "load and network are not reported" in "".join(answer["logged"])


def test_a_mom_s_run_for_a_host_that_has_no_vnode_of_its_name_does_nothing(hook: Hook) -> None:
    answer = hook.run("exechost_periodic", vnodes={"v2": {"resources_available": {}, "resources_assigned": {}}})
    assert (answer["vnodes"], answer["logged"], answer["verdicts"]) == ({"v2": {}}, [], [None])
