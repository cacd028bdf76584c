"""A small JSON file that a user's consoles keep between sessions: preferences, lines typed before.

It is read forgivingly: a file that cannot be used is told and never fatal, and is put aside, not overwritten, by the
next change; one of a newer version is left alone. A change is made to what the file says at that moment, under a lock,
and the file is replaced whole, so that neither two consoles nor a kill leave half of anything. Only its owner may read
it.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hooks.store.state_dir import SecondWriterError, State, StateError

Data = Mapping[str, Any]

_VERSION = "version"
_PATIENCE_S = 5.0
_AGAIN_S = 0.02


class Kept(NamedTuple):
    """What a file says, and a sentence where it could not be used; ``newer`` where that is because of its version."""

    data: Data
    problem: str = ""
    newer: bool = False


@dataclass(frozen=True)
class KeptFile:
    """The file at ``path``, of this ``version``; without a path nothing is kept."""

    path: Path | None
    version: int = 1

    def read(self) -> Kept:
        """What it says now; nothing where there is no file."""
        if self.path is None:
            return Kept({})
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Kept({})
        except OSError as error:
            return Kept({}, f"{self.path}: cannot be read: {error.strerror}")
        except (ValueError, RecursionError) as error:
            return Kept({}, f"{self.path}: cannot be used: {error}")
        version = data.get(_VERSION) if isinstance(data, dict) else None
        if not isinstance(version, int) or isinstance(version, bool):
            return Kept({}, f"{self.path}: cannot be used: allowed is an object with a version")
        if version > self.version:
            return Kept({}, f"{self.path}: of version {version}, this console knows {self.version}: left alone", True)
        return Kept(data)

    def change(self, change: Callable[[Data], Data], usable: Callable[[Data], str] = lambda _: "") -> str:
        """Replace what it says by what ``change`` makes of it; gives a sentence where that could not be done.

        ``usable`` says what is wrong with data that are of the right version, empty where nothing is.
        """
        if self.path is None:
            return ""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            state = State(self.path.parent)
            with contextlib.ExitStack() as stack:
                _lock(state, stack)
                return self._changed(state, self.path, change, usable)
        except (StateError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            return f"{self.path}: not kept: {reason}"

    def _changed(self, state: State, path: Path, change: Callable[[Data], Data], usable: Callable[[Data], str]) -> str:
        kept = self.read()
        if kept.newer:
            return kept.problem
        data = kept.data
        if kept.problem or usable(data):
            data = {}
            with contextlib.suppress(FileNotFoundError):
                path.replace(path.with_suffix(f".unreadable{path.suffix}"))
        state.replace(path.name, json.dumps({_VERSION: self.version, **change(data)}, indent=1) + "\n")
        return ""


def _lock(state: State, stack: contextlib.ExitStack) -> None:
    """Hold the folder, waiting a while for another console to let go of it."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline_s:
        with contextlib.suppress(SecondWriterError):
            stack.enter_context(state.locked())
            return
        time.sleep(_AGAIN_S)
    stack.enter_context(state.locked())
