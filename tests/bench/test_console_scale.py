"""The console with 100,000 jobs on a real pseudo-terminal: seconds to first paint, bytes for five changed rows."""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

ROOT = Path(__file__).parents[2]
LINES, COLUMNS = 40, 140
JOBS = 100_000
QUIET_S = 1.5
PROGRAM = f"""
import sys
from pathlib import Path
from tests.tui.scripted import ScriptedSource, changed, many_jobs
from tui.app import Console
from tui.core.audit import Actor

class Changing(ScriptedSource):
    def poll(self):
        if self.polls:
            jobs = dict(self.picture.jobs)
            for job_id in list(jobs)[10:15]:
                jobs[job_id] = {{**jobs[job_id], "Resource_List.ncpus": str(1 + self.polls % 9)}}
            self.picture = changed(self.picture, jobs=jobs)
        return super().poll()

source = Changing(many_jobs({JOBS}))
console = Console(source, Path("/nonexistent"), Actor("bench", "here"), interval_s=3600, clock=lambda: 0.0,
                  elapsed=lambda: 0.0)
sys.stderr = open(sys.argv[1], "w")
console.run(mouse=False)
"""


class Terminal:
    """The console in a process of its own, on a terminal of which we are the screen."""

    def __init__(self, errors: Path) -> None:
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execve(sys.executable, [sys.executable, "-c", PROGRAM, str(errors)], environment)  # noqa: S606 - an argument list
        ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))

    def read(self, quiet_s: float) -> bytes:
        """All that is written until nothing was for so long."""
        parts = []
        while select.select([self.screen], [], [], quiet_s)[0]:
            part = os.read(self.screen, 1 << 16)
            if not part:
                break
            parts.append(part)
        return b"".join(parts)

    def read_until(self, text: bytes, timeout_s: float) -> bytes:
        """All that is written until ``text`` was."""
        said, deadline_s = b"", time.monotonic() + timeout_s
        while text not in said:
            left_s = deadline_s - time.monotonic()
            assert left_s > 0, said[-2000:]
            if select.select([self.screen], [], [], left_s)[0]:
                said += os.read(self.screen, 1 << 16)
        return said

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.screen)

    def press(self, keys: str) -> None:
        os.write(self.screen, keys.encode())


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path / "errors")
    yield opened
    opened.end()


def test_first_paint_with_100_000_jobs(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """From the start of the process, Python's own and the making of the jobs included."""
    opened: list[Terminal] = []

    def paint() -> None:
        opened.append(Terminal(tmp_path / "errors"))
        opened[-1].read_until(b"attention", 60)

    benchmark.pedantic(paint, rounds=3)  # type: ignore[no-untyped-call]
    for terminal in opened:
        terminal.end()


def test_bytes_of_a_refresh_that_changed_five_rows(benchmark: BenchmarkFixture, terminal: Terminal) -> None:
    terminal.read_until(b"attention", 60)
    terminal.read(QUIET_S + 3)
    terminal.press("5")
    terminal.read(QUIET_S + 3)

    def refresh() -> int:
        terminal.press("r")
        return len(terminal.read(QUIET_S + 3))

    written = benchmark.pedantic(refresh, rounds=3)  # type: ignore[no-untyped-call]
    benchmark.extra_info["bytes"] = written
    print(f"\nrefresh with five changed rows of {JOBS:,}: {written:,} bytes written to the terminal")  # noqa: T201
    assert written > 0
