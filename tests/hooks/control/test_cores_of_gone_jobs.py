"""Cores that PBS counts for jobs that are gone are named, and those of jobs, reservations and newer jobs are not."""

from __future__ import annotations

from hooks.control.cores_of_gone_jobs import name_cores_of_gone_jobs
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import job, running, server_status, snapshot_of, vnode


def named(used: int, jobs: str) -> list[str]:
    known = {"12.server": running(2), "40.server": job()}
    seen = server_status(known, vnodes={"v1": vnode(8, used, jobs=jobs), "v2": vnode()})
    return name_cores_of_gone_jobs(seen, snapshot_of(seen, Settings()).vnodes)


def test_a_vnode_that_counts_cores_of_jobs_that_are_gone_is_named() -> None:
    assert named(8, "12.server/0, 12.server/1, 35[1].server/0, 35[1].server/1, 36.server/0") == [
        "PBS counts cores for jobs that are gone, until pbs_server is restarted: v1 (35[1].server, 36.server)"
    ]


def test_cores_of_known_jobs_of_newer_ones_and_of_reservations_are_not() -> None:
    assert named(2, "12.server/0, 12.server/1, 35[1].server/0") == []
    assert named(8, "12.server/0, 41.server/0") == []
    assert named(8, "12.server/0") == []
    assert named(8, "") == []
    assert named(8, "0/12.server, 1/35.server") == [], "as Torque writes them"
