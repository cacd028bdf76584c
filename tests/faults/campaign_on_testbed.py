"""A campaign: many faults of all kinds, one after the other on one testbed, each followed by what must hold.

Which kinds come in which order, and what each draws by chance, follows from the seed alone. A fault that did not come
to its moment is counted as missed and is no fault; one after which something does not hold is lost, and the ground is
healed before the next.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Callable, NamedTuple

from container.testbed_spec import TestbedError
from tests.faults.build_injector_into_hook import Missed
from tests.faults.jobs_that_pbs_lost_track_of import (
    end_forgotten_jobs,
    find_open_arrays,
    find_unended_jobs,
    free_wedged_jobs,
)
from tests.faults.kinds.all_kinds import KINDS
from tests.faults.lost_job_timeline import find_jobs, tell_story
from tests.faults.testbed_under_faults import Ground, LostError, tell_error

LEAST_OF_A_KIND = 20
"""Of 1,000 faults."""

_DRAIN_S = 240.0
_MOST_STORIES = 4
"""So many jobs' stories are told of one loss."""


class Trial(NamedTuple):
    """One fault as it went: ``outcome`` is survived, missed or lost; ``words`` the proof, or what was lost."""

    number: int
    kind: str
    outcome: str
    words: str
    seconds: float


class Outcome(NamedTuple):
    """All trials, and what was found to be wrong when all jobs had been given time to end. ``run_again`` counts jobs
    that did their work twice; those that did so without need are among the losses."""

    trials: Sequence[Trial]
    losses: Sequence[str]
    jobs: int
    preempted: int
    restarted_moms: int = 0
    run_again: int = 0

    @property
    def tried(self) -> int:
        """The faults that hit."""
        return sum(trial.outcome != "missed" for trial in self.trials)

    @property
    def lost(self) -> list[Trial]:
        """The faults after which something did not hold."""
        return [trial for trial in self.trials if trial.outcome == "lost"]

    def tell_losses(self) -> list[str]:
        """A line for everything that was lost, with the fault after which it was."""
        found = [f"LOST in fault {trial.number} ({trial.kind}): {trial.words}" for trial in self.lost]
        return [*found, *(f"LOST at the end: {loss}" for loss in self.losses)]

    @property
    def is_good(self) -> bool:
        """Whether faults hit, and nothing was lost."""
        return bool(self.tried) and not self.lost and not self.losses


def merge(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of a campaign whose parts were on testbeds of their own."""
    return Outcome(
        sorted((trial for each in outcomes for trial in each.trials), key=lambda trial: trial.number),
        [loss for each in outcomes for loss in each.losses],
        sum(each.jobs for each in outcomes),
        sum(each.preempted for each in outcomes),
        sum(each.restarted_moms for each in outcomes),
        sum(each.run_again for each in outcomes),
    )


def draw_schedule(faults: int, seed: str, kinds: Sequence[str] = ()) -> list[str]:
    """The kinds of so many faults in their order: each kind so often at least, the rest by their shares."""
    chosen = [KINDS[name] for name in (kinds or KINDS)]
    least = max(1, min(LEAST_OF_A_KIND, faults * LEAST_OF_A_KIND // 1000))
    rest = max(0, faults - least * len(chosen))
    whole = sum(kind.share for kind in chosen)
    counts = {kind.name: least + rest * kind.share // whole for kind in chosen}
    frequent = sorted(chosen, key=lambda kind: -kind.share)
    for kind in frequent[: max(0, faults - sum(counts.values()))]:
        counts[kind.name] += 1
    schedule = [name for name, count in counts.items() for _ in range(count)]
    random.Random(f"{seed}/schedule").shuffle(schedule)
    return schedule[:faults]


def run_campaign(
    ground: Ground,
    schedule: Sequence[str],
    seed: str,
    *,
    minutes: float,
    say: Callable[[str], None],
    first: int = 1,
    step: int = 1,
    least: int = 0,
) -> Outcome:
    """Inflict the faults of the schedule from number ``first`` on, each ``step``-th, for so many minutes at most; then
    let all jobs end.

    On a slow machine it goes on, for twice that time, until ``least`` faults have hit. ``say`` takes a line for each.
    """
    begun_s = time.monotonic()
    trials: list[Trial] = []
    of_kind: dict[str, int] = {}
    for number, name in enumerate(schedule, start=1):
        turn = of_kind[name] = of_kind.get(name, -1) + 1
        if number < first or (number - first) % step:
            continue
        seconds = time.monotonic() - begun_s
        if is_over(seconds, minutes, trials, least):
            say(f"{seconds / 60:.0f} minutes are over after {len(trials)} of {len(schedule)} faults")
            break
        trial = _try_fault(ground, number, name, turn, seed)
        trials.append(trial)
        clock = time.strftime("%H:%M:%S", time.localtime(time.time() - trial.seconds))
        say(f"{trial.number:5} {clock} {trial.seconds:5.1f} s  {trial.outcome:8}  {trial.kind}: {trial.words}")
        if trial.outcome == "lost":
            _explain(ground, [trial.words], say)
    losses = _finish(ground, say)
    _explain(ground, losses, say)
    lives = ground.books.lives.values()
    return Outcome(
        trials, losses, len(lives), sum(life.reruns for life in lives), ground.restarted_moms, ground.workload.run_again
    )


def is_over(seconds: float, minutes: float, trials: Sequence[Trial], least: int) -> bool:
    """Whether a campaign ends after so many seconds with these trials: late where too few faults have hit."""
    hit = sum(trial.outcome != "missed" for trial in trials)
    return seconds > 60.0 * minutes * (1 if hit >= least else 2)


def _try_fault(ground: Ground, number: int, name: str, turn: int, seed: str) -> Trial:
    begun_s = time.monotonic()
    chance = random.Random(f"{seed}/{number}")
    outcome, words = "survived", ""
    try:
        ground.forgive()
        ground.workload.top_up()
        words = KINDS[name].inflict(ground, turn, chance)
        ground.workload.top_up()
        ground.demand_pass(time.time())
        ground.check()
    except Missed as error:
        outcome, words = "missed", f"{error}; {ground.tell_last_pass()}"
        _heal(ground)
    except (LostError, TestbedError, AssertionError) as error:
        outcome, words = "lost", f"{words}; {tell_error(error)}"
        _heal(ground)
    return Trial(number, name, outcome, words, time.monotonic() - begun_s)


def _heal(ground: Ground) -> None:
    """As well as it goes: what cannot be healed shows in the next fault, and at the end."""
    try:
        ground.heal()
    except (Missed, TestbedError, AssertionError, OSError):
        time.sleep(1.0)


def _finish(ground: Ground, say: Callable[[str], None]) -> list[str]:
    """Let every job end, and look at all of them."""
    _heal(ground)
    say(f"letting {len(ground.books.unfinished())} jobs end")
    deadline = time.monotonic() + _DRAIN_S
    is_helped = False
    while ground.books.unfinished() and time.monotonic() < deadline:
        time.sleep(0.5)
        ground.books.read()
        if not is_helped and time.monotonic() > deadline - _DRAIN_S / 2:
            is_helped = True
            freed = ", ".join(free_wedged_jobs(ground.pbs)) or "none"
            say(f"jobs that PBS called running though no vnode had them, requeued by force: {freed}")
            ended = ", ".join(end_forgotten_jobs(ground.pbs, ground.books, ground.workload)) or "none"
            say(
                f"jobs whose end PBS forgot though their programs had done all of their work, deleted by force: {ended}"
            )
    open_arrays = find_open_arrays(ground.pbs, ground.books)
    if open_arrays:
        say(f"arrays that PBS left open though all their subjobs have ended: {', '.join(open_arrays)}")
    losses = list(ground.books.violations) + ground.workload.read_twice() + ground.workload.find_losses()
    return losses + find_unended_jobs(ground.pbs, open_arrays)


def _explain(ground: Ground, losses: Sequence[str], say: Callable[[str], None]) -> None:
    """Say all that the logs have of the jobs in these sentences, as long as the testbed is there."""
    for job_id in find_jobs(" ".join(losses))[:_MOST_STORIES]:
        try:
            lines = tell_story(ground.pbs, job_id)
        except (TestbedError, OSError, ValueError) as error:
            lines = [f"the story of {job_id} cannot be read: {tell_error(error)}"]
        for line in lines:
            say(line)


def show_table(outcome: Outcome) -> str:
    """The faults by kind, as a table in Markdown."""
    lines = ["| fault | tried | survived | lost | missed | mean |", "|---|---|---|---|---|---|"]
    names = list(dict.fromkeys(trial.kind for trial in outcome.trials))
    for name in sorted(names, key=list(KINDS).index):
        mine = [trial for trial in outcome.trials if trial.kind == name]
        lines.append(_show_row(name, mine))
    lines.append(_show_row("**all**", outcome.trials))
    return "\n".join(lines)


def _show_row(name: str, trials: Sequence[Trial]) -> str:
    counts = {word: sum(trial.outcome == word for trial in trials) for word in ("survived", "lost", "missed")}
    tried = counts["survived"] + counts["lost"]
    mean_s = sum(trial.seconds for trial in trials) / max(1, len(trials))
    return f"| {name} | {tried} | {counts['survived']} | {counts['lost']} | {counts['missed']} | {mean_s:.1f} s |"


def write_json(outcome: Outcome, path: Path, seed: str) -> None:
    """Everything, for programs."""
    data = {
        "seed": seed,
        "tried": outcome.tried,
        "survived": outcome.tried - len(outcome.lost),
        "lost": len(outcome.lost),
        "jobs": outcome.jobs,
        "preempted": outcome.preempted,
        "restarted_moms": outcome.restarted_moms,
        "run_again": outcome.run_again,
        "losses": list(outcome.losses),
        "trials": [trial._asdict() for trial in outcome.trials],
    }
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
