"""The reader for the console on Torque: a program that answers each line of JSON with lines of JSON.

The requests and answers are those of :mod:`hooks.reader.answer_console_by_json_lines`. It is a process apart from the
console: the library keeps its error number in one variable, and blocks its whole process while the server answers.

Usage: PYTHON -I answer_console_by_json_lines.py LIBRARY SERVER TIMEOUT_S
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO


def serve(library: Any, server: str, requests: TextIO, answers: TextIO) -> None:
    """Answer requests until there are no more. Each has a connection of its own, which a time-out ends."""
    # Only importable once the path is set.
    from hooks.reader.answer_lines import answer_lines  # noqa: PLC0415
    from torque.read.believe_job_list import ReadingUser  # noqa: PLC0415
    from torque.read.libtorque_connection import TorqueConnection, TorqueError  # noqa: PLC0415
    from torque.read.status_differences_of_torque import TorqueDifferences  # noqa: PLC0415
    from torque.translate.jobs import read_ended_jobs, read_used  # noqa: PLC0415

    differences = TorqueDifferences(ReadingUser.this_process())

    def status(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        with TorqueConnection(library, server) as connection:
            yield from differences.answer(connection, time.time(), whole=request.get("whole") is True)

    def ended(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        since_s = float(request["since_s"])
        with TorqueConnection(library, server) as connection:
            yield {"ended": read_ended_jobs(connection.walk_jobs_in_state("C"), since_s, dict(connection.walk_nodes()))}

    def used(_request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        with TorqueConnection(library, server) as connection:
            found = ((job_id, read_used(texts)) for job_id, texts in connection.walk_jobs_in_state("R"))
            yield {"used": {job_id: texts for job_id, texts in found if texts}}

    answer_lines(
        {"status": status, "ended": ended, "used": used}, (TorqueError,), differences.forget, requests, answers
    )


def main(arguments: list[str]) -> int:
    """Load the library, and serve standard input."""
    if len(arguments) != 3 or not arguments[2].isdigit():
        sys.stderr.write("usage: answer_console_by_json_lines.py LIBRARY SERVER TIMEOUT_S\n")
        return 2
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from hooks.reader.answer_lines import NO_LIBRARY  # noqa: PLC0415 - only importable once the path is set
    from torque.read.libtorque_connection import LibraryMissingError, load_library, set_timeout  # noqa: PLC0415

    try:
        library = load_library(Path(arguments[0]))
    except LibraryMissingError as error:
        sys.stdout.write(json.dumps({"error": f"{NO_LIBRARY}: {error}"}) + "\n")
        return 1
    set_timeout(int(arguments[2]))
    serve(library, arguments[1], sys.stdin, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
