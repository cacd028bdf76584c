"""pbsteer's files on disk: one folder in PBS_HOME with the ledgers, the journal, and the published files.

Files are replaced whole, so a kill at any point leaves the old or the new one. Decisions use only the ledger, which
root alone can read, and the runs that the last pass saw (README.md).
"""

from __future__ import annotations

import contextlib
import grp
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hooks.store.append_lines import append_lines, ends_whole, open_own, put_aside
from hooks.store.atomic_file import replace_file
from hooks.store.bounded_json import parse_json
from hooks.store.folder_lock import LOCK, locked
from policy.model.ledger_between_passes import Ledger, LedgerError

LEDGER = "ledger.json"
OBSERVED_LEDGER = "ledger-observed.json"
RUNS = "runs.json"
SCHEDULERS = "schedulers.json"
PRIORITIES = "priorities.json"
FAIR_SHARE = "fair-share.json"
PASSES = "passes.json"
EPISODES = "episodes.json"
ALERTS = "alerts.json"
END_HOOK_NEEDED = "end-hook-needed.json"
ALERT_COMMAND = "alert-command.json"
REASONS = "reasons.jsonl"
DAY = "day.json"
FORECAST = "forecast.json"
FORECAST_HISTORY = "forecast-history.json"
FORECAST_BEGUN = "forecast-begun.json"
LAST_PASS = "last-pass.json"  # noqa: S105 - a pass over the server
_JOURNAL = re.compile(r"journal-([0-9]{4}-[0-9]{2}-[0-9]{2})\.([0-9]+)\.jsonl")
_JOURNAL_BYTES = 16 << 20


class StateError(Exception):
    """The folder or a file in it cannot be used; the message names it."""


class SecondWriterError(StateError):
    """Another process is writing to the folder right now."""


class State:
    """The folder at ``path``, readable for ``group`` if one is named. It is made when first written to."""

    def __init__(self, path: Path, group: str = "") -> None:
        self.path = path
        self._group = group
        self._lock: int | None = None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against a second writer. Raises :class:`SecondWriterError` if there is one."""
        self._make_folder()
        descriptor = open_own(self.path / LOCK, os.O_RDWR)
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locked(descriptor))
            except OSError as error:
                raise SecondWriterError(f"{self.path}: another pass is writing here ({error.strerror})") from error
            self._lock = descriptor
            try:
                yield
            finally:
                self._lock = None

    def find_group_problem(self) -> str:
        """A sentence if the group that may read does not exist on this host; else empty."""
        if self._group and self._group_id() is None:
            return f"no group {self._group!r} on this host: only root may read the journal"
        return ""

    def release_lock(self) -> None:
        """For a child process: close its copy of the lock, which would last after its parent is killed."""
        if self._lock is not None:
            os.close(self._lock)

    # The ledger

    def read_ledger(self, name: str = LEDGER) -> tuple[Ledger, str]:
        """The ledger, and why its file cannot be used, if so: then the ledger is empty."""
        try:
            return Ledger.from_data(parse_json((self.path / name).read_text(encoding="utf-8"))), ""
        except FileNotFoundError:
            return Ledger(), ""
        except (LedgerError, ValueError, IsADirectoryError) as error:
            return Ledger(), str(error)

    def put_aside_ledger(self, name: str, why: str) -> str:
        """Rename a ledger that cannot be used, and return the sentence on it."""
        path = self.path / name
        return f"{path} cannot be used ({why}); it is now {put_aside(path).name}, and an empty ledger is begun"

    def save_ledger(self, ledger: Ledger, name: str = LEDGER) -> None:
        """Replace the ledger. Raises OSError if the disk does not take it."""
        self.replace(name, json.dumps(ledger.to_data(), sort_keys=True), shared=False)

    # What is published

    def publish(self, name: str, data: Mapping[str, Any], *, shared: bool, sync: bool = True) -> None:
        """Replace a published file; the group may read ``shared`` ones. Without ``sync`` a crash of the host may lose
        it."""
        self.replace(name, json.dumps(data), shared=shared, sync=sync)

    def publish_lines(self, name: str, lines: Iterable[Mapping[str, Any]], *, shared: bool, sync: bool = True) -> None:
        """As :meth:`publish`, one object a line, so that the file can be searched without reading it all."""
        self.replace(name, "".join(json.dumps(line) + "\n" for line in lines), shared=shared, sync=sync)

    def read_published(self, name: str) -> dict[str, Any]:
        """A published file; empty if there is none that can be read."""
        try:
            data = parse_json((self.path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return data if isinstance(data, dict) else {}

    def age_s(self, name: str, now_s: float) -> float | None:
        """Seconds since a published file was written; None if there is none that can be read."""
        try:
            return now_s - (self.path / name).stat().st_mtime
        except OSError:
            return None

    # The journal

    def write_journal(self, entry: Mapping[str, Any], day: str, keep_days: int) -> None:
        """Append one line to the journal of ``day`` (YYYY-MM-DD), and delete files older than the last ``keep_days``
        days."""
        self._rename_future_journals(day)
        path = self._journal_file(day)
        fresh = not path.exists()
        line = (json.dumps(entry) + "\n").encode("ascii")
        descriptor = open_own(path, os.O_WRONLY | os.O_APPEND)
        try:
            self._share(descriptor)
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
        if fresh:
            days = sorted({day for day, _, _ in self._journals()})
            for old_day, _, old in self._journals():
                if old_day in days[:-keep_days]:
                    old.unlink()

    def read_journal(self, count: int) -> list[dict[str, Any]]:
        """The last ``count`` passes, oldest first; truncated lines are skipped."""
        entries: list[dict[str, Any]] = []
        for path in reversed(self.journal_files()):
            lines = path.read_bytes().splitlines()
            for line in reversed(lines):
                with contextlib.suppress(ValueError):
                    entries.append(parse_json(line))
                if len(entries) == count:
                    return entries[::-1]
        return entries[::-1]

    def journal_files(self) -> list[Path]:
        """The journal's files, oldest first."""
        return [path for _, _, path in self._journals()]

    def _journals(self) -> list[tuple[str, int, Path]]:
        found = []
        for path in self.path.glob("journal-*.jsonl"):
            match = _JOURNAL.fullmatch(path.name)
            if match and path.is_file():
                found.append((match.group(1), int(match.group(2)), path))
        return sorted(found)

    def _rename_future_journals(self, day: str) -> None:
        """Make files of later days, written while the clock was ahead, the last ones of ``day``: readers take the file
        with the last name for the latest, and each day with a file counts as one of those kept."""
        journals = self._journals()
        number = max((number for of_day, number, _ in journals if of_day == day), default=0)
        for of_day, _, path in journals:
            if of_day > day:
                number += 1
                path.replace(self.path / f"journal-{day}.{number}.jsonl")

    def _journal_file(self, day: str) -> Path:
        """The day's last file, or the next one if that is full or ends in a truncated line."""
        numbers = [number for of_day, number, _ in self._journals() if of_day == day]
        number = numbers[-1] if numbers else 1
        path = self.path / f"journal-{day}.{number}.jsonl"
        if path.is_file() and (path.stat().st_size > _JOURNAL_BYTES or not ends_whole(path)):
            path = self.path / f"journal-{day}.{number + 1}.jsonl"
        return path

    # The shared audit

    def append(self, name: str, lines: bytes, *, full_bytes: int) -> None:
        """Append whole lines to a file that the group may read, and sync it; the file is made if missing.

        As :func:`hooks.store.append_lines.append_lines` does it. Raises OSError.
        """
        append_lines(self.path / name, lines, full_bytes=full_bytes, share=self._share)

    # Files

    def _make_folder(self) -> None:
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise StateError(f"{self.path}: {error.strerror}") from error
        try:
            group = self._group_id()
            if group is not None:
                os.fchown(descriptor, -1, group)
            os.fchmod(descriptor, 0o700 if group is None else 0o750)
        finally:
            os.close(descriptor)

    def replace(self, name: str, text: str, *, shared: bool = False, sync: bool = True) -> None:
        """Replace a file of the folder whole; the group may read ``shared`` ones. Without ``sync`` a crash of the host
        may lose it. Raises OSError."""
        path, data = self.path / name, text.encode("utf-8")
        group = self._group_id() if shared else None
        mode = 0o600 if group is None else 0o640
        try:
            replace_file(path, data, mode=mode, group=group, sync=sync, open_fresh=_open_fresh)
        except IsADirectoryError:
            put_aside(path)
            replace_file(path, data, mode=mode, group=group, sync=sync, open_fresh=_open_fresh)

    def _share(self, descriptor: int) -> None:
        """Let the group read a file, if there is one."""
        group = self._group_id()
        if group is not None:
            os.fchown(descriptor, -1, group)
        os.fchmod(descriptor, 0o600 if group is None else 0o640)

    def _group_id(self) -> int | None:
        """The group's number; None if no group is named or the host does not know it."""
        if not self._group:
            return None
        try:
            return grp.getgrnam(self._group).gr_gid
        except (KeyError, ValueError):
            # The name is no group here, or has characters that the locale of this program cannot encode.
            return None


def _open_fresh(path: Path) -> int:
    return open_own(path, os.O_WRONLY | os.O_TRUNC)
