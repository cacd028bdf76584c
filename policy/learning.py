"""Which layout suits an application: what its striped and its packed runs achieved, compared.

A run counts with its efficiency, CPU time over cores times wall time, under its application's name; where nobody
counted CPU time it counts with its speed, among runs of the same application, size and estimate only. Nothing is judged
before enough runs of each layout were seen; until then the two take turns. See docs/policies.md, P5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Callable, NamedTuple

from policy.cluster import Finished, Job
from policy.ledger import Tally
from policy.settings import StripeSettings
from policy.wishes import LAYOUTS, Layout

_MOST_KEYS = 10_000
"""Users name applications; what is remembered stays bounded whatever they write."""

Learned = Mapping[str, Mapping[str, Tally]]
"""Application, or application and size, to layout to what was measured."""

_NONE = Tally(0, 0.0)
_HOUR_S = 3600


def size_key(application: str, cores: int, estimate_s: float) -> str:
    """Under what runs without a known CPU time are compared: ``wrf, 64 cores, 7200 s``."""
    return f"{application}, {cores} cores, {estimate_s:g} s"


def learn(learned: Learned, finished: Iterable[Finished], settings: StripeSettings, seen_s: float) -> Learned:
    """The tallies with the runs that ended after ``seen_s`` added; the same whatever order they come in.

    Left out are runs without an application, without a duration, and those that no wider layout was open to. With a
    layout other than ``learn`` nothing is learned.
    """
    if settings.layout != "learn":
        return learned
    new = sorted((run for run in finished if run.end_s > seen_s and _tells(run)), key=lambda run: (run.end_s, run.id))
    if not new:
        return learned
    tallies = {key: dict(layouts) for key, layouts in learned.items()}
    for run in new:
        key, measured = _measure(run)
        layouts = tallies.setdefault(key, {})
        layout = "stripe" if run.vnodes > run.fewest else "pack"
        runs, total = layouts.get(layout, _NONE)
        layouts[layout] = Tally(runs + 1, total + measured)
    if len(tallies) > _MOST_KEYS:
        most_seen = sorted(tallies, key=lambda key: (-_seen(tallies[key]), key))[:_MOST_KEYS]
        tallies = {key: tallies[key] for key in sorted(most_seen)}
    return tallies


def _tells(run: Finished) -> bool:
    return bool(run.application) and run.end_s > run.start_s and run.cores > run.fewest


def _measure(run: Finished) -> tuple[str, float]:
    """The key of a run, and its efficiency, or else its speed in runs an hour."""
    wall_s = run.end_s - run.start_s
    if run.cpu_s is not None:
        return run.application, run.cpu_s / (run.cores * wall_s)
    return size_key(run.application, run.cores, run.estimate_s), _HOUR_S / wall_s


def _seen(layouts: Mapping[str, Tally]) -> int:
    return sum(tally.runs for tally in layouts.values())


class Choice(NamedTuple):
    """A layout and why; ``settled`` where the two were compared, so that it is more than a turn."""

    layout: str
    why: str
    settled: bool


def choose(learned: Learned, job: Job, learn_runs: int, running: int) -> Choice:
    """The better layout for a job once ``learn_runs`` of each were seen, else the one whose turn it is.

    They alternate from start to start, packing first, as the runs seen and those ``running`` are counted; where one of
    them has enough, it is always the other's turn.
    """
    if not job.application:
        return Choice("pack", "it names no application to learn by", settled=True)
    layouts = learned.get(job.application) or learned.get(size_key(job.application, job.cores, job.estimate_s)) or {}
    pack, striped = (layouts.get(layout, _NONE) for layout in LAYOUTS)
    if pack.runs >= learn_runs and striped.runs >= learn_runs:
        means = (
            f"{job.application} reached {_show(striped.mean)} in {striped.runs} striped runs"
            f" and {_show(pack.mean)} in {pack.runs} packed ones"
        )
        return Choice("stripe" if striped.mean > pack.mean else "pack", means, settled=True)
    if pack.runs >= learn_runs or striped.runs >= learn_runs:
        layout = "pack" if pack.runs < learn_runs else "stripe"
    else:
        layout = LAYOUTS[(_seen(layouts) + running) % len(LAYOUTS)]
    turns = (
        f"the layouts of {job.application} take turns until {learn_runs} runs of each are seen:"
        f" {striped.runs} striped, {pack.runs} packed so far"
    )
    return Choice(layout, turns, settled=False)


def layout_of(
    job: Job, learned: Learned, settings: StripeSettings, running: Callable[[str], int]
) -> tuple[Layout | None, str, bool]:
    """The job's own wish, else the site's, else what was learned; who decided; and whether that is more than a turn.

    ``running`` tells how many runs of an application are under way.
    """
    if job.layout is not None:
        return job.layout, "the job wishes so", True
    if settings.layout == "learn":
        choice = choose(learned, job, settings.learn_runs, running(job.application))
        return Layout(choice.layout), choice.why, choice.settled
    if settings.layout == "none":
        return None, "", True
    return Layout(settings.layout), f"stripe.layout is {settings.layout}", True


def _show(mean: float) -> str:
    return f"{mean:.3g}"
