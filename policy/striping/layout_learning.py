"""Which layout and width suit an application: compares the medians of its packed runs and of its striped ones, by width
(docs/policies.md, P5).

A run counts by its efficiency, CPU time / (cores x wall time), for its user and application; without a known CPU time
by its speed, among runs of the same size and estimate only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import log2
from typing import NamedTuple

from policy.model.job_preferences import LAYOUTS
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Finished, Job
from policy.model.ledger_between_passes import Tally
from policy.settings.ranking_and_stripe_settings import StripeSettings

_MOST_KEYS = 10_000
_MOST_KEYS_OF_ONE = 200
"""Limits of what is remembered, in total and for each user: users may name any number of applications."""
MOST_MEASURED = 25
"""The median is taken of at most this many last runs of a layout; odd, so that it is one of them."""

Learned = Mapping[str, Mapping[str, Tally]]
"""Key of comparable runs (:func:`application_key`, :func:`size_key`) to layout and width (``pack``, or a name of
:func:`stripe_factors`) to what was measured."""

_NONE = Tally(0, ())
_HOUR_S = 3600


def application_key(user: str, application: str, settings: StripeSettings) -> str:
    """The key of runs that are compared: ``u:alice:wrf``, or ``*:wrf`` if all users' runs are compared."""
    return f"u:{user}:{application}" if settings.learn_by == "user" else f"*:{application}"


def size_key(application: str, cores: int, estimate_s: float) -> str:
    """The key of compared runs without a known CPU time: ``u:alice:wrf, 64 cores, 7200 s``."""
    return f"{application}, {cores} cores, {estimate_s:g} s"


def stripe_factors(settings: StripeSettings) -> dict[str, float]:
    """The widths from which the policy chooses, as multiples of the fewest nodes, by name: ``stripe`` is the usual one,
    ``stripe*2`` twice as wide, and so on."""
    factors = {"stripe": float(settings.width_factor)}
    times = 2
    while settings.width_factor * times <= settings.widest_factor:
        factors[f"stripe*{times}"] = float(settings.width_factor * times)
        times *= 2
    return factors


def learn(learned: Learned, finished: Iterable[Finished], settings: StripeSettings, seen_s: float) -> Learned:
    """The tallies with the runs that ended after ``seen_s`` added; independent of their order.

    Left out are runs without an application, runs that were too short, runs whose job asked for a layout, and runs
    too small to spread. Where no queue has the layout ``learn`` or ``auto`` nothing is learned.
    """
    if not settings.learns:
        return learned
    new = sorted(
        (run for run in finished if run.end_s > seen_s and _tells(run, settings)), key=lambda run: (run.end_s, run.id)
    )
    if not new:
        return learned
    tallies = {key: dict(layouts) for key, layouts in learned.items()}
    factors = stripe_factors(settings)
    for run in new:
        key, measured = _measure(run, settings)
        layouts = tallies.setdefault(key, {})
        layout = _layout_of_run(run, factors)
        tally = layouts.get(layout, _NONE)
        layouts[layout] = Tally(tally.runs + 1, (*tally.last, measured)[-MOST_MEASURED:])
    return _bounded(tallies)


def _layout_of_run(run: Finished, factors: Mapping[str, float]) -> str:
    """Packed, or the stripe whose width is nearest in proportion."""
    if run.vnodes <= run.fewest:
        return "pack"
    wide = run.vnodes / max(1, run.fewest)
    return min(factors, key=lambda name: abs(log2(wide / factors[name])))


def _bounded(tallies: dict[str, dict[str, Tally]]) -> dict[str, dict[str, Tally]]:
    """The tallies with most runs seen: a limited number for each user, then a limited number in total."""
    if len(tallies) <= _MOST_KEYS_OF_ONE:
        return tallies
    counts: dict[str, int] = {}
    kept = []
    for key in sorted(tallies, key=lambda key: (-_seen(tallies[key]), key)):
        owner = key.split(":", 2)[1] if key.startswith("u:") else ""
        counts[owner] = counts.get(owner, 0) + 1
        if not owner or counts[owner] <= _MOST_KEYS_OF_ONE:
            kept.append(key)
    return {key: tallies[key] for key in sorted(kept[:_MOST_KEYS])}


def _tells(run: Finished, settings: StripeSettings) -> bool:
    """Whether a run counts for its layout. Without an estimate the least share of it is not required."""
    share = settings.learn_min_share if run.estimate_s < UNLIMITED_S else 0.0
    least_s = max(settings.learn_min_s, share * run.estimate_s if share else 0.0)
    took_s = run.end_s - run.start_s
    return (
        bool(run.application) and took_s > 0 and took_s >= least_s and run.cores > run.fewest and not run.asked_layout
    )


def _measure(run: Finished, settings: StripeSettings) -> tuple[str, float]:
    """The key of a run, and its efficiency, or else its speed in runs per hour."""
    wall_s = run.end_s - run.start_s
    key = application_key(run.user, run.application, settings)
    if run.cpu_s is not None and settings.learn_from == "cpu-time":
        return key, run.cpu_s / (run.cores * wall_s)
    return size_key(key, run.cores, run.estimate_s), _HOUR_S / wall_s


def _seen(layouts: Mapping[str, Tally]) -> int:
    return sum(tally.runs for tally in layouts.values())


class Choice(NamedTuple):
    """A layout and why. ``settled``: it follows from a comparison; otherwise layouts still alternate. ``factor``: the
    width of a stripe as a multiple of the fewest nodes."""

    layout: str
    why: str
    settled: bool
    factor: float = 0.0


def choose(learned: Learned, job: Job, settings: StripeSettings, running: int, most_factor: float = 0.0) -> Choice:
    """The layout and width with the best median for a job once ``learn_runs`` of each were seen; else the next in
    alternation.

    First packed runs and the usual stripes alternate from start to start, packing first; runs seen and runs ``running``
    are counted. If one of them has enough runs, the other is chosen. While a stripe is the best, the next wider one is
    tried in the same way, as far as ``most_factor``, to which the job can be spread, allows another width.
    """
    if not job.application:
        return Choice("pack", "it names no application to learn by", settled=True)
    layouts, whose, factors = _tallies(learned, job, settings), _whose(job, settings), stripe_factors(settings)
    pack, striped = (layouts.get(layout, _NONE) for layout in LAYOUTS)
    turn, learn_runs = _seen(layouts) + running, settings.learn_runs
    if pack.runs >= learn_runs and striped.runs >= learn_runs:
        best = _compare(layouts, whose, settings)
        wider = _find_wider(best, layouts, factors, settings, most_factor)
        if not wider or turn % 2:
            return best
        so_far = f"{best.why}; {_show_width(wider)} is tried until {learn_runs} such runs are seen:"
        return Choice("stripe", f"{so_far} {layouts.get(wider, _NONE).runs} so far", False, factors[wider])
    if pack.runs >= learn_runs or striped.runs >= learn_runs:
        layout = "pack" if pack.runs < learn_runs else "stripe"
    else:
        layout = LAYOUTS[turn % len(LAYOUTS)]
    so_far = (
        f"the layouts of {whose} alternate until {learn_runs} runs of each are seen:"
        f" {striped.runs} striped, {pack.runs} packed so far"
    )
    return Choice(layout, so_far, settled=False, factor=factors["stripe"])


def choose_if_counted(learned: Learned, job: Job, settings: StripeSettings) -> Choice | None:
    """The layout and width with the best median for a job; None before ``learn_runs`` runs of two of them were seen."""
    layouts = _tallies(learned, job, settings)
    counted = [*_counted(layouts, settings)]
    return _compare(layouts, _whose(job, settings), settings) if job.application and len(counted) > 1 else None


def why_packed_in_turn(learned: Learned, job: Job, settings: StripeSettings, running: int) -> str:
    """Why a job that could be striped is packed this time, to compare with; empty if it is not its turn, or if
    enough packed runs were seen."""
    layouts = _tallies(learned, job, settings) if job.application else {}
    seen = layouts.get("pack", _NONE).runs
    if not job.application or seen >= settings.learn_runs or (_seen(layouts) + running) % 2:
        return ""
    return (
        f"every other job of {_whose(job, settings)} is packed until {settings.learn_runs} such runs are seen:"
        f" {seen} so far"
    )


def _tallies(learned: Learned, job: Job, settings: StripeSettings) -> Mapping[str, Tally]:
    key = application_key(job.user, job.application, settings)
    by_cpu_time = learned.get(key) if settings.learn_from == "cpu-time" else None
    return by_cpu_time or learned.get(size_key(key, job.cores, job.estimate_s)) or {}


def _whose(job: Job, settings: StripeSettings) -> str:
    return f"{job.application} of {job.user}" if settings.learn_by == "user" else job.application


def _counted(layouts: Mapping[str, Tally], settings: StripeSettings) -> Iterator[str]:
    """The layouts of which enough runs were seen, the narrowest first."""
    for layout in ("pack", *stripe_factors(settings)):
        if layouts.get(layout, _NONE).runs >= settings.learn_runs:
            yield layout


def _compare(layouts: Mapping[str, Tally], whose: str, settings: StripeSettings) -> Choice:
    """The best of the layouts of which enough runs were seen; at a tie the narrowest."""
    counted = [*_counted(layouts, settings)]
    best = max(counted, key=lambda layout: layouts[layout].median)
    shown = sorted(counted, key=["stripe", "pack", *counted].index)
    medians = [
        f"{_show(layouts[name].median)} in {layouts[name].runs} {_show_runs(name, first=name == shown[0])}"
        for name in shown
    ]
    why = f"{whose} reached a median of {' and of '.join(medians)}"
    factor = stripe_factors(settings).get(best, 0.0)
    return Choice("stripe" if factor else "pack", why, settled=True, factor=factor)


def _find_wider(
    best: Choice,
    layouts: Mapping[str, Tally],
    factors: Mapping[str, float],
    settings: StripeSettings,
    most_factor: float,
) -> str:
    """The next wider stripe than the best layout, if too few of its runs were seen; empty if the best is to pack, or no
    stripe is wider."""
    if best.layout == "pack" or best.factor >= most_factor:
        return ""
    wider = next((name for name, factor in factors.items() if factor > best.factor), "")
    return wider if wider and layouts.get(wider, _NONE).runs < settings.learn_runs else ""


def _show_width(name: str) -> str:
    return f"a stripe {name[len('stripe*') :]} times as wide"


def _show_runs(name: str, *, first: bool) -> str:
    if name == "pack":
        return "packed runs" if first else "packed ones"
    return "striped runs" if name == "stripe" else f"runs striped {name[len('stripe*') :]} times as wide"


def _show(median: float) -> str:
    return f"{median:.3g}"
