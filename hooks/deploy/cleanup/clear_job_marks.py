"""Removes what passes wrote on jobs: a program under PBS's own Python, for when no more passes run.

It needs one connection, where PBS's commands need a process for each job and cannot alter a mark; ../README.md has its
three words and what it prints.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from hooks.checkpoint.victims.saving_jobs_need_epilogue_hook import find_savers
from hooks.pbs.client.pbs_ifl_client import Connection, IflError
from hooks.pbs.job_attributes.job_comment_format import is_own_comment
from hooks.pbs.job_attributes.victim_mark import MARK_ATTRIBUTE, MARK_KEY, is_own_mark

_FIND, _CLEAR, _SAVING = "find", "clear", "saving"
_RUN = ("job_state", "stime", MARK_ATTRIBUTE)
_LONGEST_S = 40.0
"""The time limit for clearing: the caller waits for a minute."""


def has_own_comment(texts: Mapping[str, str]) -> bool:
    """Whether a job's comment is one that a pass wrote."""
    return is_own_comment(texts.get("comment", ""))


def has_own_mark(texts: Mapping[str, str]) -> bool:
    """Whether a job has a pass's mark, readable or not."""
    return is_own_mark(texts.get(MARK_KEY, ""))


def find_marked_jobs(connection: Connection) -> dict[str, Mapping[str, str]]:
    """The jobs with a comment or a mark of ours, with their attributes."""
    jobs = connection.read_jobs(("comment", MARK_ATTRIBUTE))
    return {job_id: texts for job_id, texts in jobs.items() if has_own_comment(texts) or has_own_mark(texts)}


def clear_marked_jobs(connection: Connection, longest_s: float = _LONGEST_S) -> dict[str, Any]:
    """Remove comment and mark of these jobs, for so many seconds at most; returns how many jobs are clear now, how many
    are not, and a reason."""
    deadline_s = time.monotonic() + longest_s
    cleared, why = 0, ""
    found = find_marked_jobs(connection)
    for job_id, texts in found.items():
        if time.monotonic() > deadline_s:
            why = f"there was no time for more within {longest_s:g} s"
            break
        try:
            if has_own_comment(texts):
                connection.set_comment(job_id, "")
            if has_own_mark(texts):
                connection.set_mark(job_id, "")
            cleared += 1
        except IflError as error:
            why = str(error)
    return {"cleared": cleared, "left": len(found) - cleared, "why": why}


def main(arguments: list[str]) -> int:
    """Import pbs_ifl from below PBS_EXEC, and run the command."""
    if len(arguments) != 2 or arguments[1] not in (_FIND, _CLEAR, _SAVING):
        sys.stderr.write(f"usage: clear_job_marks.py PBS_EXEC {_FIND}|{_CLEAR}|{_SAVING}\n")
        return 2
    sys.path.append(str(Path(arguments[0]) / "lib" / "python" / "altair"))
    try:
        import pbs_ifl  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - it is below PBS_EXEC

        with Connection(pbs_ifl) as connection:
            reply = _do(connection, arguments[1])
    except (ImportError, IflError) as error:
        reply = {"error": str(error)}
    sys.stdout.write(json.dumps(reply) + "\n")
    return 0


def _do(connection: Connection, what: str) -> dict[str, Any]:
    if what == _SAVING:
        return {_SAVING: find_savers(connection.read_jobs(_RUN), time.time())}
    return clear_marked_jobs(connection) if what == _CLEAR else {"jobs": list(find_marked_jobs(connection))}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
