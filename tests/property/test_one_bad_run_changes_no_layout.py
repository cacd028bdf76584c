"""The law of learning layouts: one bad run changes nothing, whatever it measured and in whatever layout it ran."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policy import Job
from policy.model.jobs_runs_vnodes_queues import Finished
from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.striping.layout_learning import Choice, Learned, choose, choose_if_counted, learn
from tests.policy.clusters import job

FEWEST = 2
WIDTHS = (2, 4, 8)
"""Packed, the usual stripe, one twice as wide."""


def run(number: int, vnodes: int, efficiency: float) -> Finished:
    """The run that ended as the ``number``th."""
    cores, start_s, wall_s = 64, 1000.0 * number, 500.0
    return Finished(
        str(number), "alice", "wrf", cores, start_s, start_s + wall_s, 600, vnodes, FEWEST, efficiency * cores * wall_s
    )


@st.composite
def honest_runs(draw: st.DrawFn, least: int) -> list[tuple[int, float]]:
    """Widths and efficiencies: runs of each width are alike, and so many percent better than those of another."""
    levels = draw(st.permutations((0.3, 0.5, 0.7)))
    runs = []
    for vnodes, level in zip(WIDTHS, levels):
        count = draw(st.integers(least, least + 30))
        runs += [(vnodes, level + draw(st.floats(-0.05, 0.05))) for _ in range(count)]
    return draw(st.permutations(runs))


def choices(learned: Learned, settings: StripeSettings) -> list[tuple[str, float]]:
    """What ``learn`` and ``auto`` would do with the next job, without the numbers in the reasons."""
    waiting: Job = job("next", "alice", "64", 600, application="wrf")
    made: list[Choice | None] = [
        choose(learned, waiting, settings, 0, 4),
        choose_if_counted(learned, waiting, settings),
    ]
    return [(each.layout, each.factor) for each in made if each is not None]


@given(st.data())
def test_one_bad_run_changes_no_layout(data: st.DataObject) -> None:
    """Of honest runs that do not overlap, at least two of each width."""
    least = data.draw(st.integers(2, 6))
    settings = StripeSettings(layout="learn", learn_runs=least)
    honest = data.draw(honest_runs(least))
    bad = (data.draw(st.sampled_from(WIDTHS)), data.draw(st.sampled_from((0.0, 0.01, 1.0, 165.0))))
    at = data.draw(st.integers(0, len(honest)))
    runs, with_bad = (
        [run(number, *each) for number, each in enumerate(these, 1)]
        for these in (honest, [*honest[:at], bad, *honest[at:]])
    )
    before, after = learn({}, runs, settings, 0), learn({}, with_bad, settings, 0)
    assert len(choices(before, settings)) == 2
    assert choices(after, settings) == choices(before, settings)
