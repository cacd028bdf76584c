"""The console as a Textual application: themes, the one screen, and letting go of the source at the end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from textual.app import App
from textual.theme import Theme

from tui.core.audit import Actor
from tui.core.site import Site
from tui.core.source import SimulatedSource, Source
from tui.screen import MainScreen

NO_SITE = Site()

# Blue, orange and yellow stay apart for all common kinds of colour blindness (Okabe and Ito, "Color universal design",
# 2008); words and glyphs carry the state in any case.
_DARK = Theme(
    name="pbsteer-dark",
    primary="#56B4E9",
    secondary="#4C93C7",
    warning="#E69F00",
    error="#F0703C",
    success="#5CC8A8",
    accent="#F0E442",
    foreground="#D8DEE4",
    background="#101418",
    surface="#182028",
    panel="#202A34",
    boost="#2A3642",
    dark=True,
    variables={"text-muted": "#8A97A3"},
)
_LIGHT = Theme(
    name="pbsteer-light",
    primary="#005A92",
    secondary="#0072B2",
    warning="#9A5B00",
    error="#B33C00",
    success="#00694D",
    accent="#7A4B73",
    foreground="#1B2127",
    background="#FBFBF8",
    surface="#F0F0EA",
    panel="#E6E6DE",
    boost="#DADAD0",
    dark=False,
    variables={"text-muted": "#5B656E"},
)


class Console(App[None]):
    """The console on one source."""

    ENABLE_COMMAND_PALETTE = False
    CSS = "Screen { background: $background; color: $foreground; } ModalScreen { background: $background 60%; }"

    def __init__(
        self,
        source: Source,
        audit_path: Path,
        actor: Actor,
        *,
        simulation: SimulatedSource | None = None,
        interval_s: float = 5.0,
        ascii_only: bool = False,
        light: bool = False,
        site: Site = NO_SITE,
        clock: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        # With the terminal's own colours, Textual's filter for NO_COLOR takes colours away instead of greying them.
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self._source = source
        self.register_theme(_DARK)
        self.register_theme(_LIGHT)
        self.theme = "pbsteer-light" if light else "pbsteer-dark"
        self.main = MainScreen(
            source,
            audit_path,
            actor,
            interval_s=interval_s,
            ascii_only=ascii_only,
            simulation=simulation,
            site=site,
            clock=clock,
            elapsed=elapsed,
        )

    def get_default_screen(self) -> MainScreen:
        """The console's one screen."""
        return self.main

    def on_unmount(self) -> None:
        """Let go of the source."""
        self.main.poller.stop()
        self._source.close()
