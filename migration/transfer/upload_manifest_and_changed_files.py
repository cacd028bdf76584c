"""Compares a job's folder at its end with the manifest of its upload: what is new or different goes back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from migration.as_user.helper.operations_as_user import BUILD_LOG
from migration.as_user.user_files.exclude_patterns_as_rsync_reads_them import Excluded
from migration.as_user.user_files.folder_tree_listing import CLOSED, Entry
from migration.transfer.json_from_source import (
    check_list,
    check_path,
    check_size,
    check_text,
    check_time_ns,
    read_entry_lines,
)

Manifest = Mapping[str, Entry]

_KINDS = ("f", "d", "l", "o", CLOSED)


def read_manifest(data: bytes, what: str = "the list of the job's files") -> Manifest:
    """The entries by path, of JSON lines that messages name by ``what``. Raises
    :class:`migration.transfer.ssh_and_rsync_to_source.TransferError`."""
    return {entry.path: entry for entry in read_entry_lines(what, data, _read_entry)}


def _read_entry(data: Any) -> Entry:
    """An entry as it is printed, without what a newer version adds at its end. Raises ValueError."""
    path, kind, *rest = check_list(data, 2)
    if kind not in _KINDS:
        raise ValueError(f"kind {kind!r:.60}: must be one of {', '.join(_KINDS)}")
    size, mtime_ns, target = [*rest, *Entry(path, kind)[2 + len(rest) :]][:3]
    return Entry(check_path(path), kind, check_size(size), check_time_ns(mtime_ns), check_text(target))


def service_prefix(gid: str) -> str:
    """The beginning of the names of the service's own files in a job's folder; they stay there."""
    return f".mg.{gid}."


def outputs(gid: str) -> tuple[str, str]:
    """The names of the job's output and error files."""
    return f"mg.{gid}.out", f"mg.{gid}.err"


def find_results(now: Manifest, uploaded: Manifest | None, gid: str, nostage: Sequence[str]) -> list[Entry]:
    """The entries that go back: all that are new or differ; if the folder never arrived whole, the logs alone."""
    return [entry for entry in _find_changed(now, uploaded, gid, nostage) if entry.kind not in ("o", CLOSED)]


def find_closed(now: Manifest, uploaded: Manifest | None, gid: str, nostage: Sequence[str]) -> list[str]:
    """The paths of results that cannot go back, since the job has left them closed to its own user."""
    known = uploaded or {}
    closed = [entry for entry in _find_changed(now, uploaded, gid, nostage) if entry.kind == CLOSED]
    return [entry.path for entry in closed if known.get(entry.path) != entry._replace(kind="f")]


def _find_changed(now: Manifest, uploaded: Manifest | None, gid: str, nostage: Sequence[str]) -> Iterator[Entry]:
    logs = {BUILD_LOG, *outputs(gid)}
    kept_there = Excluded(nostage)
    for path, entry in now.items():
        # A closed entry, of which a manifest does not say what it is, never goes back.
        if path.startswith(service_prefix(gid)) or kept_there.has(path, is_folder=entry.kind in ("d", CLOSED)):
            continue
        if (path in logs) if uploaded is None else (uploaded.get(path) != entry):
            yield entry


def to_lines(entries: Iterable[Entry]) -> Iterable[str]:
    """Entries as they are sent."""
    return (json.dumps(entry) for entry in entries)
