"""Copies results to the source: beside the job's files, put into place there, and verified by a second run that finds
nothing to copy.

Each step can be repeated, and nothing that the user changed is overwritten. A file of the same size and time may be
another job's, so only equal content counts as already copied.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

from migration.as_user.user_files.folder_tree_listing import Entry
from migration.as_user.user_files.place_results_without_overwrite import Kept
from migration.transfer.json_from_source import check_list, check_path, read_answer
from migration.transfer.ssh_and_rsync_to_source import BY_CONTENT, Connection, TransferError
from migration.transfer.upload_manifest_and_changed_files import Manifest, read_manifest, to_lines
from migration.transfer.words_for_paths_at_source import STAGED


class Returned(NamedTuple):
    """The bytes that went, and the paths that had changed at the source, with the names of our copies."""

    sent_bytes: int
    kept: tuple[Kept, ...]


def bring_back(
    connection: Connection, folder: str, results: Sequence[Entry], uploaded: Manifest, timeout_s: float
) -> Returned:
    """Raises :class:`TransferError` unless everything is proven to be there."""
    if not results:
        connection.ask("state")
        return Returned(0, ())
    listed = connection.ask("state", (json.dumps(entry.path) for entry in results))
    there = read_manifest(listed, "the source's list of files")
    missing = [entry for entry in results if there.get(entry.path) != entry]
    alike = [entry.path for entry in results if entry.kind == "f" and there.get(entry.path) == entry]
    if alike and connection.find_unlike(folder, alike, timeout_s, BY_CONTENT):
        missing = list(results)
    sent = 0
    if missing:
        sent = connection.push(folder, (entry.path for entry in missing), STAGED, timeout_s)
    known = (uploaded[entry.path] for entry in results if entry.path in uploaded)
    kept = read_answer(connection.ask("settle", to_lines(known)), partial(_read_kept, _with_folders(results)))
    to_prove = [entry.path for entry in results if not _is_kept(entry.path, kept)]
    left = connection.find_unlike(folder, to_prove, timeout_s) if to_prove else []
    if left:
        raise TransferError(f"{len(left)} of {len(to_prove)} results are not at the source yet: {left[0][:100]}")
    return Returned(sent, kept)


def _read_kept(paths: Collection[str], data: Any) -> tuple[Kept, ...]:
    """What the source kept, as it is printed. Raises ValueError for what is no path of the results."""
    kept = tuple(Kept(*map(check_path, check_list(one, 2)[:2])) for one in check_list(data))
    for one in kept:
        if one.path not in paths:
            raise ValueError(f"{one.path[:200]}: is no result, nor a folder of one")
    return kept


def _with_folders(results: Sequence[Entry]) -> Collection[str]:
    """The paths of the results and of the folders that they are in, which arrive with them."""
    found: set[str] = set()
    for entry in results:
        path = entry.path
        while path and path not in found:
            found.add(path)
            path = path.rpartition("/")[0]
    return found


def _is_kept(path: str, kept: Sequence[Kept]) -> bool:
    return any(path == one.path or path.startswith(f"{one.path}/") for one in kept)
