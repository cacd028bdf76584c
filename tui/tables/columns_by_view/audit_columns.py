"""The columns of the audit view: time, outcome, user and origin, command, and the values before and after."""

from __future__ import annotations

from collections.abc import Mapping

from tui.audit.audit_file import UNCONFIRMED
from tui.audit.read_and_merge_audit_records import LOG, REQUEST, AuditRecord
from tui.tables.columns import Column
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import day_and_time

_WIDE = 150
_ROLES = {"done": "good", "failed": "bad", "refused": "warn", UNCONFIRMED: "bad"}


def audit_columns(records: Mapping[int, AuditRecord], now_s: float, cells: int) -> list[Column[int]]:
    """The columns over the records' numbers; a narrow line omits some, to leave room for the command."""

    def texts(name: str, title: str, cells: int, field: str, rank: int, most: int = 0) -> Column[int]:
        def value(number: int) -> str:
            return str(getattr(records[number], field))

        shown = bool(most)
        return Column(
            name, title, cells, value, lambda number: ((safe(value(number)), ""),), rank=rank, most=most, names=shown
        )

    def stage(number: int) -> Line:
        found = records[number].stage
        return ((("! " if found == UNCONFIRMED else "") + safe(found), _ROLES.get(found, "")),)

    def became(number: int) -> str:
        record = records[number]
        if record.source == LOG:
            return "in the server's log, can be forged"
        if record.source == REQUEST:
            return record.reply or "recorded by the server"
        reply = f": {record.reply}" if record.reply else ""
        return f"{record.before or 'none'} → {record.after or 'none'}{reply}"

    def show_became(number: int) -> Line:
        return ((safe(became(number)), "dim"),)

    wide = cells >= _WIDE
    return [
        Column(
            "time",
            "time",
            16,
            lambda number: records[number].time_s,
            lambda number: ((day_and_time(records[number].time_s, now_s), ""),),
        ),
        Column("stage", "stage", 13, lambda number: records[number].stage, stage),
        texts("user", "user", 8, "user", 2, 32),
        *(
            (texts("origin", "from", 22, "origin", 3, 40), texts("server", "server", 8, "server", 4, 32))
            if wide
            else ()
        ),
        texts("command", "command", 0, "command", 0),
        Column("change", "before → after", 34 if wide else 20, became, show_became, rank=3),
    ]
