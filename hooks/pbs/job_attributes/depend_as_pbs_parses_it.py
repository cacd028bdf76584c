"""The jobs that a ``depend`` names, of which kind, and at which server, read as PBS's server reads the text.

PBS's commands write it in one form. Its server accepts more of them from other programs (spaces, line breaks, empty
ends, several ``@``), so what judges a ``depend`` must read it by the server's own rules (``decode_depend``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

ON = "on"
RUNONE = "runone"
BEFORE = ("before", "beforeok", "beforenotok", "beforeany")
_AFTER = ("after", "afterok", "afternotok", "afterany")
_KINDS = frozenset({ON, RUNONE, *BEFORE, *_AFTER})
_SPACE = " \t\v\f\r\n"
_BETWEEN_JOBS = re.compile(r"(?<!\\):")


class NamedJob(NamedTuple):
    """A job that a ``depend`` names. ``server``: where PBS looks for it, by what follows ``@``, else by the job's id.
    ``length``: characters of the longer of the two names, as written."""

    kind: str
    job_id: str
    server: str
    length: int


def find_mirror(kind: str) -> str:
    """The kind that the named job gets when this ``before`` kind is registered: ``afterok`` for ``beforeok``."""
    return _AFTER[BEFORE.index(kind)]


def find_kinds(depend: str) -> set[str]:
    """The kinds of dependencies in a text."""
    return {part.partition(":")[0] for part in _split(depend)}


def find_named_jobs(depend: str) -> Iterator[NamedJob]:
    """The jobs, in their order, up to where PBS cannot read the text: for that it refuses the whole."""
    for part in _split(depend):
        kind, _, named = part.partition(":")
        if kind not in _KINDS or not named:
            return
        if kind == ON:
            continue
        words = _BETWEEN_JOBS.split(named)
        if not words[-1]:
            words.pop()
        for word in words:
            found = _read_job(kind, word)
            if found is None:
                return
            yield found


def _split(depend: str) -> Iterator[str]:
    """The parts between commas and line breaks; a comma after a backslash separates nothing, unless it begins a
    part."""
    at = 0
    while at < len(depend):
        while at < len(depend) and depend[at] in _SPACE and depend[at] != "\n":
            at += 1
        begin = at
        while at < len(depend) and depend[at] != "\n":
            if depend[at] == "," and (at == begin or depend[at - 1] != "\\"):
                break
            at += 1
        yield depend[begin:at].rstrip(_SPACE)
        at += 1


def _read_job(kind: str, word: str) -> NamedJob | None:
    r"""A job as ``id``, or ``id@server``, in which ``\:`` stands for a colon. Of several servers the last counts; an
    empty one is none. None if PBS could not say which server the job is at."""
    names = word.split("@")
    length = max(len(name.encode("utf-8", "surrogateescape")) for name in names)
    job_id, *servers = (name.replace("\\:", ":") for name in names)
    server = servers[-1] if servers else ""
    if not server:
        _, dot, server = job_id.partition(".")
        if not dot:
            return None
    return NamedJob(kind, job_id, server, length)
