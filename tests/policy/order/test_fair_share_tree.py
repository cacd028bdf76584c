"""The fair share tree: shares, usage, decay and claims as PBS's scheduler and ``pbsfs`` have them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.order.fair_share_tree import FairShareTree, Group

GROUPS = [Group("chem", "root", 60), Group("phys", "root", 40), Group("alice", "chem", 10), Group("bob", "chem", 20)]


def tree(usage: dict[str, float] | None = None, unknown_shares: int = 0, **more: int) -> FairShareTree:
    return FairShareTree(GROUPS, unknown_shares, usage or {}, ["zoe"], **more)


def test_shares_are_divided_level_by_level() -> None:
    nodes = tree().nodes
    assert nodes["chem"].share == pytest.approx(0.6)
    assert nodes["alice"].share == pytest.approx(0.2)
    assert nodes["bob"].share == pytest.approx(0.4)


def test_an_entity_without_a_line_is_unknown_and_has_a_share_only_if_unknown_has() -> None:
    assert tree().without_share({"alice", "zoe"}) == {"zoe"}
    assert tree(unknown_shares=100).nodes["zoe"].share == pytest.approx(0.5)


def test_usage_counts_for_the_groups_above_as_well() -> None:
    nodes = tree({"alice": 100.0, "bob": 50.0}).nodes
    assert (nodes["alice"].usage, nodes["chem"].usage, nodes["TREEROOT"].usage) == (100, 151, 151)


def test_the_claim_is_usage_by_share_from_the_top() -> None:
    shared = tree({"alice": 100.0, "bob": 100.0})
    assert shared.claim("bob") < shared.claim("alice")
    assert shared.claim("alice")[0] == pytest.approx(201 / 0.6)
    assert shared.claim("zoe") == (math.inf,)
    shared.charge("phys", 1000)
    assert shared.claim("alice") < shared.claim("phys")


def test_usage_of_this_pass_counts_for_the_claim_alone() -> None:
    shared = tree({"alice": 100.0})
    node = shared.nodes["alice"]
    assert shared.claim("alice", {node: 100.0})[1] == pytest.approx(200 / 0.2)
    assert node.usage == 100


@pytest.mark.parametrize(
    ("ago_s", "usage", "decayed_ago_s"), [(86400, 800, 86400), (86401, 400, 1), (300000, 100, 40800)]
)
def test_usage_decays_once_for_each_interval_that_is_over(ago_s: int, usage: float, decayed_ago_s: int) -> None:
    shared = tree({"alice": 800.0}, decayed_s=1_000_000 - ago_s)
    shared.decay_until(1_000_000, 86400, 0.5)
    assert (shared.nodes["alice"].usage, 1_000_000 - shared.decayed_s) == (usage, decayed_ago_s)


def test_decay_does_not_go_below_what_nothing_used_is() -> None:
    shared = tree({"alice": 3.0}, decayed_s=1)
    shared.decay_until(10**9, 60, 0.5)
    assert shared.nodes["alice"].usage == 1
    assert list(shared.used()) == []


def test_a_tree_whose_last_decay_is_unknown_begins_to_count_now() -> None:
    shared = tree({"alice": 800.0})
    assert not shared.decay_until(1_000_000, 86400, 0.5)
    assert shared.decayed_s == 1_000_000


def test_the_factor_is_a_half_for_an_entity_that_used_just_its_share() -> None:
    shared = FairShareTree([Group("a", "root", 1), Group("b", "root", 1)], 0, {"a": 500.0, "b": 500.0})
    assert shared.factor_of("a") == pytest.approx(0.5, abs=0.001)
    shared = FairShareTree([Group("a", "root", 1), Group("b", "root", 1)], 0, {"a": 1000.0})
    assert shared.factor_of("a") == pytest.approx(0.25, abs=0.001)
    assert shared.factor_of("b") == pytest.approx(1, abs=0.01)


@given(st.lists(st.tuples(st.sampled_from(["alice", "bob", "zoe"]), st.floats(0, 1e6)), max_size=20))
def test_claims_never_shrink_as_usage_is_charged(charges: list[tuple[str, float]]) -> None:
    shared = tree(unknown_shares=5)
    for entity, amount in charges:
        before = {name: shared.claim(name) for name in ("alice", "bob", "zoe")}
        shared.charge(entity, amount)
        assert all(shared.claim(name) >= claim for name, claim in before.items())


@given(
    st.lists(st.tuples(st.sampled_from(["root", "g0", "g1", "g2"]), st.integers(0, 2)), max_size=6),
    st.dictionaries(st.sampled_from(["u0", "u1", "u2", "u3"]), st.sampled_from([5.0, 7.0]), max_size=4),
)
def test_ranks_compare_as_claims_do(drawn: list[tuple[str, int]], usage: dict[str, float]) -> None:
    groups = [Group(f"g{number}", "root" if number == 0 else f"g{number - 1}", number) for number in range(3)]
    groups += [Group(f"u{number}", parent, shares) for number, (parent, shares) in enumerate(drawn)]
    drawn_tree = FairShareTree(groups, 3, usage)
    ranks = drawn_tree.ranks({"stranger", *(f"u{number}" for number in range(6))})
    for one in ranks:
        for other in ranks:
            assert (ranks[one] < ranks[other]) == (drawn_tree.claim(one) < drawn_tree.claim(other))
