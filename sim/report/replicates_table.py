"""Replicates as a table of means with their intervals, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields

from sim.evidence.replicates import estimate, estimate_gain
from sim.replay.metrics import Metrics
from sim.report.gains_sizes_users_and_losers import Gains, gains_data, gains_rows
from sim.report.replay_table_json_and_csv import LEFT_OUT, aligned, formulas, heads

_FIGURES: tuple[tuple[str, Callable[[Metrics], float], str], ...] = (
    ("mean wait", lambda m: m.mean_wait_s, "{:,.0f} s"),
    ("95 % waited at most", lambda m: m.p95_wait_s, "{:,.0f} s"),
    ("longest wait", lambda m: m.max_wait_s, "{:,.0f} s"),
    ("area-weighted wait", lambda m: m.area_weighted_wait_s, "{:,.0f} s"),
    ("mean bounded slowdown", lambda m: m.mean_bounded_slowdown, "{:,.2f}"),
    ("Jain's index of users", lambda m: m.jain_index, "{:.3f}"),
    ("utilization", lambda m: 100 * m.utilization, "{:.2f} %"),
    ("jobs preempted", lambda m: m.preempted_jobs, "{:,.0f}"),
)


def to_text(
    title: str,
    policies: Sequence[str],
    jobs: Sequence[int],
    measured: Sequence[Sequence[Metrics]],
    gains: Sequence[Sequence[Gains]],
) -> str:
    """The title, a column for each policy with the means of its replicates, then the gains.

    ``jobs`` is how many jobs each replicate has; ``measured`` and ``gains`` have for each policy what each replicate
    gave.
    """
    count = len(measured[0])
    names = [
        name + LEFT_OUT * (not _every_job_ran(jobs, of_policy)) for name, of_policy in zip(heads(policies), measured)
    ]
    rows = [["", *names]]
    for label, figure, form in _FIGURES:
        rows.append([label, *(_show([figure(each) for each in of_policy], form) for of_policy in measured)])
    left_out = any(name.endswith(LEFT_OUT) for name in names)
    return "\n".join(
        [
            title,
            *formulas(policies),
            *([f"NOT COMPARABLE where marked {LEFT_OUT}: jobs were left out"] if left_out else []),
            "",
            *aligned(rows),
            "",
            *gains_rows(names, [mean_gains(of_policy) for of_policy in gains]),
            "",
            "gain: how far the mean lies below the reference's, in %, over the same jobs; mean of the replicates",
            f"after ± and in brackets the 95 % interval over {count} replicates (Student's t; gains are paired)",
        ]
    )


def to_json(policy: str, jobs: Sequence[int], measured: Sequence[Metrics], gains: Sequence[Gains]) -> str:
    """One line: each figure as its mean over the replicates with the ends of its interval, the gains in the same way,
    the gains of each replicate, and whether every job of every replicate ran. ``jobs`` is how many each replicate has.
    """
    figures: dict[str, object] = {}
    for name in (each.name for each in fields(Metrics) if each.name not in ("policy", "ran", "reserved_core_s")):
        values = [getattr(each, name) for each in measured]
        if any(value is None for value in values):
            figures[name] = None
            continue
        mean, half = estimate([float(value) for value in values])
        ends = {"low": None, "high": None} if half is None else {"low": mean - half, "high": mean + half}
        figures[name] = {"mean": mean, **ends}
    data = {
        "policy": policy,
        "replicates": len(measured),
        "every_job_ran": _every_job_ran(jobs, measured),
        "figures": figures,
        "gain_over": _without_weeks(mean_gains(gains)),
        "gain_over_in_each": [_gains_alone(each) for each in gains],
    }
    return json.dumps(data, allow_nan=False)


def _every_job_ran(jobs: Sequence[int], measured: Sequence[Metrics]) -> bool:
    return all(each.jobs == every for each, every in zip(measured, jobs))


def mean_gains(gains: Sequence[Gains]) -> Gains:
    """The gains of one policy, each as the mean of the replicates with its interval."""
    return {
        reference: {what: estimate_gain([each[reference][what] for each in gains]) for what in of_reference}
        for reference, of_reference in gains[0].items()
    }


def _without_weeks(gains: Gains) -> dict[str, dict[str, dict[str, float | None]]]:
    """Mean gains as plain data. Their intervals are over replicates, not over weeks."""
    return {
        reference: {
            what: {name: value for name, value in each.items() if name != "weeks"} for what, each in of_measure.items()
        }
        for reference, of_measure in gains_data(gains).items()
    }


def _gains_alone(gains: Gains) -> dict[str, dict[str, float | None]]:
    """The gains of one replicate as plain data, by reference and measure, without intervals."""
    return {
        reference: {what: gain.gain for what, gain in of_measure.items()} for reference, of_measure in gains.items()
    }


def _show(values: Sequence[float], form: str) -> str:
    mean, half = estimate(values)
    shown = form.format(mean)
    return shown if half is None else f"{shown} ± {form.format(half).replace(' %', '').replace(' s', '')}"
