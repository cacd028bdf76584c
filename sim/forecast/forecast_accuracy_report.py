"""Writes how forecasts did: a table by class of wait for a terminal, or one line of JSON."""

from __future__ import annotations

import json
from math import inf

from sim.forecast.evaluate_forecasts import Figures, Judgement, by_class, figures_of
from sim.report.replay_table_json_and_csv import aligned, short_name

_JSON = (
    "forecasts",
    "within_p50",
    "within_p90",
    "median_abs_error_s",
    "walltime_median_abs_error_s",
    "history_within_p90",
)


def to_json(judged: Judgement) -> str:
    """One line: an object of the policy and its figures over all forecasts. A missing figure is null."""
    figures = figures_of(judged.held)._asdict()
    return json.dumps({"policy": judged.policy, **{name: figures[name] for name in _JSON}}, allow_nan=False)


def to_text(judged: Judgement) -> str:
    """A line about the forecasts, then a line for each class of wait and one for all."""
    rows = [["wait", "forecasts", "before 50 %", "before 90 %", "before last", "error", "walltimes'", "QBETS 90 %"]]
    rows += [_row(_named(until_s), figures) for until_s, figures in by_class(judged.held)]
    rows.append(_row("all", figures_of(judged.held)))
    title = f"{short_name(judged.policy)}: {len(judged.held):,} forecasts of waiting jobs at {judged.moments:,} moments"
    if judged.partial:
        title += f"; at {judged.partial:,} the decisions allowed were too few for all draws"
    return "\n".join([title, "", *aligned(rows), ""])


def _named(until_s: float) -> str:
    return "longer" if until_s == inf else f"below {until_s / 3600:g} h"


def _row(name: str, figures: Figures) -> list[str]:
    return [
        name,
        f"{figures.forecasts:,}",
        _percent(figures.within_p50),
        _percent(figures.within_p90),
        _percent(figures.within_last),
        _seconds(figures.median_abs_error_s),
        _seconds(figures.walltime_median_abs_error_s),
        _percent(figures.history_within_p90),
    ]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} s"
