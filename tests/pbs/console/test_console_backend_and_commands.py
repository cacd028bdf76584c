"""The console's core on a real server: what it reads, what it changes, and that its commands agree with one another."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from tests.pbs.cluster import PbsCluster

ROOT = Path(__file__).parents[3]
HOSTILE = ("[/red]", "[@click=app.quit]x[/]", "\x1b[2Jgone", "𝔉🚀字")

READ_BOTH_WAYS = """
import json, os
from dataclasses import asdict
from policy import Settings
from tui.cli.open_backend import open_real
source = open_real(os.environ, "", None)
by_reader, way = source.poll(), source.way
source._reader.close(); source._reader = None
by_qstat = source.poll()
print(json.dumps({"way": way, "reader": by_reader.to_data(), "qstat": by_qstat.to_data()}))
"""

WRITE_AS_ALICE = """
import json, os, pwd
from tui.cli.open_backend import open_real
source = open_real(os.environ, "", None)
os.setuid(pwd.getpwnam("alice").pw_uid)
print(json.dumps(source.run(["qmgr", "-c", "set queue workq max_run_res_soft.ncpus += [u:alice=99]"])._asdict()))
"""


def on_server(pbs: PbsCluster, *argv: str) -> Any:
    environment = ["env", f"PYTHONPATH={ROOT}", f"XDG_STATE_HOME={pbs.server_home}"]
    return pbs.run([*environment, sys.executable, *argv])


def pbsteer(pbs: PbsCluster, *arguments: str) -> str:
    return str(on_server(pbs, "-m", "tui.cli.main", *arguments).demand_success().stdout)


def test_reader_and_qstat_tell_the_same_of_every_job(pbs: PbsCluster) -> None:
    running = pbs.qsub("alice", select="1:ncpus=6")
    array = pbs.qsub("bob", select="1:ncpus=2", options=["-J", "0-9"])
    held = pbs.qsub("bob", select="1:ncpus=2", options=["-h"])
    pbs.wait_for_state(running, "R")
    answer = json.loads(on_server(pbs, "-c", READ_BOTH_WAYS).demand_success().stdout)
    assert answer["way"] == "reader"
    assert {running, array, held} <= answer["reader"]["jobs"].keys()
    shown = (
        "job_state",
        "queue",
        "Job_Name",
        "euser",
        "Resource_List.ncpus",
        "Resource_List.walltime",
        "stime",
        "qtime",
    )
    for way in ("reader", "qstat"):
        assert answer[way]["jobs"][running]["exec_vnode"]
    assert {job: [answer["reader"]["jobs"][job].get(name) for name in shown] for job in (running, array, held)} == {
        job: [answer["qstat"]["jobs"][job].get(name) for name in shown] for job in (running, array, held)
    }


def test_a_quota_change_is_then_in_print_queue_and_in_the_audit_file(pbs: PbsCluster) -> None:
    pbs.qmgr('set queue workq max_run_res_soft.ncpus = "[u:alice=4]"')
    said = pbsteer(pbs, "quota", "set", "workq", "bob", "8", "--yes")
    assert "set queue workq max_run_res_soft.ncpus += [u:bob=8]" in said
    printed = pbs.qmgr("print queue workq")
    assert "[u:bob=8]" in printed
    assert "[u:alice=4]" in printed
    pbsteer(pbs, "quota", "set", "workq", "bob", "none", "--yes")
    printed = pbs.qmgr("print queue workq")
    assert "[u:bob=8]" not in printed
    assert "[u:alice=4]" in printed
    lines = (pbs.server_home / "pbsteer" / "audit.jsonl").read_text().splitlines()
    assert [json.loads(line)["stage"] for line in lines] == ["sending", "done"] * 2


def test_an_import_adds_alters_and_removes_quotas_by_a_command_for_each(pbs: PbsCluster) -> None:
    kept = "[u:alice=4]"
    pbs.qmgr(f'set queue workq max_run_res_soft.ncpus = "{kept},[u:bob=5],[u:carol=6],[u:dave=7],[u:erin=8]"')
    rows = [*(f"new{number},workq,{number}" for number in range(60)), "bob,workq,50", "carol,workq,60"]
    path = pbs.server_home / "quotas.csv"
    path.write_text("\n".join(["user,queue,quota", *rows, "dave,workq,none", "erin,workq,none", ""]))
    said = pbsteer(pbs, "quota", "import", str(path), "--yes")
    assert said.count(", verified") == 4, said
    shown = pbs.qmgr("list queue workq max_run_res_soft").replace("\n", "").replace("\t", "")
    added = {f"[u:new{number}={number}]" for number in range(60)}
    assert set(re.findall(r"\[u:\w+=\d+\]", shown)) == {kept, "[u:bob=50]", "[u:carol=60]", *added}


def test_a_user_without_manager_rights_is_told_what_pbs_said(pbs: PbsCluster) -> None:
    answer = json.loads(on_server(pbs, "-c", WRITE_AS_ALICE).demand_success().stdout)
    assert answer["ok"] is False
    assert "nauthorized" in answer["text"]
    assert "alice=99" not in pbs.qmgr("print queue workq")


def test_status_and_explain_agree_on_what_waits(pbs: PbsCluster) -> None:
    pbs.qmgr("set sched default scheduling = False")
    job = pbs.qsub("alice", select="1:ncpus=6")
    huge = pbs.qsub("bob", select="1:ncpus=500")
    status = json.loads(pbsteer(pbs, "status", "--json"))
    explained = {each: json.loads(pbsteer(pbs, "explain", each, "--json")) for each in (job, huge)}
    assert status["jobs"] == {"Q": 2}
    assert status["cores"] == {"used": 0, "total": 24, "used_not_up": 0}
    assert status["plan"]["starts"] == [job]
    # It would start: nothing drives its queue.
    assert (explained[job]["state"], explained[job]["reason"]["code"]) == ("waiting", "left-undone")
    assert (explained[huge]["state"], explained[huge]["reason"]["code"]) == ("waiting", "never-fits")
    assert explained[huge]["reason"]["sentence"] in " ".join(pbsteer(pbs, "explain", huge).split())


def test_hostile_names_go_through_the_real_qsub_and_come_out_harmless(pbs: PbsCluster) -> None:
    taken = []
    for name in HOSTILE:
        done = pbs.try_qsub("alice", name=name)
        if done.status == 0:
            taken.append(done.stdout.strip())
    by_variable = pbs.qsub("alice", options=["-v", "X=[/red]\x1b[2J", "-A", "[@click=app.quit]x[/]"])
    for job in (*taken, by_variable):
        said = pbsteer(pbs, "explain", job)
        assert "\x1b" not in said
        assert job.partition(".")[0] in said


def test_a_server_that_is_down_is_one_clear_line(pbs: PbsCluster) -> None:
    pbs.stop_server()
    try:
        done = on_server(pbs, "-m", "tui.cli.main", "status")
    finally:
        pbs.start_server()
    assert done.status == 2
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr.strip().splitlines()) == 1
    assert "SIMULATED" not in pbsteer(pbs, "status")
