"""Early passes: a pass comes before its minute when a request or another cluster calls for one, but only some seconds
after the last one ended.

A pass of the source calls for one itself if a job that stays may be handed over in a moment.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

SOURCE, TARGET = "mgsched", "mgrecv"
"""The programs whose passes may come early."""
GAP_S = 10.0


def call_file(home: Path, name: str) -> Path:
    """While this file is there, a pass of the program is called for: its unit ``NAME.path`` starts one."""
    return home / f"{name}.call"


def call_for_pass(home: Path, name: str) -> None:
    """Call for a pass soon. Where that fails, the one of the minute comes."""
    with contextlib.suppress(OSError):
        call_file(home, name).touch(0o644)


def answer_call(home: Path, name: str) -> None:
    """There is a pass now: what is called for from now on is another one."""
    call_file(home, name).unlink(missing_ok=True)


@contextlib.contextmanager
def early_pass(home: Path, name: str) -> Iterator[None]:
    """A block that begins no sooner than GAP_S after the end of the last one of this name, however that has ended."""
    mark = home / f"{name}.early"
    time.sleep(_find_wait(mark, time.time()))
    mark.touch(0o644)
    try:
        yield
    finally:
        mark.touch(0o644)


def _find_wait(mark: Path, now_s: float) -> float:
    try:
        since_s = now_s - mark.stat().st_mtime
    except OSError:
        return 0.0
    # A clock that was set back makes nobody wait longer.
    return min(GAP_S, max(0.0, GAP_S - since_s))
