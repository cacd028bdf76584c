"""Finding: filter, sort, mark, copy."""

from __future__ import annotations

from tui.core.actions import CommandError
from tui.core.lines import safe
from tui.desk import Desk
from tui.views.tables import TableView


class Finding:
    """The actions of the group ``find``."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def filter(self, argument: str = "") -> None:
        """Filter the table by what is given, or let a filter be typed."""
        view = self._desk.view
        if not isinstance(view, TableView):
            raise CommandError("filter: works in queues, vnodes, jobs and quotas")
        if argument:
            view.filter_by(argument)
        else:
            self._desk.open_prompt("/", view.filter_text, self._complete)

    def _complete(self, text: str) -> list[str]:
        head, blank, last = text.rpartition(" ")
        negation = "!" if last.startswith("!") else ""
        words = self._desk.view.words.get("field", [])
        return [f"{head}{blank}{negation}{word}" for word in words if word.startswith(last[len(negation) :])]

    def sort(self, argument: str = "") -> None:
        """Sort by the column that is given, or let one be chosen by its number."""
        view = self._desk.view
        if isinstance(view, TableView) and argument:
            view.sort_by(argument)
        elif isinstance(view, TableView):
            self._desk.choose_column(choosing=True)

    def mark(self) -> None:
        """Mark or unmark the row."""
        view = self._desk.view
        if isinstance(view, TableView):
            view.table.toggle_mark()
            view.retitle()

    def copy(self) -> None:
        """Copy the marked names, or the one under the cursor."""
        view = self._desk.view
        marked = [str(key) for key in view.table.marked] if isinstance(view, TableView) else []
        names = " ".join(safe(name) for name in sorted(marked) or [view.cursor_name or ""])
        self._desk.app.copy_to_clipboard(names)
        self._desk.say(f"copied {names}")
