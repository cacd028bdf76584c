"""The table of hard limits against soft quotas, on a cluster small enough to wait for."""

from __future__ import annotations

import re

import pytest

from policy.model.limit_attributes import Limits
from sim.figures.hard_vs_soft_quota_table import Outcome, Row, both_policies, compare_batches, outcome_of, to_text
from sim.replay.job_records import JobRecord, Replay
from sim.replay.metrics import idle_ratio
from sim.replay.named_policies import resolve
from sim.replay.replay import replay
from sim.workload.random_batches import Setting, draw_batch
from sim.workload.workload import Cluster
from tests.sim.small_jobs_and_replays import a_job, ran

SMALL = Cluster(300, 1)
HOURS = 48
SETTING = Setting((1, 5), (1, 10), "uneven")


@pytest.fixture(scope="module")
def row() -> Row:
    (row,) = compare_batches([SETTING], 3, SMALL, HOURS)
    return row


def test_soft_quotas_leave_fewer_cores_idle_and_end_no_fewer_jobs(row: Row) -> None:
    assert row.less_idle
    assert row.not_fewer
    assert all(outcome.preemptions == 0 and outcome.idle == outcome.unused for outcome in row.hard)
    assert sum(outcome.preemptions for outcome in row.soft)


def test_every_user_has_an_equal_share_under_both_policies() -> None:
    workload = draw_batch(SETTING, 1, SMALL, HOURS)
    hard, soft = both_policies(workload, SMALL)
    equal = Limits({("u", "PBS_GENERIC"): 10})
    assert hard.queue.hard.max_run_res == {"ncpus": equal}
    assert soft.queue.quotas == equal
    assert not hard.queue.quotas


def test_a_hard_limit_is_never_exceeded() -> None:
    workload = draw_batch(SETTING, 1, SMALL, HOURS)
    result = replay(workload, SMALL, both_policies(workload, SMALL)[0])
    changes = sorted(
        (time_s, change * record.job.cores, record.job.user)
        for record in result.records
        for time_s, change in ((record.start_s, 1), (record.end_s, -1))
    )
    used: dict[str, int] = {}
    for _, change, user in changes:
        used[user] = used.get(user, 0) + change
        assert used[user] <= 10
    assert len(result.records) == len(workload.jobs)


def test_what_counts_has_happened_by_the_horizon() -> None:
    cluster = Cluster(10, 1)
    records: list[JobRecord] = [
        ran(a_job(1, cores=5, run_s=7200), (0, 7200)),
        ran(a_job(2, cores=5, run_s=7200), (3600, 5400), (9000, 16200)),
    ]
    found = outcome_of(Replay("soft", cluster, records, {}, 1.0, 0.0, 1800 * 5), 4)
    # Busy at 0, 1, 2 and 3 h: 5, 10, 0 and 5 of 10 cores; 2.5 core-hours of 40 were repeated.
    assert found == pytest.approx((0.5, 0.5625, 1, 1))


def test_idle_up_to_the_last_submit_is_that_of_the_metrics() -> None:
    workload = draw_batch(SETTING, 1, SMALL, HOURS)
    result = replay(workload, SMALL, resolve("easy", workload, SMALL))
    assert outcome_of(result, HOURS).idle == pytest.approx(idle_ratio(result.records, SMALL.cores), abs=0.02)


def test_the_number_of_processes_changes_nothing() -> None:
    one, two = (compare_batches([SETTING], 4, Cluster(60, 1), 24, workers=workers) for workers in (1, 2))
    assert one == two


def test_progress_counts_batches() -> None:
    done: list[int] = []
    compare_batches([SETTING, SETTING], 2, Cluster(30, 1), 10, show=done.append)
    assert done == [1, 2, 3, 4]


def test_the_table_says_means_and_spreads_and_how_often_it_held() -> None:
    better = Row(SETTING, 100, [Outcome(0.2, 0.2, 10, 0), Outcome(0.3, 0.3, 12, 0)], [Outcome(0.1, 0.15, 11, 4)] * 2)
    worse = Row(SETTING, 100, [Outcome(0.1, 0.1, 10, 0)] * 2, [Outcome(0.2, 0.2, 9, 0)] * 2)
    head, first, second, _, said = to_text([better, worse]).splitlines()
    assert re.split("  +", head)[:3] == ["owners", "cores", "hours"]
    assert "25.0±7.1" in first
    assert "11±1" in first
    assert "9±0" in second
    assert said == "R lower under soft quotas in 1 of 2 settings, jobs ended not fewer in 1 of 2 settings"
