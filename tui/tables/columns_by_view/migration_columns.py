"""The columns of the migration view: where a job comes from and goes, its state, what was moved, and why."""

from __future__ import annotations

from collections.abc import Callable

from migration.cli.migrating_job_in_words import moved_bytes, show_bytes, shown_state, why_there
from policy.migration.job_record_and_copy_updates import Record
from tui.model.migrating_jobs import Migration
from tui.tables.columns import SPARE, Column
from tui.tables.filter_line import Value
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import short_span

_STATE_ROLES = {"Requested": "warn", "Submitted": "good", "Aborted": "bad", "End": "dim", "Stopped": "dim"}


def migration_columns(migration: Migration) -> list[Column[str]]:
    """The columns over the jobs' ids."""
    records = migration.records

    def text(of: Callable[[Record], str]) -> Callable[[str], Line]:
        return lambda gid: ((safe(of(records[gid])) or "-", ""),)

    def plain_column(name: str, cells: int, of: Callable[[Record], str], rank: int, most: int = 0) -> Column[str]:
        return Column(name, name, cells, lambda gid: of(records[gid]), text(of), rank=rank, most=most)

    def show_state(gid: str) -> Line:
        state = shown_state(records[gid])
        return ((state, _STATE_ROLES.get(state, "")),)

    def age_s(gid: str) -> Value:
        return max(0.0, migration.now_s - records[gid].since)

    def show_age(gid: str) -> Line:
        return ((short_span(migration.now_s - records[gid].since), ""),)

    def why(gid: str) -> str:
        return why_there(records[gid], migration.notes, migration.now_s)

    return [
        Column("id", "id", 5, lambda gid: gid, lambda gid: ((safe(gid), ""),), most=24),
        plain_column("name", 8, lambda one: one.name, 3, 20),
        plain_column("user", 8, lambda one: one.user, 2, 16),
        Column("cores", "cores", 5, lambda gid: records[gid].cores, text(lambda one: f"{one.cores:,}"), ">", rank=4),
        plain_column("from", 4, lambda one: one.src, 1, 16),
        plain_column("to", 4, lambda one: one.dst, 0, 16),
        Column("state", "state", 11, lambda gid: shown_state(records[gid]), show_state),
        Column("since", "since", 7, age_s, show_age, ">", rank=2),
        Column(
            "moved", "moved", 9, lambda gid: moved_bytes(records[gid]), text(lambda one: show_bytes(moved_bytes(one))),
            ">", rank=1,
        ),
        plain_column("local-id", 8, lambda one: one.localid, SPARE, 16),
        plain_column("exit", 4, lambda one: one.exit, SPARE + 1),
        plain_column("folder", 20, lambda one: one.dir, SPARE + 2, 40),
        Column("why", "why", 0, why, lambda gid: ((safe(why(gid)), ""),)),
    ]  # fmt: skip
