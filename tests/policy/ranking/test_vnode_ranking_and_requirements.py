"""Ranked lists: which vnode is first, which is last, which is not good enough and why, and how starts move them."""

from __future__ import annotations

import pytest

from policy import Reading, Run, Snapshot, Vnode
from policy.model.job_preferences import RANK_MODES, RankPreference, Requirements
from policy.ranking.vnode_ranking_and_requirements import Ranking, Standing
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.state.cluster_index import ClusterIndex
from tests.policy.clusters import job, place_of, vnode

NOW_S = 1000
GIB = 1 << 20


def reading(compute: float = 16, memory_gib: float = 32, network: float = 50, temperature: float = 45) -> Reading:
    """As of now, of a vnode with 32 of compute, 64 GiB, a network of 100, and 90 degrees at most."""
    return Reading(NOW_S, compute, 32, memory_gib * GIB, 64 * GIB, network, 100, temperature, 90)


READINGS = {
    "a": reading(compute=32, memory_gib=8, network=20, temperature=80),
    "b": reading(compute=8, memory_gib=64, network=30, temperature=50),
    "c": reading(compute=16, memory_gib=32, network=100, temperature=60),
    "d": reading(compute=20, memory_gib=16, network=10, temperature=20),
}


def cluster_of(readings: dict[str, Reading], *extra: Vnode) -> ClusterIndex:
    vnodes = [vnode(name, 32) for name in readings] + list(extra)
    return Snapshot.build(NOW_S, vnodes, readings=readings).cluster()


def ranking(
    readings: dict[str, Reading] | None = None,
    *extra: Vnode,
    mode: str = "none",
    formulas: dict[str, str] | None = None,
) -> Ranking:
    settings = RankingSettings(mode=mode, formulas=tuple((formulas or {}).items()))
    return Ranking(cluster_of(READINGS if readings is None else readings, *extra), settings, NOW_S)


def names(ranked: Ranking, wish: RankPreference, vnodes: int = -1) -> str:
    return " ".join("abcdefgh"[bit.bit_length() - 1] for bit in ranked.ordered(wish, vnodes))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        # By E: a has 0.44, b 0.99, c 1.33, d 0.75.
        ("composite", "c b d a"),
        ("compute", "a d c b"),
        ("memory", "b c d a"),
        ("network", "c b a d"),
        ("stability", "d b c a"),
        # a: 1.125, b: 1.25, c: 1, d: 0.875
        ("compute+memory", "b a c d"),
        # a: 1.2, b: 0.55, c: 1.5, d: 0.725
        ("compute+network", "c a d b"),
        # a: 0.325, b: 1.3, c: 1.5, d: 0.35
        ("memory+network", "c b d a"),
    ],
)
def test_each_mode_has_its_own_order(mode: str, expected: str) -> None:
    assert names(ranking(), RankPreference(mode)) == expected


def test_the_dispatch_priority_is_the_priority_times_the_compliance() -> None:
    # At least 16 GiB: b has U = 4, c 2, d just 1; by compute alone the order is d c b.
    wish = RankPreference("compute", Requirements(memory_kib=16 * GIB))
    ranked = ranking()
    assert names(ranked, wish) == "b c d"
    assert ranked.standing(wish, "b") == Standing(0.25, 4.0, 1.0)
    assert ranked.standing(wish, "c") == Standing(0.5, 2.0, 1.0)
    assert ranked.standing(wish, "d") == Standing(0.625, 1.0, 0.625)
    assert ranked.standing(wish, "a") == Standing(1.0, 0.5, None)


def test_only_vnodes_that_meet_every_requirement() -> None:
    wish = RankPreference("compute", Requirements(memory_kib=16 * GIB, compute=10, network=10, temperature=60))
    ranked = ranking()
    # d: 0.625 x min(1, 2, 1, 3); c: 0.5 x min(2, 1.6, 10, 1)
    assert names(ranked, wish) == "d c"
    assert ranked.compliant(wish) == 0b1100


def test_only_the_vnodes_asked_for() -> None:
    assert names(ranking(), RankPreference("compute"), 0b0110) == "c b"


def test_ties_go_by_name() -> None:
    assert names(ranking(dict.fromkeys("dbca", reading())), RankPreference("composite")) == "a b c d"


def test_the_product_takes_the_composite_plus_one() -> None:
    hot = {"a": reading(compute=0, memory_gib=0, network=0, temperature=81)}
    assert ranking(hot).standing(RankPreference("composite"), "a").dispatch_score == pytest.approx(0.1)


def test_a_vnode_hotter_than_it_tolerates_is_no_better_for_meeting_requirements_by_more() -> None:
    # Stability is below 0 for both; a product with their U would put the one with less memory first.
    hot = {"a": reading(memory_gib=64, temperature=120), "b": reading(memory_gib=16, temperature=120)}
    assert names(ranking(hot), RankPreference("stability", Requirements(memory_kib=8 * GIB))) == "a b"


def test_who_reports_nothing_of_what_the_mode_needs_is_last_by_name() -> None:
    readings = {"c": reading(network=1), "b": Reading(NOW_S, memory_kib=GIB), "a": reading(network=2)}
    assert names(ranking(readings, vnode("d")), RankPreference("network")) == "a c b d"


def test_a_stale_reading_is_last_where_only_the_mode_needs_it() -> None:
    readings = {"a": reading(compute=32)._replace(at_s=NOW_S - 181), "b": reading(compute=1)}
    assert names(ranking(readings), RankPreference("compute")) == "b a"
    assert ranking(readings).standing(RankPreference("compute"), "a") == Standing(None, 1.0, None)


def test_a_stale_reading_does_not_comply_where_a_requirement_needs_it() -> None:
    readings = {"a": reading(network=100)._replace(at_s=NOW_S - 181), "b": reading(network=60)}
    wish = RankPreference("compute", Requirements(network=50))
    assert names(ranking(readings), wish) == "b"
    assert ranking(readings).standing(wish, "a") == Standing(None, None, None)


def test_idle_cores_stand_for_compute_that_nobody_reports() -> None:
    snapshot = Snapshot.build(
        NOW_S,
        [vnode("a", 8), vnode("b", 8), vnode("c", 8, attributes={"speed": "4"})],
        runs=[Run("1", job("1"), 0, place_of("a=1 b=4 c=7"), 2000)],
    )
    ranked = Ranking(snapshot.cluster(), RankingSettings(), NOW_S)
    assert names(ranked, RankPreference("compute")) == "a b c"
    assert names(ranked, RankPreference("compute", Requirements(compute=4))) == "a b c"
    assert names(ranked, RankPreference("compute", Requirements(compute=5))) == "a"


# Preferences


def test_a_jobs_own_wish_comes_before_the_settings() -> None:
    own = RankPreference("memory")
    assert ranking(mode="network").preference_of(job("1", rank=own)) == own
    assert ranking(mode="network").preference_of(job("1")) == RankPreference("network")
    assert ranking().preference_of(job("1")) is None


# Not good enough


def sentence(ranked: Ranking, needs: Requirements, vnodes: int = -1) -> str:
    return ranked.missing(RankPreference("compute", needs), vnodes).sentence(job("1"), NOW_S)


def test_it_says_which_requirement_is_missed_and_by_how_much() -> None:
    assert sentence(ranking(), Requirements(memory_kib=80 * GIB)) == (
        "b comes nearest, with 64 GiB of memory left where 80 GiB is required: 16 GiB too little;"
        " none of the 4 vnodes open to it meets what it requires"
    )


def test_of_several_requirements_it_names_the_one_that_the_nearest_misses_by_most() -> None:
    reason = ranking().missing(RankPreference("compute", Requirements(compute=40, network=25, temperature=15)), -1)
    # d: 20 of 40, 10 of 25, 15 at 20 degrees; c: 16 of 40, 15 at 60; b: 8 of 40; a: 15 at 80.
    assert dict(reason.numbers) == {
        "open": 4, "meeting": 0, "nearest": "d", "quantity": "network", "has": 10, "needs": 25, "short": 15,
    }  # fmt: skip


def test_temperature_is_too_hot_rather_than_too_little() -> None:
    assert sentence(ranking(), Requirements(temperature=15), 0b1000) == (
        "d comes nearest, with a temperature of 20 where at most 15 is allowed: 5 too hot;"
        " the one vnode open to it does not meet what it requires"
    )


def test_where_some_meet_it_says_how_many() -> None:
    assert sentence(ranking(), Requirements(network=30)) == (
        "a comes nearest, with 20 of network left where 30 is required: 10 too little; only 2 of the 4 vnodes open"
        " to it meet what it requires, where it does not fit now"
    )


def test_it_says_how_many_nobody_can_judge() -> None:
    readings = {"a": reading()._replace(at_s=0), "b": Reading(NOW_S, compute=1, compute_all=1)}
    assert sentence(ranking(readings), Requirements(compute=1, temperature=50)) == (
        "none of the 2 vnodes open to it meets what it requires;"
        " without a recent reading of compute: 2 vnodes (1 with an old one)"
    )
    assert sentence(ranking(readings), Requirements(temperature=50), 0b10) == (
        "the one vnode open to it does not meet what it requires; without a recent reading of temperature: 1 vnode"
    )


# Starts of the pass


def test_a_start_moves_its_vnode_and_taking_it_back_moves_it_again() -> None:
    cluster = cluster_of(READINGS)
    ranked = Ranking(cluster, RankingSettings(), NOW_S)
    wish, needy = RankPreference("compute"), RankPreference("memory", Requirements(compute=16))
    assert (names(ranked, wish), names(ranked, needy)) == ("a d c b", "c d a")
    started, where = job("1"), place_of("a=17")
    cluster.set_run("1", Run("1", started, NOW_S, where, 2000))
    ranked.started(started, where)
    assert (names(ranked, wish), names(ranked, needy)) == ("d c a b", "c d")
    cluster.set_run("1", None)
    ranked.taken_back(started, where)
    assert (names(ranked, wish), names(ranked, needy)) == ("a d c b", "c d a")


def test_a_vnode_may_cease_to_be_good_enough_and_be_so_again() -> None:
    cluster = cluster_of({"a": reading(memory_gib=32)._replace(network=None), "b": reading(memory_gib=1)})
    ranked = Ranking(cluster, RankingSettings(), NOW_S)
    wish = RankPreference("network", Requirements(memory_kib=16 * GIB))
    assert names(ranked, wish) == "a"
    started, where = job("1"), place_of("(a:ncpus=1:mem=20gb)")
    ranked.started(started, where)
    assert names(ranked, wish) == ""
    assert dict(ranked.missing(wish, -1).numbers)["nearest"] == "a"
    ranked.taken_back(started, where)
    assert names(ranked, wish) == "a"
    assert dict(ranked.missing(wish, -1).numbers)["nearest"] == "b"


def test_a_start_before_the_first_question_is_counted_once() -> None:
    cluster = cluster_of(READINGS)
    ranked = Ranking(cluster, RankingSettings(), NOW_S)
    started, where = job("1"), place_of("a=10")
    cluster.set_run("1", Run("1", started, NOW_S, where, 2000))
    ranked.started(started, where)
    assert ranked.standing(RankPreference("compute"), "a").score == 22 / 32


def test_what_is_earmarked_is_left_for_its_beneficiary() -> None:
    """Its cores count as taken, and what it requires as used: another job may not have it as well."""
    cluster = cluster_of({"a": reading(memory_gib=48), "b": reading(memory_gib=48)})
    ranked, wish = Ranking(cluster, RankingSettings(), NOW_S), Requirements(memory_kib=32 * GIB)
    needs_most = RankPreference("memory", wish)
    assert names(ranked, needs_most) == "a b"
    ranked.earmarked(job("1", rank=needs_most), place_of("a=1"))
    assert names(ranked, needs_most) == "b"
    assert names(ranked, RankPreference("memory")) == "b a"


def test_earmarked_cores_are_not_idle() -> None:
    cluster = Snapshot.build(NOW_S, [vnode("a", 8), vnode("b", 8)]).cluster()
    ranked = Ranking(cluster, RankingSettings(), NOW_S)
    assert names(ranked, RankPreference("compute")) == "a b"
    cluster.capacity.take_amounts(place_of("a=1").shares(cluster.capacity.directory))
    ranked.earmarked(job("1"), place_of("a=1"))
    assert names(ranked, RankPreference("compute")) == "b a"


def test_a_sites_own_formula_ranks() -> None:
    scarcer = {"compute+memory": "min(compute, memory)"}
    # a: 0.125, b: 0.25, c: 0.5, d: 0.25
    assert names(ranking(formulas=scarcer), RankPreference("compute+memory")) == "c b d a"


def test_where_a_sites_own_formula_gives_no_number_the_vnode_is_last() -> None:
    odd = {"compute": "compute + 0 / (1 - compute)"}
    assert names(ranking(formulas=odd), RankPreference("compute")) == "d c b a"


def test_an_empty_cluster_has_nothing_to_rank() -> None:
    for mode in RANK_MODES:
        assert names(ranking({}), RankPreference(mode, Requirements(1, 1, 1, 1))) == ""


def without(reading: Reading) -> Reading:
    return reading._replace(temperature=None, temperature_most=None)


def test_vnodes_that_report_but_have_no_sensor_are_ranked_by_the_rest() -> None:
    """As on virtual machines, none of which tells a temperature: by A + B + C, a has 1.325, b 1.55, c 2, d 0.975."""
    assert (
        names(ranking({name: without(READINGS[name]) for name in READINGS}), RankPreference("composite")) == "c b a d"
    )


def test_a_missing_sensor_is_no_advantage_and_no_reading_still_comes_last() -> None:
    readings = {"a": reading(), "b": without(reading()), "c": reading()._replace(at_s=0), "d": reading(temperature=89)}
    ranked = ranking(readings, vnode("e", 32))
    assert names(ranked, RankPreference("composite")) == "a d b c e"
    assert ranked.standing(RankPreference("composite"), "c").score is None
    assert ranked.standing(RankPreference("stability"), "b").score is None, "of all that it uses it knows nothing"


def test_a_vnode_without_a_required_quantity_is_not_good_enough() -> None:
    wish = RankPreference("composite", Requirements(temperature=89))
    assert names(ranking({"a": without(reading()), "b": reading()}), wish) == "b"
