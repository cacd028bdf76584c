"""The order of a site's own scheduler: queues, formula, sort keys, fair share, and what its start adds to usage."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from policy import Job, Queue, Settings
from policy.eligibility.order_as_pbs_scheduler_would import queue_line
from policy.order.fair_share_tree import FairShareTree, Group
from policy.order.job_sort_formula import KEYWORDS, read_formula
from policy.order.site_order_settings import (
    BY_QUEUE,
    NO_THRESHOLD,
    ROUND_ROBIN,
    TOGETHER,
    FairShare,
    SiteOrder,
    SortKey,
)
from tests.policy.clusters import cluster, codes, job, plan_for, queue, run, started, vnode

NUMBERS = KEYWORDS | {"ncpus", "walltime"}
QUEUES = (Queue("workq", priority=10), Queue("other", priority=10), Queue("night", priority=20))


def line(order: SiteOrder, *jobs: Job, queues: tuple[Queue, ...] = QUEUES) -> str:
    ordered = [replace(queue, order=order) for queue in queues]
    return " ".join(entry[3] for entry in queue_line(cluster([], jobs, queues=ordered).cluster(), 10).entries)


def spread() -> list[Job]:
    places = ("workq", "night", "other", "workq", "other", "night")
    return [job(str(number), queue_name=queue, submit_s=number) for number, queue in enumerate(places, 1)]


def test_queues_are_taken_one_after_the_other_by_priority_then_as_the_server_lists_them() -> None:
    assert line(SiteOrder(queues=("workq", "other", "night"), taken=BY_QUEUE), *spread()) == "2 6 1 4 3 5"
    assert line(SiteOrder(queues=("other", "workq", "night"), taken=BY_QUEUE), *spread()) == "2 6 3 5 1 4"


def test_queues_taken_together_leave_age_alone() -> None:
    assert line(SiteOrder(taken=TOGETHER), *spread()) == "1 2 3 4 5 6"


def test_jobs_of_an_express_queue_come_first_also_where_queues_are_taken_together() -> None:
    assert line(SiteOrder(taken=TOGETHER, express_from=20), *spread()) == "2 6 1 3 4 5"


def test_round_robin_takes_one_job_of_each_queue_of_a_priority_in_turn() -> None:
    assert line(SiteOrder(queues=("workq", "other", "night"), taken=ROUND_ROBIN), *spread()) == "2 6 1 3 4 5"
    held = [each._replace(blocked="held") if each.id == "1" else each for each in spread()]
    assert line(SiteOrder(queues=("workq", "other", "night"), taken=ROUND_ROBIN), *held) == "2 6 1 4 3 5"


def test_sort_keys_come_before_age_and_the_first_before_the_second() -> None:
    order = SiteOrder(keys=(SortKey("ncpus", True), SortKey("walltime", False)), needs=("ncpus", "walltime"))
    values = {"1": (1, 60), "2": (4, 90), "3": (4, 30), "4": (4, 30)}
    jobs = [job(number, order_values=each) for number, each in values.items()]
    assert line(order, *jobs) == "3 4 2 1"


def test_the_servers_own_rank_counts_before_the_time_of_submission() -> None:
    jobs = [job("1", submit_s=1, order_values=(9,)), job("2", submit_s=2, order_values=(5,))]
    assert line(SiteOrder(needs=("queue_rank",)), *jobs) == "2 1"


def by_formula(text: str, threshold: float = NO_THRESHOLD) -> SiteOrder:
    formula = read_formula(text, NUMBERS)
    return SiteOrder(formula=formula, threshold=threshold, needs=formula.uses)


def test_the_highest_value_of_the_formula_comes_first_and_equal_ones_by_age() -> None:
    jobs = [job(str(number), order_values=(value,)) for number, value in enumerate((3, 5, 5, 4), 1)]
    assert line(by_formula("ncpus*2"), *jobs) == "2 3 4 1"


def test_the_priority_that_managers_give_comes_before_the_formula() -> None:
    jobs = [job("1", order_values=(9,)), job("2", order_values=(1,), priority=5)]
    assert line(by_formula("ncpus"), *jobs) == "2 1"


def test_a_job_that_does_not_exceed_the_threshold_waits_for_that_and_blocks_none() -> None:
    order = by_formula("ncpus", threshold=4.0)
    jobs = [job("1", order_values=(4,)), job("2", order_values=(5,)), job("3", order_values=(1,), blocked="held")]
    plan = plan_for(cluster([vnode("v1")], jobs, queues=[Queue("workq", order=order)]))
    assert started(plan) == ["2"]
    assert codes(plan) == {"1": "under-threshold", "3": "blocked"}


def test_a_users_own_priority_orders_jobs_only_where_the_site_says_nothing() -> None:
    jobs = [job("1", submit_s=1), job("2", submit_s=2, own_priority=5)]
    assert line(SiteOrder(), *jobs) == "2 1"
    assert line(by_formula("1"), *jobs) == "1 2"


def fair(usage: dict[str, float], counted: str = "ncpus", *, enforced: bool = True, unknown: int = 0) -> SiteOrder:
    groups = [Group("alice", "root", 10), Group("bob", "root", 10), Group("carol", "root", 20)]
    tree = FairShareTree(groups, unknown, usage, ["alice", "bob", "carol", "zoe"])
    formula = read_formula(counted, NUMBERS)
    return SiteOrder(taken=TOGETHER, fair_share=FairShare(tree, formula, enforced), tree=tree, needs=formula.uses)


def of(user: str, *numbers: int, cores: int = 1) -> list[Job]:
    return [
        job(str(number), user, str(cores), submit_s=number, entity=user, order_values=(cores,)) for number in numbers
    ]


def start_order(order: SiteOrder, jobs: list[Job], cores: int = 100, **more: object) -> list[str]:
    plan = plan_for(cluster([vnode("v1", cores)], jobs, queues=[Queue("workq", order=order)], **more))  # type: ignore[arg-type]
    return list(started(plan))


def test_the_entity_that_has_used_least_of_its_share_comes_first() -> None:
    order = fair({"alice": 100.0, "bob": 10.0, "carol": 100.0}, "0*ncpus")
    assert line(order, *of("alice", 1), *of("bob", 2), *of("carol", 3), queues=(Queue("workq"),)) == "2 3 1"


def test_each_start_adds_to_the_usage_so_that_entities_take_turns() -> None:
    assert start_order(fair({}), [*of("alice", 1, 2, 3), *of("bob", 4, 5, 6)]) == ["1", "4", "2", "5", "3", "6"]
    # carol has twice the share.
    jobs = [*of("alice", 1, 2, 3), *of("carol", 4, 5, 6, 7)]
    assert start_order(fair({}), jobs) == ["4", "1", "5", "6", "2", "7", "3"]


def test_the_formula_counts_first_and_entities_take_turns_among_equal_values() -> None:
    order = replace(fair({"carol": 50.0}), formula=read_formula("ncpus", NUMBERS))
    jobs = [*of("carol", 1, cores=2), *of("alice", 2, 3), *of("bob", 4, 5), *of("carol", 6, cores=3)]
    assert start_order(order, jobs) == ["6", "1", "2", "4", "3", "5"]


def test_a_job_that_becomes_the_head_counts_as_started() -> None:
    jobs = [*of("bob", 1, cores=8), *of("alice", 2, 3), *of("bob", 4)]
    runs = [run("r", "carol", "v1=4", estimate_s=1000)]
    order = fair({"alice": 5.0, "carol": 1.0})
    plan = plan_for(cluster([vnode("v1", 8)], jobs, runs, queues=[Queue("workq", order=order)]))
    assert list(started(plan)) == ["2", "3", "4"]


def test_an_entity_without_a_share_waits_for_one_where_that_is_enforced() -> None:
    jobs = [*of("zoe", 1), *of("bob", 2)]
    plan = plan_for(cluster([vnode("v1")], jobs, queues=[Queue("workq", order=fair({}))]))
    assert (list(started(plan)), codes(plan)) == (["2"], {"1": "no-fair-share"})
    assert start_order(fair({}, enforced=False), jobs) == ["2", "1"]
    assert start_order(fair({}, unknown=500), jobs) == ["1", "2"]


def test_quotas_guarantee_what_fair_share_orders() -> None:
    order = fair({"alice": 1000.0})
    workq = replace(queue("[u:PBS_GENERIC=2]"), order=order)
    runs = [run(f"r{number}", "bob", "v1=1", estimate_s=1000) for number in range(4)]
    plan = plan_for(cluster([vnode("v1")], [*of("bob", 1), *of("alice", 2)], runs, queues=[workq]), Settings())
    assert [preempt.beneficiary for preempt in plan.preempts] == ["2"]


@given(
    st.lists(st.tuples(st.sampled_from(["alice", "bob", "carol"]), st.integers(1, 3)), min_size=1, max_size=30),
    st.dictionaries(st.sampled_from(["alice", "bob", "carol"]), st.floats(1, 50), max_size=3),
)
def test_starts_are_those_of_looking_at_all_claims_each_time(
    drawn: list[tuple[str, int]], usage: dict[str, float]
) -> None:
    """The heap and the sorted rest give what PBS's scheduler gets by sorting all jobs again after each start."""
    order = fair(usage)
    assert order.fair_share is not None
    jobs = [each for number, (user, cores) in enumerate(drawn, 1) for each in of(user, number, cores=cores)]
    tree = fair(usage).tree
    assert tree is not None
    expected, left = [], list(jobs)
    while left:
        first = min(left, key=lambda each: (tree.claim(each.entity), each.sequence))
        left.remove(first)
        expected.append(first.id)
        tree.charge(first.entity, first.request.cores)
    assert start_order(order, jobs) == expected
