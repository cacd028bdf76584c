"""What is offered in sums: by class, by quota, to which job, and until a run is counted out."""

from __future__ import annotations

from policy import Ledger, Run, Snapshot
from policy.eligibility.classes_by_priority_quota import Classes
from policy.eligibility.soft_quotas import Quotas
from policy.model.priority_class import BASE
from policy.preemption.preemptible_sums_by_owner_and_class import PreemptibleAmount, PreemptibleSums, PreemptionRights
from tests.policy.clusters import queue, run, vnode

# Of 12 cores alice has 8, twice her quota; bob is within his.
RUNS = [run("1", "alice", "v1=4", start_s=10), run("2", "alice", "v2=4", start_s=20), run("3", "bob", "v3=4")]
NOBODY = PreemptibleAmount(0, 0)


def sums_of(runs: list[Run], text: str = "[u:alice=4],[u:bob=4]") -> tuple[PreemptibleSums, Quotas]:
    vnodes = [vnode(f"v{number}") for number in (1, 2, 3)]
    cluster = Snapshot.build(100, vnodes, [queue(text)], [], runs).cluster()
    quotas = Quotas(cluster)
    classes = Classes(cluster, Ledger(classes={"1": 5, "2": 1, "3": 1}), quotas, 100)
    return PreemptibleSums([(each, each.allocation.cores) for each in runs], quotas, classes), quotas


def test_rule_a_offers_the_runs_of_those_over_quota() -> None:
    sums, _ = sums_of(RUNS)
    assert sums.to("carol", PreemptionRights(True, BASE, 5)) == PreemptibleAmount(2, 8)


def test_nobody_is_offered_own_runs_by_quota() -> None:
    assert sums_of(RUNS)[0].to("alice", PreemptionRights(True, BASE, 5)) == NOBODY


def test_rule_b_offers_lower_classes_whosever_they_are() -> None:
    assert sums_of(RUNS)[0].to("alice", PreemptionRights(False, 5)) == PreemptibleAmount(2, 8)


def test_with_both_rules_either_suffices() -> None:
    assert sums_of(RUNS)[0].to("carol", PreemptionRights(True, 5, 5)) == PreemptibleAmount(3, 12)


def test_who_is_counted_out_is_offered_no_more_and_lowers_what_the_owner_holds() -> None:
    sums, quotas = sums_of(RUNS)
    assert sums.to("carol", PreemptionRights(True, BASE, 5)) == PreemptibleAmount(2, 8)
    sums.count_out(RUNS[0])
    assert sums.to("carol", PreemptionRights(True, BASE, 5)) == PreemptibleAmount(1, 4)
    quotas.shift(RUNS[0].job, -1)
    assert sums.to("carol", PreemptionRights(True, BASE, 5)) == NOBODY


def test_rule_a_offers_no_class_above_the_jobs_own() -> None:
    """alice's run of class 5 stays; where the classes of her queue do not compare it may go."""
    assert sums_of(RUNS)[0].to("carol", PreemptionRights(True, BASE, 1)) == PreemptibleAmount(1, 4)
    assert sums_of(RUNS)[0].to("carol", PreemptionRights(True, BASE, 1, "another")) == PreemptibleAmount(2, 8)


def test_rule_b_offers_the_runs_of_comparable_queues() -> None:
    assert sums_of(RUNS)[0].to("carol", PreemptionRights(False, 5, 5, "another")) == NOBODY
