"""The reader process: a program of ``hooks/reader`` or ``torque/read`` that answers a line of JSON per request.

It starts at the first request, and again if it has died; which Python can load the manager's library is found by
trying. Lines are processed in small steps as they come, so that the console's other threads do not wait.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.reader.answer_lines import NO_LIBRARY
from hooks.reader.apply_status_differences import Assembly
from tui.backends.interface.backend_protocol import BackendError

TIMEOUT_S = 60.0
_CHUNK = 1 << 16
_LAST = frozenset({"rest", "ended", "used", "error"})
"""Keys that only the last line of a reply has."""


class ReaderUnusableError(Exception):
    """No Python on this host can load the manager's library; the server status must come from its programs."""


class _EndedError(Exception):
    """The process ended; before its first reply this means that its Python cannot be used."""


class _NoLibraryError(Exception):
    """This Python cannot load the library."""


class Reader:
    """The reader process of one server. ``command_lines`` are the ways to start it, tried in turn; ``environment`` is
    what it gets beside the console's own."""

    def __init__(
        self,
        command_lines: Sequence[Sequence[str]],
        environment: Mapping[str, str],
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._command_lines = list(command_lines)
        self._environment = environment
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._answered = False
        self._assembly = Assembly()

    def server_status(self) -> ServerStatus:
        """The server status. Raises :class:`BackendError`, or :class:`ReaderUnusableError` if no Python can be used."""
        deadline_s = self._deadline_s()
        while True:
            server_status = self._server_status_or_none(deadline_s)
            if server_status is not None:
                return server_status
            self._command_lines.pop(0)

    def _deadline_s(self) -> float:
        return time.monotonic() + self._timeout_s

    def _server_status_or_none(self, deadline_s: float) -> ServerStatus | None:
        """The server status; None if this Python cannot be used."""
        try:
            return self._asked_server_status(deadline_s)
        except _NoLibraryError:
            self._end()
        except _EndedError as ended:
            if self._answered or self._closed:
                raise BackendError(str(ended)) from ended
        return None

    def _asked_server_status(self, deadline_s: float) -> ServerStatus:
        """The server status from the differences to the last one; after any failure all of it is requested."""
        server_status = None
        try:
            for part in self._ask({"want": "status", "whole": self._assembly.is_empty}, deadline_s):
                error = part.get("error")
                if isinstance(error, str) and error.startswith(NO_LIBRARY):
                    raise _NoLibraryError
                self._answered = True
                if error is not None:
                    raise BackendError(str(error))
                server_status = self._assembly.take(part)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as problem:
            self._end()
            raise BackendError(f"the reader's answer cannot be used: {type(problem).__name__}: {problem}") from problem
        finally:
            if server_status is None:
                self._assembly.begin_anew()
        if server_status is None:
            raise BackendError("the reader's answer cannot be used: it has no end")
        return server_status

    def ended(self, since_s: float) -> dict[str, dict[str, str]]:
        """The jobs that ended since ``since_s`` (seconds since 1970). Raises :class:`BackendError`."""
        return self._found("ended", {"since_s": since_s})

    def used(self) -> dict[str, dict[str, str]]:
        """The ``resources_used`` of the jobs that run. Raises :class:`BackendError`."""
        return self._found("used", {})

    def _found(self, want: str, more: Mapping[str, object]) -> dict[str, dict[str, str]]:
        try:
            (answer,) = self._ask({"want": want, **more}, self._deadline_s())
        except (_EndedError, ReaderUnusableError) as ended:
            raise BackendError(str(ended) or "no reader") from ended
        found = answer.get(want)
        if not isinstance(found, dict):
            raise BackendError(str(answer.get("error", "the reader's answer cannot be used")))
        return found

    def close(self) -> None:
        """End the process; a request under way ends with :class:`BackendError`."""
        self._closed = True
        self._end()

    def _ask(self, question: Mapping[str, object], deadline_s: float) -> Iterator[dict[str, Any]]:
        """The lines of the reply, as they come."""
        if self._closed:
            raise BackendError("the reader was ended")
        process = self._running()
        assert process.stdin is not None  # noqa: S101 - opened with a pipe
        try:
            # A process that has ended may have left a reply that says why.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(question).encode("ascii") + b"\n")
                process.stdin.flush()
            for line in self._lines(process, deadline_s):
                part = dict(json.loads(line))
                yield part
                if not _LAST.isdisjoint(part):
                    return
        except OSError as error:
            self._end()
            raise _EndedError(f"the reader ended: {error.strerror}") from error
        except (ValueError, TypeError) as error:
            self._end()
            raise BackendError(f"the reader answered what is not JSON: {error}") from error

    def _lines(self, process: subprocess.Popen[bytes], deadline_s: float) -> Iterator[bytes]:
        """The reply's lines until the deadline. The pieces of a long line are joined once, at its end."""
        assert process.stdout is not None  # noqa: S101 - opened with a pipe
        descriptor = process.stdout.fileno()
        pieces: list[bytes] = []
        while True:
            left_s = deadline_s - time.monotonic()
            ready, _, _ = select.select([descriptor], [], [], max(0.0, left_s))
            if not ready or left_s < 0:
                self._end()
                raise BackendError(f"the server did not answer within {self._timeout_s:g} s")
            part = os.read(descriptor, _CHUNK)
            if not part:
                self._end()
                raise _EndedError("the reader ended without an answer")
            first, *others = part.split(b"\n")
            pieces.append(first)
            if others:
                yield b"".join(pieces)
                *lines, rest = others
                yield from lines
                pieces = [rest]

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        while self._command_lines:
            try:
                self._process = subprocess.Popen(
                    self._command_lines[0],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, **self._environment},
                )
            except OSError:
                self._command_lines.pop(0)
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
