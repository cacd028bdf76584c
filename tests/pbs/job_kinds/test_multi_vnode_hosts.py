"""Hosts that show several vnodes, on a real server: where a pass puts a job is as good as where pbs_sched does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from container import testbed as testbeds
from container.testbed_spec import TestbedSpec
from tests.hooks.deploy_on_testbed import last_pass, wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.compare_placement_with_pbs_sched import driven, run_by_pass, run_by_sched, shape_of, why_it_waits


@pytest.fixture(scope="module")
def numa_testbed(pbs_exec: str) -> Iterator[PbsCluster]:
    """Two MoMs, each with two vnodes of four cores."""
    name = f"pbst-{os.getpid()}-n"
    try:
        built, _ = testbeds.up(TestbedSpec(name=name, moms=2, vnodes=2, cores=4, pbs_exec=pbs_exec))
        yield PbsCluster(built)
    finally:
        testbeds.down(name)


@pytest.fixture
def numa(numa_testbed: PbsCluster) -> PbsCluster:
    numa_testbed.reset()
    return numa_testbed


REQUESTS: list[dict[str, Any]] = [
    {"select": "1:ncpus=4"},
    {"select": "1:ncpus=6"},
    {"select": "1:ncpus=8:mpiprocs=2"},
    {"select": "2:ncpus=6"},
    {"select": "1:ncpus=6+1:ncpus=2"},
    {"select": "1:ncpus=2:mem=20gb"},
    {"select": "1:ncpus=6:mem=20gb"},
    {"select": "2:ncpus=2", "options": ["-l", "place=scatter"]},
    {"select": "2:ncpus=5", "options": ["-l", "place=scatter"]},
    {"select": "2:ncpus=2", "options": ["-l", "place=vscatter"]},
    {"select": "4:ncpus=2", "options": ["-l", "place=pack"]},
    {"select": "1:ncpus=6", "options": ["-l", "place=excl"]},
    {"select": "1:ncpus=1", "options": ["-l", "place=exclhost"]},
    {"select": "1:ncpus=6", "options": ["-l", "place=pack:exclhost"]},
]


def test_every_request_is_placed_as_well_as_by_pbs_sched(numa: PbsCluster) -> None:
    by_sched = [run_by_sched(numa, **asked) for asked in REQUESTS]
    driven(numa)
    for asked, theirs in zip(REQUESTS, by_sched):
        ours = run_by_pass(numa, **asked)
        assert shape_of(numa, ours["exec_vnode"]) == shape_of(numa, theirs["exec_vnode"]), asked
        assert ours["Resource_List"] == theirs["Resource_List"]
        numa.run(["qdel", "-W", "force", "-x", *_running(numa)]).demand_success()
        numa.wait_until(lambda: all(not v.get("jobs") for v in numa.pbsnodes().values()), 120.0, "no job on any vnode")
    assert last_pass(numa)["failures"] == []


def _running(numa: PbsCluster) -> list[str]:
    return numa.run(["qselect", "-s", "R"]).demand_success().stdout.split()


def test_a_program_finds_all_its_ranks_on_the_host_of_its_chunk(numa: PbsCluster) -> None:
    driven(numa)
    job_id = numa.qsub("alice", "cat $PBS_NODEFILE\n", select="1:ncpus=6:mpiprocs=3")
    numa.wait_for_state(job_id, "F")
    hosts = numa.read_output("alice", job_id).split()
    assert len(hosts) == 3
    assert len(set(hosts)) == 1


def test_running_chunks_over_several_vnodes_are_counted_on_each(numa: PbsCluster) -> None:
    driven(numa)
    for _ in range(2):
        run_by_pass(numa, select="1:ncpus=6")
    third = numa.qsub("alice", select="1:ncpus=3")
    assert "needs 3 cores, 4 are idle, but not as it asks for them" in why_it_waits(numa, third)
    assert all(vnode["resources_assigned"]["ncpus"] <= 4 for vnode in numa.pbsnodes().values())
    whole = [numa.qsub("alice", select="1:ncpus=2") for _ in range(2)]
    for each in whole:
        numa.wait_for_state(each, "R")


def test_a_chunk_larger_than_any_host_waits_and_says_so(numa: PbsCluster) -> None:
    driven(numa)
    job_id = numa.qsub("alice", select="1:ncpus=6", options=["-l", "place=vscatter"])
    assert "could hold 0 chunks of that kind" in why_it_waits(numa, job_id)
    assert "can never run in queue workq" in numa.wait_for_refusal("alice", select="1:ncpus=9")


def test_room_for_a_chunk_is_made_on_the_vnodes_of_one_host(numa: PbsCluster) -> None:
    numa.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=4],[u:bob=8]'")
    driven(numa)
    alices = [numa.qsub("alice", select="1:ncpus=4") for _ in range(4)]
    for each in alices:
        numa.wait_for_state(each, "R")
    bobs = numa.qsub("bob", select="1:ncpus=6")
    assert shape_of(numa, numa.wait_for_state(bobs, "R")["exec_vnode"]).hosts == 1
    wait_for_pass(numa)
    assert sorted(numa.job_state(each) for each in alices) == ["Q", "Q", "R", "R"]


SHARINGS = [
    ("force_excl", "free"),
    ("force_excl", "free:shared"),
    ("force_exclhost", "free:shared"),
    ("default_excl", "free"),
    ("default_exclhost", "free"),
    ("default_exclhost", "free:shared"),
    ("ignore_excl", "free:excl"),
    ("default_shared", "free:exclhost"),
]
"""``sharing`` of the vnodes, and ``place`` of the job that is there first."""


def test_vnodes_are_shared_as_they_and_the_job_say_and_as_by_pbs_sched(numa: PbsCluster) -> None:
    by_sched = {case: beside_whom(numa, *case) for case in SHARINGS}
    assert {*by_sched.values()} == {(True, True), (False, True), (False, False)}
    driven(numa)
    assert {case: beside_whom(numa, *case) for case in SHARINGS} == by_sched


def beside_whom(numa: PbsCluster, sharing: str, place: str) -> tuple[bool, ...]:
    """Whether jobs start on the vnode where one job is, and on the other one of its host."""
    host = numa.mom_names[0]
    vnodes = [name for name, vnode in numa.pbsnodes().items() if vnode["resources_available"]["host"] == host]
    _share(numa, host, vnodes, sharing)
    options = ["-l", f"place={place}"]
    first = numa.qsub("alice", select=f"1:ncpus=1:vnode={vnodes[0]}", options=options)
    numa.wait_for_state(first, "R")
    others = [numa.qsub("alice", select=f"1:ncpus=1:vnode={vnode}") for vnode in vnodes]
    numa.wait_until(
        lambda: all(job["job_state"] == "R" or "comment" in job for job in map(numa.job, others)),
        120.0,
        "others judged",
    )
    started = tuple(numa.job_state(each) == "R" for each in others)
    numa.run(["qdel", "-W", "force", "-x", first, *others])
    numa.wait_until(lambda: all(not v.get("jobs") for v in numa.pbsnodes().values()), 120.0, "no job on any vnode")
    return started


def _share(numa: PbsCluster, host: str, vnodes: list[str], sharing: str) -> None:
    """Only a MoM can say how its vnodes are shared."""
    home = numa.testbed.pbs_home(numa.spec.find_host(host))
    said = home / "sharing"
    said.write_text("$configversion 2\n" + "".join(f"{vnode}: sharing = {sharing}\n" for vnode in vnodes))
    numa.run(["pbs_mom", "-s", "remove", "sharing"], host=host)
    numa.run(["pbs_mom", "-s", "insert", "sharing", str(said)], host=host).demand_success()
    numa.run(["kill", "-HUP", (home / "mom_priv" / "mom.lock").read_text().split()[0]], host=host).demand_success()
    numa.wait_until(
        lambda: all(numa.pbsnodes()[name]["sharing"] == sharing for name in vnodes), 120.0, "it is shared so"
    )
