"""Compares a job's folder at its end with the manifest of its upload: what is new or different goes back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from migration.as_user.helper.operations_as_user import BUILD_LOG
from migration.as_user.user_files.folder_tree_listing import CLOSED, Entry, is_excluded

Manifest = Mapping[str, Entry]


def read_manifest(data: bytes) -> Manifest:
    """The entries by path, of JSON lines. Raises ValueError."""
    entries = (Entry(*json.loads(line)) for line in data.splitlines())
    return {entry.path: entry for entry in entries}


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
    for path, entry in now.items():
        if path.startswith(service_prefix(gid)) or any(is_excluded(path, pattern) for pattern in nostage):
            continue
        if (path in logs) if uploaded is None else (uploaded.get(path) != entry):
            yield entry


def to_lines(entries: Iterable[Entry]) -> Iterable[str]:
    """Entries as they are sent."""
    return (json.dumps(entry) for entry in entries)
