"""The reader for the console: a program under PBS's own Python that answers each line of JSON with lines of JSON.

README.md has its requests and answers. Usage: PYTHON -I answer_console_by_json_lines.py PBS_EXEC
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO


def serve(pbs_ifl: Any, requests: TextIO, answers: TextIO) -> None:
    """Answer requests until there are no more. Each has a connection of its own, so it survives a restart of the
    server."""
    # Only importable once the path is set.
    from hooks.pbs.client.pbs_ifl_client import Connection, IflError  # noqa: PLC0415
    from hooks.reader.answer_lines import answer_lines  # noqa: PLC0415
    from hooks.reader.status_differences import Differences  # noqa: PLC0415

    differences = Differences()

    def status(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        with Connection(pbs_ifl) as connection:
            yield from differences.answer(connection, time.time(), whole=request.get("whole") is True)

    def ended(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        since_s = float(request["since_s"])
        with Connection(pbs_ifl) as connection:
            yield {"ended": connection.read_ended(since_s)}

    def used(_request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        with Connection(pbs_ifl) as connection:
            yield {"used": connection.read_used()}

    wants = {"status": status, "ended": ended, "used": used}
    answer_lines(wants, (IflError,), differences.forget, requests, answers)


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
        from hooks.reader.answer_lines import NO_LIBRARY  # noqa: PLC0415 - only importable once the path is set

        sys.stdout.write(json.dumps({"error": f"{NO_LIBRARY}: pbs_ifl below {arguments[0]}: {error}"}) + "\n")
        return 1
    serve(pbs_ifl, sys.stdin, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
