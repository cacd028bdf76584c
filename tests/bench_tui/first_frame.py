"""The processor time until the console's first frame, less that of importing what it needs of Textual.

Both are measured by turns, each in a process of its own.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence

from tests.bench_pbs.benchmark_result import Figure, median
from tests.bench_tui.console_on_recorded_or_simulated_server import ROOT, Size, on_demo
from tests.bench_tui.process_memory_and_cpu_time import cpu_s
from tests.clean_environment_for_tests import cleaned

ROUNDS = 7
_FRAME_S = 0.3
_MODULES = """
import sys
import tui.cli.run_console
print(*(name for name in sys.modules if name.partition(".")[0] in ("textual", "rich")))
"""


def measure_first_frame(_size: Size) -> Iterator[Figure]:
    """The demo's first frame: it is shown before any cluster is built."""
    modules = _run([sys.executable, "-c", _MODULES]).split()
    of_frame, of_import = [], []
    for _ in range(ROUNDS):
        with on_demo() as terminal:
            terminal.until(lambda text: "overview" in text, "the first frame")
            of_frame.append(cpu_s(terminal.pid))
        of_import.append(_cpu_s([sys.executable, "-c", f"import {', '.join(modules)}"]))
    imported_s = median(of_import)
    yield Figure("importing Textual, processor", imported_s, "s", note=f"{len(modules)} modules, {ROUNDS} by turns")
    yield Figure("first frame after that, processor", median(of_frame) - imported_s, "s", _FRAME_S)


def _run(argv: Sequence[str]) -> str:
    environment = {**cleaned(os.environ), "PYTHONPATH": str(ROOT)}
    return subprocess.run(argv, env=environment, check=True, capture_output=True, text=True).stdout


def _cpu_s(argv: Sequence[str]) -> float:
    """The processor time of a program, from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(argv)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
