"""The console's eyes: a program under PBS's own Python that answers each line of JSON with a line of JSON.

``{"want": "picture"}`` is answered with ``{"picture": {...}, "read_s": 0.31}``, ``{"want": "ended", "since_s": 0}``
with ``{"ended": {...}}`` (the jobs of the history that ended since), anything that goes wrong with
``{"error": "..."}``; the end of the input ends it. It runs apart from the console because pbs_ifl fits only PBS's own
Python, and holds up everything in its process while the server answers.

Usage: PYTHON -I reader.py PBS_EXEC
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, TextIO

_WANTS = ("picture", "ended")


def serve(pbs_ifl: Any, requests: TextIO, answers: TextIO) -> None:
    """Answer requests until there are no more. Each has a connection of its own, so a restarted server is no matter."""
    for line in requests:
        answers.write(json.dumps(_answer(pbs_ifl, line)) + "\n")
        answers.flush()


def _answer(pbs_ifl: Any, line: str) -> dict[str, Any]:
    from hooks.ifl import Connection, IflError  # noqa: PLC0415 - only importable once the path is set

    begun_s = time.monotonic()
    try:
        request = json.loads(line)
        want = request["want"]
        if want not in _WANTS:
            return {"error": f"want {want!r}; allowed is {' or '.join(map(repr, _WANTS))}"}
        if want == "ended":
            since_s = float(request["since_s"])
            with Connection(pbs_ifl) as connection:
                return {"ended": connection.read_ended(since_s)}
        with Connection(pbs_ifl) as connection:
            picture = connection.read_picture(time.time())
    except IflError as error:
        return {"error": str(error)}
    except (ValueError, KeyError, TypeError) as error:
        return {"error": f"cannot read the request {line[:80]!r}: {error}"}
    return {"picture": picture.to_data(), "read_s": time.monotonic() - begun_s}


def main(arguments: list[str]) -> int:
    """Find pbs_ifl below PBS_EXEC, and serve standard input."""
    if len(arguments) != 1:
        sys.stderr.write("usage: reader.py PBS_EXEC\n")
        return 2
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
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
