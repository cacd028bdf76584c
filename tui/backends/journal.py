"""The journal that the passes leave in PBS_HOME, read as it grows: what each pass decided, and what came of it.

Only what was appended since the last look is read, and never more than a bounded piece at once, so that a journal of
many days costs the console nothing. The folder is open to a group at most; whoever may not read it is told so, and
everything else in the console works without it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, NamedTuple

from hooks.store.state_dir import CHANGES, LAST_PASS, State
from tui.backends.idle_history import HOUR_S, HOURS, Sample, spans

KEPT = 240
"""So many passes are kept to step through: an hour at the usual interval."""

_FIRST_BYTES = 8 << 20
_ABOUT_BYTES = 64 << 20

Part = Mapping[str, Any]


class Pass(NamedTuple):
    """One line of the journal (hooks/record/journal_entry.py says what is in it), read forgivingly: other versions
    wrote others."""

    time_s: float
    data: Mapping[str, Any]

    def parts(self, name: str) -> list[Part]:
        """A list of objects such as ``starts``; empty where there is none."""
        found = self.data.get(name)
        return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []

    def texts(self, name: str) -> list[str]:
        """A list of texts such as ``notes``."""
        found = self.data.get(name)
        return [part for part in found if isinstance(part, str)] if isinstance(found, list) else []

    def number(self, name: str) -> float:
        """A number such as ``waiting``; 0 where there is none."""
        found = self.data.get(name)
        return float(found) if isinstance(found, (int, float)) else 0.0

    def table(self, name: str) -> Part:
        """An object such as ``modes``."""
        found = self.data.get(name)
        return found if isinstance(found, dict) else {}

    @property
    def started_in(self) -> frozenset[str]:
        """The queues in which the starts were carried out."""
        return frozenset(self.texts("acted"))

    @property
    def preempted_in(self) -> frozenset[str]:
        """The queues in which the preemptions were carried out."""
        return frozenset(self.texts("preempted_in")) | self.started_in


class Passes(NamedTuple):
    """The last passes, oldest first; where there are none, why. ``idle`` has the mean of the idle cores by clock hour,
    over a day, with the seconds that each mean is of."""

    entries: tuple[Pass, ...] = ()
    problem: str = ""
    idle: Mapping[int, tuple[float, float]] = {}

    @property
    def last(self) -> Pass | None:
        """The newest one."""
        return self.entries[-1] if self.entries else None


NO_PASSES = Passes()
"""Before the journal was read."""


class JournalReader:
    """Reads the journal in one folder. Not safe for two threads at once, but for :meth:`about`. ``why_not`` says why
    the folder is not to be read, where that is so."""

    def __init__(self, folder: Path, why_not: Callable[[], str] = str) -> None:
        self._folder = folder
        self._why_not = why_not
        self.changes = folder / CHANGES
        """The audit that all administrators of the server share (:mod:`hooks.audit.shared_audit`)."""
        self.last_pass = folder / LAST_PASS
        """What the last pass published, with the settings that the hooks have."""
        self._state = State(folder)
        self._at: tuple[Path, int] | None = None
        self._entries: list[Pass] = []
        # By clock hour: the seconds that are known of, and the idle cores times these.
        self._idle: dict[int, tuple[float, float]] = {}
        self._sample: Sample | None = None

    def read(self) -> Passes:
        """The passes up to now. Never raises: what stands in the way is the ``problem``."""
        problem = self._find_problem()
        if problem:
            return Passes(problem=problem)
        try:
            self._take(self._fresh_lines())
        except OSError as error:
            return Passes(tuple(self._entries), f"the journal in {self._folder}: {error.strerror}")
        problem = "" if self._entries else f"no pass is in {self._folder} yet"
        means = {hour: (seconds, idle / seconds) for hour, (seconds, idle) in self._idle.items()}
        return Passes(tuple(self._entries), problem, means)

    def about(self, job_id: str) -> list[Pass]:
        """All passes still on disk that name this job, oldest first, in a bounded piece of the journal."""
        if self._find_problem():
            return []
        wanted = json.dumps(job_id).encode("ascii")
        left, found = _ABOUT_BYTES, []
        for path in reversed(self._state.journal_files()):
            try:
                data = _tail(path, left)
            except OSError:
                continue
            left -= len(data)
            found += [line for line in reversed(data.splitlines()) if wanted in line]
            if left <= 0:
                break
        return list(_understood(reversed(found)))

    @property
    def problem(self) -> str:
        """Why there is nothing to read; empty where there is."""
        return self._find_problem()

    def _find_problem(self) -> str:
        if not self._folder.parent.is_dir():
            return f"{self._folder.parent} is not on this host: the journal is on the PBS server's"
        if not self._folder.exists():
            return f"no pass has been made on this host yet: {self._folder} is not there"
        if not os.access(self._folder, os.R_OK | os.X_OK):
            return f"{self._folder} may be read by root and by the group of the setting server.journal_group only"
        return self._why_not()

    def _fresh_lines(self) -> list[bytes]:
        """The whole lines that were not seen before; what the last file ends with half a line of comes next time."""
        files = self._state.journal_files()
        if self._at is None or self._at[0] not in files:
            self._entries.clear()
            self._idle.clear()
            self._sample = None
            chosen, left = [], _FIRST_BYTES
            for path in reversed(files):
                chosen.append((path, max(0, path.stat().st_size - left)))
                left -= path.stat().st_size
                if left <= 0:
                    break
            chosen.reverse()
        else:
            chosen = [self._at, *((path, 0) for path in files[files.index(self._at[0]) + 1 :])]
        lines: list[bytes] = []
        for path, start in chosen:
            data = _piece(path, start, _FIRST_BYTES)
            whole = data[: data.rfind(b"\n") + 1]
            lines += whole.splitlines()
            self._at = (path, start + len(whole))
        return lines

    def _take(self, lines: Sequence[bytes]) -> None:
        for entry in _understood(lines):
            self._entries.append(entry)
            sample = _sample(entry)
            for hour, seconds, idle in spans(self._sample, sample):
                known_s, known = self._idle.get(hour, (0.0, 0.0))
                self._idle[hour] = known_s + seconds, known + seconds * idle
            self._sample = sample
        del self._entries[:-KEPT]
        if self._entries:
            oldest = int(self._entries[-1].time_s // HOUR_S) - HOURS
            for hour in [hour for hour in self._idle if hour <= oldest]:
                del self._idle[hour]


def _sample(entry: Pass) -> Sample:
    """The idle cores that a pass found, and those that its starts left."""
    found, started = entry.number("idle_cores"), set(entry.texts("started"))
    cores = [part.get("cores") for part in entry.parts("starts") if part.get("job") in started]
    taken = sum(number for number in cores if isinstance(number, int))
    return Sample(entry.time_s, found, max(0.0, found - taken))


def _understood(lines: Iterator[bytes] | Sequence[bytes]) -> Iterator[Pass]:
    """The lines that are passes; half a line, or anything else, is left out."""
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
            data = json.loads(line)
            yield Pass(float(data["time_s"]), data)


def _piece(path: Path, start: int, most: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(most)


def _tail(path: Path, most: int) -> bytes:
    return _piece(path, max(0, path.stat().st_size - most), most)
