"""Starts behind a head; the golden stories tell the rules one by one."""

from __future__ import annotations

from policy import Changes, Settings
from tests.policy.clusters import cluster, codes, job, plan_for, queue, run, started, vnode


def test_backfilled_runs_are_remembered_until_they_end() -> None:
    snapshot = cluster(
        [vnode("v1")], [job("3", select="4"), job("4", select="1", estimate_s=50)], [run("1", "a", "v1=3")]
    )
    plan = plan_for(snapshot)
    assert plan.ledger.backfilled.keys() == {"4"}
    assert plan_for(plan.started, None, plan.ledger).ledger.backfilled.keys() == {"4"}
    ended = plan.started.apply(Changes(60, gone=["4"]))
    assert plan_for(ended, None, plan.ledger).ledger.backfilled == {}


def test_a_job_that_nothing_fits_beside_says_by_how_much_it_is_too_wide() -> None:
    """v1 has 3 of 8 cores idle and 2 to spare beside the head, which starts at 100: 4 is too long for 3 of them."""
    waiting = [job("3", select="6"), job("4", select="3", estimate_s=200), job("5", select="2", estimate_s=200)]
    plan = plan_for(cluster([vnode("v1", 8)], waiting, [run("1", "a", "v1=5", 0, 100)]))
    assert codes(plan) == {"3": "reserved", "4": "backfill-window"}
    assert started(plan) == ["5"]


def test_a_shorter_walltime_is_named_only_where_there_is_room_now() -> None:
    """5 cores are idle, 4 of them on v3: three pieces apart find no room now, two would with a shorter walltime."""
    runs = [run("1", "a", "v0=3", 0, 3000), run("2", "a", "v1=4", 0, 500), run("3", "a", "v2=4", 0, 500)]
    waiting = [job("4", select="16")]
    waiting += [job(name, select=pieces, estimate_s=9000, place="scatter") for name, pieces in (("5", "3"), ("6", "2"))]
    plan = plan_for(cluster([vnode(f"v{number}") for number in range(4)], waiting, runs))
    assert codes(plan) == {"4": "reserved", "5": "fragmented", "6": "backfill-window"}
    sentence = plan.reasons()["6"][1].sentence(waiting[2], plan.time_s)
    assert "walltime of at most 00:49:50 would let it start now" in sentence
    shorter = [waiting[0], *(each._replace(estimate_s=2990) for each in waiting[1:])]
    assert started(plan_for(cluster([vnode(f"v{number}") for number in range(4)], shorter, runs))) == ["6"]


def test_what_no_idle_cluster_arranges_is_told_so_behind_a_head_too() -> None:
    """Five cores together are on no vnode of four, whether so many are idle, or few."""
    for held in (1, 4):
        runs = [run("1", "a", "v0=4"), run("2", "a", f"v1={held}")]
        waiting = [job("3", select="12"), job("4", select="5", estimate_s=900, place="pack")]
        plan = plan_for(cluster([vnode("v0"), vnode("v1"), vnode("v2")], waiting, runs))
        assert codes(plan) == {"3": "reserved", "4": "never-arranged"}, held


def test_a_queue_with_few_of_the_vnodes_is_judged_by_these() -> None:
    """v1 and v2 have 4 idle cores, of which queue few, which has v1 alone, may use 1: 2 cores do not fit there now."""
    vnodes = [vnode("v1", queue="few,workq"), vnode("v2", queue="workq")]
    waiting = [job("3", select="8"), job("4", select="2", estimate_s=900, queue_name="few")]
    runs = [run("1", "a", "v1=3", 0, 100), run("2", "a", "v2=1", 0, 100)]
    plan = plan_for(cluster(vnodes, waiting, runs, queues=[queue(), queue(name="few")]))
    assert codes(plan) == {"3": "reserved", "4": "fragmented"}


def test_after_a_start_jobs_are_told_what_it_left_idle() -> None:
    """3 has taken 1 of 2 idle cores; nothing else has happened when 4 is told again why it waits."""
    waiting = [job("2", select="4"), job("4", select="3", estimate_s=50), job("3", estimate_s=50)]
    settings = Settings()
    plan = plan_for(cluster([vnode("v1")], waiting, [run("1", "a", "v1=2", 0, 100)]), settings)
    assert started(plan) == ["3"]
    again = plan_for(plan.started, settings, plan.ledger)
    assert {job_id: reason.number("idle") for job_id, (_, reason) in again.reasons().items()} == {"2": 1, "4": 1}


def test_a_job_starts_on_vnodes_that_the_head_may_not_use_at_all() -> None:
    """Beside the head 4 of the 16 cores of v1 and v2 are spare. v3 is not among its vnodes."""
    vnodes = [vnode("v1", 8, queue="qa"), vnode("v2", 8, queue="qa,qb"), vnode("v3", 8, queue="qb")]
    running = [run("9", "carol", "v1=8", estimate_s=100, queue_name="qa")]
    for select, place in (("1:ncpus=2", "excl"), ("1:ncpus=5", "")):
        behind = job("2", "bob", select, 10000, 1, place, "qb")
        waiting = [job("1", select="12", estimate_s=50, queue_name="qa"), behind]
        plan = plan_for(cluster(vnodes, waiting, running, queues=[queue(name="qa"), queue(name="qb")]))
        assert [start.allocation.vnodes for start in plan.starts] == [("v3",)], place


def test_fewer_cores_help_no_job_that_gets_its_vnode_alone() -> None:
    """v2 has 8 idle cores, of which 2 are spare beside the head; a job that shares could have these."""
    running = [run("9", "carol", "v1=8", estimate_s=100)]
    waiting = [job("1", select="14", estimate_s=50)]
    waiting += [job(name, "bob", "1:ncpus=3", 10000, 1, place) for name, place in (("2", "excl"), ("3", ""))]
    for quotas in ("", "[u:bob=0]"):
        plan = plan_for(cluster([vnode("v1", 8), vnode("v2", 8)], waiting, running, queues=[queue(quotas)]))
        fewer = {name: dict(reason.numbers).get("fewer") for name, (_, reason) in plan.reasons().items()}
        assert fewer == {"1": None, "2": None, "3": 2}, quotas


def test_a_job_is_tried_again_once_the_head_has_another_reservation() -> None:
    """The head was to have v1 and v2 at 100. carol's 3, within quota, takes 2 cores of v2, and the head gets v1 and v3
    at 450: now 4 fits beside it on v2, which 2 of the same shape did not."""
    running = [run("9", "zoe", "v1=5", estimate_s=100), run("8", "zoe", "v3=5", estimate_s=450)]
    waiting = [
        job("1", "dave", "2:ncpus=4", estimate_s=50),
        job("2", "dave", "1:ncpus=2", estimate_s=5000, submit_s=1),
        job("3", "carol", "1:ncpus=2", estimate_s=5000, submit_s=2),
        job("4", "dave", "1:ncpus=2", estimate_s=5000, submit_s=3),
    ]
    vnodes = [vnode(name, 5) for name in ("v1", "v2", "v3")]
    plan = plan_for(cluster(vnodes, waiting, running, queues=[queue("[u:dave=0],[u:carol=8]")]))
    assert [(each.id, each.at_s) for each in plan.estimates] == [("1", 450)]
    assert started(plan) == ["3", "4"]
