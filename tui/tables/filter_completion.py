"""Completes a filter line: the names of fields, and after a field its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tui.tables.filters import quoted

_MARKS = "!"
_COMPARISONS = "<>="


def complete_filter(
    text: str, words: Mapping[str, Sequence[str]], values_of: Callable[[str], Sequence[str]]
) -> list[str]:
    """The possible completions of this line; ``words`` has the fields, ``values_of`` returns the values of one."""
    head, blank, last = text.rpartition(" ")
    if text.count('"') % 2:
        return []
    begun = head + blank
    negation = _MARKS if last.startswith(_MARKS) else ""
    term = last[len(negation) :]
    field, colon, value = term.partition(":")
    if not colon:
        return [f"{begun}{negation}{word}" for word in words.get("field", ()) if word.startswith(term)]
    before, _, typed = value.rpartition("|")
    more = f"{before}|" if before else ""
    equal = "=" if typed.startswith("=") else ""
    if typed[:1] in _COMPARISONS and typed and not equal:
        return []
    wanted = typed[len(equal) :].lower()
    found = (each for each in values_of(field) if each.lower().startswith(wanted))
    return [f"{begun}{negation}{field}:{more}{equal}{_as_typed(each)}" for each in found]


def _as_typed(value: str) -> str:
    plain = value and not any(character.isspace() or character in '"|*\\' for character in value)
    return value if plain else quoted(value)
