"""Validates a submission, the fields of a request as ``mgsub`` leaves them, and makes its record."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from migration.as_user.user_files.folder_tree_listing import find_home_problem
from migration.config.cluster_file import ClusterFile
from migration.spool.record_as_key_value_line import LineError, read_fields, to_line
from policy.migration.job_demand import find_demand_problem
from policy.migration.job_record_and_copy_updates import ANY, LOCAL, Record

FIELDS = frozenset(
    (
        "want", "name", "dir", "prog", "args", "env", "cores", "nodes", "mem", "gpus", "walltime", "build", "shared",
        "exclude", "nostage",
    )
)  # fmt: skip
"""The fields of a record that its user chooses."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[^\0]*", re.DOTALL)
_NUMBERS = ("cores", "nodes", "mem", "gpus", "walltime")
_MOST = 10**9
_MOST_BYTES = 48 << 10
"""The length that every cluster accepts, with all that it adds itself."""


class SubmissionError(ValueError):
    """A request that cannot be taken; the message names the field, the value and what is allowed."""


def read_submission(pairs: Mapping[str, str], user: str, file: ClusterFile, number: int) -> Record:
    """The request of line ``number``, without an id. Raises :class:`SubmissionError`."""
    try:
        fields, more = read_fields({name: value for name, value in pairs.items() if name not in ("v", "do")})
        return make_submission({**fields, **more}, user, file)
    except (LineError, SubmissionError) as error:
        raise SubmissionError(f"line {number}: {error}") from error


def make_submission(fields: Mapping[str, Any], user: str, file: ClusterFile) -> Record:
    """The request that these fields make, without an id. Raises :class:`SubmissionError`."""
    for name in fields:
        if name not in FIELDS:
            raise SubmissionError(f"{name}: is not for the user to choose")
    this = file.this
    record = Record(**{"user": user, "src": this.name, "arch": this.arch, **fields})
    if not record.walltime:
        record = replace(record, walltime=file.here.default_walltime_s)
    problem = _find_problem(record, file)
    if problem:
        raise SubmissionError(problem)
    try:
        length = len(to_line(record))
    except LineError as error:
        raise SubmissionError(str(error)) from error
    if length > _MOST_BYTES:
        raise SubmissionError(f"the request has {length:,} bytes: at most {_MOST_BYTES:,} are allowed")
    return record


def _find_problem(record: Record, file: ClusterFile) -> str:
    texts = (record.dir, record.prog, *record.args, *record.env, *record.build, *record.shared, *record.exclude)
    if any("\0" in text for text in (*texts, *record.nostage)):
        return "no text may contain a NUL"
    if not record.walltime:
        return "walltime: missing, and this site sets no default: give -w HH:MM:SS"
    for name in _NUMBERS:
        if getattr(record, name) > _MOST:
            return f"{name} {getattr(record, name)}: at most {_MOST}"
    if record.name and not _NAME.fullmatch(record.name):
        return f"name {record.name!r:.80}: letters, digits, _ . and -, at most 63, the first a letter or digit"
    if not record.prog:
        return "no program is named"
    for setting in record.env:
        if not _VARIABLE.fullmatch(setting):
            return f"environment {setting!r:.80}: must be NAME=VALUE"
    return (
        find_demand_problem(record.cores, record.nodes, record.mem, record.gpus, record.walltime)
        or _find_target_problem(record.want, file)
        or _find_folder_problem("folder", record.dir, file.here.allowed_roots)
        or find_home_problem(record.dir, _find_home(record.user))
        or next(filter(None, (_find_folder_problem("shared file", path, _shares(file)) for path in record.shared)), "")
    )


def _find_target_problem(want: str, file: ClusterFile) -> str:
    names = [file.this.name, *file.placing.order]
    if want in (ANY, LOCAL, *names):
        return ""
    return f"target {want!r:.80}: must be {ANY}, {LOCAL} or one of {', '.join(names)}"


def _find_home(user: str) -> str:
    """The user's home as the system has it, links and all: the folder's owner looks at where they lead (the survey)."""
    try:
        return os.path.normpath(pwd.getpwnam(user).pw_dir)
    except KeyError:
        return "/nonexistent"


def _shares(file: ClusterFile) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*file.here.share_roots, *file.here.allowed_roots)))


def _find_folder_problem(what: str, path: str, roots: tuple[str, ...]) -> str:
    """Whether a path is absolute, plain, and below one of the folders."""
    parts = path.split("/")
    if parts[0] or len(parts) < 2 or any(part in ("", ".", "..") for part in parts[1:]):
        return f"{what} {path!r:.200}: must be an absolute path without . or .. parts"
    if any(path.startswith(f"{root}/") for root in roots):
        return ""
    return f"{what} {path!r:.200}: must be below one of {', '.join(roots)} (cluster.toml, [here])"
