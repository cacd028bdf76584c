"""A guest in a landing queue with a generic quota of 0 makes room for a local user within quota, on PBS: it waits there
as Submitted, runs again, and comes back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from container.centre.centre_spec import SERVICE
from policy.settings.settings_of_server_and_passes import ServerSettings
from tests.hooks.deploy_on_testbed import deploy_and_drive, quick_settings, set_mode, settle
from tests.pbs.centre.act_as_user_and_service import SiteUser
from tests.pbs.cluster import PbsCluster

pytestmark = pytest.mark.slow


@pytest.fixture
def driven(pbs_user: SiteUser) -> Iterator[SiteUser]:
    """At b pbsteer starts the jobs of both queues, and the service may read its passes; carol's quota is the whole
    cluster."""
    target = PbsCluster(pbs_user.centre.clusters["b"])
    target.qmgr(f"set queue workq max_run_res_soft.ncpus = '[u:carol={pbs_user.cores('b')}]'")
    server = ServerSettings(mode="observe", journal_group=SERVICE.group)
    deployment = deploy_and_drive(target, replace(quick_settings(), server=server), "workq", "global")
    settle(target)
    try:
        yield pbs_user
    finally:
        set_mode(target, "observe", "workq", "global")
        settle(target)
        deployment.remove(lambda _: None)
        target.qmgr("unset queue workq max_run_res_soft.ncpus")


def test_a_guest_waits_while_a_local_user_has_its_cores_and_runs_again(driven: SiteUser) -> None:
    """Section 13, and PBS takes a limit of 0."""
    cores = driven.cores("b")
    assert "[u:PBS_GENERIC=0]" in driven.do("qmgr", "-c", "list queue global", letter="b", user="root")
    folder = driven.folder("guest", "echo x >> runs; until [ -e go ]; do sleep 0.2; done; wc -l < runs")
    gid = driven.sent(driven.submit(folder, "-t", "b", cores=cores))
    there = driven.wait_there(gid, "Submitted", ran=1).dstdir
    own = driven.start_local("b", cores, seconds=900)
    assert driven.local_jobs("b")[f"mg_{gid}_1"] != "R"
    record = driven.wait_there(gid, "Submitted", requeues=1)
    assert record.reason == "requeued, 1 times"
    driven.send()
    job = driven.job(gid)
    assert (job["state"], job["reason"]) == ("Submitted", "requeued, 1 times"), job
    driven.delete_local("b", own)
    driven.there('touch "$1/go"', there, user="alice")
    job = driven.wait_for(gid)
    assert (job["state"], job["exit"], job["reason"]) == ("End", "0", ""), job
    assert driven.read(f"{folder}/mg.{gid}.out").split()[-1] == "2"


def test_a_guest_preempts_no_job(driven: SiteUser) -> None:
    """A guest waits for idle cores, even behind a user without any quota."""
    own = driven.start_local("b", driven.cores("b"), user="bob")
    ticket = driven.submit(driven.folder("patient", "exit 0"), "-t", "b")
    driven.send()
    assert "b: short by 1 cores (0 of 1)" in driven.job(ticket)["reason"]
    driven.delete_local("b", own)
    assert driven.wait_for(ticket)["exit"] == "0"


def answer(user: SiteUser) -> dict[str, Any]:
    """What cluster b tells others of itself."""
    found: dict[str, Any] = json.loads(user.there('"$1" --json', user.programs.path("findavl")))
    return found


def test_the_policy_decides_whether_a_guest_would_start(driven: SiteUser) -> None:
    """Bob's job for all cores is the head and has a promise: two cores are idle for guests that end before."""
    cores = driven.cores("b")
    own = driven.start_local("b", cores - 2)
    select = ["-l", f"select={cores}:ncpus=1", "-l", "place=free", "-l", "walltime=1:00:00"]
    head = driven.do("qsub", "-q", "workq", *select, "--", "/bin/sleep", "9", letter="b", user="bob").strip()
    settle(PbsCluster(driven.centre.clusters["b"]))
    found = answer(driven)
    assert (found["idle"], found["reserved"], found["avail"], found["avail_before_head"]) == (2, 2, 0, 2), found
    assert found["head_in_s"] > 3_000
    late = driven.submit(driven.folder("late-guest", "exit 0"), "-t", "b", "-w", "3:00:00", cores=2)
    soon = driven.wait_for(driven.submit(driven.folder("soon-guest", "exit 3"), "-t", "b", cores=2))
    assert (soon["state"], soon["exit"], soon["dst"]) == ("End", "3", "b"), soon
    assert "b: short by 2 cores (0 of 2)" in driven.job(late)["reason"]
    driven.do(driven.programs.path("mgstop"), driven.job(late)["gid"])
    for job in (own, head):
        driven.delete_local("b", job)
