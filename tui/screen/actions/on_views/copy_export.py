"""Copying and exporting: names and rows into the clipboard, tables into files."""

from __future__ import annotations

from pathlib import Path

from policy.model.pbs_units import show_count
from tui.command_line import CommandError
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.views.bases.base_table_view import TableView
from tui.screen.views.overview import OverviewView
from tui.tables.export_table import as_row, as_text, kind_of, write_new
from tui.text.screen_line import safe

_FORCE = "!"
_MOST_ROWS = 1000
"""Most rows copied at once: terminals accept some 70 kB of clipboard text."""


class ExportActions:
    """The actions of the group ``find`` that copy or export."""

    def __init__(self, screen_api: ScreenApi) -> None:
        self._screen = screen_api

    def copy(self) -> None:
        """Copy the marked names, or the one under the cursor."""
        view = self._screen.view
        marked = view.marked_names if isinstance(view, TableView) else ()
        if isinstance(view, OverviewView) and not view.chosen:
            raise CommandError("copy: this line names nothing that could be copied")
        self._copy(" ".join(map(safe, marked or (view.cursor_name or "",))))

    def copy_row(self) -> None:
        """Copy the marked rows, or the one under the cursor, as they are shown."""
        view = self._screen.view
        if not isinstance(view, TableView):
            raise CommandError("copy-row: works in a table")
        table = view.table
        rows = filter(table.is_marked, table.keys) if table.marked else (table.cursor,)
        keys = [key for key in rows if key is not None]
        if not keys:
            raise CommandError("copy-row: none of the marked rows is shown")
        if len(keys) > _MOST_ROWS:
            raise CommandError(f"copy-row: {len(keys):,} rows are marked, allowed are {_MOST_ROWS:,}; see :export")
        self._copy("\n".join(as_row(view.columns_shown, key) for key in keys))

    def _copy(self, text: str) -> None:
        self._screen.app.copy_to_clipboard(text)
        lines = text.splitlines() or [""]
        self._screen.say(f"copied {lines[0]}" + (f" and {len(lines) - 1:,} rows more" if len(lines) > 1 else ""))

    def export(self, argument: str) -> None:
        """Write all rows of the table, as they are filtered and ordered, into a file."""
        view, cluster = self._screen.view, self._screen.known_cluster()
        if not isinstance(view, TableView):
            raise CommandError("export: works in a table")
        overwrite = argument.endswith(_FORCE)
        name = argument.removesuffix(_FORCE).strip() if overwrite else argument
        if not name:
            raise CommandError("export: into which file? :export FILE.csv or FILE.json, with ! to overwrite it")
        path = Path(name).expanduser()
        kind, columns, keys = kind_of(path), view.columns_shown, list(view.table.keys)
        origin = view.origin(cluster)

        def work() -> str:
            write_new(path, as_text(kind, columns, keys, origin), overwrite=overwrite)
            return f"{show_count(len(keys), 'row')} written to {path}"

        self._screen.say(f"writing to {path}")
        self._screen.lookups.take_out(work)
