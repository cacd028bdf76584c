"""The reader process: ``hooks/reader.py`` under PBS's own Python, one line of JSON asked, one answered.

It is started on the first question, asked one question at a time within a time limit, and started again where it died.
Which Python can load pbs_ifl is found out by trying: PBS's own, the system's, and the console's.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hooks.reader
from hooks.picture import Picture
from tui.core.pbs_place import PbsPlace
from tui.core.source import SourceError

TIMEOUT_S = 60.0
_CHUNK = 1 << 20
_NO_LIBRARY = "pbs_ifl below"


class ReaderUnusableError(Exception):
    """No Python on this host can load PBS's library; pictures have to come from PBS's programs."""


class _EndedError(Exception):
    """The process ended; before its first answer that means that this Python will not do."""


class Reader:
    """The reader of one installed PBS."""

    def __init__(self, place: PbsPlace, timeout_s: float = TIMEOUT_S) -> None:
        self._place = place
        self._timeout_s = timeout_s
        self._pythons = pythons(place)
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._answered = False

    def picture(self) -> Picture:
        """One picture. Raises :class:`SourceError`, or :class:`ReaderUnusableError` where no Python will do."""
        while True:
            try:
                answer = self._ask({"want": "picture"})
            except _EndedError as ended:
                if self._answered or self._closed:
                    raise SourceError(str(ended)) from ended
                self._pythons.pop(0)
                continue
            error = answer.get("error")
            if isinstance(error, str) and error.startswith(_NO_LIBRARY):
                self._end()
                self._pythons.pop(0)
                continue
            self._answered = True
            if error is not None:
                raise SourceError(str(error))
            try:
                return Picture.from_data(answer["picture"])
            except (KeyError, TypeError, ValueError) as problem:
                raise SourceError(
                    f"the reader's answer cannot be used: {type(problem).__name__}: {problem}"
                ) from problem

    def ended(self, since_s: float) -> dict[str, dict[str, str]]:
        """The jobs that ended since then. Raises :class:`SourceError`."""
        try:
            answer = self._ask({"want": "ended", "since_s": since_s})
        except (_EndedError, ReaderUnusableError) as ended:
            raise SourceError(str(ended) or "no reader") from ended
        found = answer.get("ended") if isinstance(answer, dict) else None
        if not isinstance(found, dict):
            raise SourceError(str(answer.get("error", "the reader's answer cannot be used")))
        return found

    def close(self) -> None:
        """End the process; a question under way ends with :class:`SourceError`."""
        self._closed = True
        self._end()

    def _ask(self, question: Mapping[str, object]) -> Any:
        if self._closed:
            raise SourceError("the reader was ended")
        process = self._running()
        assert process.stdin is not None  # noqa: S101 - opened with a pipe
        try:
            # One that has ended may have left an answer that says why.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(question).encode("ascii") + b"\n")
                process.stdin.flush()
            line = self._line(process)
        except OSError as error:
            self._end()
            raise _EndedError(f"the reader ended: {error.strerror}") from error
        try:
            return json.loads(line)
        except ValueError as error:
            self._end()
            raise SourceError(f"the reader answered what is not JSON: {error}") from error

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        assert process.stdout is not None  # noqa: S101 - opened with a pipe
        descriptor = process.stdout.fileno()
        deadline_s = time.monotonic() + self._timeout_s
        parts: list[bytes] = []
        while True:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline_s - time.monotonic()))
            if not ready:
                self._end()
                raise SourceError(f"the server did not answer within {self._timeout_s:g} s")
            part = os.read(descriptor, _CHUNK)
            if not part:
                self._end()
                raise _EndedError("the reader ended without an answer")
            parts.append(part)
            if part.endswith(b"\n"):
                return b"".join(parts)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        while self._pythons:
            argv = [self._pythons[0], "-I", str(Path(hooks.reader.__file__).resolve()), str(self._place.exec_path)]
            environment = {**os.environ, **({"PBS_SERVER": self._place.server} if self._place.server else {})}
            try:
                self._process = subprocess.Popen(
                    argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
                )
            except OSError:
                self._pythons.pop(0)
                continue
            return self._process
        raise ReaderUnusableError

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()


def pythons(place: PbsPlace) -> list[str]:
    """The Pythons to try, PBS's own first."""
    candidates = [str(place.exec_path / "python" / "bin" / "python3"), "/usr/bin/python3", sys.executable]
    return [python for python in dict.fromkeys(candidates) if os.access(python, os.X_OK)]
