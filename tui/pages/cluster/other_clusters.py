"""The other clusters as lines: what is free there, how old that answer is, and how many jobs of ours they have.

``pbsteer status`` has the same as one line and as data.
"""

from __future__ import annotations

from typing import Any

from migration.cli.migrating_job_in_words import reached
from tui.model.migrating_jobs import Migration
from tui.text.screen_line import Line, fit, safe, width
from tui.text.times_and_durations import short_span

_FREE, _JOBS = 35, 25


def cluster_lines(migration: Migration, most: int) -> list[Line]:
    """One line for each cluster in the order of asking, at most ``most`` lines; the last one counts the rest."""
    order = migration.order
    names = max((width(name) for name in order), default=0)
    shown = order if len(order) <= most else order[: max(0, most - 1)]
    lines = [_line(migration, name, names) for name in shown]
    left = order[len(shown) :]
    if left and most > 0:
        silent = sum(migration.known_of(name).failures > 0 for name in left)
        text = f" and {len(left):,} more clusters, {silent:,} of them not reached"
        lines.append(((text, "warn" if silent else "dim"),))
    return lines


def _line(migration: Migration, name: str, cells: int) -> Line:
    known = migration.known_of(name)
    answer = known.answer
    free = "no answer yet"
    if answer is not None:
        age = short_span(migration.now_s - known.answered)
        free = f"{answer.get('avail', 0):,} of {answer.get('cores', 0):,} cores free, {age} ago"
    there, moving = migration.sent.get(name, 0), migration.on_the_way.get(name, 0)
    jobs = f"{there:,} job{'s' if there > 1 else ''} there" if there else ""
    jobs += f", {moving:,} on the way" if moving else ""
    silent = f"reached: {reached(known)}" + (f": {known.text}" if known.text else "") if known.failures else ""
    paused = migration.pauses.get(name, "")
    head = f" {fit(name, cells)}  {fit(free, _FREE)} {fit(jobs, _JOBS) if silent or paused else jobs} "
    between = "; " if silent and paused else ""
    return ((safe(head), "dim" if silent or paused else ""), (safe(silent + between), "bad"), (safe(paused), "warn"))


def migration_line(migration: Migration) -> Line:
    """All in one line: the jobs by where they are, and the clusters."""
    if migration.problem:
        return ((safe(f"cannot be read: {migration.problem}"), "bad"),)
    jobs = [
        f"{count:,} {what}"
        for count, what in (
            (migration.requested, "requested"),
            (sum(migration.on_the_way.values()), "on the way"),
            (sum(migration.sent.values()) - sum(migration.on_the_way.values()), "at other clusters"),
            (migration.here, "here"),
            (migration.guests, "from other clusters"),
        )
        if count
    ]
    clusters = [_in_short(migration, name) for name in migration.order]
    return ((safe(", ".join(jobs) or "no jobs"), ""), (safe(" · " + ", ".join(clusters)) if clusters else "", ""))


def _in_short(migration: Migration, name: str) -> str:
    known = migration.known_of(name)
    states = [word for word, holds in (("not reached", known.failures), ("paused", name in migration.pauses)) if holds]
    if states:
        return f"{name} {' and '.join(states)}"
    return f"{name} {known.answer.get('avail', 0):,} free" if known.answer else f"{name} not asked yet"


def migration_data(migration: Migration) -> dict[str, Any]:
    """The same as data; times in seconds."""
    if migration.problem:
        return {"problem": migration.problem}
    clusters = []
    for name in migration.order:
        known = migration.known_of(name)
        answer = known.answer or {}
        clusters.append(
            {
                "name": name,
                "avail": answer.get("avail"),
                "cores": answer.get("cores"),
                "answered_s": known.answered or None,
                "failures": known.failures,
                "text": known.text,
                "paused": migration.pauses.get(name, ""),
                "jobs": migration.sent.get(name, 0),
                "on_the_way": migration.on_the_way.get(name, 0),
            }
        )
    return {
        "this": migration.this,
        "requested": migration.requested,
        "here": migration.here,
        "guests": migration.guests,
        "last_pass_s": migration.notes.ended or None,
        "clusters": clusters,
    }
