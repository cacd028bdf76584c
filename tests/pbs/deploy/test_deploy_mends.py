"""A server that is not as an apply leaves it: flags of an earlier version, settings that somebody chose, an apply that
was cut off, jobs that passes wrote on; and hosts and users that may not do this."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest

from hooks.deploy.hook_names import HOOKS
from hooks.deploy.read_installed_server_state import DeployError
from tests.hooks.deploy_on_testbed import (
    REFUSING,
    deploy,
    deploy_and_drive,
    make_deployment,
    quick_settings,
    wait_for_pass,
)
from tests.pbs.cluster import PbsCluster
from tests.pbs.deploy.test_deploy_real import CLI, MARKING, ROOT, run_cli, wait_until_gone

QUICK = "[schedule]\ninterval_s = 2\nbudget_s = 1.5\n"


def silent(_: str) -> None:
    return


@pytest.fixture(autouse=True)
def _no_hooks_of_an_earlier_test(pbs: PbsCluster) -> None:
    wait_until_gone(pbs)


def no_pass_is_under_way(pbs: PbsCluster) -> bool:
    """Whether the process of the last pass has ended: until then early passes may follow in it. PBS forks it."""
    return len(pbs.run(["pgrep", "-x", "pbs_server.bin"]).stdout.split()) == 1


def flag_of(pbs: PbsCluster, resource: str) -> str:
    lines = pbs.qmgr(f"list resource {resource}").splitlines()
    return next((line.partition(" = ")[2] for line in lines if line.strip().startswith("flag")), "")


def test_flags_of_an_earlier_version_are_set_while_a_job_has_the_resource(pbs: PbsCluster) -> None:
    deployment = deploy(pbs, quick_settings())
    pbs.qmgr("set resource pbsteer_save flag = ''", "set resource pbsteer_asked flag = m")
    job_id = pbs.qsub("alice", options=["-l", "pbsteer_save=signal"])
    told = run_cli(pbs, "status", status=1)
    assert "  resource pbsteer_save has no flag, where flag m belongs" in told.splitlines()
    assert run_cli(pbs, "plan").splitlines()[-2:] == [
        'qmgr -c "set resource pbsteer_asked flag = r"', 'qmgr -c "set resource pbsteer_save flag = m"',
    ]  # fmt: skip
    deployment.apply(quick_settings(), silent)
    assert (flag_of(pbs, "pbsteer_save"), flag_of(pbs, "pbsteer_asked")) == ("m", "r")
    assert deployment.plan_apply(quick_settings()) == []
    assert pbs.job(job_id)["Resource_List"]["pbsteer_save"] == "signal"


def test_users_see_the_mode_and_a_pause_and_request_neither(pbs: PbsCluster) -> None:
    """Before, they were invisible: the console of a user, or of root on another host, showed each queue in observe."""
    deployment = deploy(pbs, quick_settings())
    pbs.qmgr(
        "set resource pbsteer_mode flag = i", "set queue workq resources_available.pbsteer_mode = drive",
        "set server resources_available.pbsteer_paused = why",
    )  # fmt: skip
    assert "pbsteer_mode" not in pbs.run(["qstat", "-Qf"], user="alice").stdout
    deployment.apply(quick_settings(), silent)
    assert "pbsteer_mode = drive" in pbs.run(["qstat", "-Qf"], user="alice").stdout
    assert "pbsteer_paused = why" in pbs.run(["qstat", "-Bf"], user="alice").stdout
    for words in (["-l", "pbsteer_mode=drive"], ["-l", "select=1:ncpus=1:pbsteer_mode=drive"]):
        assert pbs.run(["qsub", *words, "--", "/bin/true"], user="alice").status != 0


def test_flags_that_others_had_set_are_put_back(pbs: PbsCluster) -> None:
    pbs.qmgr("create resource pbsteer_save type=string,flag=r", "create resource user_priority type=long")
    deployment = deploy(pbs, quick_settings())
    assert (flag_of(pbs, "pbsteer_save"), flag_of(pbs, "user_priority")) == ("m", "i")
    pbs.qsub("alice", options=["-l", "pbsteer_save=signal"])
    pbs.qmgr("set queue workq max_run_res_soft.user_priority = [u:alice=10]")
    assert deployment.remove(silent).left == []
    assert (flag_of(pbs, "pbsteer_save"), flag_of(pbs, "user_priority")) == ("r", "")


def test_flags_that_pbs_does_not_change_under_jobs_are_reported_and_nothing_else_is_changed(pbs: PbsCluster) -> None:
    pbs.qmgr("create resource pbsteer_save type=string,flag=h")
    pbs.qsub("alice", select="1:ncpus=1:pbsteer_save=signal")
    deployment = make_deployment(pbs)
    before = deployment.read()
    with pytest.raises(DeployError, match=r"PBS refuses this while a job, a queue or a vnode has pbsteer_save"):
        deployment.apply(quick_settings(), silent)
    assert deployment.read() == before


def test_an_apply_without_a_file_keeps_the_settings_that_were_applied(pbs: PbsCluster, tmp_path: Path) -> None:
    policy = tmp_path / "site.toml"
    policy.write_text(QUICK)
    run_cli(pbs, "apply", "--settings", str(policy))
    wait_for_pass(pbs)
    assert json.loads(run_cli(pbs, "apply", "--json"))["groups"] == []
    answer = json.loads(run_cli(pbs, "plan", "--defaults", "--json"))
    assert answer["settings"]["changes"]["schedule.interval_s"] == {"old": "2", "new": "15"}
    pbs.qmgr("delete hook pbsteer_queuejob")
    run_cli(pbs, "apply")
    assert pbs.qmgr("list hook pbsteer_periodic freq").split()[-1] == "2"
    config = pbs.server_home / "server_priv" / "hooks" / "pbsteer_queuejob.CF"
    assert json.loads(config.read_text())["schedule"]["interval_s"] == 2


def test_what_an_apply_that_was_cut_off_lacks_is_reported_and_comes_with_the_next(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings())
    pbs.qmgr("delete hook pbsteer_runjob", "delete resource pbsteer_list", "set hook pbsteer_queuejob enabled = false")
    problems = json.loads(run_cli(pbs, "status", "--json", status=1))["problems"]
    assert {"pbsteer_runjob: not there", "pbsteer_queuejob: DISABLED"} <= set(problems)
    assert "1 resource is not there: pbsteer_list" in problems
    run_cli(pbs, "apply")
    left = json.loads(run_cli(pbs, "apply", "--json"))["groups"]
    assert left == []
    removed = json.loads(run_cli(pbs, "remove", "--json"))
    assert removed["left"] == []
    assert f"delete hook {next(iter(HOOKS))}" in json.dumps(removed["groups"])
    assert "hooks: none in this server" in run_cli(pbs, "status", status=1)


def test_comments_and_marks_of_passes_go_with_the_hooks_and_nobody_else_s(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    cores = 8 * len(pbs.mom_names)
    running = pbs.qsub("alice", select=f"{len(pbs.mom_names)}:ncpus=8")
    pbs.wait_for_state(running, "R")
    waiting = [pbs.qsub("alice", select="1:ncpus=8") for _ in range(3)]
    waiting.append(pbs.qsub("alice", select="1:ncpus=8", options=["-J", "1-2"]))
    pbs.wait_until(
        lambda: all("(pbsteer 2" in pbs.job(job_id).get("comment", "") for job_id in waiting),
        60.0,
        f"comments on jobs that wait for {cores} cores",
    )
    held = pbs.qsub("alice", options=["-h"])
    # PBS's scheduler would write comments of its own, once it has the queues back.
    pbs.qmgr("set hook pbsteer_periodic enabled = false")
    pbs.wait_until(lambda: no_pass_is_under_way(pbs), 120.0, "the end of the last pass, which comments too")
    pbs.run(["qalter", "-W", "comment=a manager's own", held]).demand_success()
    # One that waited through the upgrade from 0.1.0 has a comment in its form.
    pbs.run(["qalter", "-W", "comment=pbsteer 2026-11-20 10:00: waits for 8 cores", waiting[0]]).demand_success()
    for job_id in (running, waiting[0]):
        pbs.run(["python3", "-c", MARKING, str(ROOT), pbs.spec.pbs_exec, job_id]).demand_success()
    pbs.qmgr("set sched default scheduling = False")
    planned = run_cli(pbs, "remove", "--plan")
    assert f"clear comment and mark of 5 jobs: {running} {' '.join(waiting)}" in planned.splitlines()
    assert "cleared 5 jobs" in run_cli(pbs, "remove").splitlines()
    for job_id in (running, *waiting):
        seen = pbs.job(job_id)
        assert "pbsteer 2" not in seen.get("comment", ""), job_id
        assert "pbsteer" not in str(seen.get("estimated", "")), job_id
    assert pbs.job(held)["comment"] == "a manager's own"


def test_root_of_another_host_is_told_that_this_is_not_the_place(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings())
    for words in (["plan"], ["status"], ["remove", "--plan"]):
        done = pbs.run([sys.executable, "-c", CLI, *words], host=pbs.mom_names[0])
        assert done.status == 1
        assert "unauthorized to access hooks data" in done.stderr
        assert "do this as root, on the server's host" in done.stderr


def test_root_of_another_host_counts_as_a_manager_only_where_pbs_says_so(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("advise", submission=REFUSING))
    job_id = pbs.qsub("alice", options=["-h"])
    argv = ["qalter", "-l", "select=1:ncpus=9999", job_id]
    mom = pbs.mom_names[0]

    def is_refused_by_the_hook() -> bool:
        return "this job can never run" in pbs.run(argv, host=mom).stderr

    # PBS asks the hook first, and would refuse what that lets through, as it does for a while after a slow look.
    pbs.wait_until(is_refused_by_the_hook, 120.0, "the hook refuses the alteration")
    pbs.qmgr("set server managers = root@*")
    pbs.run(argv, host=mom).demand_success()


@pytest.mark.takes(40)
def test_an_apply_after_a_removal_waits_for_a_host_that_is_late(
    pbs: PbsCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PBS creates no hook of a name that a MoM still has to delete."""
    deployment = deploy(pbs, quick_settings())
    wait_for_pass(pbs)
    pbs.run(["pkill", "-STOP", "-x", "pbs_mom"], host="m2").demand_success()
    try:
        deployment.remove(silent)
        with monkeypatch.context() as patched:
            patched.setattr("hooks.deploy.deploy_hooks._HOOKS_DELETED_S", 1.0)
            with pytest.raises(DeployError, match=r"whose MoM does not answer \(pbsnodes -l\)"):
                deployment.apply(quick_settings(), silent)
        later = threading.Timer(3.0, lambda: pbs.run(["pkill", "-CONT", "-x", "pbs_mom"], host="m2"))
        later.start()
        deployment.apply(quick_settings(), silent)
        later.join()
    finally:
        pbs.run(["pkill", "-CONT", "-x", "pbs_mom"], host="m2")
    assert deployment.plan_apply(quick_settings()) == []
    wait_for_pass(pbs)
