"""The reader for the console: a program under PBS's own Python that answers each line of JSON with lines of JSON.

``{"want": "status"}`` is answered with the lines of :mod:`hooks.reader.status_differences`; the last one has
``read_s``, the seconds that the answer took. With ``"whole": true`` the answer is whole.
``{"want": "ended", "since_s": 0}`` is answered with ``{"ended": {...}}``: the jobs of the history that ended since.
``{"want": "used"}`` is answered with ``{"used": {...}}``: the ``resources_used`` of the jobs that run.
An error is answered with ``{"error": "..."}``. The end of the input ends the program. It is a process apart from the
console, since pbs_ifl works only with PBS's own Python and blocks its whole process while the server answers.

Usage: PYTHON -I answer_console_by_json_lines.py PBS_EXEC
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from hooks.reader.status_differences import Differences

_WANTS = ("status", "ended", "used")


def serve(pbs_ifl: Any, requests: TextIO, answers: TextIO) -> None:
    """Answer requests until there are no more. Each has a connection of its own, so it survives a restart of the
    server."""
    from hooks.reader.status_differences import Differences  # noqa: PLC0415 - only importable once the path is set

    differences = Differences()
    for line in requests:
        for part in _answer(pbs_ifl, differences, line):
            answers.write(json.dumps(part) + "\n")
        answers.flush()


def _answer(pbs_ifl: Any, differences: Differences, line: str) -> Iterator[dict[str, Any]]:
    from hooks.pbs.pbs_ifl_client import Connection, IflError  # noqa: PLC0415 - as above

    begun_s = time.monotonic()
    try:
        request = json.loads(line)
        want = request["want"]
        if want not in _WANTS:
            yield {"error": f"want {want!r}; allowed is {' or '.join(map(repr, _WANTS))}"}
            return
        if want == "ended":
            since_s = float(request["since_s"])
            with Connection(pbs_ifl) as connection:
                yield {"ended": connection.read_ended(since_s)}
            return
        if want == "used":
            with Connection(pbs_ifl) as connection:
                yield {"used": connection.read_used()}
            return
        whole = request.get("whole") is True
        with Connection(pbs_ifl) as connection:
            for part in differences.answer(connection, time.time(), whole=whole):
                last = {"read_s": time.monotonic() - begun_s} if "rest" in part else {}
                yield {**part, **last}
    except IflError as error:
        differences.forget()
        yield {"error": str(error)}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        differences.forget()
        yield {"error": f"cannot read the request {line[:80]!r}: {error}"}


def main(arguments: list[str]) -> int:
    """Find pbs_ifl below PBS_EXEC, and serve standard input."""
    if len(arguments) != 1:
        sys.stderr.write("usage: answer_console_by_json_lines.py PBS_EXEC\n")
        return 2
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    sys.path.append(str(Path(arguments[0]) / "lib" / "python" / "altair"))
    try:
        import pbs_ifl  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - it is below PBS_EXEC
    except ImportError as error:
        sys.stdout.write(json.dumps({"error": f"pbs_ifl below {arguments[0]}: {error}"}) + "\n")
        return 1
    serve(pbs_ifl, sys.stdin, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
