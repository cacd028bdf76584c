"""Answers each line of JSON with lines of JSON: the loop of a process that reads a server for the console.

A request has ``want``, which names its answer; the last part of a status has ``read_s``, the seconds that it took. An
error is answered with ``{"error": "..."}``, and the end of the input ends the loop.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, Callable, TextIO

NO_LIBRARY = "no library"
"""The beginning of the error with which a reader says that its Python cannot load the server's library."""

Part = dict[str, Any]
Answers = Mapping[str, Callable[[Mapping[str, Any]], Iterator[Part]]]
"""By ``want``, the parts of its answer to a request."""


def answer_lines(
    wants: Answers,
    refusals: tuple[type[Exception], ...],
    forget: Callable[[], None],
    requests: TextIO,
    answers: TextIO,
) -> None:
    """Answer requests until there are no more. ``refusals`` are the errors with which a server refuses; after any
    error ``forget`` is called, since the answer was not sent to its end."""
    for line in requests:
        for part in _answer(wants, refusals, forget, line):
            answers.write(json.dumps(part) + "\n")
        answers.flush()


def _answer(
    wants: Answers, refusals: tuple[type[Exception], ...], forget: Callable[[], None], line: str
) -> Iterator[Part]:
    begun_s = time.monotonic()
    try:
        request = json.loads(line)
        want = request["want"]
        if want not in wants:
            yield {"error": f"want {want!r}; allowed is {' or '.join(map(repr, wants))}"}
            return
        for part in wants[want](request):
            last = {"read_s": time.monotonic() - begun_s} if "rest" in part else {}
            yield {**part, **last}
    except refusals as error:
        forget()
        yield {"error": str(error)}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        forget()
        yield {"error": f"cannot read the request {line[:80]!r}: {error}"}
