"""Tables beside the figures of the policies: gains with intervals, sizes, users, and the jobs that fare worst.

A gain is in per cent, with its interval in brackets; a dash says that there is nothing to compare, `[no interval]` that
too few weeks have something to gain on.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from sim.evidence.block_bootstrap_over_weeks import FEWEST_WEEKS, PERCENT, SAMPLES
from sim.evidence.figures_by_user_and_size import SizeFigures, UserFigures, losers, size_name
from sim.evidence.gains_over_references import MEASURES, REFERENCES, Gain, Pair
from sim.replay.metrics import bounded_slowdown, percentile, wait_s
from sim.report.replay_table_json_and_csv import aligned, printable

Gains = Mapping[str, Mapping[str, Gain]]
"""The gains of one policy: by reference, then by measure."""

USERS_CSV = (
    "policy", "user", "jobs", "core_s", "mean_wait_s", "mean_bounded_slowdown", "wait_s_of_jobs_that_both_ran",
    "wait_s_under_reference", "longer_s",
)  # fmt: skip
LOSERS_CSV = (
    "policy", "job", "user", "cores", "run_s", "submit", "wait_s", "wait_s_under_reference", "longer_s",
    "bounded_slowdown", "preemptions",
)  # fmt: skip
_LOSERS_SHOWN = 5
_USERS_NAMED = 2
_LONGEST_USER = 16


def gains_table(names: Sequence[str], of_policies: Sequence[Gains], seed: int) -> list[str]:
    """The gains, and what they and their intervals are; nothing if no policy is compared with a reference."""
    compared = [gain for gains in of_policies for of_reference in gains.values() for gain in of_reference.values()]
    if not compared:
        return []
    weeks = max(gain.weeks for gain in compared)
    return [*gains_rows(names, of_policies), "", *explain_gains(weeks, seed)]


def gains_rows(names: Sequence[str], of_policies: Sequence[Gains]) -> list[str]:
    """A part for each reference, a line for each policy that is compared with it."""
    rows = [["gain over", *(name.replace("_", " ").replace("area w", "area-w") for name in MEASURES)]]
    for reference in REFERENCES:
        of_reference = [(name, gains[reference]) for name, gains in zip(names, of_policies) if reference in gains]
        rows.append([reference, *("" for _ in MEASURES)])
        rows += [[f"  {name}", *map(show_gain, of_measure.values())] for name, of_measure in of_reference]
    return aligned(rows)


def explain_gains(weeks: int, seed: int) -> list[str]:
    """What a gain and its interval are, for this many weeks."""
    lines = ["gain: how far the mean lies below the reference's, in %, over the same jobs"]
    if weeks < FEWEST_WEEKS:
        few = f"{weeks} week{'s' * (weeks != 1)} of submissions"
        return [*lines, f"no intervals: {few}, and {FEWEST_WEEKS} are the fewest for a bootstrap over weeks"]
    return [
        *lines,
        f"in brackets the {PERCENT} % interval: {SAMPLES:,} bootstrap samples of {weeks} weeks of submissions, "
        f"seed {seed}",
    ]


def show_gain(gain: Gain, width: int = 6) -> str:
    """`23.1 [ 15.2,  30.4]`, all in per cent, the bounds at least ``width`` wide."""
    if gain.gain is None:
        return "-"
    value = f"{100 * gain.gain:,.1f}"
    if gain.low is None or gain.high is None:
        return f"{value} [no interval]"
    return f"{value} [{100 * gain.low:{width},.1f}, {100 * gain.high:{width},.1f}]"


def sizes_table(names: Sequence[str], of_policies: Sequence[Sequence[SizeFigures]]) -> list[str]:
    """A part for each class of sizes, a line for each policy."""
    bounds = sorted({each.up_to_percent for sizes in of_policies for each in sizes})
    rows = [["by size, cores / machine", "jobs", "mean wait", "slowdown", "wait gain", "slowdown gain"]]
    for bound in bounds:
        rows.append([size_name(bound), *("" for _ in range(5))])
        for name, sizes in zip(names, of_policies):
            each = next((each for each in sizes if each.up_to_percent == bound), None)
            if each is None:
                rows.append([f"  {name}", "0", "-", "-", "-", "-"])
                continue
            gains = [show_gain(each.gains[what]) if each.gains else "-" for what in ("wait", "bounded_slowdown")]
            rows.append(
                [f"  {name}", f"{each.jobs:,}", f"{each.mean_wait_s:,.0f} s", f"{each.mean_slowdown:,.2f}", *gains]
            )
    return [*aligned(rows), "", f"gain: over {REFERENCES[0]}"]


def users_table(names: Sequence[str], of_policies: Sequence[Sequence[UserFigures]]) -> list[str]:
    """A line for each policy: how its users fare, who waits longer than under the first reference, and who most."""
    rows = [["by user, mean slowdown", "half at most", "95 % at most", "worst", "wait longer", "longest, in the mean"]]
    for name, users in zip(names, of_policies):
        slowdowns = sorted(each.mean_slowdown for each in users)
        longer = [each for each in users if each.longer_s > 0]
        most = ", ".join(f"{_user(each.user)} +{_short_time(each.longer_s)}" for each in longer[:_USERS_NAMED])
        rows.append(
            [
                f"  {name}", f"{percentile(slowdowns, 50):,.2f}", f"{percentile(slowdowns, 95):,.2f}",
                f"{slowdowns[-1]:,.2f}", f"{len(longer):,} of {len(users):,}", most or "-",
            ]
        )  # fmt: skip
    return [*aligned(rows), "", f"wait longer: users whose jobs wait longer than under {REFERENCES[0]}, in the mean"]


def losers_table(names: Sequence[str], of_policies: Sequence[Sequence[Pair]]) -> list[str]:
    """The jobs of each policy that wait longer than under the first reference by most; nothing for that itself."""
    rows = [["jobs that fare worst", "job", "user", "cores", "run", "wait", f"under {REFERENCES[0]}", "longer by"]]
    shares = []
    for name, pairs in zip(names, of_policies):
        if not pairs or pairs[0][0] is pairs[0][1]:
            continue
        worst = losers(pairs)
        shares.append(f"{name} {100 * len(worst) / len(pairs):.1f} %")
        for number, (mine, theirs) in enumerate(worst[:_LOSERS_SHOWN]):
            job = mine.job
            rows.append(
                [
                    "" if number else f"  {name}", str(job.number), _user(job.user), f"{job.cores:,}",
                    _short_time(job.run_s), _short_time(wait_s(mine)), _short_time(wait_s(theirs)),
                    _short_time(wait_s(mine) - wait_s(theirs)),
                ]
            )  # fmt: skip
    if not shares:
        return []
    listed = aligned(rows) if len(rows) > 1 else []
    return [
        *listed,
        *([""] if listed else []),
        f"jobs that wait longer than under {REFERENCES[0]}: {', '.join(shares)}",
    ]


def write_users_csv(path: Path, of_policies: Sequence[tuple[str, Sequence[UserFigures]]]) -> None:
    """A row for each policy and user, those first whose jobs wait longer than under the reference. Raises OSError."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(USERS_CSV)
        for policy, users in of_policies:
            for each in users:
                writer.writerow((policy, *each, each.longer_s))


def write_losers_csv(path: Path, of_policies: Sequence[tuple[str, Sequence[Pair]]]) -> None:
    """A row for each policy and job that waits longer than under the reference, the worst first. Raises OSError."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(LOSERS_CSV)
        for policy, pairs in of_policies:
            for mine, theirs in losers(pairs):
                job, waited_s, reference_s = mine.job, wait_s(mine), wait_s(theirs)
                writer.writerow(
                    (
                        policy, job.number, job.user, job.cores, job.run_s, job.submit_s, waited_s, reference_s,
                        waited_s - reference_s, bounded_slowdown(mine), mine.preemptions,
                    )
                )  # fmt: skip


def gains_data(gains: Gains) -> dict[str, dict[str, dict[str, float | None]]]:
    """The gains as plain data for JSON."""
    return {
        reference: {measure: dict(gain._asdict()) for measure, gain in of_reference.items()}
        for reference, of_reference in gains.items()
    }


def _user(name: str) -> str:
    shown = printable(name)
    return shown if len(shown) <= _LONGEST_USER else f"{shown[: _LONGEST_USER - 1]}…"


def _short_time(seconds: float) -> str:
    """A time in the unit that suits it, with one decimal."""
    for unit_s, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if abs(seconds) >= unit_s:
            return f"{seconds / unit_s:,.1f} {unit}"
    return f"{seconds:,.0f} s"
