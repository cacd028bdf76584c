"""On a real server: jobs whose files are still being brought make room as others do, however long that takes."""

from __future__ import annotations

import pytest

from tests.hooks.deploy_on_testbed import deploy_and_drive, quick_settings
from tests.pbs.cluster import PbsCluster


@pytest.mark.parametrize("more", [(), ("-J", "1-3"), ("-l", "pbsteer_save=signal")])
def test_a_file_that_never_comes_keeps_no_cores_beyond_quota(pbs: PbsCluster, more: tuple[str, ...]) -> None:
    """24 cores; alice's quota is 8. Her jobs' files are staged into pipes that no program reads, so none begins."""
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=8],[u:bob=24]'")
    deploy_and_drive(pbs, quick_settings())
    host = pbs.spec.mom_hosts[0].name
    made = "cd; pwd; rm -f pipe; mkfifo pipe; echo words > words"
    home = pbs.run(["sh", "-c", made], user="alice", host="m1").demand_success().stdout.strip()
    options = ("-W", f"stagein={home}/pipe@{host}:{home}/words", *more)
    count = 1 if "-J" in more else 3
    jobs = [pbs.qsub("alice", select="1:ncpus=8", options=options) for _ in range(count)]
    pbs.wait_until(lambda: used(pbs) == 24, 120.0, "alice's jobs have all cores")
    bobs = [pbs.qsub("bob", select="1:ncpus=8") for _ in range(2)]
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in bobs), 120.0, "bob gets what is beyond her quota")
    assert used(pbs) <= 24
    if count > 1:
        assert sorted(map(pbs.job_state, jobs)) == ["Q", "Q", "R"], "none is lost, and one is within her quota"
    else:
        assert pbs.job(jobs[0])["array_state_count"].startswith("Queued:2 Running:1 "), "the same of an array"
    for job in jobs:
        pbs.run(["qdel", "-W", "force", job])


def used(pbs: PbsCluster) -> int:
    """The cores that the server counts as assigned."""
    return sum(int(vnode.get("resources_assigned", {}).get("ncpus", 0)) for vnode in pbs.pbsnodes().values())
