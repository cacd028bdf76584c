"""Where only jobs have arrived, the last plan is reused, and says the same as a whole pass."""

from __future__ import annotations

from policy import Changes, Job, Plan, Settings, Snapshot, decide
from policy.cycle.incremental_pass import reuse_memo
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, RescueSettings
from tests.policy.clusters import cluster, job, plan_for, run, vnode

NOW_S = 10_000.0
RESCUES = Settings(
    BackfillSettings("checkpoint", shrink_factor=0.2), checkpoint=CheckpointSettings(saves=True),
    rescue=RescueSettings(enabled=True),
)  # fmt: skip
LONG = run("1", "alice", "v1=4", NOW_S - 100, 40_000)
HEAD = job("2", "bob", "8", 20_000, 5000)


def arriving(job_id: str = "3", select: str = "8", estimate_s: float = 600, submit_s: float = NOW_S + 10) -> Job:
    return job(job_id, "carol", select, estimate_s, submit_s)


def first_pass(*jobs: Job) -> Plan:
    return plan_for(cluster([vnode("v1", 4), vnode("v2", 4)], [HEAD, *jobs], [LONG], now_s=NOW_S), RESCUES)


def both(first: Plan, arrived: Job) -> tuple[Plan | None, Plan]:
    """The plan that is reused when the job arrives, if it is, and that of a whole pass."""
    after = first.started.apply(Changes(arrived.submit_s, [arrived]))
    reused = reuse_memo(after, first.ledger, RESCUES)
    anew = Snapshot.build(
        after.time_s, after.vnodes.values(), after.queues.values(), after.jobs.values(), after.runs.values()
    )
    return reused, decide(anew, first.ledger, RESCUES)


def test_a_short_arrival_names_the_time_from_which_it_may_be_rescued() -> None:
    reused, whole = both(first_pass(), arriving())
    assert reused is not None
    assert reused.next_s == whole.next_s == NOW_S + 10 + 1200
    assert reused.reasons() == whole.reasons()


def test_once_that_time_has_come_the_whole_pass_is_decided() -> None:
    first = first_pass()
    reused, _ = both(first, arriving())
    assert reused is not None
    later = reused.started.apply(Changes(NOW_S + 1210, [arriving("4", submit_s=NOW_S + 1210)]))
    assert reuse_memo(later, first.ledger, RESCUES) is None


def test_a_long_arrival_changes_no_time() -> None:
    first = first_pass()
    reused, whole = both(first, arriving(estimate_s=20_000))
    assert reused is not None
    assert reused.next_s == whole.next_s == first.next_s


def test_what_was_left_beside_the_head_of_a_pass_with_starts_is_looked_at_anew_where_runs_may_be_cut() -> None:
    first = first_pass(job("5", "bob", "1", 60, 6000))
    assert [start.id for start in first.starts] == ["5"]
    assert both(first, arriving())[0] is None
