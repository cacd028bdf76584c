"""Changes that were sent and never confirmed: the console, its connection or its host failed in between.

Each is reported once, by the same user's next console, and then marked in the audit file. Only the server knows whether
the change was made, so the user has to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from tui.audit.audit_file import UNCONFIRMED, AuditError, AuditLog
from tui.text.screen_line import safe

LONGEST_CHANGE_S = 400.0
"""No command takes longer, with the readback after it; until then another console may wait for the reply."""


def find_unconfirmed(entries: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The ``sending`` lines without a later line of the same change, oldest first."""
    open_: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        number = str(entry.get("change", ""))
        if entry.get("stage") == "sending" and number:
            open_[number] = entry
        else:
            open_.pop(number, None)
    return list(open_.values())


def report_unconfirmed(audit: AuditLog, clock: Callable[[], float]) -> str:
    """A sentence about unconfirmed changes, empty if there are none; each is marked in the audit file."""
    try:
        found = [entry for entry in find_unconfirmed(audit.entries()) if not _may_be_under_way(entry, clock())]
        for entry in found:
            text = f"sent at {entry.get('time', '?')}, never confirmed; reported at the next start"
            command, before = str(entry.get("command", "")), str(entry.get("before", ""))
            number = str(entry.get("change", ""))
            its_own = replace(audit, server=str(entry.get("server", "")), shared=None)
            its_own.write(clock(), UNCONFIRMED, command, before=before, after="unknown", reply=text, change=number)
    except (AuditError, OSError) as error:
        return f"audit file {audit.path}: {error}"
    if not found:
        return ""
    last = found[-1]
    more = f", and {len(found) - 1:,} more in the audit file" if len(found) > 1 else ""
    what = f"{last.get('command')} on {last.get('server')}, {str(last.get('time'))[:16]}"
    return safe(f"sent and never confirmed, check whether it was done: {what}{more}")


def _may_be_under_way(entry: Mapping[str, Any], now_s: float) -> bool:
    try:
        sent_s = datetime.fromisoformat(str(entry.get("time"))).timestamp()
    except ValueError:
        return False
    return 0 <= now_s - sent_s < LONGEST_CHANGE_S
