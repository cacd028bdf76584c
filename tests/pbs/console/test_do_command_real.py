"""What administrators do, on a real server: each verb as ``pbsteer do``, by a manager and by a user who is none."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from container.run_program import Finished
from tests.pbs.cluster import PbsCluster

ROOT = Path(__file__).parents[3]

AS_ALICE = """
import json, os, pwd, sys
from click.testing import CliRunner
from tui.cli.main import main
import _strptime
# What a command loads late is loaded before the rights to read it are given up.
CliRunner().invoke(main, ["do", "offline", "nosuch"])
alice = pwd.getpwnam("alice")
os.setgid(alice.pw_gid)
os.setuid(alice.pw_uid)
os.environ["HOME"], os.environ["XDG_STATE_HOME"] = alice.pw_dir, sys.argv[1]
main(json.loads(sys.argv[2]))
"""


def do(pbs: PbsCluster, *arguments: str) -> Finished:
    environment = ["env", f"PYTHONPATH={ROOT}", f"XDG_STATE_HOME={pbs.server_home}"]
    return pbs.run([*environment, sys.executable, "-m", "tui.cli.main", "do", *arguments])


def do_all(pbs: PbsCluster, *arguments: str) -> str:
    return str(do(pbs, *arguments).demand_success().stdout)


def do_as_alice(pbs: PbsCluster, home: Path, arguments: Sequence[str]) -> Finished:
    command = [sys.executable, "-c", AS_ALICE, str(home), json.dumps(["do", *arguments])]
    return pbs.run(["env", f"PYTHONPATH={ROOT}", *command])


def stages(home: Path) -> list[tuple[str, str]]:
    lines = (home / "pbsteer" / "audit.jsonl").read_text().splitlines()
    return [(entry["stage"], entry["command"]) for entry in map(json.loads, lines)]


def test_jobs_are_held_released_moved_given_a_priority_requeued_and_deleted(pbs: PbsCluster) -> None:
    pbs.qmgr("create queue other queue_type=execution", "set queue other started = true, enabled = true")
    waiting = pbs.qsub("alice", select="1:ncpus=500")
    run = pbs.qsub("bob")
    pbs.wait_for_state(run, "R")
    assert f"qhold -h o {waiting}" in do_all(pbs, "hold", waiting, "--yes")
    assert (pbs.job(waiting)["job_state"], pbs.job(waiting)["Hold_Types"]) == ("H", "o")
    do_all(pbs, "release", waiting.partition(".")[0], "--yes")
    assert pbs.job(waiting)["Hold_Types"] == "n"
    do_all(pbs, "priority", "-5", waiting, "--yes")
    assert pbs.job(waiting)["Priority"] == -5
    do_all(pbs, "move", "other", waiting, "--yes")
    assert pbs.job(waiting)["queue"] == "other"
    refused = do(pbs, "requeue", run, "--yes")
    assert (refused.status, "asks for --confirm" in refused.stderr) == (2, True)
    began = pbs.job(run)["run_count"]
    do_all(pbs, "requeue", run, "--confirm", run.partition(".")[0])
    pbs.wait_until(lambda: int(pbs.job(run).get("run_count", 0)) > int(began), 120.0, "another run")
    do_all(pbs, "delete", waiting, run, "--confirm", "2")
    for job in (waiting, run):
        pbs.wait_for_state(job, "F")
    assert {stage for stage, _ in stages(pbs.server_home)} == {"sending", "done"}


def test_a_job_that_ended_meanwhile_is_left_out_or_named(pbs: PbsCluster) -> None:
    job = pbs.qsub("alice")
    gone = do(pbs, "delete", job, "99999", "--confirm", "2")
    assert (gone.status, gone.stderr) == (1, "Error: job '99999' is not on the server\n")
    assert pbs.job_state(job) in "QR"


def test_arrays_are_held_as_one_and_their_runs_requeued_each(pbs: PbsCluster) -> None:
    array = pbs.qsub("bob", select="1:ncpus=8", options=["-J", "0-5"])
    pbs.wait_until(lambda: pbs.job_state(array) == "B", 120.0, "subjobs that run")
    pbs.wait_until(lambda: len(running_subjobs(pbs)) == 3, 120.0, "three subjobs that run")
    pbs.qmgr("set sched default scheduling = False")
    answer = json.loads(do(pbs, "requeue", array, "--json", "--confirm", "3").demand_success().stdout)
    assert sorted(outcome["ok"] for outcome in answer["done"]) == [True] * 3
    pbs.wait_until(lambda: running_subjobs(pbs) == [], 120.0, "no subjob that runs")
    do_all(pbs, "hold", array, "--yes")
    assert pbs.job(array)["Hold_Types"] == "o"
    do_all(pbs, "release", array, "--yes")
    do_all(pbs, "delete", array, "--confirm", array.partition(".")[0])


def running_subjobs(pbs: PbsCluster) -> list[str]:
    return [job for job, texts in pbs.qstat_json().items() if "[]" not in job and texts["job_state"] == "R"]


def test_vnodes_go_offline_and_come_back_one_by_one(pbs: PbsCluster) -> None:
    first, second, third = pbs.mom_names
    do_all(pbs, "offline", first, second, "--confirm", "2")
    assert [pbs.pbsnodes()[name]["state"] for name in pbs.mom_names] == ["offline", "offline", "free"]
    again = do(pbs, "offline", second, third, "--yes")
    assert again.status == 1
    assert f"left out: offline: {second} is offline already" in again.stdout
    do_all(pbs, "clear", *pbs.mom_names, "--confirm", "3")
    assert {vnode["state"] for vnode in pbs.pbsnodes().values()} == {"free"}


def test_a_drain_says_who_is_there_and_requeues_only_where_asked(pbs: PbsCluster) -> None:
    name = pbs.mom_names[0]
    stays = pbs.qsub("alice", select=f"1:ncpus=2:vnode={name}", options=["-r", "n"])
    goes = pbs.qsub("bob", select=f"1:ncpus=3:vnode={name}", walltime="01:00:00")
    for job in (stays, goes):
        pbs.wait_for_state(job, "R")
    seen = do_all(pbs, "drain", name, "--preview")
    assert "wait: 2 jobs there, the last ends" in seen
    assert "requeue: 1 job now" in seen
    assert pbs.pbsnodes()[name]["state"] == "free"
    do_all(pbs, "drain", "requeue", name, "--confirm", "2")
    vnode = pbs.pbsnodes()[name]
    assert (vnode["state"], vnode["comment"]) == ("offline", "pbsteer drain by root")
    pbs.wait_until(lambda: pbs.job(goes)["job_state"] == "Q", 120.0, "the job that was requeued waits")
    assert pbs.job_state(stays) == "R"


def test_queues_are_stopped_disabled_and_switched(pbs: PbsCluster) -> None:
    pbs.qmgr("create resource pbsteer_mode type=string, flag=r")
    for verb, attribute, value in (
        ("stop", "started", "False"),
        ("start", "started", "True"),
        ("disable", "enabled", "False"),
        ("enable", "enabled", "True"),
    ):
        do_all(pbs, verb, "workq", "--yes")
        assert f"{attribute} = {value}" in pbs.qmgr("list queue workq")
    said = do_all(pbs, "mode", "workq", "advise", "--yes")
    assert "advise: PBS's own scheduler starts the jobs" in said
    assert "resources_available.pbsteer_mode = advise" in pbs.qmgr("list queue workq")
    said = do_all(pbs, "mode", "workq", "drive", "--preview")
    assert "scheduler default is being switched off" in said
    pbs.qmgr(f"set node {pbs.mom_names[0]} no_multinode_jobs = True")
    said = do_all(pbs, "mode", "workq", "drive", "--preview")
    assert f"obstacle, queue workq: vnode {pbs.mom_names[0]} has no_multinode_jobs = True" in said


REFUSED: dict[str, tuple[str, ...]] = {
    "hold": ("{bob}", "--yes"),
    "release": ("{held}", "--yes"),
    "delete": ("{bob}", "--confirm", "{short}"),
    "move": ("other", "{bob}", "--yes"),
    "priority": ("9", "{bob}", "--yes"),
    "requeue": ("{run}", "--confirm", "{run_short}"),
    "offline": ("{vnode}", "--yes"),
    "clear": ("{off}", "--yes"),
    "drain": ("wait", "{vnode}", "--yes"),
    "stop": ("workq", "--yes"),
    "start": ("other", "--yes"),
    "disable": ("workq", "--yes"),
    "enable": ("other", "--yes"),
    "mode": ("workq", "observe", "--yes"),
}


def test_a_user_without_rights_is_told_what_pbs_says_and_nothing_changes(pbs: PbsCluster) -> None:
    pbs.qmgr("create resource pbsteer_mode type=string, flag=r", "create queue other queue_type=execution")
    pbs.qmgr("set queue workq resources_available.pbsteer_mode = advise")
    run, bob, held = pbs.qsub("bob"), pbs.qsub("bob", select="1:ncpus=500"), pbs.qsub("bob", options=["-h"])
    pbs.wait_for_state(run, "R")
    vnode, off = pbs.mom_names[1:]
    pbs.qmgr(f"set node {off} state = offline")
    names: dict[str, Any] = {
        "run": run, "bob": bob, "held": held, "vnode": vnode, "off": off, "short": bob.partition(".")[0],
        "run_short": run.partition(".")[0],
    }  # fmt: skip
    home = Path(pbs.testbed.home("alice"))
    before = pbs.qmgr("print server", "print queue workq", "print queue other", f"print node {vnode}")
    for verb, words in REFUSED.items():
        done = do_as_alice(pbs, home, [verb, *(word.format(**names) for word in words)])
        assert done.status == 1, (verb, done.stdout, done.stderr)
        assert "PBS refused: " in done.stderr, (verb, done.stdout, done.stderr)
        assert "nauthorized" in done.stderr, (verb, done.stderr)
    assert pbs.qmgr("print server", "print queue workq", "print queue other", f"print node {vnode}") == before
    assert [pbs.job(job)["job_state"] for job in (run, bob, held)] == ["R", "Q", "H"]
    assert [stage for stage, _ in stages(home)] == ["sending", "failed"] * len(REFUSED)


def test_a_user_may_do_to_own_jobs_what_pbs_lets_owners_do(pbs: PbsCluster) -> None:
    job = pbs.qsub("alice", select="1:ncpus=500")
    home = Path(pbs.testbed.home("alice"))
    held = do_as_alice(pbs, home, ["hold", job, "--yes"])
    assert (held.status, "PBS refused: " in held.stderr) == (1, True), "an operator's hold is not hers to set"
    deleted = do_as_alice(pbs, home, ["delete", job, "--confirm", job.partition(".")[0]])
    assert deleted.status == 0, deleted.stderr
    pbs.wait_for_state(job, "F")
