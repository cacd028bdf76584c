"""Actions on tables: filter, saved filters, sort, columns, marks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tui.command_line import CommandError
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.dialogs.column_chooser import ColumnsDialog
from tui.screen.dialogs.operations_menu import ActMenu, Item
from tui.screen.views.bases.base_table_view import TableView
from tui.screen.widgets.prompt import Complaint, Typing
from tui.tables.columns import changed_choice
from tui.tables.filter_line import FilterError, complete_filter
from tui.user.user_preferences import Preferences


class FindActions:
    """The actions of the group ``find`` that apply to every table."""

    def __init__(self, screen_api: ScreenApi) -> None:
        self._screen = screen_api

    @property
    def _table(self) -> TableView[Any]:
        view = self._screen.view
        if not isinstance(view, TableView):
            raise CommandError("works in a table alone")
        return view

    @property
    def _saved(self) -> dict[str, str]:
        return dict(self._screen.keeping.preferences.filters.get(self._table.view_name, {}))

    # The filter

    def filter(self, argument: str = "") -> None:
        """Filter the table by ``argument``, a filter or a saved filter's name; without it open the prompt for a
        filter.
        """
        view = self._table
        if argument:
            view.filter_by(self._saved.get(argument, argument))
            return
        before = view.filter_text
        typing = Typing(
            lambda text: complete_filter(text, view.words, view.values_of),
            view.filter_by,
            partial(self._watch, view),
            leave=lambda: view.filter_by(before),
        )
        self._screen.open_prompt("/", view.filter_text, typing)

    def _watch(self, view: TableView[Any], text: str) -> Complaint | None:
        """The error in a filter for this table; without one, show the rows that pass, and start counting them."""
        try:
            wanted = view.parse(text)
        except FilterError as error:
            return Complaint(str(error), error.start, error.end)
        if text.strip() != view.filter_text:
            view.filter_by(text)
        if view.shown is not None and text.strip():
            keys = view.keys(view.shown.cluster)
            self._screen.lookups.count(lambda stop: wanted.count(keys, stop), text)
        return None

    def save(self, argument: str) -> None:
        """Save the table's filter under a name."""
        view = self._table
        if not argument or argument.split() != [argument]:
            raise CommandError("save: under which name? one word, for example :save mine")
        if not view.filter_text:
            raise CommandError("save: there is no filter here; / makes one")
        name, text = view.view_name, view.filter_text
        self._prefer(lambda liked: liked.with_filter(name, argument, text))
        self._screen.say(f"saved: :filter {argument} is {text}")

    def forget(self, argument: str) -> None:
        """Forget a saved filter."""
        view = self._table
        if argument not in self._saved:
            there = ", ".join(self._saved) or "none"
            raise CommandError(f"forget: no saved filter {argument!r} for {view.view_name}; there are {there}")
        self._prefer(lambda liked: liked.with_filter(view.view_name, argument, ""))
        self._screen.say(f"forgotten: {argument}")

    def saved(self) -> None:
        """Choose one of the saved filters."""
        view = self._table
        if not self._saved:
            self._screen.say(f"no filter is saved for {view.view_name}: / makes one, :save NAME keeps it")
            return
        items = [
            Item(name, text, "", partial(self._screen.act_by_name, "filter", name))
            for name, text in self._saved.items()
        ]
        self._screen.choose(ActMenu(f"filters of {view.view_name} · :forget NAME forgets one", items))

    # Order and columns

    def sort(self, argument: str = "") -> None:
        """Sort by the named column; without a name the next key chooses the column."""
        if not argument:
            self._screen.choose_column(choosing=True)
            return
        self._table.sort_by(argument)
        self._keep_layout()

    def columns(self, argument: str = "") -> None:
        """Show the named columns; without names open the columns dialog."""
        view = self._table
        if argument:
            self._show_columns(changed_choice(view.columns_chosen, argument.split(), view.widest_column))
            return
        dialog = ColumnsDialog(view.view_name, view.columns_chosen, view.columns_offered, view.column_titles)
        self._screen.app.push_screen(dialog, lambda names: None if names is None else self._show_columns(names))

    def _show_columns(self, names: tuple[str, ...]) -> None:
        view = self._table
        view.choose_columns(names)
        self._keep_layout()
        gone = view.table.columns_left_out
        if names and gone:
            self._screen.say(f"for {', '.join(gone)} the line is too narrow: right moves the columns")

    def _keep_layout(self) -> None:
        view = self._table
        name, layout = view.view_name, view.layout_chosen
        self._prefer(lambda liked: liked.with_layout(name, layout))

    def _prefer(self, change: Callable[[Preferences], Preferences]) -> None:
        self._screen.keeping.prefer(change)

    # Rows

    def mark_all(self) -> None:
        """Mark all rows that are shown, or unmark them."""
        self._screen.say(f"{self._table.table.mark_all():,} marked")

    def mark(self) -> None:
        """Mark or unmark the row."""
        view = self._screen.view
        if isinstance(view, TableView):
            view.table.toggle_mark()
            view.retitle()
