"""Bounds on ``-l nodes=``, the old form of chunks, which PBS's server turns into a ``select`` without a check.

It copies each number and each name into a field of 80 characters, and multiplies in 32 bits: a longer text, or a
product that becomes 0, ends the server.
"""

from __future__ import annotations

import re

from policy.eligibility.processes_of_select import count_chunks, read_count

_WORD_ENDS = re.compile(r"[:+#/]")
_LONGEST_WORD = 79
_PROCESSES = re.compile(r"ppn=([^:+#]*)", re.IGNORECASE)
_CORES = re.compile(r"(?:cpp|ncpus)=([^:+#]*)", re.IGNORECASE)


def find_unsafe_nodes(nodes: str) -> str:
    """The message where a word of a ``nodes`` text is too long for PBS; empty where none is."""
    longest = max((len(word.encode("utf-8", "surrogateescape")) for word in _WORD_ENDS.split(nodes)), default=0)
    if longest > _LONGEST_WORD:
        return f"its nodes have a number or a name of {longest:,} characters; allowed are {_LONGEST_WORD}"
    return ""


def count_cores_of_nodes(nodes: str) -> float:
    """The cores of a ``nodes`` text such as ``2:ppn=4+node7:ppn=2:cpp=3#shared``, no fewer than its processes; infinite
    where a number has more than 32 bits or is none."""
    chunks, _, of_all = nodes.partition("#")
    return sum(
        count_chunks(chunk) * _most(_PROCESSES, chunk, of_all) * _most(_CORES, chunk, of_all)
        for chunk in chunks.split("+")
    )


def _most(number: re.Pattern[str], chunk: str, of_all: str) -> float:
    """The largest number of its kind in the chunk and in what follows ``#``, which counts for each chunk."""
    return max([1.0, *map(read_count, number.findall(chunk)), *map(read_count, number.findall(of_all))])
