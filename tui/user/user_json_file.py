"""A small JSON file, for its owner alone, that a user's consoles keep between sessions: preferences, typed lines.

A change is applied to the present contents under a lock and the file is replaced whole. A file that cannot be used is
reported and renamed at the next change, or left alone if a newer version wrote it.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hooks.store.atomic_file import replace_file
from hooks.store.folder_lock import locked, open_lock

Data = Mapping[str, Any]

_VERSION = "version"
_PATIENCE_S = 5.0
_AGAIN_S = 0.02


class Kept(NamedTuple):
    """A file's data, and a sentence if it could not be used; ``newer`` if the reason is its version."""

    data: Data
    problem: str = ""
    newer: bool = False


@dataclass(frozen=True)
class KeptFile:
    """The file at ``path``, of this ``version``; without a path nothing is kept."""

    path: Path | None
    version: int = 1

    def read(self) -> Kept:
        """The present contents; empty if there is no file."""
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
            return Kept({}, f"{self.path}: of version {version}, this console knows {self.version}: not changed", True)
        return Kept(data)

    def change(self, change: Callable[[Data], Data], usable: Callable[[Data], str] = lambda _: "") -> str:
        """Replace the contents by what ``change`` makes of them; returns a sentence if that failed, else an empty text.

        ``usable`` returns what is wrong with data of the right version, or an empty text.
        """
        if self.path is None:
            return ""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.ExitStack() as stack:
                _lock(self.path.parent, stack)
                return self._changed(self.path, change, usable)
        except OSError as error:
            return f"{self.path}: not kept: {error.strerror}"

    def _changed(self, path: Path, change: Callable[[Data], Data], usable: Callable[[Data], str]) -> str:
        kept = self.read()
        if kept.newer:
            return kept.problem
        data = kept.data
        if kept.problem or usable(data):
            data = {}
            with contextlib.suppress(FileNotFoundError):
                path.replace(path.with_suffix(f".unreadable{path.suffix}"))
        text = json.dumps({_VERSION: self.version, **change(data)}, indent=1) + "\n"
        replace_file(path, text.encode("utf-8"))
        return ""


def _lock(folder: Path, stack: contextlib.ExitStack) -> None:
    """Lock the folder; waits up to :data:`_PATIENCE_S` for another console to unlock it, then fails."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline_s:
        with contextlib.suppress(BlockingIOError):
            stack.enter_context(locked(open_lock(folder)))
            return
        time.sleep(_AGAIN_S)
    try:
        stack.enter_context(locked(open_lock(folder)))
    except BlockingIOError as error:
        raise OSError(error.errno, f"{folder} is locked by another console") from error
