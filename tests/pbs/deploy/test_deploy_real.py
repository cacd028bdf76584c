"""Putting the hooks into a real server and taking them out, where things go wrong, and on a part of a cluster."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.hook_names import HOOKS
from hooks.deploy.qmgr_lines_in_one_program import ARGV
from hooks.deploy.read_installed_server_state import DeployError, Reply
from hooks.deploy.settings_and_partition.partition_with_own_scheduler import Part
from hooks.deploy.steps_between_server_states import Step
from policy.settings.site_settings import QuotaSettings
from tests.hooks.deploy_on_testbed import (
    deploy,
    drive,
    is_scheduling,
    last_pass,
    make_deployment,
    quick_settings,
    wait_for_pass,
)
from tests.pbs.cluster import PbsCluster

ROOT = Path(__file__).parents[3]
CLI = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tui.cli.hooks_commands.hooks import hooks; hooks()"
PART = "part"
POLICY = "[schedule]\ninterval_s = 2\nbudget_s = 1.5\n[ranking]\ninterval_s = 2\n"


def silent(_: str) -> None:
    return


def read_all(pbs: PbsCluster) -> dict[str, Any]:
    """All that a server shows of itself, and its files that deploying may touch. Left out is what changes by itself."""
    questions = (
        "print server", "print queue @default", "print node @default", "print sched @default", "print hook @default",
        "list hook", "list resource", "list sched", "list queue @default",
    )  # fmt: skip
    shown: dict[str, Any] = {question: pbs.qmgr(question) for question in questions}
    shown["list sched"] = re.sub(r"    state = \w+\n", "", shown["list sched"])
    shown["print sched @default"] = re.sub(r"set sched state = \w+\n", "", shown["print sched @default"])
    shown["list queue @default"] = re.sub(
        r"    (total_jobs|state_count|resources_assigned\.\w+) = .*\n", "", shown["list queue @default"]
    )
    hooks = pbs.server_home / "server_priv" / "hooks"
    # Left out is PBS's own bookkeeping of what MoMs are sent: numbers that only grow, and a copy of the resources that
    # it brings up to date some seconds later.
    files = [path for path in hooks.iterdir() if path.is_file() and path.name not in ("tracking.TR", "resourcedef")]
    shown.update({path.name: path.read_bytes() for path in files})
    shown["home"] = {path.name for path in pbs.server_home.iterdir()}
    return shown


def hooks_of(pbs: PbsCluster, mom: str) -> Path:
    host = next(host for host in pbs.spec.mom_hosts if host.name == mom)
    return pbs.testbed.pbs_home(host) / "mom_priv" / "hooks"


def run_cli(pbs: PbsCluster, *words: str, status: int = 0) -> str:
    done = pbs.run([sys.executable, "-c", CLI, *words])
    assert done.status == status, done.stdout + done.stderr
    return done.stdout


def wait_until_sent(pbs: PbsCluster) -> None:
    """Until every MoM has its copies."""
    pbs.wait_until(lambda: "an old copy or none" not in pbs.run(status_argv()).stdout, 120.0, "copies on all MoMs")


def status_argv() -> list[str]:
    return [sys.executable, "-c", CLI, "status"]


@pytest.fixture(autouse=True)
def _no_hooks_of_an_earlier_test(pbs: PbsCluster) -> None:
    wait_until_gone(pbs)


def wait_until_gone(pbs: PbsCluster) -> None:
    """PBS deletes the files of a MoM's hook once every MoM has deleted its own."""
    folders = [pbs.server_home / "server_priv" / "hooks", *(hooks_of(pbs, mom) for mom in pbs.mom_names)]
    pbs.wait_until(lambda: not [path for each in folders for path in each.glob("pbsteer*")], 120.0, "no files of hooks")


def make_queue(pbs: PbsCluster) -> None:
    pbs.qmgr(f"create queue {PART} queue_type = execution, enabled = true, started = true")


def test_what_an_administrator_sets_in_between_stays_and_all_else_is_as_it_was_found(pbs: PbsCluster) -> None:
    pbs.qmgr("set server job_history_enable = True")
    deploy(pbs, quick_settings())
    pbs.qmgr(
        "set queue workq max_run_res_soft.ncpus = '[u:alice=4],[u:bob=8]'", "set queue workq max_run = [u:carol=3]"
    )
    set_between = pbs.qmgr("print queue workq")
    drive(pbs)
    pbs.qmgr("set queue workq max_run_res_soft.user_priority = '[u:alice=10],[u:bob=5]'")
    job_id = pbs.qsub("alice")
    pbs.wait_for_state(job_id, "R")
    pbs.qmgr("unset queue workq max_run_res_soft.user_priority")
    run_cli(pbs, "remove")
    assert pbs.qmgr("print queue workq") == set_between
    assert "pbsteer_" not in str(read_all(pbs))
    assert pbs.job_state(job_id) == "R"
    after = pbs.qsub("bob")
    pbs.wait_for_state(after, "R")


def test_applying_and_removing_twice_leaves_every_byte_as_it_was(pbs: PbsCluster) -> None:
    before = read_all(pbs)
    for _ in range(2):
        deploy(pbs, quick_settings())
        wait_until_sent(pbs)
        assert read_all(pbs) != before
        make_deployment(pbs).remove(silent)
        wait_until_gone(pbs)
    assert read_all(pbs) == before


MARKING = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[2] + "/lib/python/altair"]
import pbs_ifl
from hooks.pbs.client.pbs_ifl_client import Connection
with Connection(pbs_ifl) as connection:
    connection.set_mark(sys.argv[3], "pbsteer for=99.s asked=5 until=9 held")
"""
"""Marks a job as a victim, as a pass does."""


def test_victims_that_are_held_are_let_go_and_nobody_else_s(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings())
    pbs.qmgr("set hook pbsteer_periodic enabled = false", "set server scheduling = False")
    victim, array, other = pbs.qsub("alice"), pbs.qsub("alice", options=["-J", "1-3"]), pbs.qsub("bob")
    for job_id in (victim, array, other):
        pbs.run(["qhold", "-h", "s", job_id]).demand_success()
    for job_id in (victim, array):
        pbs.run(["python3", "-c", MARKING, str(ROOT), pbs.spec.pbs_exec, job_id]).demand_success()
    planned = run_cli(pbs, "remove", "--plan")
    assert [line for line in planned.splitlines() if line.startswith("qrls")] == [
        f"qrls -h s {victim}", f"qrls -h s {array}",
    ]  # fmt: skip
    pbs.run([sys.executable, "-c", CLI, "remove"])
    holds = [pbs.job(job_id)["Hold_Types"] for job_id in (victim, array, other)]
    assert holds == ["n", "n", "s"]


class Failing:
    """qmgr on a testbed, which refuses one line."""

    def __init__(self, pbs: PbsCluster, line: str) -> None:
        self._pbs = pbs
        self._line = line

    def __call__(self, line: str) -> Reply:
        if line == self._line:
            self._line = ""
            # A word that PBS itself refuses, so that the complaint is its own.
            line = line.replace(" ", " no-such-", 1)
        done = self._pbs.run(["qmgr", "-c", line])
        return Reply(done.status, done.stdout, done.stderr)

    def run_lines(self, text: str) -> Reply:
        lines = [line.replace(" ", " no-such-", 1) if line == self._line else line for line in text.splitlines()]
        done = self._pbs.run(ARGV, stdin="".join(f"{line}\n" for line in lines))
        return Reply(done.status, done.stdout.replace(" no-such-", " "), done.stderr)


def lines_of(steps: list[Step], kinds: Mapping[str, int]) -> list[str]:
    """Some lines of each kind, by how they begin."""
    return [
        line
        for kind, number in kinds.items()
        for line in [step.line for step in steps if step.line.startswith(kind)][:number]
    ]


def test_a_step_that_fails_leaves_the_server_as_it_was(pbs: PbsCluster) -> None:
    make_queue(pbs)
    before = read_all(pbs)
    part = Part(PART, (PART,), (min(pbs.pbsnodes()),))
    planned = make_deployment(pbs).plan_apply(quick_settings(), part)
    kinds = {"create sched": 1, "set node": 1, "create resource": 1, "create hook": 1, "import": 2, "set hook": 1}
    lines = lines_of(planned, kinds)
    assert len(lines) == sum(kinds.values())
    for line in lines:
        failing = Failing(pbs, line)
        deployment = Deployment(str(pbs.server_home), failing, run_lines=failing.run_lines)
        with pytest.raises(DeployError, match=f'^qmgr -c "{re.escape(line)}": .*; the server is as it was before$'):
            deployment.apply(quick_settings(), silent, part)
        wait_until_gone(pbs)
        after = read_all(pbs)
        assert {key: value for key, value in after.items() if before.get(key) != value} == {}, line
        assert before.keys() == after.keys()


def test_a_step_of_a_removal_that_fails_leaves_the_hooks_at_work(pbs: PbsCluster) -> None:
    deployment = deploy(pbs, quick_settings())
    pbs.qmgr("set queue workq resources_available.pbsteer_mode = observe")
    before = deployment.read()
    for line in lines_of(deployment.plan_remove(), {"delete hook": 2, "unset": 1, "delete resource": 1}):
        with pytest.raises(DeployError, match="the server is as it was before"):
            Deployment(str(pbs.server_home), Failing(pbs, line)).remove(silent)
        assert deployment.read() == before, line
    wait_for_pass(pbs)


def test_a_part_of_the_cluster_is_driven_and_the_rest_is_left_to_pbs(pbs: PbsCluster) -> None:
    make_queue(pbs)
    before = read_all(pbs)
    first, *others = sorted(pbs.pbsnodes())
    installed = make_deployment(pbs).read()
    running = pbs.qsub("alice", select=f"1:ncpus=1:vnode={first}")
    pbs.wait_for_state(running, "R")
    words = ["--partition", PART, "--queue", PART, "--vnode", first]
    refused = pbs.run([sys.executable, "-c", CLI, "apply", *words])
    assert refused.status == 1
    assert f"these have some: {first} ({running})" in refused.stderr
    assert make_deployment(pbs).read() == installed
    pbs.run(["qdel", "-W", "force", running]).demand_success()
    pbs.wait_until(lambda: not pbs.pbsnodes()[first].get("jobs"), 120.0, "the vnode to be empty")
    policy = pbs.server_home / "site.toml"
    policy.write_text(POLICY)
    try:
        run_cli(pbs, "apply", *words, "--policy", str(policy))
        plan = json.loads(run_cli(pbs, "plan", *words, "--json", "--policy", str(policy)))
        assert plan["groups"] == []
        pbs.qmgr(f"set queue {PART} resources_available.pbsteer_mode = drive")
        pbs.wait_until(lambda: PART in last_pass(pbs).get("acted", ()), 120.0, "a pass that drives the part")
        mine, theirs = pbs.qsub("alice", queue=PART), pbs.qsub("bob", select="1:ncpus=8")
        assert pbs.wait_for_state(mine, "R")["exec_vnode"] == f"({first}:ncpus=1)"
        vnode = pbs.wait_for_state(theirs, "R")["exec_vnode"].strip("(").partition(":")[0]
        assert vnode in others
        assert f"{PART} " in run_cli(pbs, "status")
        pbs.qmgr(f"set queue {PART} resources_available.pbsteer_mode = observe")
        pbs.wait_until(lambda: is_scheduling(pbs, PART), 120.0, "the part's scheduler is switched on again")
        pbs.run(["qdel", "-x", "-W", "force", mine]).demand_success()
        pbs.run([f"{pbs.spec.pbs_exec}/sbin/pbs_sched", "-I", PART]).demand_success()
        mine = pbs.qsub("alice", queue=PART)
        assert pbs.wait_for_state(mine, "R")["exec_vnode"] == f"({first}:ncpus=1)", "PBS's own scheduler starts it"
        scheduler = (pbs.server_home / f"sched_priv_{PART}" / "sched.lock").read_text().strip()
        pbs.run(["kill", scheduler]).demand_success()
        assert f"{first} ({mine})" in pbs.run([sys.executable, "-c", CLI, "remove"]).stderr
        pbs.run(["qdel", "-x", "-W", "force", mine, theirs, running]).demand_success()
        pbs.wait_until(lambda: not any("jobs" in texts for texts in pbs.pbsnodes().values()), 120.0, "no jobs")
        run_cli(pbs, "remove")
    finally:
        policy.unlink()
    wait_until_gone(pbs)
    assert read_all(pbs) == before
    assert not list(pbs.server_home.glob(f"sched_*_{PART}"))


def test_status_names_moms_with_an_old_copy_and_says_when_all_is_well(pbs: PbsCluster) -> None:
    assert json.loads(run_cli(pbs, "status", "--json", status=1))["well"] is False
    # What earlier hooks complained of, as those of other tests on this testbed, is over with an apply.
    at_s = time.time() - 60
    with (pbs.server_home / "server_logs" / time.strftime("%Y%m%d", time.localtime(at_s))).open("a") as log:
        stamp = time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(at_s))
        log.write(f"{stamp}.000000;0002;Server@s;Hook;Server@s;pbsteer: of an earlier hook\n")
    deploy(pbs, quick_settings())
    wait_until_sent(pbs)
    answer = json.loads(run_cli(pbs, "status", "--json"))
    assert any("from before the hooks were applied" in hint for hint in answer["hints"])
    mom = pbs.mom_names[-1]
    lock = hooks_of(pbs, mom).parent / "mom.lock"
    pbs.run(["kill", "-KILL", lock.read_text().strip()], host=mom).demand_success()
    try:
        make_deployment(pbs).apply(quick_settings(quota=QuotaSettings(delay_s=1)), silent)
        answer = json.loads(run_cli(pbs, "status", "--json", status=1))
        waiting = {hook["name"]: hook["waiting"] for hook in answer["hooks"]}
        assert [name.endswith(mom) for name in waiting["pbsteer_exechost_periodic"]] == [True]
        assert any("1 MoM has an old copy or none" in sentence for sentence in answer["problems"])
    finally:
        pbs.run([f"{pbs.spec.pbs_exec}/sbin/pbs_mom"], host=mom).demand_success()
    pbs.wait_until(
        lambda: all(vnode["state"] == "free" for vnode in pbs.pbsnodes().values()), 120.0, "the MoM to be up"
    )
    wait_until_sent(pbs)
    wait_for_pass(pbs)
    answer = json.loads(run_cli(pbs, "status", "--json"))
    assert (answer["well"], answer["problems"]) == (True, [])
    assert len(answer["hooks"]) == len(HOOKS)
