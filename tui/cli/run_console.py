"""Opens the console for a command line: the backend that the options name, and the application on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from policy import SettingsError
from tui.audit.audit_file import Actor, audit_path
from tui.backends.interface.backend_protocol import Backend, BackendError
from tui.backends.simulated_cluster import SimulatedBackend
from tui.backends.thread_and_gc_tuning import shorten_switch_interval
from tui.cli.open_backend import NoServerError, open_any, open_demo
from tui.cli.shared_options import complain
from tui.config.production_servers_and_server_list import Site, SiteError, console_files, read_site
from tui.config.xdg_folders import state_folder
from tui.forecast.forecast_in_background import BackgroundForecasts
from tui.screen.actions.command_line_theme_help_quit import DEMO
from tui.screen.app import Console
from tui.screen.terminal.end_on_hangup import end_with_terminal
from tui.screen.terminal.unexpected_faults import FILE, Faults
from tui.screen.workers.save_preferences_and_typed_lines import kept_files

_REAL_INTERVAL_S = 5.0
_SIMULATED_INTERVAL_S = 1.0


def run_console(
    *,
    demo: bool,
    trace: Path | None,
    size: str,
    server: str,
    settings_path: Path | None,
    ascii_only: bool,
    theme: str,
    mouse: bool,
    interval_s: float | None,
) -> None:
    """Open the console, and on other servers those that its user goes to; returns when it is left."""
    if not sys.stdout.isatty() or not sys.stdin.isatty():
        raise click.ClickException("the console needs a terminal; pbsteer status prints one look without one")
    here, following = "", DEMO if demo else server
    notice = ""
    while True:
        backend: Backend
        simulation: SimulatedBackend | None
        try:
            site = read_site(console_files(os.environ))
            if following == DEMO:
                backend = simulation = open_demo(trace, size, settings_path)
            else:
                backend, simulation = open_any(os.environ, following, settings_path)
        except (NoServerError, SettingsError, SiteError, BackendError) as error:
            if not here or notice:
                raise click.ClickException(str(error)) from error
            # The console was on another server, and goes back there.
            following, notice = here, f"server {following}: {error}"
            continue
        complain(backend)
        if not here:
            end_with_terminal(sys.stdin.fileno())
            shorten_switch_interval()
        next_server = _show(
            backend, simulation, site, interval_s, notice, theme=theme, ascii_only=ascii_only, mouse=mouse
        )
        if next_server is None:
            return
        here, following, notice = following or backend.name, next_server, ""


def _show(
    backend: Backend,
    simulation: SimulatedBackend | None,
    site: Site,
    interval_s: float | None,
    notice: str,
    *,
    theme: str,
    ascii_only: bool,
    mouse: bool,
) -> str | None:
    """The console on one server, which first says ``notice``; returns the name of the one to go to next, None where the
    console was left."""
    if simulation is not None:
        simulation.start()
    console = Console(
        backend,
        backend.own_audit or audit_path(os.environ),
        Actor.of_environment(os.environ),
        simulation=simulation,
        interval_s=interval_s or (_REAL_INTERVAL_S if simulation is None else _SIMULATED_INTERVAL_S),
        ascii_only=True if ascii_only or not speaks_unicode(os.environ, sys.stdout.encoding) else None,
        theme=theme,
        site=site,
        files=kept_files(os.environ),
        forecasts=BackgroundForecasts(backend),
        faults=Faults(state_folder(os.environ) / FILE),
        notice=notice,
    )
    following = console.run(mouse=mouse)
    if console.return_code:
        raise SystemExit(console.return_code)
    return following


_PLAIN_LOCALES = ("C", "POSIX")


def speaks_unicode(environment: Mapping[str, str], encoding: str | None) -> bool:
    """Whether the terminal shows more than ASCII. Python takes UTF-8 in the C locale too, and then says so in LC_CTYPE,
    so the locale that was chosen counts before the ``encoding``; the fonts of Linux's own console lack the blocks."""
    if environment.get("TERM") == "linux":
        return False
    chosen = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or ""
    if chosen == "C.UTF-8" and not environment.get("LC_ALL"):
        chosen = environment.get("LANG") or chosen
    # Of a locale that this host lacks Python knows nothing and takes UTF-8; its name says what the terminal has.
    charset = chosen.partition(".")[2].partition("@")[0] or "utf"
    return chosen not in _PLAIN_LOCALES and all("utf" in each.lower() for each in (charset, encoding or ""))
