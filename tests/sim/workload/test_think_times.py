"""Which jobs follow which, and what the replay makes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.replay.named_policies import resolve
from sim.replay.replay import replay
from sim.workload.scale_and_resample import resample
from sim.workload.think_times import SESSION_S, find_follows, with_think_times
from sim.workload.workload import UNKNOWN, WEEK_S, Cluster, TraceJob, Workload

ONE = Cluster(1, 1)


def a(number: int, submit_s: float, run_s: float, waited_s: float | None = 0, user: str = "alice") -> TraceJob:
    return TraceJob(number, submit_s, run_s, max(1, run_s), 1, user, "g", waited_s=waited_s)


def follows(*jobs: TraceJob) -> dict[int, tuple[tuple[int, ...], float]]:
    return {number: (each.numbers, each.think_s) for number, each in find_follows(Workload("t", ONE, jobs)).items()}


def starts(workload: Workload, policy: str = "easy") -> dict[int, tuple[float, float]]:
    """When each job came and started."""
    records = replay(workload, ONE, resolve(policy, workload, ONE)).records
    return {record.job.number: (record.job.submit_s, record.start_s) for record in records}


def test_a_batch_follows_the_whole_batch_before_it() -> None:
    """1 ends at 150, 2 at 130 though it came later; 3 comes at 200, and 4 a second after it, before it has ended."""
    jobs = (a(1, 0, 100, 50), a(2, 10, 20, 100), a(3, 200, 60), a(4, 201, 60))
    assert follows(*jobs) == {3: ((1, 2), 50), 4: ((1, 2), 51)}


def test_a_job_that_comes_while_one_of_the_batch_still_runs_belongs_to_it() -> None:
    """2 has ended when 3 comes, 1 has not; 4 comes after all of them."""
    assert follows(a(1, 0, 1000), a(2, 10, 20), a(3, 100, 20), a(4, 1100, 5)) == {4: ((1, 2, 3), 100)}


@pytest.mark.parametrize(("later_s", "within"), [(SESSION_S, True), (SESSION_S + 1, False)])
def test_a_session_ends_where_nothing_is_submitted_for_an_hour(later_s: float, within: bool) -> None:
    assert (2 in follows(a(1, 0, 100), a(2, later_s, 5))) is within
    assert follows(a(1, 0, 100), a(2, later_s, 5), a(3, later_s + 10, 5))[3] == ((2,), 5)


def test_a_session_is_of_submissions_however_long_the_jobs_run() -> None:
    """The next job comes a minute after the end of the first one, which ran for two hours: it follows nothing."""
    assert follows(a(1, 0, 7200), a(2, 7260, 10)) == {}


def test_of_users_moved_by_weeks_no_job_follows_one_that_was_moved_elsewhere() -> None:
    """Around the end of a week, what comes after it may be moved to the beginning, and what comes before it not."""
    pairs = [(a(2 * n, n * WEEK_S - 100, 50), a(2 * n + 1, n * WEEK_S + 10, 50)) for n in range(1, 6)]
    recorded = Workload("t", ONE, (a(1, 0, 10), *(job for pair in pairs for job in pair)))
    for seed in range(5):
        moved = resample(recorded, ONE, seed)
        submit_s = {job.number: job.submit_s for job in moved.jobs}
        together = {2 * n + 1 for n in range(1, 6) if submit_s[2 * n + 1] == submit_s[2 * n] + 110}
        workload = with_think_times(moved, recorded)
        assert set(workload.follows) == together
        assert 3 <= len(together) < 5
        assert f", {len(together)} jobs a think time after" in workload.name


def test_users_follow_nobody_else_and_unknown_ones_not_at_all() -> None:
    assert follows(a(1, 0, 10), a(2, 11, 10, user="bob")) == {}
    jobs = (a(1, 0, 10), a(2, 11, 5), a(3, 0, 10, user=UNKNOWN), a(4, 11, 10, user=UNKNOWN))
    assert follows(*jobs) == {2: ((1,), 1)}


def test_jobs_of_no_length_at_one_moment_follow_only_earlier_ones() -> None:
    assert follows(a(1, 5, 0), a(2, 5, 0), a(3, 5, 0)) == {2: ((1,), 0), 3: ((2,), 0)}


@pytest.mark.parametrize("jobs", [(a(1, 0, 10, None),), (a(1, 0, 10, 3, UNKNOWN),)])
def test_without_recorded_waits_nothing_can_follow(jobs: tuple[TraceJob, ...]) -> None:
    with pytest.raises(ValueError, match="t: has no recorded waits of known users"):
        with_think_times(Workload("t", ONE, jobs))


def test_a_job_comes_sooner_if_the_one_before_it_ends_sooner() -> None:
    """Recorded, 1 waited 1,000 s and 2 came 30 s after its end; replayed it waits none."""
    workload = with_think_times(Workload("t", ONE, (a(1, 0, 100, 1000), a(2, 1130, 10), a(3, 90_000, 10))))
    assert starts(workload) == {1: (0, 0), 2: (130, 130), 3: (90_000, 90_000)}


def test_a_job_comes_after_the_last_end_of_the_batch_whichever_that_is() -> None:
    """Recorded, 1 and 2 ran side by side and 3 came 50 s after 1 had ended; on one core 2 runs after 1."""
    workload = with_think_times(Workload("t", ONE, (a(1, 0, 100), a(2, 0, 30), a(3, 150, 10))))
    assert starts(workload) == {1: (0, 0), 2: (0, 100), 3: (180, 180)}


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
            numbers, think_s = workload.follows[job.number]
            ended_s = max(records[number].end_s for number in numbers)
            assert records[job.number].job.submit_s == ended_s + think_s
        else:
            assert records[job.number].job.submit_s == job.submit_s
