"""The views' names on one line; a click on one of them goes to its view."""

from __future__ import annotations

from collections.abc import Sequence

from textual.events import Click
from textual.message import Message

from tui.pages.tab_strip import Tab, tab_strip, view_at
from tui.screen.widgets.base_line_view import Paper
from tui.text.screen_line import Line


class Tabs(Paper):
    """The tab strip."""

    class Chosen(Message):
        """The name of a view was clicked."""

        def __init__(self, view: str) -> None:
            super().__init__()
            self.view = view

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._tabs: Sequence[Tab] = ()
        self._strip: Line = ()

    def show_tabs(self, tabs: Sequence[Tab], shown: str, cells: int) -> None:
        """Show the tabs; ``shown`` is the view that is shown."""
        self._tabs, self._strip = tabs, tab_strip(tabs, shown, cells)
        self.show([self._strip])

    def on_click(self, event: Click) -> None:
        """Go to the view whose name is under the mouse."""
        event.stop()
        view = view_at(self._strip, self._tabs, event.x)
        if view:
            self.post_message(self.Chosen(view))
