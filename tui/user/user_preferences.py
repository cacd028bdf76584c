"""A user's preferences: theme, each table's columns and order, saved filters; an immutable value.

Their JSON is ``{"version": 1, "theme": "light", "ascii": false, "tables": {"jobs": {"columns": ["id", "user"],
"sort": "cores", "down": true}}, "filters": {"jobs": {"mine": "user:alice"}}}``, all of it optional.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tui.tables.columns import Sort
from tui.user.user_json_file import Data, KeptFile

FILE = "preferences.json"
UNSORTED = Sort()


class PreferencesError(ValueError):
    """Preferences that cannot be understood; the message names the key, the value and what is allowed."""


@dataclass(frozen=True)
class Layout:
    """The layout of one table: columns by name (empty: the default ones) and the sort."""

    columns: tuple[str, ...] = ()
    sort: Sort = UNSORTED


@dataclass(frozen=True)
class Preferences:
    """``theme`` is empty and ``ascii_only`` None if nothing was chosen. Layouts and filters are by view."""

    theme: str = ""
    ascii_only: bool | None = None
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    filters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def with_layout(self, view: str, layout: Layout) -> Preferences:
        """The preferences with this layout of a view."""
        return replace(self, layouts={**self.layouts, view: layout})

    def with_filter(self, view: str, name: str, text: str) -> Preferences:
        """The preferences with a saved filter of a view; an empty text deletes it."""
        filters = {**self.filters.get(view, {}), name: text}
        return replace(self, filters={**self.filters, view: {each: filters[each] for each in filters if filters[each]}})

    def to_data(self) -> dict[str, Any]:
        """Plain data for JSON, without what was not chosen."""
        tables = {
            view: {"columns": list(layout.columns), "sort": layout.sort.column, "down": layout.sort.down}
            for view, layout in self.layouts.items()
        }
        data = {
            "theme": self.theme,
            "ascii": self.ascii_only,
            "tables": tables,
            "filters": {view: dict(named) for view, named in self.filters.items() if named},
        }
        return {key: value for key, value in data.items() if value not in ("", None, {})}

    @classmethod
    def from_data(cls, data: Data) -> Preferences:
        """The preferences from :meth:`to_data`'s result; unknown keys are ignored. Raises :class:`PreferencesError`."""
        theme = data.get("theme", "")
        ascii_only = data.get("ascii")
        if not isinstance(theme, str):
            raise PreferencesError(f"theme is {theme!r}; allowed is the name of a theme")
        if ascii_only is not None and not isinstance(ascii_only, bool):
            raise PreferencesError(f"ascii is {ascii_only!r}; allowed is true or false")
        layouts = {view: _layout(view, value) for view, value in _table(data, "tables").items()}
        filters = _table(data, "filters")
        for view, named in filters.items():
            if not isinstance(named, dict) or not all(isinstance(text, str) for text in named.values()):
                raise PreferencesError(f"filters.{view} is {named!r}; allowed are names with the text of a filter each")
        return cls(theme, ascii_only, layouts, filters)


def _table(data: Data, key: str) -> Mapping[str, Any]:
    found = data.get(key, {})
    if not isinstance(found, dict):
        raise PreferencesError(f"{key} is {found!r}; allowed is an object with the names of views")
    return found


def _layout(view: str, value: Any) -> Layout:
    columns = value.get("columns", []) if isinstance(value, dict) else None
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise PreferencesError(
            f"tables.{view} is {value!r}; allowed is an object with a list of columns, sort and down"
        )
    sort, down = value.get("sort", ""), value.get("down", False)
    if not isinstance(sort, str) or not isinstance(down, bool):
        raise PreferencesError(f"tables.{view} sorts by {sort!r}, {down!r}; allowed is a column, and true or false")
    return Layout(tuple(columns), Sort(sort, down))


def read_preferences(file: KeptFile) -> tuple[Preferences, str]:
    """The user's preferences, and a sentence if the file cannot be used."""
    kept = file.read()
    if kept.problem:
        return Preferences(), kept.problem
    try:
        return Preferences.from_data(kept.data), ""
    except PreferencesError as error:
        return Preferences(), f"{file.path}: {error}"


def problem_of(data: Data) -> str:
    """What is wrong with data that should be preferences; empty if nothing is."""
    try:
        Preferences.from_data(data)
    except PreferencesError as error:
        return str(error)
    return ""
