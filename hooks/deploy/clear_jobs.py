"""What passes wrote on jobs, taken off again: a program under PBS's own Python, for when no pass will do it any more.

``traces.py PBS_EXEC find`` prints ``{"jobs": [...]}``, those that have a comment or a mark of ours; ``clear`` takes
both off and prints ``{"cleared": 3, "left": 0, "why": ""}``; ``saving`` prints ``{"saving": {"12.server":
1795207160}}``, who was asked to save and has time left, until when. PBS's commands cannot alter a mark, and need a
process for each job; this is one connection. What somebody else wrote stays. Anything that goes wrong is
``{"error": "..."}``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hooks.checkpoint.still_saving import find_savers
from hooks.pbs.client import Connection, IflError
from hooks.pbs.job_comment import is_own_comment
from hooks.pbs.job_mark import MARK_ATTRIBUTE, MARK_KEY, is_own_mark

_FIND, _CLEAR, _SAVING = "find", "clear", "saving"
_RUN = ("job_state", "stime", MARK_ATTRIBUTE)
_LONGEST_S = 40.0
"""How long clearing may take: the caller waits for a minute."""


def has_own_comment(texts: Mapping[str, str]) -> bool:
    """Whether a job's comment is one that a pass wrote."""
    return is_own_comment(texts.get("comment", ""))


def has_own_mark(texts: Mapping[str, str]) -> bool:
    """Whether a job has a mark of a pass, one that makes no sense too."""
    return is_own_mark(texts.get(MARK_KEY, ""))


def find_traces(connection: Connection) -> dict[str, Mapping[str, str]]:
    """The jobs with a comment or a mark of ours, with their attributes."""
    jobs = connection.read_jobs(("comment", MARK_ATTRIBUTE))
    return {job_id: texts for job_id, texts in jobs.items() if has_own_comment(texts) or has_own_mark(texts)}


def clear_traces(connection: Connection, longest_s: float = _LONGEST_S) -> dict[str, Any]:
    """Take them off, for so many seconds at most; how many jobs are clear now, and how many are not, with a reason."""
    deadline_s = time.monotonic() + longest_s
    cleared, why = 0, ""
    found = find_traces(connection)
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
    """Find pbs_ifl below PBS_EXEC, and do what is asked for."""
    if len(arguments) != 2 or arguments[1] not in (_FIND, _CLEAR, _SAVING):
        sys.stderr.write(f"usage: traces.py PBS_EXEC {_FIND}|{_CLEAR}|{_SAVING}\n")
        return 2
    sys.path.append(str(Path(arguments[0]) / "lib" / "python" / "altair"))
    try:
        import pbs_ifl  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - it is below PBS_EXEC

        with Connection(pbs_ifl) as connection:
            told = _do(connection, arguments[1])
    except (ImportError, IflError) as error:
        told = {"error": str(error)}
    sys.stdout.write(json.dumps(told) + "\n")
    return 0


def _do(connection: Connection, what: str) -> dict[str, Any]:
    if what == _SAVING:
        return {_SAVING: find_savers(connection.read_jobs(_RUN), time.time())}
    return clear_traces(connection) if what == _CLEAR else {"jobs": list(find_traces(connection))}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
