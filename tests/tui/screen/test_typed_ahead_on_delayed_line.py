"""The console at the far end of a slow line, on a real pseudo-terminal: what is typed ahead is honoured, in order."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.bench_tui import delayed_line
from tests.bench_tui.console_on_recorded_or_simulated_server import Size, on_recorded
from tests.bench_tui.measure_console_speed_and_memory import TYPED_AHEAD, is_typed_ahead_done
from tests.bench_tui.terminal import Terminal

LINE_S = 0.2
SELDOM_S = 3600.0


def test_what_is_typed_ahead_of_every_answer_is_honoured_in_its_order() -> None:
    with on_recorded(Size(300, 30), SELDOM_S, 0.0, line_s=LINE_S / 2) as (terminal, _):
        terminal.until(lambda text: "attention" in text, "the first picture")
        pressed_s = terminal.press(TYPED_AHEAD)
        shown_s = terminal.until(is_typed_ahead_done, "what was typed ahead")
        assert shown_s - pressed_s >= LINE_S, "the line was not slow"


def test_the_line_delays_every_byte_both_ways_and_passes_the_size_on(tmp_path: Path) -> None:
    # The size is read after the line, so it does not matter when the program begins.
    far = "import os; word = input(); size = os.get_terminal_size(); print(size.lines, size.columns, word)"
    argv = [sys.executable, delayed_line.__file__, "0.3", sys.executable, "-c", far]
    terminal = Terminal(argv, {"PYTHONPATH": str(tmp_path)}, lines=33, columns=77)
    try:
        pressed_s = terminal.press("there\r")
        assert terminal.until(lambda text: "33 77 there" in text, "the answer") - pressed_s >= 0.6
        terminal.settle(60.0)
        assert terminal.ended() == 0
    finally:
        terminal.end()
