"""What is learned of an application's layouts, and what follows from it."""

from __future__ import annotations

import itertools

import pytest

from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Finished
from policy.model.ledger_between_passes import Tally
from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.striping.layout_learning import (
    MOST_MEASURED,
    choose,
    choose_if_counted,
    learn,
    size_key,
    stripe_factors,
    why_packed_in_turn,
)
from tests.policy.clusters import job

LEARN = StripeSettings(layout="learn", learn_runs=3)


def ended(
    run_id: str = "1",
    end_s: float = 200,
    *,
    striped: bool = False,
    cpu_s: float | None = 3200,
    name: str = "wrf",
    user: str = "alice",
) -> Finished:
    """A run of 64 cores on 32-core nodes that took 100 s less than ``end_s``."""
    return Finished(run_id, user, name, 64, 100, end_s, 600, 4 if striped else 2, 2, cpu_s)


def test_a_run_counts_with_its_efficiency() -> None:
    learned = learn({}, [ended(cpu_s=3200), ended("2", striped=True, cpu_s=4800)], LEARN, 0)
    assert learned == {"u:alice:wrf": {"pack": Tally(1, (0.5,)), "stripe": Tally(1, (0.75,))}}


@pytest.mark.parametrize(("vnodes", "name"), [(2, "pack"), (3, "stripe"), (4, "stripe"), (5, "stripe"), (6, "stripe*2"),
                                              (8, "stripe*2"), (16, "stripe*2")])  # fmt: skip
def test_a_stripe_counts_for_the_width_that_is_nearest(vnodes: int, name: str) -> None:
    learned = learn({}, [ended()._replace(vnodes=vnodes)], LEARN, 0)
    assert learned == {"u:alice:wrf": {name: Tally(1, (0.5,))}}


@pytest.mark.parametrize(("usual", "widest", "factors"), [
    (2, 4, [2, 4]), (2, 2, [2]), (2, 1, [2]), (1.5, 10, [1.5, 3, 6]), (3, 5.9, [3]),
    (1, 1000, [2**n for n in range(10)]),
])  # fmt: skip
def test_the_widths_are_the_usual_one_and_its_doubles(usual: float, widest: float, factors: list[float]) -> None:
    settings = StripeSettings(layout="learn", width_factor=usual, widest_factor=widest)
    assert [*stripe_factors(settings).values()] == factors


def test_by_speed_where_the_site_says_so() -> None:
    settings = StripeSettings(layout="learn", learn_from="speed")
    learned = learn({}, [ended()], settings, 0)
    assert learned == {"u:alice:wrf, 64 cores, 600 s": {"pack": Tally(1, (36.0,))}}
    both = {"u:alice:wrf": tallies((9, 0.9), (9, 0.1)), "u:alice:wrf, 64 cores, 600 s": tallies((9, 1), (9, 2))}
    assert choose(both, A_JOB, settings, 0).layout == "stripe"
    assert choose(both, A_JOB, LEARN, 0).layout == "pack"


def test_without_a_cpu_time_with_its_speed_among_those_of_its_size() -> None:
    learned = learn({}, [ended(cpu_s=None), ended("2", 300, cpu_s=None)], LEARN, 0)
    assert learned == {"u:alice:wrf, 64 cores, 600 s": {"pack": Tally(2, (36.0, 18.0))}}
    assert size_key("u:alice:wrf", 64, 600) in learned


def test_only_what_ended_since_is_added() -> None:
    once = learn({}, [ended(end_s=200)], LEARN, 0)
    assert learn(once, [ended(end_s=200), ended("2", 250)], LEARN, 200)["u:alice:wrf"]["pack"].runs == 2
    assert learn(once, [ended(end_s=200)], LEARN, 200) is once


@pytest.mark.parametrize(
    "run",
    [
        ended(name=""),
        ended(end_s=100),
        ended()._replace(cores=1, vnodes=1, fewest=1),
        ended()._replace(cores=2, vnodes=2, fewest=2),
        ended(end_s=159.9),
        ended()._replace(estimate_s=2001.0),
        ended()._replace(asked_layout=True),
    ],
)
def test_what_tells_nothing_is_left_out(run: Finished) -> None:
    assert learn({}, [run], LEARN, 0) == {}


@pytest.mark.parametrize("layout", ["none", "pack", "stripe"])
def test_nothing_is_learned_unless_asked(layout: str) -> None:
    assert learn({}, [ended()], StripeSettings(layout=layout), 0) == {}


def test_the_order_of_the_runs_does_not_matter() -> None:
    runs = [ended(str(n), 200 + 0.1 * n, cpu_s=1000 / 3 * n, striped=n % 2 == 0) for n in range(5)]
    assert len({repr(learn({}, order, LEARN, 0)) for order in itertools.permutations(runs)}) == 1


def test_a_run_of_a_job_without_an_estimate_counts() -> None:
    assert learn({}, [ended()._replace(estimate_s=UNLIMITED_S)], LEARN, 0)


def test_how_short_is_too_short_is_the_sites_to_say() -> None:
    short, long = ended(end_s=101), ended()._replace(estimate_s=1e9)
    assert learn({}, [short], StripeSettings(layout="learn", learn_min_s=0, learn_min_share=0), 0)
    assert learn({}, [long], StripeSettings(layout="learn", learn_min_share=0), 0)


@pytest.mark.parametrize(("by", "count"), [("user", 10_000), ("all", 10_000)])
def test_names_that_users_make_up_do_not_fill_the_ledger(by: str, count: int) -> None:
    settings = StripeSettings(layout="learn", learn_by=by)
    many = [ended(str(n), name=f"app{n}", user=f"user{n % 100}") for n in range(10_050)]
    often = [ended(f"x{n}", name="zzz") for n in range(3)]
    learned = learn({}, many + often, settings, 0)
    assert len(learned) == count
    assert learned["u:alice:zzz" if by == "user" else "*:zzz"]["pack"].runs == 3


def test_names_that_one_user_makes_up_push_nobody_elses_out() -> None:
    flood = [ended(f"{n}.{time}", name=f"app{n}", user="mallory") for n in range(12_000) for time in range(2)]
    learned = learn(learn({}, [ended()], LEARN, 0), flood, LEARN, 0)
    assert len(learned) == 201
    assert "u:alice:wrf" in learned


def test_only_the_last_runs_are_kept() -> None:
    runs = [ended(str(n), 200 + n, cpu_s=None) for n in range(100)]
    (tally,) = learn({}, runs, LEARN, 0)["u:alice:wrf, 64 cores, 600 s"].values()
    assert (tally.runs, len(tally.last)) == (100, MOST_MEASURED)
    assert tally.last[-1] == 3600 / 199


@pytest.mark.parametrize("by", ["user", "all"])
def test_a_run_of_two_seconds_by_somebody_else_turns_nothing(by: str) -> None:
    """Twenty honest runs, striped twice as fast; then packed ones of another user's under the same name."""
    settings = StripeSettings(layout="learn", learn_by=by)
    honest = [
        ended(str(n), 1900 if n % 2 else 3700, cpu_s=None, striped=bool(n % 2))._replace(estimate_s=7200)
        for n in range(20)
    ]
    evil = [
        ended(f"e{n}", 102 + n, cpu_s=None, user="mallory")._replace(estimate_s=7200, start_s=100 + n)
        for n in range(50)
    ]
    waiting = A_JOB._replace(user="alice", estimate_s=7200)
    before = choose(learn({}, honest, settings, 0), waiting, settings, 0)
    after = choose(learn({}, [*honest, *evil], settings, 0), waiting, settings, 0)
    assert (before.layout, after) == ("stripe", before)


def test_a_few_odd_runs_do_not_turn_the_median() -> None:
    usual = tallies((11, 0.5), (11, 0.6))
    odd = {"u:alice:wrf": {**usual, "pack": Tally(16, (*usual["pack"].last, *[165.0] * 5))}}
    assert choose(odd, A_JOB, LEARN, 0).layout == "stripe"


@pytest.mark.parametrize(("last", "middle"), [((), 0.0), ((3.0,), 3.0), ((9.0, 1.0), 5.0), ((9.0, 1.0, 2.0), 2.0)])
def test_the_median_is_the_middle_of_what_was_measured(last: tuple[float, ...], middle: float) -> None:
    assert Tally(len(last), last).median == middle


A_JOB = job("1", "alice", select="64", estimate_s=600, application="wrf")


def tallies(pack: tuple[int, float], striped: tuple[int, float]) -> dict[str, Tally]:
    """Runs and median of each."""
    return {layout: Tally(runs, (each,) * runs) for layout, (runs, each) in (("pack", pack), ("stripe", striped))}


@pytest.mark.parametrize(
    ("pack", "striped", "layout"),
    [((3, 0.5), (3, 0.6), "stripe"), ((3, 0.6), (3, 0.5), "pack"), ((3, 0.5), (9, 0.5), "pack")],
)
def test_the_better_one_once_enough_of_each_were_seen(
    pack: tuple[int, float], striped: tuple[int, float], layout: str
) -> None:
    choice = choose({"u:alice:wrf": tallies(pack, striped)}, A_JOB, LEARN, 0)
    assert (choice.layout, choice.settled) == (layout, True)
    median = f"wrf of alice reached a median of {striped[1]} in {striped[0]} striped runs and of {pack[1]} in {pack[0]}"
    assert median in choice.why


@pytest.mark.parametrize(
    ("pack", "striped", "running", "layout"),
    [
        ((0, 0), (0, 0), 0, "pack"),
        ((0, 0), (0, 0), 1, "stripe"),
        ((1, 0.1), (0, 0), 1, "pack"),
        ((1, 0.1), (2, 0.9), 0, "stripe"),
        ((9, 0.1), (2, 0.9), 0, "stripe"),
        ((2, 0.1), (3, 0.9), 0, "pack"),
    ],
)
def test_until_then_they_take_turns_whatever_the_few_say(
    pack: tuple[int, float], striped: tuple[int, float], running: int, layout: str
) -> None:
    choice = choose({"u:alice:wrf": tallies(pack, striped)}, A_JOB, LEARN, running)
    assert (choice.layout, choice.settled) == (layout, False)


WIDE = "stripe*2"


@pytest.mark.parametrize(
    ("pack", "striped", "wide", "running", "most", "factor", "settled"),
    [
        ((3, 0.5), (3, 0.6), (0, 0), 0, 4, 4, False),
        ((3, 0.5), (3, 0.6), (0, 0), 1, 4, 2, True),
        ((3, 0.5), (3, 0.6), (0, 0), 0, 2, 2, True),
        ((3, 0.6), (3, 0.5), (0, 0), 0, 4, 0, True),
        ((3, 0.5), (3, 0.6), (2, 0.9), 0, 4, 4, False),
        ((3, 0.5), (3, 0.6), (3, 0.9), 0, 4, 4, True),
        ((3, 0.5), (3, 0.6), (3, 0.6), 0, 4, 2, True),
        ((3, 0.7), (3, 0.6), (3, 0.8), 0, 4, 4, True),
    ],
)
def test_a_wider_stripe_is_tried_while_the_widest_seen_is_the_best(
    pack: tuple[int, float], striped: tuple[int, float], wide: tuple[int, float],
    running: int, most: float, factor: float, settled: bool,
) -> None:  # fmt: skip
    found = tallies(pack, striped) | {WIDE: Tally(wide[0], (wide[1],) * wide[0])}
    choice = choose({"u:alice:wrf": found}, A_JOB, LEARN, running, most)
    assert (choice.factor, choice.settled) == (factor, settled)
    assert choice.layout == ("stripe" if factor else "pack")


def test_the_reason_has_every_width_that_was_compared() -> None:
    found = {"u:alice:wrf": tallies((3, 0.5), (3, 0.6)) | {WIDE: Tally(3, (0.7,) * 3)}}
    compared = (
        "a median of 0.6 in 3 striped runs and of 0.5 in 3 packed ones and of 0.7 in 3 runs striped 2 times as wide"
    )
    assert choose(found, A_JOB, LEARN, 0, 4).why == f"wrf of alice reached {compared}"
    trying = {"u:alice:wrf": tallies((3, 0.5), (3, 0.6)) | {WIDE: Tally(2, (0.7,) * 2)}}
    assert (
        "; a stripe 2 times as wide is tried until 3 such runs are seen: 2 so far"
        in choose(trying, A_JOB, LEARN, 0, 4).why
    )


def test_two_counted_layouts_are_enough_to_choose_by() -> None:
    found = {"u:alice:wrf": {"pack": Tally(3, (0.5,) * 3), WIDE: Tally(3, (0.7,) * 3), "stripe": Tally(2, (0.9,) * 2)}}
    choice = choose_if_counted(found, A_JOB, LEARN)
    assert choice is not None
    assert (choice.layout, choice.factor) == ("stripe", 4)
    assert choose_if_counted({"u:alice:wrf": tallies((3, 0.5), (2, 0.6))}, A_JOB, LEARN) is None
    assert choose_if_counted({"u::": tallies((3, 0.5), (3, 0.6))}, A_JOB._replace(application=""), LEARN) is None


def test_every_other_job_is_packed_until_there_is_something_to_compare() -> None:
    found = {"u:alice:wrf": tallies((2, 0.5), (6, 0.6))}
    why = why_packed_in_turn(found, A_JOB, LEARN, 0)
    assert why == "every other job of wrf of alice is packed until 3 such runs are seen: 2 so far"
    assert why_packed_in_turn(found, A_JOB, LEARN, 1) == ""
    assert why_packed_in_turn({"u:alice:wrf": tallies((4, 0.5), (0, 0))}, A_JOB, LEARN, 0) == ""
    assert why_packed_in_turn(found, A_JOB._replace(application=""), LEARN, 0) == ""


def test_speed_is_asked_for_the_same_size_only() -> None:
    learned = {size_key("u:alice:wrf", 64, 600): tallies((3, 30), (3, 40))}
    assert choose(learned, A_JOB, LEARN, 0).layout == "stripe"
    assert not choose(learned, A_JOB._replace(estimate_s=601), LEARN, 0).settled


def test_a_job_without_an_application_is_packed() -> None:
    assert choose({"": tallies((3, 0.1), (3, 0.9))}, job("1"), LEARN, 0).layout == "pack"
