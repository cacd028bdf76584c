"""Which jobs follow which, and what the replay makes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.replay.named_policies import resolve
from sim.replay.replay import replay
from sim.workload.think_times import SESSION_S, find_follows, with_think_times
from sim.workload.workload import UNKNOWN, Cluster, TraceJob, Workload

ONE = Cluster(1, 1)


def a(number: int, submit_s: float, run_s: float, waited_s: float | None = 0, user: str = "alice") -> TraceJob:
    return TraceJob(number, submit_s, run_s, max(1, run_s), 1, user, "g", waited_s=waited_s)


def follows(*jobs: TraceJob) -> dict[int, tuple[int, float]]:
    return {number: (each.number, each.think_s) for number, each in find_follows(Workload("t", ONE, jobs)).items()}


def starts(workload: Workload, policy: str = "easy") -> dict[int, tuple[float, float]]:
    """When each job came and started."""
    records = replay(workload, ONE, resolve(policy, workload, ONE)).records
    return {record.job.number: (record.job.submit_s, record.start_s) for record in records}


def test_a_job_follows_the_last_one_that_had_ended() -> None:
    """1 ends at 150, 2 at 130 though it came later; 3 comes at 200, and 4 a second after it, before it has ended."""
    jobs = (a(1, 0, 100, 50), a(2, 10, 20, 100), a(3, 200, 60), a(4, 201, 60))
    assert follows(*jobs) == {3: (1, 50), 4: (1, 51)}


@pytest.mark.parametrize(("later_s", "within"), [(0, True), (SESSION_S, True), (SESSION_S + 1, False)])
def test_only_within_a_session(later_s: float, within: bool) -> None:
    assert (2 in follows(a(1, 0, 100), a(2, 100 + later_s, 5))) is within


def test_users_follow_nobody_else_and_unknown_ones_not_at_all() -> None:
    assert follows(a(1, 0, 10), a(2, 11, 10, user="bob")) == {}
    assert follows(a(1, 0, 10), a(2, 11, 5), a(3, 0, 10, user=UNKNOWN), a(4, 11, 10, user=UNKNOWN)) == {2: (1, 1)}


def test_jobs_of_no_length_at_one_moment_follow_only_earlier_ones() -> None:
    assert follows(a(1, 5, 0), a(2, 5, 0), a(3, 5, 0)) == {2: (1, 0), 3: (2, 0)}


@pytest.mark.parametrize("jobs", [(a(1, 0, 10, None),), (a(1, 0, 10, 3, UNKNOWN),)])
def test_without_recorded_waits_nothing_can_follow(jobs: tuple[TraceJob, ...]) -> None:
    with pytest.raises(ValueError, match="t: has no recorded waits of known users"):
        with_think_times(Workload("t", ONE, jobs))


def test_a_job_comes_sooner_if_the_one_before_it_ends_sooner() -> None:
    """Recorded, 1 waited 1,000 s and 2 came 30 s after its end; replayed it waits none."""
    workload = with_think_times(Workload("t", ONE, (a(1, 0, 100, 1000), a(2, 1130, 10), a(3, 90_000, 10))))
    assert starts(workload) == {1: (0, 0), 2: (130, 130), 3: (90_000, 90_000)}


def test_a_chain_is_as_late_as_its_first_job() -> None:
    """bob's long job is before alice's first, which waited none when it was recorded."""
    jobs = (a(9, 0, 500, user="bob"), a(1, 1, 10), a(2, 20, 10), a(3, 40, 10))
    workload = with_think_times(Workload("t", ONE, jobs))
    assert starts(workload) == {9: (0, 0), 1: (1, 500), 2: (519, 519), 3: (539, 539)}


def test_jobs_behind_one_that_never_starts_are_left_out_and_counted() -> None:
    jobs = (replace(a(1, 0, 10), cores=2), a(2, 15, 10), a(3, 0, 10, user="bob"))
    workload = with_think_times(Workload("t", ONE, jobs))
    result = replay(workload, ONE, resolve("easy", workload, ONE))
    assert [record.job.number for record in result.records] == [3]
    assert result.skipped == {"never startable under the policy": 2}


JOBS = st.lists(
    st.tuples(st.integers(0, 3000), st.integers(0, 200), st.integers(0, 400), st.sampled_from("ab")),
    min_size=1,
    max_size=25,
)


@given(JOBS)
def test_every_job_runs_and_none_comes_before_what_it_follows_has_ended(
    drawn: list[tuple[int, int, int, str]],
) -> None:
    jobs = sorted(
        (a(number, submit, run, waited, user) for number, (submit, run, waited, user) in enumerate(drawn)),
        key=lambda job: (job.submit_s, job.number),
    )
    workload = with_think_times(Workload("t", ONE, tuple(jobs)))
    records = {r.job.number: r for r in replay(workload, ONE, resolve("easy", workload, ONE)).records}
    assert len(records) == len(jobs)
    for job in jobs:
        if job.number in workload.follows:
            number, think_s = workload.follows[job.number]
            assert records[job.number].job.submit_s == records[number].end_s + think_s
        else:
            assert records[job.number].job.submit_s == job.submit_s
