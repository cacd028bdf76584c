"""Other workloads from a recorded one: what changes is when jobs come, and nothing else."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest

from sim.workload.lublin_feitelson import generate
from sim.workload.scale_and_resample import resample, scale_to_load
from sim.workload.workload import WEEK_S, Cluster, TraceJob, Workload
from tests.sim.small_jobs_and_replays import a_job

CLUSTER = Cluster(8, 4)


def recorded(jobs: int = 900) -> Workload:
    return replace(generate(jobs, CLUSTER, 6, 2, 0.5), name="trace.swf", generated=False)


def offered(workload: Workload) -> float:
    work = sum(job.cores * job.run_s for job in workload.jobs)
    return work / (CLUSTER.cores * (workload.jobs[-1].submit_s - workload.jobs[0].submit_s))


def but_for_submit(jobs: tuple[TraceJob, ...]) -> list[TraceJob]:
    return sorted((replace(job, submit_s=0) for job in jobs), key=lambda job: job.number)


# Load


@pytest.mark.parametrize("load", [0.2, 0.5, 0.9, 1.3])
def test_the_load_is_what_was_asked_for(load: float) -> None:
    scaled = scale_to_load(recorded(), CLUSTER, load)
    assert offered(scaled) == pytest.approx(load, rel=1e-4)
    assert but_for_submit(scaled.jobs) == but_for_submit(recorded().jobs)
    assert [job.number for job in scaled.jobs] == [job.number for job in recorded().jobs]
    assert scaled.name == f"trace.swf, load {load:g}"


def test_gaps_keep_their_proportions() -> None:
    jobs = tuple(a_job(number, 1000 + at, 100) for number, at in enumerate((0, 100, 400)))
    scaled = scale_to_load(Workload("t", None, jobs), Cluster(1, 1), 1.5)
    assert [job.submit_s for job in scaled.jobs] == [1000, 1050, 1200]


@pytest.mark.parametrize("load", [0, -1, 101, float("nan"), float("inf")])
def test_a_load_that_makes_no_sense_is_refused(load: float) -> None:
    with pytest.raises(ValueError, match="must be above 0 and at most 100"):
        scale_to_load(recorded(), CLUSTER, load)


@pytest.mark.parametrize("jobs", [(a_job(1),), (a_job(1), a_job(2)), (a_job(1, run_s=0), a_job(2, 9, run_s=0))])
def test_jobs_without_a_load_are_refused(jobs: tuple[TraceJob, ...]) -> None:
    with pytest.raises(ValueError, match="t has no load to scale"):
        scale_to_load(Workload("t", None, jobs), CLUSTER, 0.5)


# Resampling


def test_each_users_jobs_move_together_by_whole_weeks() -> None:
    before = {job.number: job for job in recorded().jobs}
    after = resample(recorded(), CLUSTER, 7)
    assert but_for_submit(after.jobs) == but_for_submit(recorded().jobs)
    assert [job.submit_s for job in after.jobs] == sorted(job.submit_s for job in after.jobs)
    first_s, last_s = recorded().jobs[0].submit_s, recorded().jobs[-1].submit_s
    weeks = int((last_s - first_s) // WEEK_S)
    moves: dict[str, set[float]] = defaultdict(set)
    for job in after.jobs:
        if before[job.number].submit_s >= first_s + weeks * WEEK_S:
            assert job == before[job.number]
            continue
        assert first_s <= job.submit_s < first_s + weeks * WEEK_S
        moves[job.user].add((job.submit_s - before[job.number].submit_s) % (weeks * WEEK_S))
    assert all(len(moved) == 1 and min(moved) % WEEK_S == 0 for moved in moves.values())
    assert len(set.union(*moves.values())) > 1


def test_a_seed_gives_the_same_and_another_seed_another() -> None:
    assert resample(recorded(), CLUSTER, 1) == resample(recorded(), CLUSTER, 1)
    assert resample(recorded(), CLUSTER, 1).jobs != resample(recorded(), CLUSTER, 2).jobs
    assert resample(recorded(), CLUSTER, 1).name.startswith("trace.swf, resampled with seed 1 (load ")


@pytest.mark.parametrize("seed", range(5))
def test_the_load_stays_and_is_reported_beside_the_recorded_one(seed: int) -> None:
    """Two weeks and a half: the half stays where it is."""
    jobs = tuple(a_job(number, number * WEEK_S / 40, 9000, user=f"u{number % 7}") for number in range(101))
    before = Workload("trace.swf", None, jobs)
    after = resample(before, CLUSTER, seed)
    assert offered(after) == pytest.approx(offered(before), rel=0.05)
    assert after.jobs[-1] == jobs[-1]
    assert after.name.endswith(f"(load {offered(after):.3f}, recorded {offered(before):.3f})")


def test_less_than_two_weeks_cannot_be_resampled() -> None:
    with pytest.raises(ValueError, match=r"trace\.swf: is shorter than two weeks"):
        resample(Workload("trace.swf", None, (a_job(1), a_job(2, 2 * WEEK_S - 1))), CLUSTER, 1)
