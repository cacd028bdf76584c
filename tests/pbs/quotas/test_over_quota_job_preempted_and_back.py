"""Alice runs over her quota on idle cores, Bob submits within his: the story of soft quotas, on a real server.

three vnodes of 8 cores; alice's quota is 4, bob's 8

v1  alice 4 | alice 4          alice 4 | alice 4         ...
v2  alice 8              bob   bob 8                      alice 8 again, when bob's has ended
v3  alice 5 | alice 3          alice 5 | alice 3         ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from hooks.deploy.bundle_hook import build
from tests.hooks.deploy_on_testbed import (
    deploy_and_drive,
    last_pass,
    quick_settings,
    state_of,
    wait_for_due_pass,
    wait_for_pass,
)
from tests.pbs.cluster import PbsCluster
from tests.pbs.run_until_told import run_until_told

ALICES_QUOTA, BOBS_QUOTA = 4, 8


class Watch:
    """Looks again and again until something holds, and remembers the fewest cores that alice was left with."""

    def __init__(self, pbs: PbsCluster) -> None:
        self.pbs = pbs
        self.fewest = pbs.spec.cores * len(pbs.mom_names)
        self.jobs: dict[str, dict[str, Any]] = {}

    def until(self, holds: Any, what: str, timeout_s: float = 120.0) -> None:
        def look() -> bool:
            self.jobs = self.pbs.qstat_json()
            mine = [job for job in self.jobs.values() if job["euser"] == "alice" and job["job_state"] == "R"]
            self.fewest = min(self.fewest, sum(job["Resource_List"]["ncpus"] for job in mine))
            vnodes = self.pbs.pbsnodes().values()
            assert all(vnode["resources_assigned"].get("ncpus", 0) <= self.pbs.spec.cores for vnode in vnodes)
            return bool(holds())

        self.pbs.wait_until(look, timeout_s, what)

    def state(self, job_id: str) -> str:
        return str(self.jobs[job_id]["job_state"])


def submit_all(pbs: PbsCluster, user: str, cores: Sequence[int]) -> list[str]:
    return [pbs.qsub(user, select=f"1:ncpus={each}") for each in cores]


def wait_for_start(pbs: PbsCluster, jobs: Sequence[str]) -> None:
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in jobs), 120.0, "all of these run")


def set_quotas(pbs: PbsCluster) -> None:
    pbs.qmgr(f"set queue workq max_run_res_soft.ncpus = '[u:alice={ALICES_QUOTA}],[u:bob={BOBS_QUOTA}]'")


def preempted(pbs: PbsCluster) -> set[str]:
    """All victims of all passes."""
    return {preempt["job"] for entry in state_of(pbs).read_journal(1000) for preempt in entry["preempts"]}


def test_exactly_the_right_job_makes_room_and_comes_back(pbs: PbsCluster) -> None:
    set_quotas(pbs)
    deploy_and_drive(pbs, quick_settings())
    alices = submit_all(pbs, "alice", [8, 4, 4, 5, 3])
    wait_for_start(pbs, alices)
    watch = Watch(pbs)
    whole = next(job for job in alices if pbs.job(job)["Resource_List"]["ncpus"] == 8)
    freed = pbs.job(whole)["exec_vnode"]

    command, end_bobs = run_until_told(pbs, "bob")
    bobs = pbs.qsub("bob", command, select="1:ncpus=8")
    watch.until(lambda: watch.state(bobs) == "R", "bob's job runs")
    assert watch.jobs[bobs]["exec_vnode"] == freed
    assert watch.state(whole) == "Q"
    assert [watch.state(job) for job in alices if job != whole] == ["R"] * 4
    wait_for_due_pass(pbs)
    assert "(pbsteer " in pbs.job(whole)["comment"]
    end_bobs()

    watch.until(lambda: watch.state(bobs) == "F" and watch.state(whole) == "R", "alice's job runs again")
    assert watch.fewest >= ALICES_QUOTA
    assert preempted(pbs) == {whole}
    assert watch.jobs[bobs]["Exit_status"] == 0
    assert {job: watch.jobs[job]["run_count"] for job in [*alices, bobs]} == {
        **dict.fromkeys([*alices, bobs], 1),
        whole: 2,
    }
    assert {watch.state(job) for job in alices} == {"R"}
    assert last_pass(pbs)["failures"] == []


def test_no_run_is_preempted_where_the_quota_would_be_broken(pbs: PbsCluster) -> None:
    """Alice has 6 + 2 of a vnode, carol (no quota) has the others; bob wants 4. Without the 6, alice would have 2."""
    set_quotas(pbs)
    deploy_and_drive(pbs, quick_settings())
    jobs = [*submit_all(pbs, "carol", [8, 8]), *submit_all(pbs, "alice", [6, 2])]
    wait_for_start(pbs, jobs)
    watch = Watch(pbs)
    bobs = pbs.qsub("bob", select="1:ncpus=4")
    for _ in range(3):
        wait_for_pass(pbs)
        watch.until(lambda: True, "a look")
    assert watch.state(bobs) == "Q"
    assert {watch.jobs[job]["run_count"] for job in jobs} == {1}
    assert (watch.fewest, preempted(pbs)) == (8, set())


@pytest.mark.parametrize("event", ["queuejob", "runjob"])
def test_the_story_goes_on_when_another_hook_raises(pbs: PbsCluster, tmp_path: Any, event: str) -> None:
    set_quotas(pbs)
    deploy_and_drive(pbs, quick_settings(guard_starts="always"))
    start = "def handle(pbs: Any) -> str | None:"
    (tmp_path / "raising.py").write_text(
        build(event).replace(start, f"{start}\n    raise RuntimeError('on purpose')", 1)
    )
    pbs.qmgr(f"import hook pbsteer_{event} application/x-python default {tmp_path / 'raising.py'}")
    alices = submit_all(pbs, "alice", [8, 8, 4, 4])
    wait_for_start(pbs, alices)
    watch = Watch(pbs)
    bobs = pbs.qsub("bob", select="1:ncpus=8")
    watch.until(lambda: watch.state(bobs) == "R", "bob's job runs")
    assert sorted(watch.state(job) for job in alices) == ["Q", "R", "R", "R"]
    assert watch.fewest >= ALICES_QUOTA
    assert f"the {event} hook failed and lets PBS go on" in pbs.server_log()
