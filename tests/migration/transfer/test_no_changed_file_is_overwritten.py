"""The law of downloads: whatever has changed at the source since the upload stays, each result is there afterwards, and
a kill at any step changes nothing of that. Two jobs of one folder come back one after the other.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Callable, NamedTuple, cast
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from migration.as_user.user_files.folder_tree_listing import STAGE, Entry, read_entry, walk
from migration.as_user.user_files.place_results_without_overwrite import settle
from migration.transfer.bring_results_back import bring_back
from migration.transfer.ssh_and_rsync_to_source import Connection
from migration.transfer.upload_manifest_and_changed_files import find_results

PATHS = ("a", "d/a", "d/b")
UPLOADED, OWN = ("upl", 1), ("own", 9)
"""Content and time in seconds: as it was uploaded, and what the user has made of it or put there."""
RESULTS = (("res", 9), ("ser", 9), ("res", 8), ("other", 9), UPLOADED)
"""The first two have the size and time of the user's file, the last is an upload that the job has not changed."""
GIDS = ("a.1", "a.2")
Files = dict[str, tuple[str, int]]


class Killed(BaseException):
    """kill -9 of whatever was at work."""


class Steps:
    """Counts steps; the one of number ``at`` is the last."""

    def __init__(self, at: int) -> None:
        self.left = at

    def take(self) -> None:
        self.left -= 1
        if self.left == -1:
            raise Killed

    def counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **words: Any) -> Any:
            self.take()
            return call(*args, **words)

        return run

    @contextmanager
    def on_files(self) -> Iterator[None]:
        with ExitStack() as patched:
            for name in ("replace", "unlink", "mkdir", "symlink", "rmdir"):
                patched.enter_context(mock.patch.object(os, name, self.counted(getattr(os, name))))
            yield


class LocalSource(NamedTuple):
    """A source on this disk: what rsync and the source's programs do, without a network."""

    folder: Path
    gid: str
    steps: Steps

    def ask(self, verb: str, lines: Iterable[str] = ()) -> bytes:
        self.steps.take()
        asked = [json.loads(line) for line in lines]
        if verb == "state":
            found = (read_entry(f"{self.folder}/{path}", path) for path in asked)
            return "".join(json.dumps(entry) + "\n" for entry in found if entry).encode()
        with self.steps.on_files():
            kept = settle(str(self.folder), self.gid, {one[0]: Entry(*one) for one in asked})
        self.steps.take()
        return json.dumps(kept).encode()

    def push(self, folder: str, paths: Iterable[str], word: str, timeout_s: float) -> int:
        stage = self.folder / f"{STAGE}{self.gid}"
        for path in paths:
            self.steps.take()
            if not (Path(folder) / path).is_dir():
                (stage / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(f"{folder}/{path}", stage / path)
        return 1

    def find_unlike(
        self, folder: str, paths: Iterable[str], timeout_s: float, options: Sequence[str] = ()
    ) -> list[str]:
        self.steps.take()
        return [path for path in paths if self._differs(Path(folder), path, by_content=bool(options))]

    def _differs(self, folder: Path, path: str, *, by_content: bool) -> bool:
        there, here = read_entry(f"{self.folder}/{path}", path), read_entry(f"{folder}/{path}", path)
        if there != here or there is None or there.kind != "f":
            return there != here
        return by_content and (self.folder / path).read_bytes() != (folder / path).read_bytes()


def write(folder: Path, files: Files) -> None:
    for path, (text, second) in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
        os.utime(folder / path, ns=(second * 10**9,) * 2)


def read(folder: Path) -> dict[str, str]:
    return {str(one.relative_to(folder)): one.read_text() for one in sorted(folder.rglob("*")) if one.is_file()}


def download(source: Path, target: Path, gid: str, steps: Steps) -> None:
    uploaded = {path: Entry(path, "f", 3, 10**9) for path in PATHS} | {"d": Entry("d", "d")}
    results = find_results({entry.path: entry for entry in walk(str(target))}, uploaded, gid, [])
    bring_back(cast(Connection, LocalSource(source, gid, steps)), str(target), results, uploaded, 60)


FILES = st.dictionaries(st.sampled_from(PATHS), st.sampled_from((UPLOADED, OWN)))
MADE = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(RESULTS))


@settings(max_examples=200, deadline=None)
@given(FILES, st.tuples(MADE, MADE), st.lists(st.integers(0, 40), min_size=2, max_size=2))
def test_what_has_changed_stays_and_each_result_is_there(
    before: Files, made: tuple[Files, Files], kills: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "source"
        source.mkdir()
        write(source, before)
        for gid, files, kill in zip(GIDS, made, kills):
            target = Path(name) / gid
            target.mkdir()
            write(target, files)
            with suppress(Killed):
                download(source, target, gid, Steps(kill))
            download(source, target, gid, Steps(10**6))
            check(source, before, made[: GIDS.index(gid) + 1])
            whole = read(source)
            download(source, target, gid, Steps(10**6))
            assert read(source) == whole, "repeating it changes nothing"


def check(source: Path, before: Files, made: Sequence[Files]) -> None:
    after = read(source)
    for path, file in before.items():
        if file == OWN:
            assert after[path] == "own"
    for gid, files in zip(GIDS, made):
        for path, file in files.items():
            copies = [text for where, text in after.items() if where == path or where.startswith(f"{path}.mg-{gid}")]
            assert file == UPLOADED or file[0] in copies, (gid, path)
    assert not list(source.glob(f"{STAGE}*"))
