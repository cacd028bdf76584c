"""The reader process of an installed PBS: under PBS's own Python, else the system's or the console's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import hooks.reader.answer_console_by_json_lines
from tui.backends.pbs.find_pbs import PbsPlace
from tui.backends.reader_or_programs.start_and_ask_reader_process import TIMEOUT_S, Reader


def pbs_reader(place: PbsPlace, timeout_s: float = TIMEOUT_S) -> Reader:
    """The reader of this PBS, not yet started."""
    program = str(Path(hooks.reader.answer_console_by_json_lines.__file__).resolve())
    command_lines = [[python, "-I", program, str(place.exec_path)] for python in pythons(place)]
    return Reader(command_lines, {"PBS_SERVER": place.server} if place.server else {}, timeout_s)


def pythons(place: PbsPlace) -> list[str]:
    """The Pythons to try, PBS's own first."""
    candidates = [str(place.exec_path / "python" / "bin" / "python3"), "/usr/bin/python3", sys.executable]
    return [python for python in dict.fromkeys(candidates) if os.access(python, os.X_OK)]
