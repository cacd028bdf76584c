"""The filter line, ``user:alice state:Q ncpus:>64 !queue:gpu text``: parsed once, then asked row by row.

Every term must hold. ``field:text`` looks for the text in that field (``*`` stands for anything, and then the whole
field must match), ``field:>number`` compares (also ``>=``, ``<``, ``<=``, ``=``), a plain text may be in any field,
and ``!`` in front of a term turns it round. Case never matters.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar, Union

from tui.core.durations import parse_span_s

Value = Union[str, int, float, None]
Row = TypeVar("Row")
Fields = Mapping[str, Callable[[Row], Value]]

_TERM = re.compile(r'(!?)(?:([A-Za-z_]+):)?(>=|<=|>|<|=)?(?:"([^"]*)"|(\S+))')
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    "=": lambda value, bound: value == bound,
}


class FilterError(ValueError):
    """A filter that cannot be read; the message names the term and what is allowed."""


@dataclass(frozen=True)
class Filter(Generic[Row]):
    """A filter over rows: ``text`` as it was typed, and the test that it stands for."""

    text: str
    tests: tuple[Callable[[Row], bool], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tests)

    def holds(self, row: Row) -> bool:
        """True where every term holds."""
        return all(test(row) for test in self.tests)

    def of(self, rows: Iterable[Row]) -> list[Row]:
        """The rows that pass, in their order."""
        return [row for row in rows if self.holds(row)]


def parse_filter(text: str, fields: Fields[Row]) -> Filter[Row]:
    """Read a filter over these fields. Raises :class:`FilterError`."""
    tests = []
    position = 0
    for match in _TERM.finditer(text):
        if text[position : match.start()].strip():
            raise FilterError(f"filter: cannot read {text[position : match.start()].strip()!r}")
        position = match.end()
        negated, name, comparison, quoted, word = match.groups()
        tests.append(_test(name, comparison, quoted if quoted is not None else word, fields, bool(negated)))
    if text[position:].strip():
        raise FilterError(f"filter: cannot read {text[position:].strip()!r}")
    return Filter(text.strip(), tuple(tests))


def _test(
    name: str | None, comparison: str | None, wanted: str, fields: Fields[Row], negated: bool
) -> Callable[[Row], bool]:
    if name is None:
        if comparison:
            wanted = comparison + wanted
        test = _anywhere(wanted, fields)
    else:
        value_of = fields.get(name.lower())
        if value_of is None:
            raise FilterError(f"filter: no field {name!r} here; there are {', '.join(fields)}")
        test = _compare(value_of, name, comparison, wanted) if comparison else _contains(value_of, wanted)
    return (lambda row: not test(row)) if negated else test


def _anywhere(wanted: str, fields: Fields[Row]) -> Callable[[Row], bool]:
    tests = [_contains(value_of, wanted) for value_of in fields.values()]
    return lambda row: any(test(row) for test in tests)


def _contains(value_of: Callable[[Row], Value], wanted: str) -> Callable[[Row], bool]:
    lowered = wanted.lower()
    if "*" in lowered:
        matches = re.compile(fnmatch.translate(lowered)).match
        return lambda row: matches(_text(value_of(row))) is not None

    def contains(row: Row) -> bool:
        value = value_of(row)
        return str(value) == lowered if isinstance(value, int) else lowered in _text(value)

    return contains


def _text(value: Value) -> str:
    return "" if value is None else str(value).lower()


def _compare(value_of: Callable[[Row], Value], name: str, comparison: str, wanted: str) -> Callable[[Row], bool]:
    try:
        bound = float(wanted.replace(",", ""))
    except ValueError:
        try:
            bound = parse_span_s(wanted)
        except ValueError:
            if comparison == "=":
                return lambda row: _text(value_of(row)) == wanted.lower()
            raise FilterError(
                f"filter: {name}:{comparison}{wanted}: {wanted!r} is no number and no time like 2h or 12:00:00"
            ) from None
    holds = _COMPARISONS[comparison]

    def compare(row: Row) -> bool:
        value = value_of(row)
        return isinstance(value, (int, float)) and holds(value, bound)

    return compare
