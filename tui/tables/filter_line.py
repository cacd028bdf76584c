"""The filter line, ``user:alice state:Q|H ncpus:>64 !queue:gpu text``: parsed, applied to each row, completed.

Its grammar is in docs/console.md; case is ignored, and a field with several values matches if one of them does.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar, Union

from policy.model.pbs_units import parse_size_kib
from tui.text.times_and_durations import parse_span_s
from tui.text.typed_numbers import parse_decimal

Value = Union[str, int, float, "tuple[str, ...]", None]
Row = TypeVar("Row")
Fields = Mapping[str, Callable[[Row], Value]]
Test = Callable[[Value], bool]


class SizeKib(int):
    """A size in KiB as a field's value: ``500m`` is compared with it as 500 MiB, with other numbers as 500 minutes."""


_ASKED_AFTER = 500
_LONGEST_WORD = 40
_HEAD = re.compile(r"(!?)(?:([A-Za-z_][\w.\[\]-]*):)?(>=|<=|>|<|=)?")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ALONE = re.compile(r"\S+")
_ONE_OF_SEVERAL = re.compile(r"[^\s|]+")
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
}


_NEGATION = "!"
_COMPARING = "<>="


class FilterError(ValueError):
    """A filter that cannot be parsed; the message names the term and what is allowed, ``start`` and ``end`` are its
    position in the text."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(f"filter: {message}")
        self.start, self.end = start, end


class _Word(NamedTuple):
    """A text to search for; ``quoted`` if all of its characters are literal."""

    text: str
    quoted: bool


class _Term(NamedTuple):
    """One parsed term: ``words`` are its alternatives, ``start`` and ``end`` its position in the text."""

    negated: bool
    field: str | None
    comparison: str | None
    words: tuple[_Word, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Filter(Generic[Row]):
    """A filter over rows: ``text`` as typed, and a test for each term."""

    text: str
    tests: tuple[Callable[[Row], bool], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tests)

    def holds(self, row: Row) -> bool:
        """Whether all terms match."""
        return all(test(row) for test in self.tests)

    def of(self, rows: Iterable[Row]) -> list[Row]:
        """The rows that match, in their order."""
        return [row for row in rows if self.holds(row)]

    def count(self, rows: Iterable[Row], stop: Callable[[], bool]) -> int | None:
        """The number of rows that match; None if ``stop``, called every few hundred rows, returns True."""
        counted = 0
        for number, row in enumerate(rows):
            if number % _ASKED_AFTER == 0 and stop():
                return None
            counted += self.holds(row)
        return counted


def quoted(text: str) -> str:
    """The text as a quoted filter value that matches it literally."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def parse_filter(
    text: str,
    fields: Fields[Row],
    more: Callable[[str], Callable[[Row], Value] | None] = lambda _: None,
    numbers: Collection[str] = (),
) -> Filter[Row]:
    """Parse a filter over these fields; ``more`` returns further fields by name.

    A text without a field is searched in ``fields`` except those in ``numbers``: it is never meant as the digits of an
    amount, and searching there would take most of the time. Raises :class:`FilterError`.
    """
    texts = {name: value_of for name, value_of in fields.items() if name not in numbers}
    return Filter(
        text.strip(),
        tuple(
            _row_test(term, _anywhere(term, texts) if term.field is None else _in_field(term, term.field, fields, more))
            for term in _terms(text)
        ),
    )


def _terms(text: str) -> Iterator[_Term]:
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        start = position
        head = _HEAD.match(text, position)
        negated, field, comparison = head.groups() if head else ("", None, None)
        position = head.end() if head else position
        words: list[_Word] = []
        while True:
            word, position = _word(text, start, position, several=field is not None)
            words.append(word)
            if field is None or text[position : position + 1] != "|":
                break
            position += 1
        if position < len(text) and not text[position].isspace():
            raise FilterError(f"{text[start:position]}: a blank is missing after the quote", position, position + 1)
        yield _Term(bool(negated), field, comparison, tuple(words), start, position)


def _word(text: str, start: int, position: int, *, several: bool) -> tuple[_Word, int]:
    """One word or quoted text of the term that begins at ``start``, and the position after it."""
    if text[position : position + 1] == '"':
        found = _QUOTED.match(text, position)
        if found is None:
            raise FilterError(f"{text[start:]}: the quote is not closed", start, len(text))
        return _Word(re.sub(r"\\(.)", r"\1", found.group(1)), True), found.end()
    found = (_ONE_OF_SEVERAL if several else _ALONE).match(text, position)
    if found is None:
        raise FilterError(f"{text[start:position]} needs a value", start, position)
    return _Word(found.group(), False), found.end()


def _row_test(term: _Term, test: Callable[[Row], bool]) -> Callable[[Row], bool]:
    return (lambda row: not test(row)) if term.negated else test


def _anywhere(term: _Term, fields: Fields[Row]) -> Callable[[Row], bool]:
    (word,) = term.words
    holds = _contains((term.comparison or "") + word.text, literal=word.quoted)
    values = list(fields.values())
    return lambda row: any(holds(value_of(row)) for value_of in values)


def _in_field(
    term: _Term, name: str, fields: Fields[Row], more: Callable[[str], Callable[[Row], Value] | None]
) -> Callable[[Row], bool]:
    found = fields.get(name.lower()) or more(name)
    if found is None:
        there = ", ".join(fields)
        raise FilterError(f"no field {name!r} here; there are {there}", term.start, term.end)
    value_of, tests = found, [_word_test(term, word) for word in term.words]
    if len(tests) == 1:
        test = tests[0]
        return lambda row: test(value_of(row))
    return lambda row: any(test(value) for value in (value_of(row),) for test in tests)


def _word_test(term: _Term, word: _Word) -> Test:
    if term.comparison is None:
        return _contains(word.text, literal=word.quoted)
    if term.comparison == "=":
        return _equals(word.text)
    return _compares(term, word.text)


def _contains(wanted: str, *, literal: bool) -> Test:
    lowered = wanted.lower()
    if "*" in lowered and not literal:
        matches = re.compile(fnmatch.translate(re.sub(r"([?\[])", r"[\1]", lowered))).match
        return lambda value: any(matches(text) for text in _texts(value))

    def contains(value: Value) -> bool:
        if isinstance(value, int):
            return str(value) == lowered
        return any(lowered in text for text in _texts(value))

    return contains


def _equals(wanted: str) -> Test:
    lowered, bounds = wanted.lower(), _Bounds.read(wanted)

    def equals(value: Value) -> bool:
        if isinstance(value, (int, float)):
            return value == bounds.of(value)
        return lowered in _texts(value)

    return equals


def _texts(value: Value) -> tuple[str, ...]:
    if isinstance(value, tuple):
        return tuple(text.lower() for text in value)
    return () if value is None else (str(value).lower(),)


def _compares(term: _Term, wanted: str) -> Test:
    bounds = _Bounds.read(wanted)
    if bounds == _Bounds(None, None):
        raise FilterError(
            f"{term.field}:{term.comparison}{wanted}: {wanted!r} is no number, no time like 2h or 12:00:00 and no size"
            " like 64gb",
            term.start,
            term.end,
        )
    holds = _COMPARISONS[term.comparison or ""]

    def compare(value: Value) -> bool:
        if not isinstance(value, (int, float)):
            return False
        bound = bounds.of(value)
        return bound is not None and holds(value, bound)

    return compare


class _Bounds(NamedTuple):
    """What a typed amount means: beside sizes, and beside numbers and durations; None where it has no such meaning."""

    size_kib: float | None
    number: float | None

    @staticmethod
    def read(text: str) -> _Bounds:
        """A number in the field's own unit; else a size, a duration, or what may be both."""
        number = parse_decimal(text)
        if number is not None:
            return _Bounds(number, number)
        size_kib, span_s = _read(parse_size_kib, text), _read(parse_span_s, text)
        return _Bounds(size_kib, size_kib if span_s is None else span_s)

    def of(self, value: float) -> float | None:
        """What the value of a field is compared with."""
        return self.size_kib if isinstance(value, SizeKib) else self.number


def _read(read: Callable[[str], float], text: str) -> float | None:
    try:
        return read(text)
    except ValueError:
        return None


def complete_filter(
    text: str, words: Mapping[str, Sequence[str]], values_of: Callable[[str], Sequence[str]]
) -> list[str]:
    """The possible completions of this line; ``words`` has the fields, ``values_of`` returns the values of one."""
    head, blank, last = text.rpartition(" ")
    if text.count('"') % 2:
        return []
    begun = head + blank
    negation = _NEGATION if last.startswith(_NEGATION) else ""
    term = last[len(negation) :]
    field, colon, value = term.partition(":")
    if not colon:
        return [f"{begun}{negation}{word}" for word in words.get("field", ()) if word.startswith(term)]
    before, _, typed = value.rpartition("|")
    more = f"{before}|" if before else ""
    equal = "=" if typed.startswith("=") else ""
    if typed[:1] in _COMPARING and typed and not equal:
        return []
    wanted = typed[len(equal) :].lower()
    found = (each for each in values_of(field) if each.lower().startswith(wanted))
    return [f"{begun}{negation}{field}:{more}{equal}{_as_typed(each)}" for each in found]


def texts_to_complete(values: Iterable[Value]) -> list[str]:
    """The texts among a field's values that are short enough to be offered."""
    found: dict[str, None] = {}
    for value in values:
        texts = value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()
        found.update(dict.fromkeys(text for text in texts if text and len(text) <= _LONGEST_WORD))
    return sorted(found)


def _as_typed(value: str) -> str:
    plain = value and not any(character.isspace() or character in '"|*\\' for character in value)
    return value if plain else quoted(value)
