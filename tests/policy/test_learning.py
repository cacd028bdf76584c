"""What is learned of an application's layouts, and what follows from it."""

from __future__ import annotations

import itertools

import pytest

from policy.cluster import Finished
from policy.learning import choose, learn, size_key
from policy.ledger import Tally
from policy.settings import StripeSettings
from tests.policy.clusters import job

LEARN = StripeSettings(layout="learn", learn_runs=3)


def ended(
    run_id: str = "1", end_s: float = 200, *, striped: bool = False, cpu_s: float | None = 3200, name: str = "wrf"
) -> Finished:
    """A run of 64 cores on 32-core nodes that took 100 s less than ``end_s``."""
    return Finished(run_id, "alice", name, 64, 100, end_s, 600, 4 if striped else 2, 2, cpu_s)


def test_a_run_counts_with_its_efficiency() -> None:
    learned = learn({}, [ended(cpu_s=3200), ended("2", striped=True, cpu_s=4800)], LEARN, 0)
    assert learned == {"wrf": {"pack": Tally(1, 0.5), "stripe": Tally(1, 0.75)}}


def test_without_a_cpu_time_with_its_speed_among_those_of_its_size() -> None:
    learned = learn({}, [ended(cpu_s=None), ended("2", 300, cpu_s=None)], LEARN, 0)
    assert learned == {"wrf, 64 cores, 600 s": {"pack": Tally(2, 36.0 + 18.0)}}
    assert size_key("wrf", 64, 600) in learned


def test_only_what_ended_since_is_added() -> None:
    once = learn({}, [ended(end_s=200)], LEARN, 0)
    assert learn(once, [ended(end_s=200), ended("2", 250)], LEARN, 200)["wrf"]["pack"].runs == 2
    assert learn(once, [ended(end_s=200)], LEARN, 200) is once


@pytest.mark.parametrize(
    "run",
    [
        ended(name=""),
        ended(end_s=100),
        ended()._replace(cores=1, vnodes=1, fewest=1),
        ended()._replace(cores=2, vnodes=2, fewest=2),
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


def test_names_that_users_make_up_do_not_fill_the_ledger() -> None:
    many = [ended(str(n), name=f"app{n}") for n in range(10_050)]
    often = [ended(f"x{n}", name="zzz") for n in range(3)]
    learned = learn({}, many + often, LEARN, 0)
    assert len(learned) == 10_000
    assert learned["zzz"]["pack"].runs == 3


A_JOB = job("1", select="64", estimate_s=600, application="wrf")


def tallies(pack: tuple[int, float], striped: tuple[int, float]) -> dict[str, Tally]:
    """Runs and mean of each."""
    return {"pack": Tally(pack[0], pack[0] * pack[1]), "stripe": Tally(striped[0], striped[0] * striped[1])}


@pytest.mark.parametrize(
    ("pack", "striped", "layout"),
    [((3, 0.5), (3, 0.6), "stripe"), ((3, 0.6), (3, 0.5), "pack"), ((3, 0.5), (9, 0.5), "pack")],
)
def test_the_better_one_once_enough_of_each_were_seen(
    pack: tuple[int, float], striped: tuple[int, float], layout: str
) -> None:
    choice = choose({"wrf": tallies(pack, striped)}, A_JOB, 3, 0)
    assert (choice.layout, choice.settled) == (layout, True)
    assert f"reached {striped[1]} in {striped[0]} striped runs and {pack[1]} in {pack[0]} packed ones" in choice.why


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
    choice = choose({"wrf": tallies(pack, striped)}, A_JOB, 3, running)
    assert (choice.layout, choice.settled) == (layout, False)


def test_speed_is_asked_for_the_same_size_only() -> None:
    learned = {size_key("wrf", 64, 600): tallies((3, 30), (3, 40))}
    assert choose(learned, A_JOB, 3, 0).layout == "stripe"
    assert not choose(learned, A_JOB._replace(estimate_s=601), 3, 0).settled


def test_a_job_without_an_application_is_packed() -> None:
    assert choose({"": tallies((3, 0.1), (3, 0.9))}, job("1"), 3, 0).layout == "pack"
