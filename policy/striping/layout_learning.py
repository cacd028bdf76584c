"""Which layout suits an application: compares the medians of its striped and its packed runs (docs/policies.md, P5).

A run counts by its efficiency, CPU time / (cores x wall time), for its user and application; without a known CPU time
by its speed, among runs of the same size and estimate only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Callable, NamedTuple

from policy.model.job_preferences import LAYOUTS, Layout
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Finished, Job
from policy.model.ledger_between_passes import Tally
from policy.settings.site_settings import StripeSettings

_MOST_KEYS = 10_000
_MOST_KEYS_OF_ONE = 200
"""Limits of what is remembered, in total and for each user: users may name any number of applications."""
MOST_MEASURED = 25
"""The median is taken of at most this many last runs of a layout; odd, so that it is one of them."""

Learned = Mapping[str, Mapping[str, Tally]]
"""Key of comparable runs (:func:`application_key`, :func:`size_key`) to layout to what was measured."""

_NONE = Tally(0, ())
_HOUR_S = 3600


def application_key(user: str, application: str, settings: StripeSettings) -> str:
    """The key of runs that are compared: ``u:alice:wrf``, or ``*:wrf`` if all users' runs are compared."""
    return f"u:{user}:{application}" if settings.learn_by == "user" else f"*:{application}"


def size_key(application: str, cores: int, estimate_s: float) -> str:
    """The key of compared runs without a known CPU time: ``u:alice:wrf, 64 cores, 7200 s``."""
    return f"{application}, {cores} cores, {estimate_s:g} s"


def learn(learned: Learned, finished: Iterable[Finished], settings: StripeSettings, seen_s: float) -> Learned:
    """The tallies with the runs that ended after ``seen_s`` added; independent of their order.

    Left out are runs without an application, runs that were too short, runs whose job asked for a layout, and runs
    too small to spread. Where no queue has the layout ``learn`` nothing is learned.
    """
    if "learn" not in settings.layouts:
        return learned
    new = sorted(
        (run for run in finished if run.end_s > seen_s and _tells(run, settings)), key=lambda run: (run.end_s, run.id)
    )
    if not new:
        return learned
    tallies = {key: dict(layouts) for key, layouts in learned.items()}
    for run in new:
        key, measured = _measure(run, settings)
        layouts = tallies.setdefault(key, {})
        layout = "stripe" if run.vnodes > run.fewest else "pack"
        tally = layouts.get(layout, _NONE)
        layouts[layout] = Tally(tally.runs + 1, (*tally.last, measured)[-MOST_MEASURED:])
    return _bounded(tallies)


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
    if run.cpu_s is not None:
        return key, run.cpu_s / (run.cores * wall_s)
    return size_key(key, run.cores, run.estimate_s), _HOUR_S / wall_s


def _seen(layouts: Mapping[str, Tally]) -> int:
    return sum(tally.runs for tally in layouts.values())


class Choice(NamedTuple):
    """A layout and why. ``settled``: it follows from a comparison; otherwise the layouts still alternate."""

    layout: str
    why: str
    settled: bool


def choose(learned: Learned, job: Job, settings: StripeSettings, running: int) -> Choice:
    """The layout with the better median for a job once ``learn_runs`` of each were seen; else the next in alternation.

    The layouts alternate from start to start, packing first; runs seen and runs ``running`` are counted. If one of them
    has enough runs, the other is chosen.
    """
    if not job.application:
        return Choice("pack", "it names no application to learn by", settled=True)
    key, learn_runs = application_key(job.user, job.application, settings), settings.learn_runs
    layouts = learned.get(key) or learned.get(size_key(key, job.cores, job.estimate_s)) or {}
    pack, striped = (layouts.get(layout, _NONE) for layout in LAYOUTS)
    whose = f"{job.application} of {job.user}" if settings.learn_by == "user" else job.application
    if pack.runs >= learn_runs and striped.runs >= learn_runs:
        medians = (
            f"{whose} reached a median of {_show(striped.median)} in {striped.runs} striped runs"
            f" and of {_show(pack.median)} in {pack.runs} packed ones"
        )
        return Choice("stripe" if striped.median > pack.median else "pack", medians, settled=True)
    if pack.runs >= learn_runs or striped.runs >= learn_runs:
        layout = "pack" if pack.runs < learn_runs else "stripe"
    else:
        layout = LAYOUTS[(_seen(layouts) + running) % len(LAYOUTS)]
    so_far = (
        f"the layouts of {whose} alternate until {learn_runs} runs of each are seen:"
        f" {striped.runs} striped, {pack.runs} packed so far"
    )
    return Choice(layout, so_far, settled=False)


def layout_of(
    job: Job, learned: Learned, settings: StripeSettings, running: Callable[[Job], int]
) -> tuple[Layout | None, str, bool]:
    """The job's own preference, else the site's layout, else the one learned; why; and whether that is settled (see
    :class:`Choice`).

    ``running`` gives the number of current runs that the job is compared with.
    """
    if job.layout is not None:
        return job.layout, "the job asks for it", True
    of_queue = settings.for_queue(job.queue)
    if of_queue.layout == "learn":
        choice = choose(learned, job, settings, running(job))
        return Layout(choice.layout), choice.why, choice.settled
    if of_queue.layout == "none":
        return None, "", True
    where = "stripe.layout" if of_queue is settings else f"stripe.queues.{job.queue}"
    return Layout(of_queue.layout), f"{where} is {of_queue.layout}", True


def _show(median: float) -> str:
    return f"{median:.3g}"
