"""What ``auto`` goes by: the idle nodes, the waiting jobs, and the memory that they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from policy import Job, Run, Snapshot, Vnode
from policy.striping.batch_of_waiting_jobs import Batch, CoresAndMemory, Extent, describe_batch, factor_for_batch
from tests.policy.clusters import job, queue, run, vnode

GB = 1 << 20
FACTORS = {"stripe": 2.0, "stripe*2": 4.0}
ROOMY = Extent(2, 16)


NODES = [vnode(f"n{number}", 32, has={"mem": 64 * GB}) for number in range(1, 5)]


def batch_of(jobs: Sequence[Job], runs: Sequence[Run] = (), vnodes: Sequence[Vnode] = NODES) -> Batch:
    snapshot = Snapshot.build(100, vnodes, [queue()], jobs, runs)
    return describe_batch(snapshot.cluster(), (1 << len(vnodes)) - 1, 100)


def asking(job_id: str, cores: int, memory_gb: int = 0) -> Job:
    memory = f":mem={memory_gb}gb" if memory_gb else ""
    return job(job_id, select=f"1:ncpus={cores}:mpiprocs={cores}{memory}")


def test_idle_is_what_whole_nodes_have_on_which_nothing_runs() -> None:
    batch = batch_of([asking("1", 64, 32)], [run("9", "bob", "n2=1")])
    assert batch.nodes == CoresAndMemory(128, 256 * GB)
    assert batch.idle == CoresAndMemory(96, 192 * GB)
    assert batch.waiting == CoresAndMemory(64, 32 * GB)


def test_a_host_with_a_busy_vnode_is_not_idle() -> None:
    vnodes = [replace(each, host=f"h{index // 2}") for index, each in enumerate(NODES)]
    assert batch_of([], [run("9", "bob", "n1=1")], vnodes).idle == CoresAndMemory(64, 128 * GB)


def test_jobs_that_may_not_start_yet_do_not_wait_for_nodes() -> None:
    held, later, due = asking("1", 8)._replace(blocked="held"), asking("2", 8), asking("3", 16)
    jobs = [held, later._replace(not_before_s=200.0), due._replace(not_before_s=50.0)]
    assert batch_of(jobs).waiting.cores == 16


def test_every_subjob_of_an_array_counts() -> None:
    assert batch_of([asking("1[]", 8)._replace(subjobs=(1, 2, 3))]).waiting.cores == 24


def test_jobs_of_queues_with_other_vnodes_do_not_count() -> None:
    assert batch_of([asking("1", 8)._replace(queue="elsewhere")]).waiting.cores == 0


@pytest.mark.parametrize(
    ("memory_gb", "heavy", "light"), [(0, False, False), (129, True, False), (128, False, False), (64, False, True)]
)
def test_memory_is_held_against_what_the_cores_come_with(memory_gb: int, heavy: bool, light: bool) -> None:
    batch = batch_of([asking("1", 64, memory_gb)])
    assert (batch.heavy, batch.light) == (heavy, light)


def test_running_jobs_are_neighbours_as_well() -> None:
    assert batch_of([], [run("9", "bob", "n1=8")._replace(job=asking("9", 8, 60))]).heavy


def free(idle_nodes: int, waiting_cores: int, *, heavy: bool = False, light: bool = False) -> Batch:
    """Nodes of 32 cores and 64 GB, so many of them idle."""
    return Batch(
        CoresAndMemory(512, 1024 * GB),
        CoresAndMemory(32 * idle_nodes, 64 * GB * idle_nodes),
        CoresAndMemory(waiting_cores),
        heavy,
        light,
    )


@pytest.mark.parametrize(
    ("idle_nodes", "waiting_cores", "factor"),
    [(16, 64, 4), (8, 64, 4), (7, 64, 2), (16, 256, 2), (16, 257, 0), (0, 64, 0)],
)
def test_as_wide_as_all_waiting_jobs_could_be_on_idle_nodes(idle_nodes: int, waiting_cores: int, factor: float) -> None:
    assert factor_for_batch(asking("1", 64).request, ROOMY, free(idle_nodes, waiting_cores), FACTORS)[0] == factor


def test_a_job_that_is_not_among_those_that_wait_counts_by_itself() -> None:
    assert factor_for_batch(asking("1", 128).request, ROOMY, free(8, 0), FACTORS)[0] == 2


def test_memory_that_the_idle_nodes_do_not_have_twice_is_no_room_to_spread() -> None:
    assert factor_for_batch(asking("1", 64, 400).request, ROOMY, free(8, 64), FACTORS)[0] == 0


def test_a_job_that_one_node_holds_stays_there_unless_it_asks_for_much_memory() -> None:
    small = Extent(1, 16)
    factor, why = factor_for_batch(asking("1", 16, 20).request, small, free(16, 16), FACTORS)
    assert (factor, why) == (0, "auto: one node holds it")
    assert factor_for_batch(asking("1", 16, 40).request, small, free(16, 16), FACTORS)[0] == 4


@pytest.mark.parametrize(
    ("memory_gb", "heavy", "light", "factor"),
    [
        (129, True, True, 2), (129, True, False, 0), (64, True, True, 2), (64, False, True, 0), (100, True, True, 0),
        (0, True, True, 0),
    ],
)  # fmt: skip
def test_on_full_nodes_it_is_striped_only_beside_jobs_that_need_something_else(
    memory_gb: int, heavy: bool, light: bool, factor: float
) -> None:
    request = asking("1", 64, memory_gb).request
    assert factor_for_batch(request, ROOMY, free(1, 999, heavy=heavy, light=light), FACTORS)[0] == factor


def test_where_nothing_is_known_it_is_packed() -> None:
    assert factor_for_batch(asking("1", 64).request, Extent(), Batch(), FACTORS)[0] == 0
