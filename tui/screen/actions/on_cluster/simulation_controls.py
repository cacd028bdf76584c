"""Actions on a simulated cluster: pause, step by one pass, speed, load another trace."""

from __future__ import annotations

import re
from pathlib import Path

from tui.action_registry import FASTEST, SLOWEST, SPEEDS
from tui.backends.interface.backend_protocol import SteeredBackend
from tui.command_line import CommandError
from tui.screen.actions.screen_api import ScreenApi

_SIZE = re.compile(r"[0-9]+[xX][0-9]+")


class SimulationActions:
    """The actions of the group ``simulated``; none is available on a real server."""

    def __init__(self, screen_api: ScreenApi) -> None:
        self._screen = screen_api

    @property
    def _simulation(self) -> SteeredBackend:
        if self._screen.simulation is None:
            raise CommandError("this server is not simulated: it has no clock to steer")
        return self._screen.simulation

    def pause_clock(self) -> None:
        """Stop the simulated time, or resume it."""
        simulation = self._simulation
        if simulation.paused:
            simulation.resume()
        else:
            simulation.pause()
        self._screen.say(f"the simulated clock {'is stopped' if simulation.paused else 'runs'}")
        self._look()

    def step(self) -> None:
        """Advance by one pass, then pause."""
        self._simulation.step()
        self._screen.say("one pass was run; the clock is stopped")
        self._look()

    def faster(self) -> None:
        """The next higher speed."""
        speed = self._simulation.speed
        self._set_speed(next((higher for higher in SPEEDS if higher > speed), FASTEST))

    def slower(self) -> None:
        """The next lower speed."""
        speed = self._simulation.speed
        self._set_speed(next((lower for lower in reversed(SPEEDS) if lower < speed), SLOWEST))

    def speed(self, argument: str) -> None:
        """Set the speed."""
        if not (argument.isascii() and argument.isdigit()) or not SLOWEST <= int(argument) <= FASTEST:
            raise CommandError(f"speed {argument!r}: allowed is a whole number from {SLOWEST} to {FASTEST:,}")
        self._set_speed(int(argument))

    def load(self, argument: str) -> None:
        """Start again with the jobs of a trace."""
        path, _, size = argument.rpartition(" ")
        if not path or not _SIZE.fullmatch(size):
            path, size = argument, ""
        if not path:
            raise CommandError("load: FILE, a trace in the Standard Workload Format, plain or gzipped")
        self._screen.say(f"reading {path}")
        self._screen.lookups.load(self._simulation, Path(path).expanduser(), size)

    def _set_speed(self, speed: int) -> None:
        self._simulation.set_speed(speed)
        self._screen.say(f"speed ×{speed:,}: {speed:,} simulated seconds each second")
        self._screen.tick()

    def _look(self) -> None:
        self._screen.poller.ask()
        self._screen.tick()
