"""What is measured of a console: its first picture, keys until they are answered on the screen, bytes, memory, time."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator

from tests.bench_pbs.benchmark_result import Figure, median, percentile
from tests.bench_tui.console_on_recorded_or_simulated_server import Recorded, Size, on_recorded, on_simulated
from tests.bench_tui.process_memory_and_cpu_time import children_of, cpu_s, peak_mib
from tests.bench_tui.terminal import PATIENCE_S, SilentError, Terminal

KEYS = 200
_AHEAD = 30
SELDOM_S = 3600.0
"""An interval in which nothing is polled unless somebody asks."""
_PATTERN = "jjj\x04jjk\x04kj\x15jGkk\x15jg"
"""Keys each of which moves the cursor: down, up, half pages, to both ends."""
_PLACE = re.compile(r"([\d,]+) / [\d,]+\s*$", re.MULTILINE)
_AGE = re.compile(r"(\d+) s ago")
_COST = re.compile(r"poll (\d+\.\d+) s")
LINE_S = 0.2
"""There and back, on the slow line."""
TYPED_AHEAD = "5g?jj?jajaj:filter user:user02\r/\x15user:user01\rgjj"
"""Keys that open and leave a help, a menu and prompts; where one is lost, the end is another."""
_FIRST_PAINT_S, _KEY_S, _FEW_BYTES, _CHANGED_BYTES, _MEMORY_MB = 1.0, 0.050, 160.0, 2000.0, 400.0


def measure_recorded(size: Size) -> Iterator[Figure]:
    """All figures of the console on the recorded server."""
    with on_recorded(size, SELDOM_S, 0.0) as (terminal, recorded):
        yield from _first(terminal, recorded)
        terminal.press("5")
        terminal.until(lambda text: "jobs ·" in text, "the jobs")
        terminal.settle(3.0)
        yield from _keys(terminal, "key to repaint, nothing polled")
        yield from _typed(terminal)
        yield from _bytes(terminal, recorded)
        yield from _memory(terminal)
    with on_recorded(size, 0.2, 0.0) as (terminal, recorded):
        recorded.change(5)
        _settled(terminal)
        before = _cpu(terminal)
        began_s, polls = time.monotonic(), _Polls(recorded)
        yield from _keys(terminal, "key to repaint, polls without a pause", polls.look)
        yield from _cost(terminal, before, time.monotonic() - began_s, polls.seen)
        yield from _memory(terminal, " after many polls")


def measure_simulated(size: Size) -> Iterator[Figure]:
    """The same keys on a simulated cluster of this size: standing still, and with its time running."""
    for running in (False, True):
        with on_simulated(size, patience=0.0, running=running) as terminal:
            _settled(terminal)
            name = "its time runs" if running else "its time stands still"
            yield from _keys(terminal, f"simulated, {name}: key to repaint", keys=KEYS // 2)
            if running:
                yield Figure("simulated: memory, cluster and hooks in it", peak_mib(terminal.pid), "MiB")


def measure_far(size: Size) -> Iterator[Figure]:
    """The console at the far end of a line with 200 ms there and back: its answers, and what is typed ahead of them."""
    with on_recorded(size, SELDOM_S, 0.0, line_s=LINE_S / 2) as (terminal, _):
        _settled(terminal)
        yield from _keys(
            terminal, f"{LINE_S * 1000:.0f} ms away: key to repaint", keys=KEYS // 2, asked_s=LINE_S + _KEY_S
        )
        terminal.settle(1.2, 5.0)
        before, began_s = terminal.written, time.monotonic()
        for number in range(_AHEAD):
            terminal.press("j" if number % 2 else "k")
            terminal.settle(1.2 * LINE_S, 1.5 * LINE_S)
        seconds = time.monotonic() - began_s
        ticks = seconds * len(_within(terminal, 3.0)) / 3.0
        each = max(0.0, terminal.written - before - ticks) / _AHEAD
        yield Figure("bytes that answer a key", each, "B", note="the clock's left out")
        began_s = terminal.press(TYPED_AHEAD)
        shown_s = terminal.until(is_typed_ahead_done, "what was typed ahead")
        note = f"{len(TYPED_AHEAD)} keys through a help, a menu and two prompts, none was lost"
        yield Figure("typed ahead at once, until all is shown", shown_s - began_s, "s", LINE_S + 1.0, note=note)


def is_typed_ahead_done(text: str) -> bool:
    """Whether the screen shows what :data:`TYPED_AHEAD` leads to."""
    return "filter user:user01" in text and _place_in(text) == "3"


def _settled(terminal: Terminal) -> None:
    terminal.until(lambda text: "in use by" in text, "the first picture")
    terminal.until(lambda text: "deciding" not in text, "the first plan")
    terminal.press("5")
    terminal.until(lambda text: "jobs ·" in text, "the jobs")
    terminal.settle(1.0, 5.0)


def _first(terminal: Terminal, recorded: Recorded) -> Iterator[Figure]:
    painted_s = terminal.until(lambda text: "attention" in text, "the first picture")
    yield Figure("first paint after the answer", painted_s - recorded.told_s, "s", _FIRST_PAINT_S)
    terminal.settle(5.0, 30.0)


class _Polls:
    """How many answers were given while it was looked."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded, self._last_s, self.seen = recorded, recorded.told_s, 0

    def look(self) -> None:
        """Count another answer, if there was one."""
        now_s = self._recorded.told_s
        self.seen += now_s > self._last_s
        self._last_s = max(now_s, self._last_s)


def _keys(
    terminal: Terminal, name: str, each: Callable[[], None] = lambda: None, keys: int = KEYS, asked_s: float = 0.0
) -> list[Figure]:
    """Move about in the jobs, at a typist's pace that is never that of the polls; each key is answered by its place."""
    chance = random.Random(3)
    took_s = []
    for number in range(keys):
        terminal.settle(chance.uniform(0.03, 0.12), 1.0)
        key, place = _PATTERN[number % len(_PATTERN)], _place(terminal)
        pressed_s = terminal.press(key)
        each()
        moved_s = terminal.until(lambda text, place=place: _place_in(text) != place, f"{key!r}")  # type: ignore[misc]
        took_s.append(moved_s - pressed_s)
    return [
        Figure(f"{name}, median", median(took_s), "s", note=f"{len(took_s)} keys"),
        Figure(f"{name}, 95 %", percentile(took_s, 95), "s", asked_s or _KEY_S),
        Figure(f"{name}, most", max(took_s), "s"),
    ]


def _typed(terminal: Terminal) -> Iterator[Figure]:
    """Keys that are typed ahead, as they come over a slow line, and in how many pieces one key is answered."""
    terminal.press("g")
    terminal.settle(1.2, 5.0)
    began_s = terminal.press("j" * _AHEAD)
    moved_s = terminal.until(lambda text: _place_in(text) == str(1 + _AHEAD), f"{_AHEAD} keys typed ahead")
    yield Figure(f"{_AHEAD} keys typed at once, until the last is shown", moved_s - began_s, "s", note="none was lost")
    pieces = []
    for _ in range(20):
        terminal.settle(0.05, 1.0)
        terminal.press("j")
        pieces.append(0)
        while part := terminal.read(0.2):
            terminal.show(part)
            pieces[-1] += 1
    yield Figure("pieces in which a key is answered", median(pieces), "")


def _place(terminal: Terminal) -> str:
    return _place_in(terminal.text)


def _place_in(text: str) -> str:
    found = _PLACE.search(text)
    return found.group(1) if found else ""


def _bytes(terminal: Terminal, recorded: Recorded) -> Iterator[Figure]:
    """What is written at once when a poll was worked in, the header's tick of that moment included."""
    terminal.press("g")
    terminal.settle(2.5, 10.0)
    for rows, asked in ((0, _FEW_BYTES), (5, _CHANGED_BYTES)):
        recorded.change(rows)
        written = [_refresh(terminal) for _ in range(5)]
        name = f"bytes of a refresh with {rows or 'no'} changed rows"
        yield Figure(name, max(written), "B", asked, note=f"the most of {sorted(written)}")
    recorded.change(0)
    clock = [len(_within(terminal, 1.0)) for _ in range(5)]
    yield Figure("bytes of a second in which nothing happens", median(clock), "B")


def _refresh(terminal: Terminal) -> int:
    """The bytes that one poll has the screen write, from those on by which its age is none."""
    terminal.until(lambda text: _age_s(text) >= 2, "a picture of some age")
    terminal.press("r")
    terminal.settle(0.2, 0.5)
    while True:
        part = terminal.read(PATIENCE_S)
        if not part:
            raise SilentError(f"no other picture came; the screen shows:\n{terminal.text}")
        terminal.show(part)
        if _age_s(terminal.text) < 2:
            return len(part) + len(terminal.settle(0.2, 0.7))


def _age_s(text: str) -> int:
    found = _AGE.search(text)
    return int(found.group(1)) if found else 60


def _within(terminal: Terminal, seconds: float) -> bytes:
    deadline_s, parts = time.monotonic() + seconds, []
    while time.monotonic() < deadline_s:
        part = terminal.read(deadline_s - time.monotonic())
        terminal.show(part)
        parts.append(part)
    return b"".join(parts)


def _memory(terminal: Terminal, when: str = "") -> list[Figure]:
    children = [peak_mib(child) for child in children_of(terminal.pid)]
    return [
        Figure(f"memory of the console{when}", peak_mib(terminal.pid), "MiB", _MEMORY_MB * 1e6 / 2**20),
        Figure(f"memory of its other processes{when}", sum(children), "MiB", note="the recorded server is in it"),
    ]


def _cpu(terminal: Terminal) -> tuple[float, float]:
    return cpu_s(terminal.pid), sum(cpu_s(child) for child in children_of(terminal.pid))


def _cost(terminal: Terminal, before: tuple[float, float], wall_s: float, polls: int) -> list[Figure]:
    console_s, others_s = (now_s - then_s for now_s, then_s in zip(_cpu(terminal), before))
    shown = _COST.search(terminal.text)
    polls = max(1, polls)
    return [
        Figure("seconds a poll, on the header", float(shown.group(1)) if shown else float("nan"), "s"),
        Figure("seconds from poll to poll", wall_s / polls, "s", note=f"{polls} polls"),
        Figure("processor seconds of the console a poll", console_s / polls, "s"),
        Figure("processor seconds of its other processes a poll", others_s / polls, "s"),
    ]
