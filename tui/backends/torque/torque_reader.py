"""The reader process of an installed Torque: under the console's own Python, as any Python has ctypes."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import torque.read.answer_console_by_json_lines
from tui.backends.find_torque import TorquePlace
from tui.backends.reader_or_programs.start_and_ask_reader_process import TIMEOUT_S, Reader


def torque_reader(place: TorquePlace, timeout_s: float) -> Reader:
    """The reader of this Torque, not yet started; each of its requests to the server takes at most ``timeout_s``."""
    program = str(Path(torque.read.answer_console_by_json_lines.__file__).resolve())
    argv = [sys.executable, "-I", program, str(place.library), place.server, str(math.ceil(timeout_s))]
    return Reader([argv], {}, TIMEOUT_S)
