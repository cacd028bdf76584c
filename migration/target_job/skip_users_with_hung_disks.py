"""Limits what hung disks in users' folders, and processes that their user stops, cost a pass.

An operation that reaches its time limit marks its user, for whom this and the next passes do nothing for some minutes.
In a pass the time of all operations counts, also of those that end within their limit: a user who has used up a share
of it is left out for the rest of the pass, and where the operations were slow, for the next one as well. A pass that
has lost a minute to users' operations does none for any user.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

from hooks.store.atomic_file import replace_file
from hooks.store.bounded_json import parse_json
from migration.programs.run_external_program_with_limits import TIMED_OUT, Finished
from migration.transfer.ssh_and_rsync_to_source import RunAs

FILE = "hung.json"
HUNG_FOR_S = 600
PASS_SHARE_S = 15.0
"""The time of a user's operations in one pass, after which none is begun."""
_RESTS_FOR_S = 120
"""How long a user is left out who has used up the share with operations that were slow."""
_SLOW_S = 0.5
"""Operations that take longer on average are slow: those that their user does not delay are quicker, unless the host is
overloaded."""
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
    """A ``RunAs`` for one pass. ``share_s`` is the time of one user's operations in it; without one, as in a job's own
    process, only operations that reach their limit count. ``timer`` measures them.
    """

    def __init__(
        self,
        run: RunAs,
        home: Path,
        now: Callable[[], float],
        share_s: float = math.inf,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run = run
        self._path = home / FILE
        self._now = now
        self._until = _read(self._path)
        self._left_s = _LOST_IN_ALL_S
        self._share_s = share_s
        self._timer = timer
        self._spent_s: dict[str, list[float]] = {}

    def __call__(self, argv: Sequence[str], *, user: str | None = None, timeout_s: float = 60, **more: Any) -> Finished:
        """Do the operation, or answer at once that it reached its limit. What has no user is run as it is."""
        if user is None:
            return self._run(argv, user=None, timeout_s=timeout_s, **more)
        if self._until.get(user, 0) > self._now():
            return Finished(
                TIMED_OUT, b"", f"what runs as {user} did not answer in time: tried again in some minutes".encode()
            )
        if self._left_s <= 0:
            return Finished(
                TIMED_OUT, b"", b"what runs as users has taken its time of this pass: tried again in the next"
            )
        if sum(self._spent_s.get(user, ())) >= self._share_s:
            text = f"what runs as {user} has taken {self._share_s:.0f} s of this pass: the rest is done in the next one"
            return Finished(TIMED_OUT, b"", text.encode())
        limit_s = min(timeout_s, _LONGEST_S) if argv[0] in _SMALL else timeout_s
        limit_s = min(limit_s, _LONGEST_REQUEST_S) if argv[0] in _REQUESTS else limit_s
        began_s = self._timer()
        done = self._run(argv, user=user, timeout_s=limit_s, **more)
        took_s = self._timer() - began_s
        if done.status == TIMED_OUT:
            self._left_s -= max(limit_s, took_s)
            self._mark(user, HUNG_FOR_S)
        elif self._share_s < math.inf:
            self._left_s -= took_s
            self._charge(user, took_s)
        return done

    def _charge(self, user: str, took_s: float) -> None:
        """Count an operation that has ended by itself."""
        spent_s = self._spent_s.setdefault(user, [])
        spent_s.append(took_s)
        if sum(spent_s) >= self._share_s and sum(spent_s) > _SLOW_S * len(spent_s):
            self._mark(user, _RESTS_FOR_S)

    def _mark(self, user: str, for_s: int) -> None:
        now_s = self._now()
        self._until = {**{name: at for name, at in self._until.items() if at > now_s}, user: int(now_s) + for_s}
        with contextlib.suppress(OSError):
            replace_file(self._path, json.dumps({"v": 1, "until": self._until}).encode("ascii") + b"\n")


def _read(path: Path) -> dict[str, int]:
    """Until when nothing is done for a user; none where the file cannot be read."""
    try:
        return {str(name): int(at) for name, at in parse_json(path.read_bytes())["until"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
