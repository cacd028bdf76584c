"""A deployed hook with the harm built in, and the orders for it: what :mod:`tests.faults.injector_inside_hook` reads
and writes.

The hook's own text stays as it was built, but for the lines put around its last part, which calls its entry.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable, NamedTuple

_IN_HOOK = Path(__file__).with_name("injector_inside_hook.py")
_CALL = "_refusal = _handle(pbs)\n"
_BEFORE = """\
_harm = {{}}
exec(compile({source!r}, "<fault injector>", "exec"), _harm)
_injector = _harm["Injector"]({folder!r}, {event!r})
_injector.begin()
try:
    _refusal = _handle(pbs)
finally:
    _injector.end()
"""


class Missed(Exception):  # noqa: N818 - no error: the moment that was waited for did not come
    """No run came to the ordered point in time, so nothing was tried."""


class Hit(NamedTuple):
    """What the injector wrote down just before it did harm: the process, the run it belongs to, and where it was."""

    pid: int
    run: int
    where: str
    nth: int
    time_s: float

    def show(self) -> str:
        """The proof in words."""
        of_run = f" (child of {self.run})" if self.pid != self.run else ""
        return f"process {self.pid}{of_run} was at {self.where}"


class PassMark(NamedTuple):
    """One pass by the injector's notes; ``end_s`` is None where it never came to its end."""

    pid: int
    begin_s: float
    end_s: float | None
    steps: int
    lines: int


def build_in(bundle: str, event: str, folder: Path) -> str:
    """The hook's text with the injector around its call; ``folder`` is where orders and records are."""
    if bundle.count(_CALL) != 1:
        raise ValueError(f"the {event} hook calls its entry {bundle.count(_CALL)} times; 1 is expected")
    source = _IN_HOOK.read_text(encoding="utf-8")
    return bundle.replace(_CALL, _BEFORE.format(source=source, folder=str(folder), event=event))


class Orders:
    """The folder that orders go into and records come out of."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._last = 0
        self._passes: list[PassMark] = []
        self._read_bytes = 0

    def give(self, event: str, do: str, **details: Any) -> str:
        """Order harm for the next run of the event's hook that comes to the point; returns the order's id."""
        self._last += 1
        order_id = f"{event}-{self._last}"
        order: Mapping[str, Any] = {"id": order_id, "do": do, "at": "begin", "nth": 1, "among": [], **details}
        path = self._order_path(event)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(order), encoding="utf-8")
        fresh.replace(path)
        return order_id

    def withdraw(self, event: str) -> None:
        """Take the event's order back."""
        self._order_path(event).unlink(missing_ok=True)

    def find_hit(self, order_id: str) -> Hit | None:
        """The record of the harm, if it was done."""
        try:
            return Hit(**json.loads((self.folder / f"hit-{order_id}.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None

    def wait_for_hit(self, order_id: str, timeout_s: float, meanwhile: Callable[[], None] = lambda: None) -> Hit:
        """The record, once there is one. Raises :class:`Missed`, with the order withdrawn, if there is none in time."""
        deadline = time.monotonic() + timeout_s
        while True:
            hit = self.find_hit(order_id)
            if hit is not None:
                return hit
            if time.monotonic() > deadline:
                self.withdraw(order_id.rpartition("-")[0])
                hit = self.find_hit(order_id)
                if hit is not None:
                    return hit
                raise Missed(f"no run came to the point of order {order_id} within {timeout_s:g} s")
            meanwhile()
            time.sleep(0.02)

    def leave(self, order_id: str) -> None:
        """Let a run go on that waits at its meeting point."""
        (self.folder / f"leave-{order_id}").touch()

    def read_passes(self) -> list[PassMark]:
        """All passes of the periodic hook so far, in the order in which they began."""
        try:
            with (self.folder / "periodic.log").open("rb") as log:
                log.seek(self._read_bytes)
                text = log.read()
        except FileNotFoundError:
            return []
        text = text[: text.rfind(b"\n") + 1]
        self._read_bytes += len(text)
        for line in text.decode("ascii").splitlines():
            word, pid, time_s, *counts = line.split()
            if word == "begin":
                self._passes.append(PassMark(int(pid), float(time_s), None, 0, 0))
                continue
            for index in range(len(self._passes) - 1, -1, -1):
                if self._passes[index].pid == int(pid):
                    steps, lines = (int(count) for count in counts)
                    self._passes[index] = self._passes[index]._replace(end_s=float(time_s), steps=steps, lines=lines)
                    break
        return self._passes

    def _order_path(self, event: str) -> Path:
        return self.folder / f"order-{event}.json"
