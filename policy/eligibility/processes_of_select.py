"""How many processes the chunks of a job start, read from its ``select`` as PBS's ``pbs_mom`` reads it.

Each host of a job keeps an entry for each process of the whole job: the number of chunks times ``mpiprocs``, or one for
each chunk that names none. ``pbs_mom`` sums them in 32 bits, and writes beyond the end of its memory if the sum is
larger.
"""

from __future__ import annotations

import math
import re

_CHUNK = re.compile(r"""(?:[^+)"']|"[^"]*(?:"|$)|'[^']*(?:'|$))*""")
_COUNT = re.compile(r"[\s(]*([0-9]+)\s*(?:[:#]|$)")
_PROCESSES = re.compile(r"""mpiprocs\s*=\s*["']?\s*([^:+"'\s]*)""", re.IGNORECASE)
_MOST_DIGITS = 10


def count_processes(select: str) -> float:
    """The processes of a ``select``; infinite where a number has more than 32 bits or is none.

    PBS ends a chunk at ``+`` outside quotes, and at ``)``, of which it drops the next character.
    """
    total, at = 0.0, 0
    while at <= len(select):
        found = _CHUNK.match(select, at)
        end = at if found is None else found.end()
        chunk = select[at:end]
        processes = max(map(read_count, _PROCESSES.findall(chunk)), default=1.0)
        total += count_chunks(chunk) * max(1.0, processes)
        at = end + (2 if select[end : end + 1] == ")" else 1)
    return total


def hides_processes(text: str) -> bool:
    """Whether the text of a resource beside the chunks could name processes in a chunk of its own: PBS makes a chunk of
    such resources, and puts quotes around their texts whatever quotes these have."""
    return ("'" in text or '"' in text) and "mpiprocs" in text.lower()


def count_chunks(chunk: str) -> float:
    """The number that stands before a chunk, or 1."""
    found = _COUNT.match(chunk)
    return 1.0 if found is None else max(1.0, read_count(found.group(1)))


def read_count(number: str) -> float:
    """A number; infinite for one of more than 32 bits, and for what is none."""
    if not (number.isascii() and number.isdigit()) or len(number.lstrip("0")) > _MOST_DIGITS:
        return math.inf
    return float(number)
