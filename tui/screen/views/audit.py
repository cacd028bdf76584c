"""The audit view: all changes by administrators of the server, newest first; only those of this user's consoles and
commands where the shared audit cannot be read.
"""

from __future__ import annotations

from collections.abc import Sequence

from tui.audit.audit_file import UNCONFIRMED
from tui.audit.read_and_merge_audit_records import AuditRecord
from tui.screen.views.bases.table_with_details import TableWithDetails
from tui.state.cluster_view import ClusterView
from tui.tables.columns import Column
from tui.tables.columns_by_view.audit_columns import audit_columns
from tui.text.screen_line import Line, safe


class AuditView(TableWithDetails[int]):
    """Audit records by their number in the file."""

    view_name = "audit"
    nothing = "no change is known yet of any administrator"

    def __init__(self) -> None:
        super().__init__()
        self._records: dict[int, AuditRecord] = {}

    def keys(self, cluster: ClusterView) -> Sequence[int]:
        """The records, newest first."""
        trail = self.shown.trail if self.shown is not None else ()
        self._records = {record.number: record for record in trail}
        return list(self._records)

    def columns(self, cluster: ClusterView) -> list[Column[int]]:
        """The columns of the audit."""
        return audit_columns(self._records, cluster.now_s, self.size.width)

    def describe(self, cluster: ClusterView, key: int) -> Line:
        """The whole command, its origin, and the server's reply."""
        record = self._records[key]
        reply = f" · {record.reply}" if record.reply else ""
        return ((safe(f"{record.command} · from {record.origin} to {record.server}{reply}"), ""),)

    def heading(self, cluster: ClusterView) -> str:
        """The name, with the reason where the shared audit cannot be read, or the number of unconfirmed changes."""
        if self.shown is not None and self.shown.trail_problem:
            return f"audit · yours alone: {self.shown.trail_problem}"
        open_ones = sum(record.stage == UNCONFIRMED for record in self._records.values())
        return f"audit · {open_ones:,} never confirmed" if open_ones else "audit"

    def name_of(self, key: int) -> str:
        """The command."""
        return self._records[key].command
