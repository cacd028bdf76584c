"""The audit view: every change that an administrator of the server made, the newest first; where the shared audit
cannot be read, those of this user's consoles and commands."""

from __future__ import annotations

from collections.abc import Sequence

from tui.audit.log import UNCONFIRMED
from tui.audit.trail import Record
from tui.screen.views.detail_table import TellingTable
from tui.state.cluster_view import World
from tui.tables.audit_columns import audit_columns
from tui.tables.columns import Column
from tui.text.lines import Line, safe


class AuditView(TellingTable[int]):
    """Changes by their number in the file."""

    view_name = "audit"
    nothing = "no change is known yet of any administrator"

    def __init__(self) -> None:
        super().__init__()
        self._records: dict[int, Record] = {}

    def keys(self, world: World) -> Sequence[int]:
        """The newest first."""
        trail = self.shown.trail if self.shown is not None else ()
        self._records = {record.number: record for record in trail}
        return list(self._records)

    def columns(self, world: World) -> list[Column[int]]:
        """The columns over them."""
        return audit_columns(self._records, world.now_s, self.size.width)

    def tell(self, world: World, key: int) -> Line:
        """The whole command, from where it came, and what the server said."""
        record = self._records[key]
        said = f" · {record.reply}" if record.reply else ""
        return ((safe(f"{record.command} · from {record.origin} to {record.server}{said}"), ""),)

    def heading(self, world: World) -> str:
        """The name, what cannot be read, and how many changes were never confirmed."""
        if self.shown is not None and self.shown.trail_problem:
            return f"audit · yours alone: {self.shown.trail_problem}"
        open_ones = sum(record.stage == UNCONFIRMED for record in self._records.values())
        return f"audit · {open_ones:,} never confirmed" if open_ones else "audit"

    def name_of(self, key: int) -> str:
        """The command."""
        return self._records[key].command
