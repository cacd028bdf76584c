"""The console as a Textual application: theme and characters, the one screen, and closing the backend at the end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from rich.console import RenderableType
from textual.app import App
from textual.dom import DOMNode
from textual.events import Event, Key, Paste
from textual.filter import LineFilter
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.worker import WorkerFailed

from tui.audit.audit_file import Actor
from tui.backends.interface.backend_protocol import Backend, SteeredBackend
from tui.config.production_servers_and_server_list import Site
from tui.screen.dialogs.lines_below_header import LEAST_LINES
from tui.screen.main_screen import MainScreen
from tui.screen.terminal.deliver_keys_typed_ahead_in_order import TypedAhead
from tui.screen.terminal.invalid_utf8_keys import take_any_bytes
from tui.screen.terminal.repaint_changed_cells import narrowed
from tui.screen.terminal.themes import DEFAULT, THEMES, VARIABLES, Look
from tui.screen.terminal.unexpected_faults import Faults, survive_failed_messages
from tui.screen.widgets.text_roles import ROLE_CLASSES, ROLE_RULES
from tui.screen.workers.save_preferences_and_typed_lines import KeptFiles
from tui.state.server_poller import Forecasts

NO_SITE = Site()
NOT_KEPT = KeptFiles()

_NEW_LINE = "ctrl+j"
"""What a terminal makes of the enter key while no program of the screen has it: between two servers, and while a pager
or ssh ends."""


class Console(App[str]):
    """The console on one backend. Its result is the name of the server to go to next; None where it was left.

    With ``faults`` an unexpected exception is written down there and the console goes on; without, it ends it.
    """

    ENABLE_COMMAND_PALETTE = False
    COMPONENT_CLASSES: ClassVar[set[str]] = ROLE_CLASSES
    CSS = f"""
    {ROLE_RULES}
    Screen {{ background: $background; color: $foreground; }}
    ModalScreen {{ background: $background 60%; }}
    ModalScreen > * {{ margin-top: 1; }}
    ModalScreen.-low > * {{ border: none; }}
    App:ansi ModalScreen {{ background: transparent; }}
    """
    """A dialog leaves the header in sight; on very low screens it has no frame. Without colours nothing can be dimmed:
    what a dialog leaves free stays as it is."""
    VERTICAL_BREAKPOINTS = [(0, "-low"), (LEAST_LINES, "-roomy")]  # noqa: RUF012 - as Textual declares it

    def __init__(
        self,
        backend: Backend,
        audit_path: Path,
        actor: Actor,
        *,
        simulation: SteeredBackend | None = None,
        interval_s: float = 5.0,
        ascii_only: bool | None = None,
        theme: str = "",
        site: Site = NO_SITE,
        files: KeptFiles = NOT_KEPT,
        notice: str = "",
        clock: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = time.monotonic,
        forecasts: Forecasts | None = None,
        faults: Faults | None = None,
    ) -> None:
        self._look = Look(self, without_colour="NO_COLOR" in os.environ)
        take_any_bytes()
        survive_failed_messages()
        # With the terminal's own colours, Textual's NO_COLOR filter removes colours; otherwise it would turn them grey.
        super().__init__(ansi_color=True if self._look.without_colour else None)
        self._backend, self._faults = backend, faults
        self._typed_ahead = TypedAhead(self, super().on_event)
        for each in THEMES.values():
            self.register_theme(each)
        self.main = MainScreen(
            backend,
            audit_path,
            actor,
            interval_s=interval_s,
            simulation=simulation,
            site=site,
            look=self._look,
            files=files,
            notice=notice,
            clock=clock,
            elapsed=elapsed,
            forecasts=forecasts,
        )
        liked = self.main.keeping.preferences
        self._look.choose(theme or (liked.theme if liked.theme in THEMES else DEFAULT))
        self._look.draw_in_ascii(bool(liked.ascii_only) if ascii_only is None else ascii_only)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """What styles of the console use beside Textual's own variables."""
        return dict(VARIABLES)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The filters that every line passes on its way to the terminal."""
        return [*super().get_line_filters(), *self._look.filters]

    def get_default_screen(self) -> MainScreen:
        """The console's one screen."""
        return self.main

    async def on_event(self, event: Event) -> None:
        """As in Textual, but keys and pasted text are handled one by one, in the order in which they came.

        A key that a widget passes on after the last screen has closed has nothing left to act on, and is dropped.
        """
        if isinstance(event, (Key, Paste)) and not self.screen_stack:
            return
        if isinstance(event, Key) and event.key == _NEW_LINE and not event.is_forwarded:
            event = Key("enter", "\r")
        if isinstance(event, (Key, Paste)) and not event.is_forwarded:
            await self._typed_ahead.take(event)
        else:
            await super().on_event(event)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        """As in Textual, but writes less to the terminal (see ``terminal.repaint_changed_cells``)."""
        super()._display(screen, narrowed(renderable))

    def take_fault(self, error: Exception, pump: MessagePump | None = None) -> bool:
        """Go on after an unexpected exception, if that is possible: say it, and drop what it may have left half done,
        which are the keys typed ahead and the dialog that it came from (``pump`` is what failed)."""
        if self._faults is None or not self.main.is_mounted or self._exit:
            return False
        sentence = self._faults.note(error)
        if not sentence:
            return False
        self._typed_ahead.forget()
        shown = self.screen_stack[-1]
        if shown is not self.main and isinstance(pump, DOMNode) and shown in pump.ancestors_with_self:
            self.pop_screen()
        self.main.say(sentence, "bad")
        return True

    def _handle_exception(self, error: Exception) -> None:
        """As in Textual, unless the console can go on: what comes here are timers, callbacks, threads and painting."""
        cause = error.error if isinstance(error, WorkerFailed) else error
        if not isinstance(cause, Exception) or not self.take_fault(cause):
            super()._handle_exception(error)

    def on_unmount(self) -> None:
        """Stop polling, finish writing the user's files, close the backend."""
        self.main.poller.stop()
        self.main.keeping.close()
        self._backend.close()
