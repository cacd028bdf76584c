"""Shows many names of vnodes as ranges: ``n[001-003,007] login``.

A range joins consecutive numbers of equal zero padding between the same texts; the number is the last one before the
first dot, so that ``n1.hpc.example.org`` has one. Names that have brackets already, such as the vnodes ``n1[0]`` of a
multi-vnode host, stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_NUMBERED = re.compile(r"([^.\[\]]*?)([0-9]{1,18})([^0-9.\[\]]*(?:\.[^\[\]]*)?)", re.DOTALL)
_LAST_NUMBER = re.compile(r"^(.*?)(\d+)$", re.DOTALL)


class _Run(NamedTuple):
    """Names that share a range: the texts around the number, and its first and last digits."""

    before: str
    after: str
    first: str
    last: str
    names: int

    def joined(self, other: _Run) -> _Run | None:
        """The run with the next name; None if that does not continue it."""
        follows = (
            (self.before, self.after) == (other.before, other.after)
            and bool(self.first and other.first)
            and int(other.first) == int(self.last) + 1
            and len(other.first) == len(str(int(other.first)).zfill(len(self.last)))
        )
        return self._replace(last=other.last, names=self.names + 1) if follows else None

    @property
    def numbers(self) -> str:
        """``001-003``, or ``007``."""
        return self.first if self.names == 1 else f"{self.first}-{self.last}"


def folded_names(names: Iterable[str], most: int = 3) -> str:
    """The names as ranges; after ``most`` ranges or single names only the number of further names."""
    runs: list[_Run] = []
    for run in sorted(map(_run_of, names), key=_in_order):
        longer = runs[-1].joined(run) if runs else None
        if longer is None:
            runs.append(run)
        else:
            runs[-1] = longer
    groups: dict[tuple[str, str, bool], list[_Run]] = {}
    for run in runs[:most]:
        groups.setdefault((run.before, run.after, bool(run.first)), []).append(run)
    more = sum(run.names for run in runs[most:])
    return " ".join(map(_show, groups.values())) + (f" and {more:,} more" if more else "")


def few_names(names: Iterable[str]) -> str:
    """The names in at most two ranges, for a cell of a table."""
    return folded_names(names, 2)


def _run_of(name: str) -> _Run:
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return _Run(name, "", "", "", 1)
    before, digits, after = match.groups()
    return _Run(before, after, digits, digits, 1)


def _in_order(run: _Run) -> tuple[str, str, int, str]:
    return (run.before, run.after, int(run.first or -1), run.first)


def _show(runs: list[_Run]) -> str:
    first = runs[0]
    numbers = ",".join(run.numbers for run in runs)
    is_one = len(runs) == 1 and first.names == 1
    return f"{first.before}{numbers}{first.after}" if is_one else f"{first.before}[{numbers}]{first.after}"


def natural(name: str) -> tuple[str, int, str]:
    """A sort key that orders ``v9`` before ``v10``."""
    match = _LAST_NUMBER.match(name)
    return (match.group(1), int(match.group(2)), name) if match else (name, -1, name)
