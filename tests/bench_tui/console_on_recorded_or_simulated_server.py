"""The real console as a child process: on the recorded large server through the real reader, or on a simulated one.

The recorded server's library stands in a folder like PBS's own, so the console starts its reader
(``hooks/reader/answer_console_by_json_lines.py``) on it just as it does on an installed PBS; nothing of the console
is replaced but its patience between polls.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.bench_tui.terminal import Terminal
from tests.clean_environment_for_tests import cleaned

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent

_PROGRAM = """
import sys
import tui.state.server_poller
tui.state.server_poller.PATIENCE = tui.state.server_poller.OWN_PATIENCE = float(sys.argv[1])
from tui.cli.main import main
main(sys.argv[2:])
"""
_SIMULATED = """
import sys
from pathlib import Path
import tui.state.server_poller
tui.state.server_poller.PATIENCE = tui.state.server_poller.OWN_PATIENCE = float(sys.argv[1])
from sim.demo.demo_cluster_with_hooks import DemoCluster
from sim.demo.scratch_folder import Scratch
from tui.screen.app import Console
from tui.audit.audit_file import Actor
from tui.backends.thread_and_gc_tuning import shorten_switch_interval
from tui.cli.open_backend import cluster_of_trace
from tui.backends.simulated_cluster import SimulatedBackend
shorten_switch_interval()
cluster = DemoCluster(vnodes=int(sys.argv[2]), jobs=int(sys.argv[3]))
source = SimulatedBackend(cluster, cluster_of_trace, Scratch("pbsteer-bench-"))
if sys.argv[4] == "running":
    source.start()
Console(source, Path("/nonexistent/audit"), Actor("bench", "here"), simulation=source, interval_s=0.2).run(mouse=False)
"""


class Size(NamedTuple):
    """How large the cluster is."""

    jobs: int = 100_000
    vnodes: int = 10_000


class Recorded:
    """The recorded server: what it is to do next, and what it did."""

    def __init__(self, folder: Path, size: Size) -> None:
        self._settings = folder / "recording.json"
        self._told = folder / "told"
        self._size = size
        self.change(0)
        library = folder / "exec" / "lib" / "python" / "altair"
        library.parent.mkdir(parents=True)
        library.symlink_to(HERE / "altair")
        programs = folder / "exec" / "bin"
        programs.mkdir()
        (programs / "qstat").symlink_to("/bin/true")
        (folder / "pbs.conf").write_text(f"PBS_EXEC={folder}/exec\nPBS_HOME={folder}/home\nPBS_SERVER=hpc1\n")
        self.environment = {
            **cleaned(os.environ),
            "PYTHONPATH": str(ROOT),
            "PBS_CONF_FILE": str(folder / "pbs.conf"),
            "PBSTEER_RECORDING": str(self._settings),
            "XDG_STATE_HOME": str(folder / "state"),
            "HOME": str(folder),
        }

    def change(self, rows: int) -> None:
        """From the next poll on, so many rows change with each."""
        written = self._settings.with_suffix(".new")
        data = {**self._size._asdict(), "changed": rows, "told": str(self._told)}
        written.write_text(json.dumps(data))
        written.replace(self._settings)

    @property
    def told_s(self) -> float:
        """When the last answer was given, by the monotonic clock; 0 before the first."""
        try:
            return float(self._told.read_text() or "0")
        except (OSError, ValueError):
            return 0.0


@contextlib.contextmanager
def on_recorded(
    size: Size, interval_s: float, patience: float, *, line_s: float = 0.0
) -> Iterator[tuple[Terminal, Recorded]]:
    """The console on the recorded server, polling every so many seconds, or so many times what a poll takes; at the far
    end of a line on which every byte takes ``line_s`` seconds each way."""
    with tempfile.TemporaryDirectory(prefix="bench-tui-") as folder:
        recorded = Recorded(Path(folder), size)
        argv = [sys.executable, "-c", _PROGRAM, str(patience), "--interval", str(interval_s)]
        if line_s:
            argv = [sys.executable, str(HERE / "delayed_line.py"), str(line_s), *argv]
        with _opened(Terminal(argv, recorded.environment)) as terminal:
            yield terminal, recorded


@contextlib.contextmanager
def on_simulated(size: Size, *, patience: float, running: bool) -> Iterator[Terminal]:
    """The console on a simulated cluster of this size, whose time runs or stands still."""
    argv = [sys.executable, "-c", _SIMULATED, str(patience), str(size.vnodes), str(size.jobs)]
    with _opened(
        Terminal([*argv, "running" if running else "still"], {**cleaned(os.environ), "PYTHONPATH": str(ROOT)})
    ) as it:
        yield it


@contextlib.contextmanager
def on_demo() -> Iterator[Terminal]:
    """The demo, as ``pbsteer --demo`` opens it."""
    with tempfile.TemporaryDirectory(prefix="bench-tui-") as folder:
        environment = {**cleaned(os.environ), "PYTHONPATH": str(ROOT), "HOME": folder, "XDG_STATE_HOME": folder}
        argv = [sys.executable, "-c", "from tui.cli.main import main; main(['--demo'])"]
        with _opened(Terminal(argv, environment)) as terminal:
            yield terminal


@contextlib.contextmanager
def _opened(terminal: Terminal) -> Iterator[Terminal]:
    try:
        yield terminal
    finally:
        terminal.end()
