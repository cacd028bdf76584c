"""Writes the result of tuning: tables with a verdict for a terminal, one JSON object, a CSV row per week and setting.

Each gain is shown with its price: beside slowdown and wait are the number of jobs cut, the core-hours that cutting
cost, the largest delay of a reserved job, and how often and how far promises moved for a job with a better claim.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from policy.model.pbs_units import show_count
from sim.evidence.block_bootstrap_over_weeks import SAMPLES
from sim.evidence.gains_over_references import Gain
from sim.report.gains_sizes_users_and_losers import show_gain
from sim.report.replay_table_json_and_csv import printable
from sim.tune.choose_settings import CHOOSING_WEEKS, LEAST_GAIN, SEED, Fold, Tuning, gain, is_above_zero
from sim.tune.replay_weeks import Figures, Week, together

CSV_COLUMNS = (
    "week", "start", "setting", "chosen", "jobs", "mean_wait_s", "mean_bounded_slowdown", "cut_jobs", "overhead_core_s",
    "max_head_delay_s", "moved_promises", "max_moved_delay_s",
)  # fmt: skip


def to_text(tuning: Tuning) -> str:
    """The tables of all settings and of the judged weeks, the verdict, and the recommendation as TOML."""
    weeks, cluster, jobs = tuning.weeks, tuning.cluster, tuning.totals[0].jobs
    nodes = f"{cluster.nodes:,} node{'s' * (cluster.nodes != 1)}"
    cores = f"{cluster.cores_per_node:,} core{'s' * (cluster.cores_per_node != 1)}"
    span = f"weeks {weeks[0].number} to {weeks[-1].number}, {jobs:,} jobs"
    lines = [
        f"{printable(tuning.workload.name)}: {span} on {nodes} of {cores}",
        "",
        "All of these weeks",
        *_table(_all_weeks(tuning)),
        "",
        *_moved_promises(tuning),
        "Gain on all of these weeks, in %, and its 95 % interval",
        *_table(_gains(tuning)),
        "",
        f"Chosen on the weeks before ({CHOOSING_WEEKS} at least), judged on the next",
        *_table(_judged_weeks(tuning)),
        "",
        "no.: the setting; slowdown: mean bounded slowdown; wait: mean wait; gain: how far the slowdown lies",
        "below EASY's (over sjbf: below that of easy-sjbf); hindsight: the gain over EASY of the setting that was",
        "best in the week itself; latest head: the worst start of a reserved job after its promise, below 0 if",
        "all came early; a promise that moved for a job with a better claim counts from its last time",
        f"intervals: {SAMPLES:,} bootstrap samples of weeks, seed {SEED}",
        "",
        *verdict(tuning),
        "",
        tuning.recommended.to_toml().rstrip("\n"),
    ]
    return "\n".join(lines)


def verdict(tuning: Tuning) -> list[str]:
    """The recommendation and its reasons, in a few lines."""
    if not tuning.is_best_proven:
        why = _why_not(tuning)
        if tuning.recommended == tuning.candidates[0]:
            return [f"Keep EASY: {why[0]}", *(f"  {line}" for line in why[1:])]
        found = tuning.gain_on_all_weeks(tuning.shortest, tuning.candidates[0])
        return [
            f"Recommended: {tuning.recommended.name}",
            f"  It needs no choosing and cuts no job: over all weeks {_gain(found)} % below EASY.",
            f"  Nothing more than that: {why[0]}",
            *(f"  {line}" for line in why[1:]),
        ]
    folds, judged, easy = tuning.folds, tuning.judged, tuning.easy
    cost = tuning.totals[tuning.candidates.index(tuning.recommended)]
    same = sum(fold.chosen == tuning.recommended for fold in folds)
    lines = [
        f"Recommended: {tuning.recommended.name}",
        f"  Choosing so was better than EASY in {tuning.weeks_won} of {len(folds)} judged weeks: mean bounded slowdown "
        f"{judged.slowdown:,.2f}",
        f"  instead of {easy.slowdown:,.2f}, mean wait {_seconds(judged.wait_s)} instead of {_seconds(easy.wait_s)}.",
        f"  Gain over EASY {_gain(tuning.gain_over_easy)} %, over easy-sjbf {_gain(tuning.gain_over_shortest)} %;",
        f"  {_percent(gain(tuning.hindsight, easy))} with the best of each week in hindsight.",
        f"  This very setting was the choice for {same} of them. Its gain over EASY on all weeks, "
        f"{_percent(gain(cost, tuning.totals[0]))},",
        f"  is that of the best of {len(tuning.candidates)}; shrunk to what such a choice gains on other weeks: "
        f"{_percent(tuning.shrunk_gain)}.",
    ]
    if tuning.recommended.quota.preempt:
        lines += [
            f"  Its price over all weeks: {cost.cut_jobs:,} of {cost.jobs:,} jobs preempted "
            f"({_share(cost.cut_jobs, cost.jobs)}), {_core_hours(cost.overhead_core_s)}",
            f"  of work repeated ({_share(cost.overhead_core_s, cost.work_core_s, 2)} of the work). It is true only of "
            "these quotas, which PBS holds.",
        ]
        if cost.moved:
            lines.append(
                f"  Promises moved {show_count(cost.moved, 'time')} for jobs within quota; the latest start after a "
                f"first promise: {_seconds(cost.worst_moved_delay_s)}."
            )
    elif tuning.recommended.cuts:
        lines += [
            f"  Its price over all weeks: {cost.cut_jobs:,} of {cost.jobs:,} jobs checkpointed "
            f"({_share(cost.cut_jobs, cost.jobs)}), {_core_hours(cost.overhead_core_s)}",
            f"  for it ({_share(cost.overhead_core_s, cost.work_core_s, 2)} of the work). It is true only of jobs that "
            "save their work when they are asked to.",
        ]
    return lines


def _why_not(tuning: Tuning) -> list[str]:
    """Why the best setting of all weeks is not recommended, in lines."""
    judged, easy = tuning.judged, tuning.easy
    if tuning.best == tuning.candidates[0]:
        return [f"no setting had a lower mean bounded slowdown over all {len(tuning.weeks)} weeks."]
    if tuning.gain < LEAST_GAIN:
        return [
            "on weeks it was not chosen on, the best setting so far had a mean bounded slowdown of",
            f"{judged.slowdown:,.2f}, EASY {easy.slowdown:,.2f}.",
        ]
    if tuning.best == tuning.shortest:
        if tuning.is_shortest_proven:
            return ["it was the best of all settings."]
        return [
            "easy-sjbf was the best of all settings, but not surely better than EASY:",
            f"on all weeks its gain is {_gain(tuning.gain_on_all_weeks(tuning.shortest, tuning.candidates[0]))} %.",
        ]
    for rival, found in (("EASY", tuning.gain_over_easy), ("easy-sjbf", tuning.gain_over_shortest)):
        if not is_above_zero(found):
            interval = "it has no interval" if found.low is None else f"its interval is {_gain(found)} %"
            return [
                f"what was chosen on the weeks before is not surely better than {rival}:",
                f"on {found.weeks} judged weeks {interval}, which must be above 0.",
            ]
    return ["it was no better than EASY on all weeks with its whole interval above 0."]


def to_json(tuning: Tuning) -> str:
    """One line: an object with every setting, every judged week, the verdict and the recommended settings."""
    return json.dumps(
        {
            "trace": tuning.workload.name,
            "cluster": str(tuning.cluster),
            "weeks": [week.number for week in tuning.weeks],
            "settings": [
                {
                    "name": candidate.name,
                    "settings": candidate.to_data(),
                    **_figures(figures),
                    "gain_over_easy": tuning.gain_on_all_weeks(candidate, tuning.candidates[0])._asdict(),
                    "gain_over_easy_sjbf": tuning.gain_on_all_weeks(candidate, tuning.shortest)._asdict(),
                }
                for candidate, figures in zip(tuning.candidates, tuning.totals)
            ],
            "judged": [
                {
                    "week": fold.week.number,
                    "start": _date(tuning, fold.week),
                    "chosen": fold.chosen.name,
                    "gain": fold.gain,
                    "gain_over_easy_sjbf": fold.gain_over_shortest,
                    "best": fold.best.name,
                    "best_gain": fold.best_gain,
                    "figures": _figures(fold.judged),
                    "easy": _figures(fold.easy),
                    "easy_sjbf": _figures(fold.shortest),
                }
                for fold in tuning.folds
            ],
            "gain": tuning.gain,
            "gain_over_easy": tuning.gain_over_easy._asdict(),
            "gain_over_easy_sjbf": tuning.gain_over_shortest._asdict(),
            "shrunk_gain": tuning.shrunk_gain,
            "best_gain": gain(tuning.hindsight, tuning.easy),
            "weeks_better": tuning.weeks_won,
            "keep_easy": not tuning.worth_it,
            "recommended": tuning.recommended.name,
            "settings_to_use": tuning.recommended.to_data(),
        },
        allow_nan=False,
    )


def write_csv(path: Path, tuning: Tuning) -> None:
    """A row for each measured week and setting; `chosen` is 1 for the setting chosen for that week. Raises OSError."""
    chosen = {fold.week: fold.chosen for fold in tuning.folds}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for week_index, week in enumerate(tuning.weeks):
            for index, candidate in enumerate(tuning.candidates):
                figures = tuning.results[week_index, index]
                writer.writerow(
                    (
                        week.number,
                        _date(tuning, week),
                        candidate.name,
                        int(chosen.get(week) == candidate),
                        figures.jobs,
                        figures.wait_s,
                        figures.slowdown,
                        figures.cut_jobs,
                        figures.overhead_core_s,
                        figures.worst_delay_s,
                        figures.moved,
                        figures.worst_moved_delay_s,
                    )
                )


def write_toml(path: Path, tuning: Tuning) -> None:
    """The recommended settings, with the verdict as a comment, and the quotas that a replay of them needs. Raises
    OSError."""
    comment = "".join(f"# {line.strip()}\n" for line in verdict(tuning))
    path.write_text(f"{comment}\n{tuning.recommended.to_toml()}{tuning.recommended.quotas_toml()}", encoding="utf-8")


def _all_weeks(tuning: Tuning) -> list[list[str]]:
    rows = [["", "setting", "slowdown", "wait", "jobs cut", "for cutting", "latest head"]]
    for number, (candidate, figures) in enumerate(zip(tuning.candidates, tuning.totals), 1):
        rows.append(
            [
                str(number),
                candidate.name,
                f"{figures.slowdown:,.2f}",
                _seconds(figures.wait_s),
                f"{figures.cut_jobs:,} ({_share(figures.cut_jobs, figures.jobs)})",
                _core_hours(figures.overhead_core_s),
                _seconds(figures.worst_delay_s),
            ]
        )
    return rows


def _moved_promises(tuning: Tuning) -> list[str]:
    """The settings under which promises moved, as lines with an empty one behind them; no lines where none did."""
    rows = [
        [str(number), candidate.name, f"{figures.moved:,}", _seconds(figures.worst_moved_delay_s)]
        for number, (candidate, figures) in enumerate(zip(tuning.candidates, tuning.totals), 1)
        if figures.moved
    ]
    if not rows:
        return []
    head = ["", "setting", "moved", "latest after the first promise"]
    return ["Promises that moved for jobs with a better claim", *_table([head, *rows]), ""]


def _gains(tuning: Tuning) -> list[list[str]]:
    rivals = (tuning.candidates[0], tuning.shortest)
    rows = [["", "setting", "over EASY", "over easy-sjbf"]]
    for number, candidate in enumerate(tuning.candidates, 1):
        gains = ["-" if candidate == each else show_gain(tuning.gain_on_all_weeks(candidate, each)) for each in rivals]
        rows.append([str(number), candidate.name, *gains])
    return rows


def _judged_weeks(tuning: Tuning) -> list[list[str]]:
    rows = [
        [
            "week", "no.", "slowdown", "EASY", "sjbf", "gain", "over sjbf", "jobs cut", "latest head", "hindsight",
            "by",
        ]
    ]  # fmt: skip
    for fold in tuning.folds:
        rows.append([_label(tuning, fold), str(tuning.candidates.index(fold.chosen) + 1), *_judged(tuning, fold)])
    judged, easy, hindsight = tuning.judged, tuning.easy, tuning.hindsight
    shortest = together(fold.shortest for fold in tuning.folds)
    rows.append(
        [
            "together", "", f"{judged.slowdown:,.2f}", f"{easy.slowdown:,.2f}", f"{shortest.slowdown:,.2f}",
            _percent(tuning.gain), _percent(gain(judged, shortest)), f"{judged.cut_jobs:,}",
            _seconds(judged.worst_delay_s), _percent(gain(hindsight, easy)), "",
        ]
    )  # fmt: skip
    return rows


def _judged(tuning: Tuning, fold: Fold) -> list[str]:
    return [
        f"{fold.judged.slowdown:,.2f}", f"{fold.easy.slowdown:,.2f}", f"{fold.shortest.slowdown:,.2f}",
        _percent(fold.gain), _percent(fold.gain_over_shortest), f"{fold.judged.cut_jobs:,}",
        _seconds(fold.judged.worst_delay_s), _percent(fold.best_gain), str(tuning.candidates.index(fold.best) + 1),
    ]  # fmt: skip


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with numbers aligned to the right, and settings' names and weeks to the left."""
    left = {column for column, head in enumerate(rows[0]) if head in ("setting", "week", "no.")}
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]


def _label(tuning: Tuning, fold: Fold) -> str:
    return f"{fold.week.number} {_date(tuning, fold.week)}".rstrip()


def _date(tuning: Tuning, week: Week) -> str:
    """The first day of a week, in UTC; empty where the workload has no date."""
    epoch = tuning.workload.start_epoch
    return "" if epoch is None else datetime.fromtimestamp(epoch + week.start_s, timezone.utc).date().isoformat()


def _figures(figures: Figures) -> dict[str, object]:
    return {
        "jobs": figures.jobs,
        "mean_wait_s": figures.wait_s,
        "mean_bounded_slowdown": figures.slowdown,
        "cut_jobs": figures.cut_jobs,
        "overhead_core_s": figures.overhead_core_s,
        "work_core_s": figures.work_core_s,
        "max_head_delay_s": figures.worst_delay_s,
        "moved_promises": figures.moved,
        "max_moved_delay_s": figures.worst_moved_delay_s,
    }


def _gain(found: Gain) -> str:
    """A gain within a sentence: `25.6 [12.1, 40.0]`, all in per cent."""
    return show_gain(found, width=1)


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def _share(part: float, whole: float, digits: int = 1) -> str:
    return _percent(part / whole if whole else 0.0, digits)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} s"


def _core_hours(core_s: float) -> str:
    return f"{core_s / 3600:,.1f} core-h"
