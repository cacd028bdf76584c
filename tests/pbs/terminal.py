"""A real terminal to run the console in: a tmux of its own, whose keys are typed and whose screen is read.

The program runs on the testbed's server host. Each terminal has its own tmux server on its own socket, which ends with
it and with every program in it; nobody's configuration is read. Screens are polled: no wait counts on a quick machine.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Callable, Protocol

from container import testbed as testbeds
from container.testbed import Testbed
from tests.pbs.idle_machine_deadline import Deadline

PATIENCE_S = 60.0
_PANE = "console"
_COMMAND_S = 30.0


class OnTestbed(Protocol):
    """What runs on a testbed: PBS or Torque."""

    @property
    def testbed(self) -> Testbed: ...


class Terminal:
    """A terminal of so many cells and lines in which a program runs."""

    def __init__(
        self, pbs: OnTestbed, argv: Sequence[str], *, cells: int, lines: int, folder: Path, environment: Sequence[str]
    ) -> None:
        self._socket = str(folder / "s")
        words, host_environment = testbeds.build_command(
            pbs.testbed, "server", ["env", "TERM=tmux-256color", *environment, *argv], cwd=Path("/")
        )
        self._tmux(
            "start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g", "status", "off",
            ";", "new-session", "-d", "-s", _PANE, "-x", str(cells), "-y", str(lines), *words,
            environment=host_environment,
        )  # fmt: skip

    def _tmux(self, *words: str, environment: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, "-f", "/dev/null", *words],
            capture_output=True,
            text=True,
            timeout=_COMMAND_S,
            check=False,
            env=environment if environment is not None else {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
        )
        if done.returncode != 0:
            raise AssertionError(f"tmux {words[0]}: {done.stderr.strip()}")
        return done.stdout

    # Hands.

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names (``a``, ``Enter``, ``Escape``, ``C-u``), one after another."""
        self._tmux("send-keys", "-t", _PANE, *keys)

    def type(self, text: str) -> None:
        """Type a text as it is, then enter."""
        self._tmux("send-keys", "-t", _PANE, "-l", text)
        self.press("Enter")

    def command(self, text: str) -> None:
        """Type a line of the console's command line."""
        self._tmux("send-keys", "-t", _PANE, "-l", f":{text}")
        self.wait_for(f":{text}")
        self.press("Enter")

    def resize(self, cells: int, lines: int) -> None:
        """Make the terminal another size, as a window manager does."""
        self._tmux("resize-window", "-t", _PANE, "-x", str(cells), "-y", str(lines))

    # Eyes.

    def screen(self) -> str:
        """What is on the screen, lines without blanks at their ends."""
        return "\n".join(line.rstrip() for line in self._tmux("capture-pane", "-p", "-t", _PANE).splitlines())

    def painted(self) -> str:
        """The same with the escape sequences that colour it."""
        return self._tmux("capture-pane", "-p", "-e", "-t", _PANE)

    def size(self) -> tuple[int, int]:
        """Cells and lines that the screen has."""
        told = self._tmux("display-message", "-p", "-t", _PANE, "#{pane_width} #{pane_height}").split()
        return int(told[0]), int(told[1])

    def has_ended(self) -> bool:
        """Whether the program in it is over."""
        return self._tmux("display-message", "-p", "-t", _PANE, "#{pane_dead}").strip() == "1"

    def wait_until(self, holds: Callable[[str], object], what: str, timeout_s: float = PATIENCE_S) -> str:
        """The screen for which ``holds`` is true; an AssertionError that shows it where none is in time."""
        deadline = Deadline(timeout_s)
        while not holds(shown := self.screen()):
            if deadline.has_passed():
                raise AssertionError(f"waited {timeout_s:g} s in vain for {what}; the screen shows:\n{shown}")
            time.sleep(0.1)
        return shown

    def wait_for(self, *texts: str) -> str:
        """The screen that shows all of these, whatever line ends or frames stand between their words."""
        return self.wait_until(
            lambda shown: all(text in joined(shown) for text in texts), " and ".join(map(repr, texts))
        )

    # The program.

    def first_process(self) -> int:
        """The process that the terminal has started, by its number on the machine."""
        return int(self._tmux("display-message", "-p", "-t", _PANE, "#{pane_pid}"))

    def process(self, word: str) -> int:
        """The first process below the terminal that was started with ``word`` among its arguments."""
        waiting = [self.first_process()]
        while waiting:
            pid = waiting.pop(0)
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            # The words before the program (nsenter, env) have its arguments too, and become it or have it as a child.
            if word.encode() in arguments and b"python" in Path(os.fsdecode(arguments[0])).name.encode():
                return pid
            waiting += [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        raise AssertionError(f"no process with {word!r} below the terminal")

    def kill(self, word: str) -> None:
        """Kill that process at once, as a crash would."""
        os.kill(self.process(word), signal.SIGKILL)

    def hang_up(self) -> None:
        """Take the terminal away from under the program, as a connection that breaks does."""
        with contextlib.suppress(AssertionError):
            self._tmux("kill-server")


def joined(shown: str) -> str:
    """The screen's words with one blank between them, so that it does not matter where a line was cut or framed."""
    return " ".join(re.sub(r"[│|╭╮╰╯─]", " ", shown).split())


@contextlib.contextmanager
def open_terminal(
    pbs: OnTestbed, argv: Sequence[str], *, cells: int = 110, lines: int = 36, environment: Sequence[str] = ()
) -> Iterator[Terminal]:
    """A terminal with the program in it, taken away at the end. ``environment`` are NAME=VALUE words."""
    # Directly below the system's folder: a socket's path must be short.
    folder = Path(tempfile.mkdtemp(prefix="pbst"))
    terminal = None
    try:
        terminal = Terminal(pbs, argv, cells=cells, lines=lines, folder=folder, environment=environment)
        yield terminal
    finally:
        if terminal is not None:
            terminal.hang_up()
        shutil.rmtree(folder)
