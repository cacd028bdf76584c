"""What a change does over the hours ahead, as lines and as data: both sides, for all, by queue, and by user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from policy.forecast.what_if_waits_before_and_after import Comparison, Fares, Side
from policy.model.pbs_units import show_count
from policy.model.printable_text import printable
from tui.text.screen_line import Line, fit, safe
from tui.text.times_and_durations import short_span

_MOST_ROWS = 12
_LEAST_S = 30.0
"""Smaller differences of a mean wait are shown as the same."""
_HOUR_S = 3600.0
_CELLS = (20, 6, 8, 8, 12, 10)
"""With the gaps between them a row fits into a dialog on 80 cells; a last text that is longer stays whole."""


def what_if_lines(found: Comparison, learned_runs: int, most_rows: int = _MOST_ROWS) -> list[Line]:
    """The comparison as a table; users and queues whose waits change most come first."""
    span = short_span(found.end_s - found.begin_s)
    before, after = found.before, found.after
    lines: list[Line] = [
        ((f"over the next {span}", "title"), (f", {show_count(found.draws, 'case')} of drawn run times", "dim")),
    ]
    if found.left_out:
        lines.append(
            ((f"  left out on both sides: {show_count(found.left_out, 'job')} further back in line", "warn"),),
        )
    if before.all.jobs:
        lines += [
            _row("", "jobs", "wait", "then", "difference", "starts", role="dim"),
            _fares("all that wait", before.all, after.all),
        ]
        for title, sides in (("queue", (before.by_queue, after.by_queue)), ("user", (before.by_user, after.by_user))):
            lines += _rows(title, *sides, most_rows)
    else:
        lines += [(("  no other job waits", "dim"),), _row("", "", "now", "then", "difference", "", role="dim")]
    lines += [
        _figure("idle cores, mean", before.idle_cores, after.idle_cores, 0),
        _figure("jobs preempted", before.preemptions, after.preemptions, 1),
        _figure("core-hours repeated", before.repeated_core_s / _HOUR_S, after.repeated_core_s / _HOUR_S, 1),
    ]
    past = f"run times as in {show_count(learned_runs, 'past run')}" if learned_runs else "all run as long as asked for"
    lines.append(((f"{past}; a job that does not start counts until the end; jobs to come are left out", "dim"),))
    return lines


def _rows(title: str, before: Mapping[str, Fares], after: Mapping[str, Fares], most: int) -> list[Line]:
    changes = {name: after[name].wait_s - fares.wait_s for name, fares in before.items() if name in after}
    moved = sorted(
        (name for name, change_s in changes.items() if abs(change_s) >= _LEAST_S),
        key=lambda name: (-abs(changes[name]) * before[name].jobs, name),
    )
    lines = [_fares(f"{title} {safe(name)}", before[name], after[name]) for name in moved[:most]]
    if len(moved) > most:
        lines.append(((f"  and {len(moved) - most:,} more", "dim"),))
    if not moved:
        lines.append(((f"  no {title} waits longer or shorter", "dim"),))
    return lines


def _fares(name: str, before: Fares, after: Fares) -> Line:
    change_s = after.wait_s - before.wait_s
    role = "" if abs(change_s) < _LEAST_S else "warn" if change_s > 0 else "good"
    return _row(
        name,
        f"{before.jobs:,}",
        short_span(before.wait_s),
        short_span(after.wait_s),
        _change(change_s),
        f"{before.started:,.0f} → {after.started:,.0f}",
        role=role,
    )


def _change(change_s: float) -> str:
    if abs(change_s) < _LEAST_S:
        return "the same"
    return f"{short_span(abs(change_s))} {'more' if change_s > 0 else 'less'}"


def _figure(name: str, before: float, after: float, digits: int) -> Line:
    change = round(after, digits) - round(before, digits)
    shown = "the same" if not change else f"{change:+,.{digits}f}"
    return _row(name, "", f"{before:,.{digits}f}", f"{after:,.{digits}f}", shown, "")


def _row(*texts: str, role: str = "") -> Line:
    first, *middle, last = zip(texts, _CELLS)
    cells = [fit(*first), *(fit(text, cells, ">") for text, cells in middle), last[0].rjust(last[1])]
    return (("  ", ""), ("  ".join(cells).rstrip(), role))


def what_if_data(title: str, notes: Sequence[str], found: Comparison, learned_runs: int) -> dict[str, Any]:
    """The comparison as plain data: waits in seconds, means over the cases."""
    return {
        "change": printable(title),
        "notes": [printable(note) for note in notes],
        "begin_s": found.begin_s,
        "span_s": found.end_s - found.begin_s,
        "draws": found.draws,
        "past_runs": learned_runs,
        "left_out": found.left_out,
        "before": _side_data(found.before),
        "after": _side_data(found.after),
    }


def _side_data(side: Side) -> dict[str, Any]:
    return {
        "idle_cores": side.idle_cores,
        "preemptions": side.preemptions,
        "repeated_core_s": side.repeated_core_s,
        "all": side.all._asdict(),
        "users": {printable(name): fares._asdict() for name, fares in side.by_user.items()},
        "queues": {printable(name): fares._asdict() for name, fares in side.by_queue.items()},
    }
