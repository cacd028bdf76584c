"""The source's end of a transfer: the commands that a job's key may run, and nothing else.

A command is checked against the job's own record. Only the options that our own transfers use are allowed, and the path
is always one that the record names, never one of the command.
"""

from __future__ import annotations

import json
import os.path
import re
import shlex
from urllib.parse import unquote_to_bytes

from migration.as_user.user_files.folder_tree_listing import PART, STAGE
from migration.config.cluster_file import Here
from migration.transfer.words_for_paths_at_source import JOB, NO_SETUID, SHARED, STAGED
from policy.migration.job_record_and_copy_updates import Record

_LETTERS = re.compile(r"-(?=.)[vlogDtprRncxiz]*(?:e[0-9]*\.[A-Za-z]*)?")
"""rsync's short options. With nothing after ``e`` rsync would take the next word for its value; a ``-`` alone is no
option, but the folder to which rsync changes."""
_LONG = re.compile(
    r"--(?:timeout=[0-9]{1,6}|bwlimit=[0-9]{1,9}|log-format=%i|out-format=%i|stats|partial-dir|dry-run|no-i-r"
    r"|no-inc-recursive|itemize-changes)"
)
_MOST = 10_000


class NotAllowedError(ValueError):
    """A command that the key of a job does not give; the message names the word."""


def read_command(command: str, record: Record, here: Here) -> list[str]:
    """The operation of the root helper that answers the command. Raises :class:`NotAllowedError`."""
    asked = {
        "dir": [record.dir], "allowed_roots": here.allowed_roots, "share_roots": here.share_roots,
        "exclude": record.exclude, "shared": record.shared,
    }  # fmt: skip
    if command == "mg survey":
        return ["survey", json.dumps(asked)]
    if command == "mg state":
        return ["state", record.dir]
    if command == "mg settle":
        return ["settle", record.dir, record.gid]
    words, is_shared = _read_rsync(command, record)
    return ["rsync-shared", json.dumps(asked), *words] if is_shared else ["rsync-server", *words]


def _read_rsync(command: str, record: Record) -> tuple[list[str], bool]:
    """The arguments of rsync's other end, and whether they are about a shared file."""
    try:
        words = shlex.split(command) if len(command) <= _MOST else []
    except ValueError:
        words = []
    if len(words) < 4 or words[:2] != ["rsync", "--server"] or words[-2] != ".":
        raise NotAllowedError(f"command {command!r:.60}: must be one of mg survey, state, settle, or rsync --server")
    options, word = words[2:-2], words[-1]
    sends = options[:1] == ["--sender"]
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
    dry = _is_dry(options)
    if not sends:
        # What arrives must not lead elsewhere: links are written so that nothing follows them before settle. Nor may it
        # run as the user whoever starts it, at any moment.
        options = options if dry else ["--munge-links", f"--chmod={NO_SETUID}", *options]
    path = _find_path(word, record, sends=sends, dry=dry)
    return ["--server", *options, ".", path], word.startswith(SHARED)


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
