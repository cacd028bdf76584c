"""The source's end of a transfer: the commands that a job's key may run, and nothing else.

The options are those of our own transfers, and the path is always one of the job's record, never one of the command.
Folders of other jobs are only read, and only of jobs that ``find`` gives: those of the same user that the same cluster
has.
"""

from __future__ import annotations

import json
import os.path
import re
import shlex
from typing import Callable
from urllib.parse import unquote_to_bytes

from migration.as_user.user_files.folder_tree_listing import PART, STAGE
from migration.config.cluster_file import Here
from migration.transfer.words_for_paths_at_source import JOB, NO_SETUID, PLAIN_NAME, SHARED, STAGED
from policy.migration.job_record_and_copy_updates import Record

_LETTERS = re.compile(r"-(?=.)[vlogDtprRncxiz]*(?:e[0-9]*\.[A-Za-z]*)?")
"""rsync's short options. With nothing after ``e`` rsync would take the next word for its value; a ``-`` alone is no
option, but the folder to which rsync changes."""
_LONG = re.compile(
    r"--(?:timeout=[0-9]{1,6}|bwlimit=[0-9]{1,9}|log-format=%i|out-format=%i|stats|partial-dir|dry-run|no-i-r"
    r"|no-inc-recursive|itemize-changes)"
)
_MOST = 10_000
_SURVEYS = "mg surveys "
Find = Callable[[str], "Record | None"]
"""The job of an id, if the key gives its folder too."""


class NotAllowedError(ValueError):
    """A command that the key of a job does not give; the message names the word."""


def read_command(command: str, record: Record, here: Here, find: Find = lambda _: None) -> list[str]:
    """The operation of the root helper that answers the command. Raises :class:`NotAllowedError`."""
    asked = _ask_about(record, here)
    if command == "mg survey":
        return ["survey", json.dumps(asked)]
    if command.startswith(_SURVEYS) and len(command) <= _MOST:
        # One that this end has not noted as taken yet is left out of the answer.
        known = filter(None, map(find, command[len(_SURVEYS) :].split(" ")))
        return ["surveys", json.dumps({one.gid: _ask_about(one, here) for one in known})]
    if command == "mg state":
        return ["state", record.dir]
    if command == "mg settle":
        return ["settle", record.dir, record.gid]
    options, paths = _split_rsync(command)
    sends = options[:1] == ["--sender"]
    _check_options(options, sends=sends)
    if sends and all(path.startswith(JOB) and path != JOB for path in paths):
        folders = [_find_folder(path, find) for path in paths]
        return ["rsync-folders", json.dumps(folders), "--server", *options, "."]
    if len(paths) > 1:
        raise NotAllowedError(f"rsync: {len(paths)} paths: must be one, or {JOB}GID/NAME of several jobs")
    words = _make_words(options, paths[0], record, sends=sends)
    is_shared = paths[0].startswith(SHARED)
    return ["rsync-shared", json.dumps(asked), *words] if is_shared else ["rsync-server", *words]


def _ask_about(record: Record, here: Here) -> dict[str, object]:
    """What a survey of the job's folder goes by."""
    return {
        "dir": [record.dir], "allowed_roots": here.allowed_roots, "share_roots": here.share_roots,
        "exclude": record.exclude, "shared": record.shared,
    }  # fmt: skip


def _find_folder(path: str, find: Find) -> str:
    gid, _, name = path[len(JOB) :].partition("/")
    record = find(gid)
    if record is None:
        raise NotAllowedError(f"job {gid!r:.40}: must be one of this user that this cluster has")
    if not PLAIN_NAME.fullmatch(name) or record.dir.rpartition("/")[2] != name:
        raise NotAllowedError(f"path {path!r:.60}: must end with the name of the job's folder")
    return record.dir


def _split_rsync(command: str) -> tuple[list[str], list[str]]:
    """The options and the paths of rsync's other end."""
    try:
        words = shlex.split(command) if len(command) <= _MOST else []
    except ValueError:
        words = []
    at = words.index(".") if "." in words else 0
    if words[:2] != ["rsync", "--server"] or not 2 <= at < len(words) - 1:
        raise NotAllowedError(
            f"command {command!r:.60}: must be one of mg survey, surveys, state, settle, or rsync --server"
        )
    return words[2:at], words[at + 1 :]


def _check_options(options: list[str], *, sends: bool) -> None:
    takes_value = False
    for option in options[1:] if sends else options:
        if takes_value:
            if option != PART:
                raise NotAllowedError(f"rsync: {option!r:.40}: must be {PART}")
            takes_value = False
        elif option == "--partial-dir":
            takes_value = True
        elif not (_LETTERS.fullmatch(option) or _LONG.fullmatch(option) or option == f"--partial-dir={PART}"):
            raise NotAllowedError(f"rsync: option {option!r:.40}: is none that a transfer of this system uses")
    if takes_value:
        raise NotAllowedError(f"rsync: --partial-dir: must be followed by {PART}")


def _make_words(options: list[str], word: str, record: Record, *, sends: bool) -> list[str]:
    """The arguments of rsync's other end for a path of the job's own."""
    dry = _is_dry(options)
    if not sends:
        # What arrives must not lead elsewhere: links are written so that nothing follows them before settle. Nor may it
        # run as the user whoever starts it, at any moment.
        options = options if dry else ["--munge-links", f"--chmod={NO_SETUID}", *options]
    path = _find_path(word, record, sends=sends, dry=dry)
    return ["--server", *options, ".", path]


def _find_path(word: str, record: Record, *, sends: bool, dry: bool) -> str:
    if word == JOB and (sends or dry):
        return f"{record.dir}/"
    if word == STAGED and not sends:
        return f"{record.dir}/{STAGE}{record.gid}/"
    if word.startswith(f"{SHARED}/") and sends:
        path = os.fsdecode(unquote_to_bytes(word[len(SHARED) :]))
        if os.path.normpath(path) == path:
            return path
    raise NotAllowedError(f"path {word!r:.60}: must be {JOB}, {STAGED} or {SHARED}/PATH, in its direction")


def _is_dry(options: list[str]) -> bool:
    letters = next((one for one in options if re.match(r"-[a-zA-Z]", one)), "")
    return "n" in letters.split("e")[0] or "--dry-run" in options
