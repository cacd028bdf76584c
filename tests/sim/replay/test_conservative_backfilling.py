"""Conservative backfilling: small timelines, and a reckoning second by second that shares nothing with it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sim.replay.conservative_backfilling import replay_conservatively
from sim.replay.job_records import Replay
from sim.replay.named_policies import resolve
from sim.replay.replay import replay
from sim.workload.workload import Cluster, TraceJob, Workload

FOUR = Cluster(2, 2)


def a(number: int, submit_s: float, run_s: float, cores: int, estimate_s: float = 0) -> TraceJob:
    return TraceJob(number, submit_s, run_s, estimate_s or max(1, run_s), cores, "alice", "g")


def starts(result: Replay) -> dict[int, float]:
    return {record.job.number: record.start_s for record in result.records}


def of(*jobs: TraceJob) -> Replay:
    return replay_conservatively(Workload("test", FOUR, jobs), FOUR)


def test_no_job_delays_one_before_it() -> None:
    """2 waits for all cores until 40, 3 for its own behind it. Under EASY 4 (2 cores, 45 s) would start at 10, since
    only 2 is promised anything; here it would delay 3.

    ::

        1  ====
        2      =====
        3           ==
        4             =====
    """
    jobs = (a(1, 0, 40, 3), a(2, 10, 50, 4), a(3, 10, 20, 4), a(4, 11, 45, 1))
    assert starts(of(*jobs)) == {1: 0, 2: 40, 3: 90, 4: 110}


def test_a_hole_is_filled_by_what_ends_in_time() -> None:
    assert starts(of(a(1, 0, 40, 2), a(2, 10, 50, 4), a(3, 11, 20, 2))) == {1: 0, 2: 40, 3: 11}


def test_all_move_forward_when_a_run_ends_early() -> None:
    """1 asks for 100 s and takes 30: 2 moves from 100 to 30, and 3 behind it."""
    result = of(a(1, 0, 30, 4, 100), a(2, 1, 10, 4), a(3, 2, 10, 3))
    assert starts(result) == {1: 0, 2: 30, 3: 40}
    assert [record.head_delay_s for record in result.records] == [0, -70, -70]


def test_it_is_replayed_by_its_name_with_its_runs() -> None:
    workload = Workload("test", FOUR, (a(1, 0, 30, 3), a(2, 0, 0, 3)))
    result = replay(workload, FOUR, resolve("conservative", workload, FOUR), keep_runs=True)
    assert [record.vnodes for record in result.records] == [("n1", "n2"), ("n1", "n2")]
    (run,) = result.records[1].runs
    assert (run.start_s, run.end_s, run.promised_s, run.promised_at_s, run.why) == (30, 30, 30, 0, "ended")


JOBS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 12), st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=12
)


@given(JOBS)
def test_starts_are_those_of_reckoning_second_by_second(drawn: list[tuple[int, int, int, int]]) -> None:
    jobs = sorted(
        (a(number, submit, run, cores, max(1, run + more)) for number, (submit, run, more, cores) in enumerate(drawn)),
        key=lambda job: (job.submit_s, job.number),
    )
    result = of(*jobs)
    assert starts(result) == by_seconds(jobs, 4)
    assert all((record.head_delay_s or 0) <= 0 for record in result.records)


def by_seconds(jobs: list[TraceJob], cores: int) -> dict[int, float]:
    """The same rule with an array of free cores, a number a second. All jobs end within 300 s."""
    free = [cores] * 600
    planned: dict[int, int] = {}
    ends: dict[int, int] = {}
    started: set[int] = set()

    def plan(job: TraceJob, now: int) -> None:
        at = now
        while any(free[second] < job.cores for second in range(at, at + int(job.estimate_s))):
            at += 1
        planned[job.number] = at
        use(job, at, at + int(job.estimate_s), job.cores)

    def use(job: TraceJob, begin: int, end: int, cores: int) -> None:
        for second in range(begin, end):
            free[second] -= cores

    for now in range(300):
        moved = True
        while moved:
            over = [job for job in jobs if ends.get(job.number) == now]
            early = False
            for job in over:
                del ends[job.number]
                estimated = planned[job.number] + int(job.estimate_s)
                use(job, now, estimated, -job.cores)
                early = early or estimated > now
            for job in jobs if early else ():
                if job.number in planned and job.number not in started:
                    at = planned[job.number]
                    use(job, at, at + int(job.estimate_s), -job.cores)
                    plan(job, now)
            for job in jobs:
                if job.submit_s == now and job.number not in planned:
                    plan(job, now)
            starting = [job for job in jobs if planned.get(job.number) == now and job.number not in started]
            for job in starting:
                started.add(job.number)
                ends[job.number] = now + int(job.run_s)
            moved = bool(over or starting)
    return {number: float(at) for number, at in planned.items()}
