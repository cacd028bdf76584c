"""Lists the entries of a folder (path, kind, size, time), and which of them cannot be transferred. Runs as the folder's
user.

Entries are printed as JSON lines ``[path, kind, size, mtime_ns, target]``; folders and links have no size and no time,
so two entries are the same if and only if their lines are.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from migration.as_user.user_files.exclude_patterns_as_rsync_reads_them import Excluded

PART = ".mg-part"
STAGE = ".mg-stage-"
FRESH_LINK = f"{STAGE}link"
"""A link on its way to its place, in whose folder it is made. No job has such a name for its stage."""
CLOSED = "c"
"""The kind of a file or folder that its user cannot open. What is in such a folder is not listed."""
_MOST_REFUSED = 10
_MOST_SHARED = 10_000
_LONGEST_LINE = 64 << 10
"""Longer than any entry: two paths of 4,096 bytes, each of which may be written with six characters."""
_MOST_INPUT = 256 << 20


class Entry(NamedTuple):
    """``kind`` is f, d, l, o (a socket, a device, a pipe) or :data:`CLOSED`; ``target`` is where a link leads."""

    path: str
    kind: str
    size: int = 0
    mtime_ns: int = 0
    target: str = ""


def read_entry(path: str, shown: str) -> Entry | None:
    """The entry at ``path``; None if there is none. Raises OSError."""
    try:
        info = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(info.st_mode):
        return Entry(shown, "l", target=os.readlink(path))
    if stat.S_ISDIR(info.st_mode):
        return Entry(shown, "d")
    if stat.S_ISREG(info.st_mode):
        return Entry(shown, "f", info.st_size, info.st_mtime_ns)
    return Entry(shown, "o")


def walk(root: str, below: str = "") -> Iterator[Entry]:
    """The entries below ``root``, without following links; what transfers leave behind is left out. Raises OSError
    where ``root`` itself cannot be read."""
    with os.scandir(os.path.join(root, below)) as found:
        names = sorted(one.name for one in found)
    for name in names:
        if name == PART or name.startswith(STAGE):
            continue
        shown = f"{below}/{name}" if below else name
        entry = read_entry(f"{root}/{shown}", shown)
        if entry is None:
            continue
        if _is_closed(f"{root}/{shown}", entry.kind):
            entry = entry._replace(kind=CLOSED)
        yield entry
        if entry.kind == "d":
            yield from walk(root, shown)


def _is_closed(path: str, kind: str) -> bool:
    """Whether this process cannot open a file or a folder of its user's, as rsync could not."""
    needed = {"f": os.R_OK, "d": os.R_OK | os.X_OK}.get(kind)
    return needed is not None and not os.access(path, needed) and os.path.lexists(path)


def _is_closed_folder(root: str, entry: Entry) -> bool:
    return entry.kind == CLOSED and os.path.isdir(f"{root}/{entry.path}")


def print_manifest(arguments: list[str]) -> int:
    """``manifest FOLDER``: every entry."""
    for entry in walk(arguments[0]):
        sys.stdout.write(json.dumps(entry) + "\n")
    return 0


def print_state(arguments: list[str]) -> int:
    """``state FOLDER``: the entries of the paths on standard input, a JSON text a line, as far as they exist."""
    check_own_folder(arguments[0])
    for line in read_lines():
        path = check_inside(json.loads(line))
        entry = read_entry(f"{arguments[0]}/{path}", path)
        if entry is not None:
            sys.stdout.write(json.dumps(entry) + "\n")
    return 0


def read_lines() -> Iterator[str]:
    """The lines of standard input, which another cluster may have written. Raises ValueError for what is no list of
    paths, by its length.
    """
    left = _MOST_INPUT
    while line := sys.stdin.readline(_LONGEST_LINE):
        left -= len(line)
        if not line.endswith("\n") and len(line) == _LONGEST_LINE:
            raise ValueError(f"a line of standard input: must be shorter than {_LONGEST_LINE:,} characters")
        if left < 0:
            raise ValueError(f"standard input: must be at most {_MOST_INPUT >> 20} Mi characters")
        yield line


def check_inside(path: object) -> str:
    """A path below a folder, without parts that lead out of it. Raises ValueError."""
    if not isinstance(path, str) or any(part in ("", ".", "..") for part in path.split("/")) or "\0" in path:
        raise ValueError(f"path {path!r:.200}: must be relative, without . and ..")
    return path


def open_folder(path: str) -> int:
    """A descriptor of the folder, reached from the root without any link. Raises ValueError, OSError.

    What is then done relative to the descriptor stays in this folder, whatever the path leads to meanwhile.
    """
    os.stat(path)  # has folders mounted that are mounted on use
    folder = os.open("/", _FOLDER)
    try:
        for part in check_inside(path[1:]).split("/"):
            below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
    except OSError as error:
        os.close(folder)
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise ValueError(f"{path}: no folder, or a path through links") from error
        raise
    return folder


_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


def open_own_folder(path: str) -> int:
    """:func:`open_folder` for a folder of this user. Raises ValueError, OSError."""
    folder = open_folder(path)
    if os.fstat(folder).st_uid != os.getuid():
        os.close(folder)
        raise ValueError(f"{path}: belongs to another user")
    return folder


def check_own_folder(path: str) -> None:
    """Raises ValueError or OSError for a folder that is not there, is reached through links, or is another user's."""
    os.close(open_own_folder(path))


def print_survey(arguments: list[str]) -> int:
    """``survey JSON``: what a transfer of a job's folder would move, what is shared input, and what cannot travel."""
    sys.stdout.write(json.dumps(survey(json.loads(arguments[0]))) + "\n")
    return 0


def print_surveys(arguments: list[str]) -> int:
    """``surveys JSON``: the same of several jobs, each as a line with the job's id before it."""
    for gid, asked in json.loads(arguments[0]).items():
        sys.stdout.write(json.dumps([gid, survey(asked)]) + "\n")
    return 0


def survey(asked: dict[str, list[str]]) -> dict[str, Any]:
    """The survey of a folder, as plain data."""
    folder, roots = asked["dir"][0], asked["share_roots"]
    problem = find_folder_problem(folder, asked["allowed_roots"])
    found: dict[str, Any] = {"problem": problem, "bytes": 0, "files": 0, "refused": [], "shared": []}
    if problem:
        return found
    refused: list[str] = []
    shared: list[dict[str, object]] = []
    size = files = 0
    excluded = Excluded(asked["exclude"])
    for entry in walk(folder):
        if excluded.has(entry.path, is_folder=entry.kind == "d" or _is_closed_folder(folder, entry)):
            continue
        size, files = size + entry.size, files + 1
        if len(refused) >= _MOST_REFUSED:
            break
        if entry.kind == CLOSED:
            refused.append(f"{entry.path}: cannot be opened by its user")
        elif entry.kind == "o":
            refused.append(f"{entry.path}: neither a file, a folder nor a link")
        elif entry.kind == "l":
            real = os.path.realpath(f"{folder}/{entry.path}")
            if _is_below(real, [folder]):
                continue
            if _is_below(real, roots) and (one := _shared(entry.path, real)):
                shared.append(one)
                if len(shared) > _MOST_SHARED:
                    return {**found, "problem": f"{folder}: has more than {_MOST_SHARED:,} links to shared input"}
            elif entry.target.startswith("/"):
                refused.append(f"{entry.path}: leads to {entry.target}, outside the job's folder")
    for named in asked["shared"]:
        if os.path.realpath(named) != named:
            refused.append(f"{named}: leads elsewhere through links")
            continue
        if _is_below(named, [folder]):
            continue
        one = _shared("", named)
        if one is None:
            refused.append(f"{named}: no readable file")
        else:
            shared.append(one)
    return {**found, "bytes": size, "files": files, "refused": refused[:_MOST_REFUSED], "shared": shared}


def find_folder_problem(folder: str, roots: list[str]) -> str:
    """Why the folder may not be a job's; empty if it may."""
    try:
        info = os.lstat(folder)
    except OSError as error:
        return f"{folder}: {error.strerror}"
    if not stat.S_ISDIR(info.st_mode) or os.path.realpath(folder) != folder:
        return f"{folder}: no folder, or a path through links"
    if info.st_uid != os.getuid():
        return f"{folder}: belongs to another user"
    if _is_closed(folder, "d"):
        return f"{folder}: cannot be opened by its user"
    problem = find_home_problem(folder, os.path.realpath(os.environ.get("HOME", "/nonexistent")))
    if problem:
        return problem
    if not _is_below(folder, roots):
        return f"{folder}: not below {', '.join(roots)}"
    return ""


def find_home_problem(folder: str, home: str) -> str:
    """Why a job's folder may not be this: the user's home has keys, and files that no job needs."""
    if folder == home or home.startswith(f"{folder.rstrip('/')}/"):
        return f"{folder}: is the home folder, or above it: a job needs a folder of its own"
    return ""


def _shared(link: str, real: str) -> dict[str, object] | None:
    """A readable file of exactly this path; None if it is none."""
    above, _, name = real.rpartition("/")
    try:
        folder = open_folder(above)
        try:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
    except (OSError, ValueError):
        return None
    try:
        info = os.fstat(file)
    finally:
        os.close(file)
    if not stat.S_ISREG(info.st_mode):
        return None
    return {"link": link, "path": real, "size": info.st_size, "mtime_ns": info.st_mtime_ns}


def _is_below(path: str, roots: list[str]) -> bool:
    return any(path.startswith(f"{root}/") for root in roots)
