"""What hosts report of themselves, on a real server: it arrives, jobs go by it, and it grows old.

A MoM sees the memory that a test gives it: a file over its own ``/proc/meminfo``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hooks.telemetry.host_reading_format import HostReading, parse_reading
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.settings.site_settings import Settings
from tests.hooks.deploy_on_testbed import deploy, deploy_and_drive, make_deployment, quick_settings, wait_for_pass
from tests.pbs.cluster import PbsCluster

INTERVAL_S = 2
GB_KIB = 1 << 20

GiveMemory = Callable[[str, int, int], None]
"""Lets a MoM's host have so many GiB left of so many."""


@pytest.fixture
def give_memory(pbs: PbsCluster, tmp_path: Path) -> Iterator[GiveMemory]:
    given: list[str] = []

    def give(mom: str, left_gb: int, all_gb: int) -> None:
        path = tmp_path / f"meminfo-{mom}"
        path.write_text(f"MemTotal: {all_gb * GB_KIB} kB\nMemAvailable: {left_gb * GB_KIB} kB\n")
        if mom not in given:
            pbs.run(["mount", "--bind", str(path), "/proc/meminfo"], host=mom).demand_success()
            given.append(mom)

    yield give
    for mom in given:
        pbs.run(["umount", "/proc/meminfo"], host=mom).demand_success()


def quick(interval_s: float = INTERVAL_S) -> Settings:
    return quick_settings(ranking=RankingSettings(interval_s=interval_s))


def reading_of(pbs: PbsCluster, vnode: str) -> HostReading | None:
    available = pbs.pbsnodes()[vnode]["resources_available"]
    return parse_reading(available.get("pbsteer_reading", ""))


def wait_for_memory(pbs: PbsCluster, vnode: str, all_gb: int) -> None:
    def has_it() -> bool:
        reading = reading_of(pbs, vnode)
        return reading is not None and reading.memory_mib is not None and reading.memory_mib.all == all_gb * 1024

    pbs.wait_until(has_it, 120.0, f"{vnode} to report {all_gb} GiB")


def test_every_host_reports_and_goes_on_reporting(pbs: PbsCluster) -> None:
    deploy(pbs, quick())
    vnodes = list(pbs.pbsnodes())
    pbs.wait_until(
        lambda: all((reading := reading_of(pbs, vnode)) and reading.idle is not None for vnode in vnodes),
        30.0,
        "every vnode to report, load included",
    )
    first = reading_of(pbs, vnodes[0])
    assert first is not None
    assert abs(first.time_s - time.time()) < 60
    pbs.wait_until(lambda: reading_of(pbs, vnodes[0]) != first, 120.0, "a heartbeat")
    pbs.run(["qstat", "-Bf"]).demand_success()
    assert "pbsteer_reading" in pbs.run(["pbsnodes", "-a"], user="alice").stdout
    assert pbs.try_qsub("alice", select="1:ncpus=1:pbsteer_reading=t").status != 0


def test_a_job_with_a_need_goes_where_it_is_met_and_one_that_nobody_meets_says_so(
    pbs: PbsCluster, give_memory: GiveMemory
) -> None:
    vnodes = sorted(pbs.pbsnodes())
    for mom, vnode, left_gb in zip(pbs.mom_names, vnodes, (2, 40, 5)):
        assert vnode.endswith(mom)
        give_memory(mom, left_gb, 64)
    deploy_and_drive(pbs, quick())
    for vnode in vnodes:
        wait_for_memory(pbs, vnode, 64)
    wait_for_pass(pbs)
    large = pbs.qsub("alice", options=["-l", "pbsteer_min_mem=20gb"])
    larger = pbs.qsub("alice", options=["-l", "pbsteer_min_mem=60gb"])
    assert pbs.wait_for_state(large, "R")["exec_vnode"] == f"({vnodes[1]}:ncpus=1)"
    pbs.wait_until(lambda: "60 GiB" in pbs.job(larger).get("comment", ""), 120.0, "the reason")
    assert f"{vnodes[1]} comes nearest" in pbs.job(larger)["comment"]
    give_memory(pbs.mom_names[2], 63, 64)
    assert pbs.wait_for_state(larger, "R")["exec_vnode"] == f"({vnodes[2]}:ncpus=1)"


def test_a_host_that_stops_reporting_is_not_taken_for_a_need_until_it_reports_again(
    pbs: PbsCluster, give_memory: GiveMemory
) -> None:
    for mom in pbs.mom_names:
        give_memory(mom, 40, 64)
    deploy_and_drive(pbs, quick())
    for vnode in pbs.pbsnodes():
        wait_for_memory(pbs, vnode, 64)
    pbs.qmgr("set hook pbsteer_exechost_periodic enabled = false")
    oldest_s = max(reading.time_s for vnode in pbs.pbsnodes() if (reading := reading_of(pbs, vnode)))
    pbs.wait_until(lambda: time.time() > oldest_s + 4 * INTERVAL_S, 120.0, "the readings to grow old")
    job_id = pbs.qsub("alice", options=["-l", "pbsteer_min_mem=20gb"])
    plain = pbs.qsub("alice")
    pbs.wait_for_state(plain, "R")
    pbs.wait_until(lambda: "with an old one" in pbs.job(job_id).get("comment", ""), 120.0, "the reason")
    pbs.qmgr("set hook pbsteer_exechost_periodic enabled = true")
    pbs.wait_for_state(job_id, "R")


def test_removing_takes_the_readings_from_the_vnodes(pbs: PbsCluster) -> None:
    before = pbs.qmgr("print node @default")
    deploy(pbs, quick())
    pbs.wait_until(lambda: reading_of(pbs, sorted(pbs.pbsnodes())[0]), 120.0, "a reading")
    make_deployment(pbs).remove(lambda _: None)
    assert pbs.qmgr("print node @default") == before
