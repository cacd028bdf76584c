"""Which queues have one head together where partitions have vnodes of one host."""

from __future__ import annotations

from policy import Changes, Job, Ledger, Settings, Snapshot
from policy.backfill.queues_sharing_vnodes import parts_with_one_head
from policy.settings.site_settings import PrioritySettings, QuotaSettings
from tests.policy.clusters import cluster, codes, job, plan_for, queue, run, started, vnode

EASY = Settings(quota=QuotaSettings(preempt=False), priority=PrioritySettings(preempt=False))


def of(*jobs: Job, host: str = "h", sharing: str = "default_shared") -> Snapshot:
    """v1 in no partition, busy until 100; v2 in partition P, idle."""
    vnodes = [vnode("v1", host="h"), vnode("v2", host=host, partition="P", sharing=sharing), vnode("v3", host="g")]
    runs = [run("1", "alice", "v1=4"), run("2", "alice", "v3=4", estimate_s=9000)]
    return cluster(vnodes, jobs, runs, queues=[queue(), queue("", "p", partition="P")])


def heads(snapshot: Snapshot, *promised: str) -> list[set[str]]:
    return sorted((set(each[1]) for each in parts_with_one_head(snapshot.cluster(), promised)), key=min)


def alone(job_id: str = "3", queue_name: str = "workq") -> Job:
    return job(job_id, "bob", "1:ncpus=4", 50, place="free:exclhost", queue_name=queue_name)


def test_partitions_on_one_host_are_one_region_while_somebody_may_get_it_alone() -> None:
    apart, together = [{"p"}, {"workq"}], [{"workq", "p"}]
    assert heads(of(job("3"))) == apart
    assert heads(of(alone())) == together
    assert heads(of(alone(), host="other")) == apart
    assert heads(of(job("3"), sharing="force_exclhost")) == together


def test_who_was_promised_a_time_stays_the_head() -> None:
    snapshot = of(alone(), job("4", queue_name="p"))
    assert heads(snapshot, "3", "gone") == [{"workq", "p"}]
    assert heads(snapshot, "3", "4") == [{"p"}, {"workq"}]


def test_a_promise_of_a_whole_host_is_kept_beside_another_partition() -> None:
    """3 gets all of h at 100; 4, for hours in the other partition, would be there still."""
    first = plan_for(of(alone(), job("4", "carol", "4", 10_000, queue_name="p")), EASY)
    assert (started(first), codes(first)["4"], first.ledger.promises) == ([], "backfill-window", {"3": 100})
    then = plan_for(first.started.apply(Changes(100, gone=["1"])), EASY, first.ledger)
    assert started(then) == ["3"]


def test_only_one_of_two_who_want_a_host_alone_is_promised_it() -> None:
    first = plan_for(of(job("5", "dave", "4", 90, submit_s=-1, queue_name="p"), alone(), alone("4", "p")), EASY)
    assert first.ledger.promises == {"3": 100}
    then = plan_for(first.started.apply(Changes(100, gone=["1", "5"])), EASY, first.ledger)
    assert (started(then), then.ledger.promises) == (["3"], {"4": 150})


def test_hosts_of_one_vnode_are_never_shared() -> None:
    snapshot = cluster(
        [vnode("v1"), vnode("v2", partition="P")], [alone()], queues=[queue(), queue("", "p", partition="P")]
    )
    assert heads(snapshot) == [{"p"}, {"workq"}]
    assert plan_for(snapshot, EASY, Ledger()).ledger.promises == {}
