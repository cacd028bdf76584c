"""Submissions in ``advise`` on a real server: estimates and stripes for PBS's own scheduler, and what is refused."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from container import testbed as testbeds
from container.testbed_spec import TestbedSpec
from policy.model.allocation import parse_exec_vnode
from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.settings.site_settings import BackfillSettings, CheckpointSettings
from tests.hooks.deploy_on_testbed import REFUSING, deploy, deploy_and_drive, drive, quick_settings, wait_for_pass
from tests.pbs.cluster import PbsCluster

RANKS = "cat $PBS_NODEFILE\necho threads $OMP_NUM_THREADS\n"
STRIPE = StripeSettings(layout="stripe")


def read_ranks(pbs: PbsCluster, job_id: str) -> tuple[list[int], list[str]]:
    """How many ranks each host got, sorted, and the number of threads that PBS tells the first of them."""
    lines = pbs.read_output("alice", job_id).splitlines()
    threads = [line.split()[1] for line in lines if line.startswith("threads")]
    hosts = Counter(line.partition(".")[0] for line in lines if not line.startswith("threads"))
    return sorted(hosts.values()), threads


def test_a_job_is_striped_with_its_ranks_threads_and_memory_in_all(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("advise", stripe=STRIPE))
    for select, width, ranks, threads in (
        ("1:ncpus=4:mpiprocs=4:mem=400mb", None, [2, 2], "1"),
        ("6:ncpus=1:mem=100mb", "3", [2, 2, 2], "1"),
        ("1:ncpus=7:mpiprocs=7:mem=7mb", "3", [2, 2, 3], "1"),
        ("1:ncpus=8:mpiprocs=2:ompthreads=4:mem=800mb", "2", [1, 1], "4"),
    ):
        check_stripe(pbs, select, width, ranks, threads)


def check_stripe(pbs: PbsCluster, select: str, width: str | None, ranks: list[int], threads: str) -> None:
    """Run a job striped, and packed after it, and compare them."""
    pbs.qmgr("set server scheduling = False")
    wish = ["-l", f"pbsteer_width={width}"] if width else []
    striped = pbs.qsub("alice", RANKS, select=select, options=wish)
    plain = pbs.qsub("alice", RANKS, select=select, options=["-l", "pbsteer_layout=pack"])
    asked, own = (pbs.job(job_id)["Resource_List"] for job_id in (striped, plain))
    assert {name: asked.get(name) for name in ("ncpus", "mpiprocs")} == {
        name: own.get(name) for name in ("ncpus", "mpiprocs")
    } or "mpiprocs" not in select
    assert asked["place"] == "scatter"
    assert "pbsteer_asked" not in own
    pbs.qmgr("set server scheduling = True")
    pbs.wait_for_state(striped, "F")
    assert read_ranks(pbs, striped) == (ranks, [threads])
    held = parse_exec_vnode(pbs.job(striped)["exec_vnode"])
    assert len(held.vnodes) == len(ranks)
    assert held.total("ncpus") == int(own["ncpus"])
    pbs.wait_for_state(plain, "F")
    assert held.total("mem") == parse_exec_vnode(pbs.job(plain)["exec_vnode"]).total("mem")


def test_what_cannot_be_cut_evenly_or_says_how_it_is_placed_stays_as_it_is(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("advise", stripe=STRIPE))
    pbs.qmgr("set server scheduling = False")
    for select, *options in (
        ("1:ncpus=4:mpiprocs=4", "-l", "place=pack"),
        ("1:ncpus=4:mpiprocs=4", "-l", "place=scatter"),
        ("1:ncpus=4:mpiprocs=4", "-l", "place=excl"),
        ("1:ncpus=4:mpiprocs=3",),
        ("1:ncpus=4:mpiprocs=4:mem=1000001kb",),
        ("1:ncpus=4",),
        ("1:ncpus=2:mpiprocs=2+2:ncpus=1",),
    ):
        job_id = pbs.qsub("alice", select=select, options=options)
        asked = pbs.job(job_id)["Resource_List"]
        assert (asked["select"], asked.get("pbsteer_asked")) == (select, None)


def test_defaults_of_a_chunk_are_not_multiplied_by_the_stripe(pbs: PbsCluster) -> None:
    pbs.qmgr("set queue workq default_chunk.mem = 400mb")
    deploy(pbs, quick_settings("advise", stripe=STRIPE))
    pbs.qmgr("set server scheduling = False")
    job_id = pbs.qsub("alice", select="1:ncpus=4:mpiprocs=4")
    asked = pbs.job(job_id)["Resource_List"]
    assert asked["select"].startswith("2:")
    assert asked["mem"] == "409600kb"
    pbs.qmgr("set queue workq resources_default.place = pack")
    wait_for_pass(pbs)
    packed = pbs.qsub("alice", select="1:ncpus=4:mpiprocs=4")
    assert pbs.job(packed)["Resource_List"]["select"] == "1:ncpus=4:mpiprocs=4"


def test_a_job_that_was_striped_starts_packed_when_its_queue_is_driven_so(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("advise", stripe=STRIPE))
    pbs.qmgr("set server scheduling = False")
    select = "1:ncpus=4:mpiprocs=4:mem=400mb"
    job_id = pbs.qsub("alice", RANKS, select=select)
    assert pbs.job(job_id)["Resource_List"]["place"] == "scatter"
    deploy_and_drive(pbs, quick_settings("advise", stripe=StripeSettings(layout="pack")))
    pbs.wait_for_state(job_id, "F")
    assert read_ranks(pbs, job_id)[0] == [4]
    asked = pbs.job(job_id)["Resource_List"]
    assert (asked["select"], asked["place"], asked.get("pbsteer_asked")) == (select, "free", None)


def test_a_driven_job_that_was_cut_is_whole_again_when_it_starts_packed(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings(stripe=STRIPE))
    job_id = pbs.qsub("alice", "sleep 600\n", select="1:ncpus=4:mpiprocs=4")
    pbs.wait_for_state(job_id, "R")
    asked = pbs.job(job_id)["Resource_List"]
    assert (asked["select"], asked["pbsteer_asked"]) == ("4:ncpus=1:mpiprocs=1", "1:ncpus=4:mpiprocs=4")
    deploy(pbs, quick_settings(stripe=StripeSettings(layout="pack")))
    pbs.run(["qrerun", job_id]).demand_success()
    pbs.wait_until(lambda: pbs.job(job_id).get("run_count") == 2, 120.0, "a second start")
    asked = pbs.wait_for_state(job_id, "R")["Resource_List"]
    assert (asked["select"], asked.get("pbsteer_asked")) == ("1:ncpus=4:mpiprocs=4", None)


def test_what_can_never_run_is_refused_with_the_reason(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("advise", submission=REFUSING))
    refused: tuple[tuple[str, list[str], str], ...] = (
        ("1:ncpus=1:host=nosuch", [], "it asks for host=nosuch, and there is no such host"),
        ("1:ncpus=1:vnode=nosuch", [], "it asks for vnode=nosuch, and there is no such vnode"),
        ("4:ncpus=1", ["-l", "place=scatter"], "it asks for 4 hosts, and 3 are open to that queue"),
        ("3:ncpus=4", ["-l", "place=pack"], "one host has to have ncpus=12"),
        ("1:ncpus=9", ["-J", "1-3"], "one chunk asks for ncpus=9"),
    )
    for select, options, words in refused:
        assert words in pbs.wait_for_refusal("alice", select=select, options=options)


@pytest.fixture
def numa(pbs_exec: str) -> Iterator[PbsCluster]:
    """Three hosts of two vnodes with four cores each."""
    name = f"pbst-{os.getpid()}-numa"
    try:
        built, _ = testbeds.up(TestbedSpec(name=name, pbs_exec=pbs_exec, vnodes=2, cores=4))
        yield PbsCluster(built)
    finally:
        testbeds.down(name)


def test_hosts_of_several_vnodes_are_one_node_each(numa: PbsCluster) -> None:
    half = BackfillSettings("checkpoint", shrink_factor=0.5)
    saving = CheckpointSettings(saves=True)
    deploy(numa, quick_settings("advise", stripe=STRIPE, backfill=half, checkpoint=saving, submission=REFUSING))
    job_id = numa.qsub("alice", RANKS, select="1:ncpus=12:mpiprocs=12:mem=1200mb", options=["-l", "pbsteer_width=3"])
    too_large = numa.wait_for_refusal("alice", select="1:ncpus=9")
    numa.wait_for_state(job_id, "F")
    assert read_ranks(numa, job_id)[0] == [4, 4, 4]
    six = numa.qsub("alice", RANKS, select="1:ncpus=12:mpiprocs=12")
    numa.wait_for_state(six, "F")
    assert "the largest host open to that queue has ncpus=8" in too_large
    drive(numa)
    driven = numa.qsub("alice", RANKS, select="1:ncpus=6:mpiprocs=6", options=["-l", "pbsteer_width=3"])
    numa.wait_for_state(driven, "F")
    assert read_ranks(numa, driven)[0] == [2, 2, 2]
    held = parse_exec_vnode(numa.job(driven)["exec_vnode"])
    assert sorted(spot.chunks for spot in held.spots) == [1] * 6
