"""The list of sockets and cores reaches a job on a real server: its variables, its files, and its processes' cores."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.placement.bind_to_cores import read_processors
from policy.settings.ranking_and_stripe_settings import RankingSettings
from tests.hooks.deploy_on_testbed import deploy, deploy_and_drive, quick_settings
from tests.pbs.cluster import PbsCluster

SHOW = """
echo "vnodes=$PBSTEER_VNODES"
echo "places=$OMP_PLACES"
for file in "$PBSTEER_RANKED" "$PBSTEER_OPEN_MPI" "$PBSTEER_MPICH"; do test -n "$file" && cat "$file"; done
grep Cpus_allowed_list /proc/self/status
true
"""


def ask(pbs: PbsCluster, script: str = SHOW, *options: str, select: str = "1:ncpus=2") -> list[str]:
    """The lines of a job that asks for cores."""
    job_id = pbs.qsub("alice", script, select=select, options=["-l", "pbsteer_list=core", "-j", "oe", *options])
    pbs.wait_for_state(job_id, "F")
    return pbs.read_output("alice", job_id).splitlines()


def drive(pbs: PbsCluster, lists: str) -> str:
    deploy_and_drive(pbs, quick_settings(ranking=RankingSettings(interval_s=2, lists=lists)))
    return sorted(pbs.pbsnodes())[0]


def test_without_the_setting_nothing_reaches_the_job(pbs: PbsCluster) -> None:
    drive(pbs, "none")
    assert ask(pbs)[:2] == ["vnodes=", "places="]
    assert "pbsteer_execjob_launch" not in pbs.qmgr("list hook")


def test_the_environment_has_the_list_and_no_hook_runs_on_hosts(pbs: PbsCluster) -> None:
    first = drive(pbs, "environment")
    lines = ask(pbs, select=f"1:ncpus=2:vnode={first}")
    assert lines[:2] == [f"vnodes={first}:{first}:8:1:0:0-1", "places="]
    assert "pbsteer_execjob_launch" not in pbs.qmgr("list hook")


def test_a_list_of_the_job_s_own_does_not_stand(pbs: PbsCluster) -> None:
    drive(pbs, "environment")
    job_id = pbs.qsub("alice", SHOW, options=["-j", "oe", "-v", "PBSTEER_VNODES=n:n:1:1:0:0"])
    pbs.wait_for_state(job_id, "F")
    assert pbs.read_output("alice", job_id).splitlines()[0] == "vnodes="


def test_a_list_of_millions_that_a_user_sets_holds_up_no_start(pbs: PbsCluster) -> None:
    """Where no pass starts jobs, the user's own variable reaches the host, and there the hook of root's reads it."""
    deploy(pbs, quick_settings("observe", ranking=RankingSettings(interval_s=2, lists="files")))
    hooks = [pbs.testbed.pbs_home(mom) / "mom_priv" / "hooks" for mom in pbs.spec.mom_hosts]
    pbs.wait_until(
        lambda: all(list(each.glob("*execjob_launch.CF")) for each in hooks), 120.0, "the hosts have the hook"
    )
    forged = "n:n:8:1::" + "/".join(["0-99999"] * 300)
    job_id = pbs.qsub("alice", ("/bin/true",), options=["-v", f"PBSTEER_VNODES={forged}"])
    assert pbs.wait_for_state(job_id, "F")["Exit_status"] == 0
    assert "alarm call while running execjob_launch hook" not in pbs.mom_log()


def test_files_are_there_on_each_host_and_go_with_the_job(pbs: PbsCluster) -> None:
    first = drive(pbs, "files")
    second = sorted(pbs.pbsnodes())[1]
    lines = ask(pbs, SHOW, select=f"1:ncpus=2:vnode={first}+1:ncpus=2:vnode={second}")
    assert lines[0] == f"vnodes={first}:{first}:8:1:0:0-1+{second}:{second}:8:1:0:0-1"
    assert lines[2:8] == [
        f"{first} sockets 0 cores 0-1",
        f"{second} sockets 0 cores 0-1",
        f"{first} slots=1",
        f"{second} slots=1",
        f"{first}:1",
        f"{second}:1",
    ]
    aux = [pbs.testbed.pbs_home(mom) / "aux" for mom in pbs.spec.mom_hosts]
    pbs.wait_until(lambda: not any(path for folder in aux for path in folder.glob("pbsteer.*")), 120.0, "files to go")


def test_each_host_of_a_job_has_the_mom_s_own_file_of_it(pbs: PbsCluster) -> None:
    """By it the hook there knows a job that came after its list of jobs was made: it leaves the files of the list."""
    first, second = sorted(pbs.pbsnodes())[:2]
    drive(pbs, "files")
    select = f"1:ncpus=2:vnode={first}+1:ncpus=2:vnode={second}"
    array = pbs.qsub("alice", select=select, options=["-l", "pbsteer_list=core", "-J", "3-4"])
    job = array.replace("[]", "[3]")
    homes = {mom.name: pbs.testbed.pbs_home(mom) for mom in pbs.spec.mom_hosts}
    pbs.wait_until((homes[first] / "aux" / f"pbsteer.{job}.ranked").exists, 120.0, "the files of its list")
    assert [(homes[host] / "mom_priv" / "jobs" / f"{job}.JB").exists() for host in (first, second)] == [True, True]


def test_processes_run_on_the_cores_where_a_vnode_has_those_of_its_host(pbs: PbsCluster) -> None:
    """Other vnodes of the testbed have more cores than the machine, and nothing can be bound there."""
    processors = [number for _, _, number in read_processors(Path("/"))]
    if not processors:
        pytest.skip("this machine does not say where its processors are")
    first = drive(pbs, "bind")
    unbound = ask(pbs)
    assert unbound[1] == "places="
    pbs.qmgr(f"set node {first} resources_available.ncpus = {len(processors)}")
    try:
        lines = ask(pbs, SHOW, select=f"1:ncpus=1:vnode={first}")
        spread = ask(
            pbs, "pbsdsh -- /bin/grep Cpus_allowed_list /proc/self/status\n", select=f"1:ncpus=1:vnode={first}"
        )
    finally:
        pbs.qmgr(f"set node {first} resources_available.ncpus = {pbs.spec.cores}")
    assert lines[0] == f"vnodes={first}:{first}:{len(processors)}:1:0:0"
    assert lines[1] == f"places={{{processors[0]}}}"
    assert lines[-1].split() == ["Cpus_allowed_list:", str(processors[0])]
    assert spread == [lines[-1]]
