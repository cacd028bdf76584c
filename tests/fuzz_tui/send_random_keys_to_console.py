"""A fuzz run: random keys, command lines, raw bytes and sizes go to the console on a pseudo-terminal.

It has to stay alive and to answer: after each few steps the screen gets another size, and the console has to paint it.
After some hundred steps it is opened anew, on other answers. Nothing that is sent makes it quit, so an end is a crash.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from json import loads
from pathlib import Path
from typing import Any

from tests.bench_tui.terminal import Terminal
from tests.clean_environment_for_tests import cleaned
from tests.fuzz_tui.console_on_hostile_server import STACKS
from tui.action_registry import ACTIONS

ROOT = Path(__file__).parents[2]
ANSWER_S = 120.0
"""Within this a console that is alive has painted a screen of another size, on a machine however busy."""

_BETWEEN_COUNTS_S = 0.5
_ESCAPE_S = 0.2
_STACKS_S = 1.0
_CONSOLE = "tests.fuzz_tui.console_on_hostile_server"
_EACH = 20
_ONE_CONSOLE = 2000
_NAMED = {
    "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
    "pageup": "\x1b[5~", "pagedown": "\x1b[6~", "enter": "\r", "escape": "\x1b", "tab": "\t", "shift+tab": "\x1b[Z",
    "space": " ", "slash": "/", "colon": ":", "question_mark": "?", "backspace": "\x7f", "delete": "\x1b[3~",
}  # fmt: skip
_WORDS = (
    "",
    "1",
    "12",
    "v1",
    "workq bob 5",
    "bob",
    "user:bob",
    "state:Q cores:>2",
    "!",
    '"',
    "id",
    "cores",
    "[/]",
    "字",
)


ENDING = ("quit", "server", "background")
"""The actions that end the console: one for good, one to open one on another server, one until a shell continues it."""


def keys_of_actions() -> list[str]:
    """What a terminal sends for each key of the registry, without those that end the console."""
    names = [key for action in ACTIONS if action.name not in ENDING for key in action.keys]
    return [sent for sent in map(_sent, names) if sent]


def _sent(key: str) -> str:
    if key.startswith("ctrl+") and len(key) == 6:
        return chr(ord(key[-1]) & 0x1F)
    return _NAMED.get(key, key if len(key) == 1 else "")


@dataclass
class Ran:
    """What a run did: ``problem`` is empty where nothing went wrong."""

    steps: int = 0
    opened: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    did: dict[str, Counter[str]] = field(default_factory=dict)
    problem: str = ""
    lately: deque[bytes] = field(default_factory=lambda: deque(maxlen=_EACH))

    def add(self, written: Path) -> None:
        """Count what one console did."""
        data: dict[str, Any] = loads(written.read_text()) if written.exists() else {}
        data["changes"] = {"sent": data.get("changes", 0)}
        for name, counts in data.items():
            self.did.setdefault(name, Counter()).update(counts)

    def text(self) -> str:
        """The run in some lines."""
        lines = [f"{self.steps:,} steps ({_listed(self.kinds)}), {self.opened} consoles"]
        lines += [f"{name}: {_listed(counts)}" for name, counts in self.did.items()]
        return "\n".join([*lines, f"PROBLEM: {self.problem}" if self.problem else "no crash, no hang"])


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common())


def fuzz(steps: int, seed: int) -> Ran:
    """So many steps, the same ones for the same seed."""
    ran = Ran()
    chance = random.Random(seed)
    while ran.steps < steps and not ran.problem:
        ran.opened += 1
        with tempfile.TemporaryDirectory(prefix="fuzz-tui-") as folder:
            written = Path(folder) / "did.json"
            argv = [sys.executable, "-m", _CONSOLE, str(seed + ran.opened), str(written)]
            environment = {**cleaned(os.environ), "PYTHONPATH": str(ROOT), "HOME": folder, "XDG_CONFIG_HOME": folder}
            terminal = Terminal(argv, environment, folder=folder, emulated=False)
            try:
                _drive(terminal, steps, chance, ran, written)
                _await_quiet(terminal, written)
            finally:
                terminal.end()
            ran.add(written)
    return ran


def _drive(terminal: Terminal, steps: int, chance: random.Random, ran: Ran, written: Path) -> None:
    keys = keys_of_actions()
    deadline_s = time.monotonic() + ANSWER_S
    while not written.exists() and terminal.alive and time.monotonic() < deadline_s:
        terminal.read(0.5)
    last = min(steps, ran.steps + _ONE_CONSOLE)
    while ran.steps < last:
        for _ in range(_EACH):
            ran.steps += 1
            kind, sent = _step(chance, keys)
            ran.kinds[kind] += 1
            ran.lately.append(sent)
            terminal.press(sent)
            if chance.random() < 0.3:
                terminal.read(0.02)
        # What is open now must not swallow all keys until the end of the run. Alone for a while, an escape is one.
        for _ in range(2):
            terminal.press("\x1b")
            terminal.read(_ESCAPE_S)
        if not _paints(terminal, chance):
            status = terminal.ended()
            if status is None:
                ran.problem = f"step {ran.steps}: no answer within {ANSWER_S:g} s, {_describe(terminal.pid, written)}"
            else:
                crash = written.with_name("crash")
                why = crash.read_text() if crash.exists() else terminal.last.decode("utf-8", "replace")
                ran.problem = f"step {ran.steps}: ended with {status}: {why}"
            ran.problem += f", after {list(ran.lately)}"
            return


def _await_quiet(terminal: Terminal, written: Path) -> None:
    """Wait until the console has done all that was typed: two counts, polls apart, have the same actions."""
    deadline_s = time.monotonic() + ANSWER_S
    before: tuple[int, Any] | None = None
    while terminal.alive and time.monotonic() < deadline_s:
        count = (written.stat().st_mtime_ns, loads(written.read_text())["actions"]) if written.exists() else None
        if count is not None and before is not None and count[0] != before[0]:
            if count[1] == before[1]:
                return
            before = count
        before = before or count
        terminal.read(_BETWEEN_COUNTS_S)


def _describe(pid: int, written: Path) -> str:
    """What a console does that does not answer: its process's state, its children, and the stack of each thread."""
    process = Path(f"/proc/{pid}")
    state = (process / "stat").read_text().rpartition(")")[2].split()[0]
    children = (process / "task" / str(pid) / "children").read_text().split()
    run = [Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode() for child in children]
    os.kill(pid, signal.SIGUSR1)
    time.sleep(_STACKS_S)
    return f"state {state}, children {run}, threads:\n{written.with_name(STACKS).read_text()}"


def _paints(terminal: Terminal, chance: random.Random) -> bool:
    """Whether it paints a screen of another size, once what came before is read."""
    while terminal.read(0.03):
        pass
    lines, columns = chance.choice(((5, 20), (24, 80), (40, 140), (100, 300), (chance.randint(5, 99), 60)))
    terminal.resize(lines, columns)
    deadline_s = time.monotonic() + ANSWER_S
    while terminal.alive and time.monotonic() < deadline_s:
        if terminal.read(0.5):
            return True
    return False


def _step(chance: random.Random, keys: list[str]) -> tuple[str, bytes]:
    kind = chance.choices(("key", "view", "command", "filter", "raw", "operation"), (60, 8, 10, 5, 10, 7))[0]
    if kind == "key":
        sent = chance.choice(keys)
    elif kind == "view":
        sent = "\x1b" + chance.choice("12345678")
    elif kind == "command":
        action = chance.choice([action.name for action in ACTIONS if action.name not in ENDING])
        sent = f"\x1b:{action} {chance.choice(_WORDS)}\r"
    elif kind == "filter":
        sent = f"/{chance.choice(_WORDS)}\r"
    elif kind == "operation":
        sent = f"u{chance.choice('56234')}j{chance.choice(keys)}{chance.choice(_WORDS)}" + chance.choice("a\r\x1b")
    else:
        # Neither ctrl-c nor ctrl-q nor q, which quit.
        return kind, bytes(b for b in chance.randbytes(chance.randint(1, 12)) if b not in b"\x03\x11\x1aq")
    return kind, sent.encode("utf-8")
