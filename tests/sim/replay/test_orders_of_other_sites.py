"""The orders that sites run today: who comes next, drawn out, and what of their use counts against users."""

from __future__ import annotations

import pytest

from sim.replay.job_records import Replay
from sim.replay.named_policies import PolicyError, find, resolve
from sim.replay.orders_of_other_sites import SimulatedOrder, by_formula, entity_of, fair_share, multifactor
from sim.replay.replay import replay
from sim.workload.lublin_feitelson import generate
from sim.workload.workload import Cluster, TraceJob, Workload

FOUR = Cluster(4, 1)
DAY_S = 86_400


def a(
    number: int, submit_s: float, run_s: float, cores: int = 4, user: str = "alice", estimate_s: float = 0
) -> TraceJob:
    return TraceJob(number, submit_s, run_s, estimate_s or max(1, run_s), cores, user, "g")


def order_of_starts(name: str, *jobs: TraceJob) -> list[int]:
    workload = Workload("test", FOUR, jobs)
    result = replay(workload, FOUR, resolve(name, workload, FOUR))
    return [record.job.number for record in sorted(result.records, key=lambda record: record.start_s)]


def tree_of(order: SimulatedOrder, user: str) -> float:
    tree = order.site_order.tree
    assert tree is not None
    return tree.find(entity_of(user)).usage


# Fair share


def test_the_user_who_has_used_least_comes_next() -> None:
    """alice's first job ran for an hour. 2 is promised the next start, and keeps it; of 3 and 4, bob's comes first."""
    jobs = (a(1, 0, 3600), a(2, 10, 3600), a(3, 20, 3600), a(4, 30, 3600, user="bob"))
    assert order_of_starts("easy", *jobs) == [1, 2, 3, 4]
    assert order_of_starts("fair-share", *jobs) == [1, 2, 4, 3]


def test_what_a_users_runs_use_is_charged_every_five_minutes() -> None:
    workload = Workload("test", FOUR, (a(1, 0, 1000, user="alice"), a(2, 0, 1000, user="bob")))
    order = fair_share(workload, FOUR)
    order.started(workload.jobs[0], 100)
    order.before_pass(200)
    assert tree_of(order, "alice") == tree_of(order, "bob")
    order.before_pass(400)
    assert tree_of(order, "alice") - tree_of(order, "bob") == 4 * 300
    order.stopped(workload.jobs[0], 500)
    order.before_pass(10_000)
    assert tree_of(order, "alice") - tree_of(order, "bob") == 4 * 400


def test_usage_halves_in_a_day() -> None:
    workload = Workload("test", FOUR, (a(1, 0, 1000),))
    order = fair_share(workload, FOUR)
    order.before_pass(400)
    order.started(workload.jobs[0], 400)
    order.stopped(workload.jobs[0], 1400)
    order.before_pass(1400)
    before = tree_of(order, "alice")
    order.before_pass(1400 + DAY_S)
    assert tree_of(order, "alice") == pytest.approx(before / 2)


def test_two_replays_of_one_policy_share_no_usage() -> None:
    workload = generate(120, FOUR, 5, 3, 1.2)
    policy = resolve("fair-share", workload, FOUR)

    def starts(result: Replay) -> list[float]:
        return [record.start_s for record in result.records]

    assert starts(replay(workload, FOUR, policy)) == starts(replay(workload, FOUR, policy))


# Formulas


def test_wfp_takes_who_has_waited_longest_for_its_walltime() -> None:
    """At 3,600 job 3 has waited half an hour for 100 s, job 2 nearly an hour for 10,000 s."""
    jobs = (a(1, 0, 3600), a(9, 5, 3600), a(2, 10, 10_000), a(3, 1800, 100))
    assert order_of_starts("easy", *jobs) == [1, 9, 2, 3]
    assert order_of_starts("wfp", *jobs) == [1, 9, 3, 2]


def test_multifactor_puts_fair_share_above_age_and_size() -> None:
    jobs = (a(1, 0, 7200), a(2, 10, 7200), a(3, 20, 3600), a(4, 30, 3600, user="bob"))
    assert order_of_starts("multifactor", *jobs) == [1, 2, 4, 3]


def test_multifactors_size_is_a_share_of_the_machine() -> None:
    formula = multifactor(Workload("test", FOUR, (a(1, 0, 1),)), FOUR).site_order.formula
    assert formula is not None
    columns: dict[str, list[float]] = {
        "eligible_time": [0, 1_209_600, 2_419_200],
        "fairshare_factor": [0.5, 0, 0],
        "ncpus": [4, 2, 0],
    }
    assert formula.values(columns, 3) == [5000 + 1000, 1000 + 500, 1000]


@pytest.mark.parametrize(("formula", "order"), [("-walltime", [1, 2, 4, 3]), ("ncpus", [1, 2, 3, 4])])
def test_a_formula_of_the_users_own(formula: str, order: list[int]) -> None:
    """2 is promised its start before the others come."""
    jobs = (a(1, 0, 100), a(2, 1, 100), a(3, 2, 90, 4), a(4, 3, 80, 3))
    assert order_of_starts(f"formula:{formula}", *jobs) == order


def test_a_user_named_as_the_trees_own_groups_is_a_user() -> None:
    workload = Workload("test", FOUR, tuple(a(n, n, 10, user=user) for n, user in enumerate(("unknown", "TREEROOT"))))
    assert len(replay(workload, FOUR, resolve("fair-share", workload, FOUR)).records) == 2


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("", "is empty"),
        ("mem * 2", "has 'mem', which is neither a keyword nor a resource that is a number"),
        ("__import__('os')", "which is not evaluated here"),
        ("1 +", "is no expression that can be read"),
    ],
)
def test_a_formula_that_cannot_be_used_is_refused(formula: str, said: str) -> None:
    with pytest.raises(PolicyError, match="the formula") as refused:
        find(f"formula:{formula}")
    assert said in str(refused.value)


def test_a_formula_is_read_once_for_all_workloads() -> None:
    build = by_formula("ncpus")
    workload = Workload("test", FOUR, (a(1, 0, 1),))
    assert build(workload, FOUR).site_order.formula == build(workload, FOUR).site_order.formula
