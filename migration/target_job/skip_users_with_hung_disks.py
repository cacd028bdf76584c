"""Limits what hung disks in users' folders cost a pass.

An operation that reaches its time limit marks its user, for whom this and the next passes do nothing for some minutes.
A pass that has lost a minute to such operations does none for any user.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

from hooks.store.atomic_file import replace_file
from migration.programs.run_external_program_with_limits import TIMED_OUT, Finished
from migration.transfer.ssh_and_rsync_to_source import RunAs

FILE = "hung.json"
HUNG_FOR_S = 600
_LOST_IN_ALL_S = 60.0
_LONGEST_S = 10
_SMALL = ("write", "read", "folder")
"""Operations that take no time unless the disk hangs."""
_REQUESTS = ("qsub", "qhold", "qrls", "qdel", "sbatch", "scontrol", "scancel")
"""Programs of a scheduler, which the user as whom they run can stop."""
_LONGEST_REQUEST_S = 30


class HungError(Exception):
    """The user's folder does not answer; nothing is concluded from it."""


class HungUsers:
    """A ``RunAs`` for one pass."""

    def __init__(self, run: RunAs, home: Path, now: Callable[[], float]) -> None:
        self._run = run
        self._path = home / FILE
        self._now = now
        self._until = _read(self._path)
        self._left_s = _LOST_IN_ALL_S

    def __call__(self, argv: Sequence[str], *, user: str | None = None, timeout_s: float = 60, **more: Any) -> Finished:
        """Do the operation, or answer at once that it reached its limit. What has no user is run as it is."""
        if user is None:
            return self._run(argv, user=None, timeout_s=timeout_s, **more)
        if self._until.get(user, 0) > self._now():
            return Finished(TIMED_OUT, b"", f"what runs as {user} did not answer: tried again in some minutes".encode())
        if self._left_s <= 0:
            return Finished(TIMED_OUT, b"", b"what runs as other users did not answer: tried again in the next pass")
        limit_s = min(timeout_s, _LONGEST_S) if argv[0] in _SMALL else timeout_s
        limit_s = min(limit_s, _LONGEST_REQUEST_S) if argv[0] in _REQUESTS else limit_s
        began_s = time.monotonic()
        done = self._run(argv, user=user, timeout_s=limit_s, **more)
        if done.status == TIMED_OUT:
            self._left_s -= max(limit_s, time.monotonic() - began_s)
            self._mark(user)
        return done

    def _mark(self, user: str) -> None:
        now_s = self._now()
        self._until = {**{name: at for name, at in self._until.items() if at > now_s}, user: int(now_s) + HUNG_FOR_S}
        with contextlib.suppress(OSError):
            replace_file(self._path, json.dumps({"v": 1, "until": self._until}).encode("ascii") + b"\n")


def _read(path: Path) -> dict[str, int]:
    """Until when nothing is done for a user; none where the file cannot be read."""
    try:
        return {str(name): int(at) for name, at in json.loads(path.read_bytes())["until"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
