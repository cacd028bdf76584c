"""A pass that has no time left: what it has decided stands, the rest waits, and one user's costly jobs hold up nobody
else's."""

from __future__ import annotations

import pytest

from policy import Job, Ledger, Settings, decide
from policy.settings.settings_of_server_and_passes import SubmissionSettings
from policy.settings.site_settings import BackfillSettings
from tests.policy.clusters import cluster, codes, job, queue, run, started, vnode
from tests.policy.time_limit_by_call_count import Countdown

COSTLY = "+".join(f"1:ncpus=1:mem={index + 1}kb" for index in range(200)) + "+1:ncpus=4"
"""Many kinds of chunks, of which the last does not fit beside the others."""


def test_what_was_decided_stands_and_the_rest_is_not_looked_at() -> None:
    snapshot = cluster([vnode("v1", 8)], [job(str(number)) for number in range(1, 6)])
    plan = decide(snapshot, Ledger(), Settings(), deadline=Countdown(2))
    assert started(plan) == ["1", "2"]
    assert codes(plan) == dict.fromkeys(("3", "4", "5"), "not-looked-at")
    assert started(decide(snapshot, Ledger(), Settings())) == ["1", "2", "3", "4", "5"]


def test_a_job_that_may_not_start_anyway_keeps_its_own_reason() -> None:
    snapshot = cluster([vnode("v1", 8)], [job("1", blocked="held"), job("2"), job("3")])
    plan = decide(snapshot, Ledger(), Settings(), deadline=Countdown(0))
    assert codes(plan) == {"1": "blocked", "2": "not-looked-at", "3": "not-looked-at"}


@pytest.mark.parametrize("order", ["first-come", "shortest-first"])
@pytest.mark.parametrize("quotas", ["", "[u:alice=1],[u:bob=1]"])
def test_the_next_pass_begins_behind_the_head_with_the_jobs_that_were_left_out(order: str, quotas: str) -> None:
    """The head waits for all eight cores; behind it each job is tried, and passes the head's window."""
    settings = Settings(backfill=BackfillSettings(order=order))
    small = [job(str(number), "carol", f"1:ncpus=1:mem={number}kb", 1000 + number) for number in range(3, 9)]
    snapshot = cluster(
        [vnode("v1", 8, has={"mem": 1 << 20})],
        [job("2", "bob", "8", 1000), *small],
        [run("1", "dave", "v1=4", 0, 500)],
        queues=[queue(quotas)],
    )
    ledger, looked_at = Ledger({"2": 500.0}), []
    for _ in range(3):
        plan = decide(snapshot, ledger, settings, deadline=Countdown(3))
        ledger = plan.ledger
        seen = codes(plan)
        assert seen["2"] == "reserved"
        looked_at.append({job_id for job_id, code in seen.items() if code != "not-looked-at"} - {"2"})
    assert looked_at == [{"3", "4"}, {"5", "6"}, {"7", "8"}]
    assert decide(snapshot, ledger, settings, deadline=Countdown()).ledger.first_behind == 0


def test_jobs_that_never_fit_do_not_keep_those_behind_them_untried() -> None:
    """Nothing heads the queue, and three jobs are tried in vain in the time of each pass."""
    hopeless = [job(str(number), f"user{number}", "9", 1000 + number) for number in range(1, 7)]
    jobs = [*hopeless, job("7", "bob", "9", 2000), job("8", "bob", "1", 2001)]
    snapshot = cluster([vnode("v1", 8)], jobs)
    ledger, tried = Ledger(), []
    for _ in range(3):
        plan = decide(snapshot, ledger, Settings(), deadline=Countdown(3))
        ledger = plan.ledger
        seen = codes(plan)
        tried.append(([job_id for job_id in sorted(seen) if seen[job_id] == "never-fits"], started(plan)))
    assert tried == [(["1", "2", "3"], []), (["4", "5", "6"], []), (["7"], ["8"])]
    assert decide(snapshot, ledger, Settings(), deadline=Countdown()).ledger.tried_in_vain == 0


def test_a_pass_whose_time_starts_have_taken_keeps_the_queue_order_in_the_next_one() -> None:
    jobs = [job(str(number), "alice", "1", 1000 + number) for number in range(1, 7)]
    first = decide(cluster([vnode("v1", 8)], jobs), Ledger(), Settings(), deadline=Countdown(2))
    assert started(first) == ["1", "2"]
    then = cluster([vnode("v1", 8)], jobs[2:], [run(str(number), "alice", "v1=1", 1000) for number in (1, 2)])
    assert started(decide(then, first.ledger, Settings(), deadline=Countdown(2))) == ["3", "4"]


def test_the_jobs_of_a_user_whose_share_is_spent_come_last() -> None:
    jobs = [job(str(number), "mallory", COSTLY) for number in range(1, 4)] + [job("9", "bob")]
    snapshot = cluster([vnode(f"v{number}", 4, has={"mem": 1 << 20}) for number in range(50)], jobs)
    plan = decide(snapshot, Ledger(), Settings(), deadline=Countdown(300, share=20))
    assert started(plan) == ["9"]
    assert set(codes(plan)) == {"1", "2", "3"}


def test_one_job_cannot_pass_the_deadline() -> None:
    deadline = Countdown(50)
    snapshot = cluster(
        [vnode(f"v{number}", 4, has={"mem": 1 << 20}) for number in range(60)], [job("1", "mallory", COSTLY), job("2")]
    )
    plan = decide(snapshot, Ledger(), Settings(), deadline=deadline)
    assert codes(plan) == {"1": "not-looked-at", "2": "not-looked-at"}
    assert deadline.asked < 60


def test_whether_the_hardest_chunk_fits_is_asked_before_any_is_placed() -> None:
    """So a request that fails for its largest chunk costs as little as one chunk, however many it has."""
    kinds = SubmissionSettings().select_kinds - 1
    select = "+".join(f"1:ncpus=0:mem={index + 1}kb" for index in range(kinds)) + "+1:ncpus=8"
    busy = [run(str(number), "bob", f"v{number}=4", 0, 1000 + number) for number in range(1, 4)]
    jobs: list[Job] = [job(str(number), "mallory", select) for number in range(10, 30)]
    snapshot = cluster([vnode(f"v{number}", 8, has={"mem": 1 << 20}) for number in range(1, 4)], jobs, busy)
    deadline = Countdown()
    plan = decide(snapshot, Ledger(), Settings(), deadline=deadline)
    assert set(codes(plan).values()) == {"reserved", "fragmented"}
    # Only the reservation of the first one places all its chunks: a few times, to find the time.
    assert deadline.asked < 12 * kinds
