"""Columns and filter fields for any other attribute that PBS shows, by PBS's name for it.

``Resource_List.ngpus`` of a job or ``resources_available.host`` of a vnode can be shown, sorted, filtered and exported.
Amounts are compared in one unit whatever the text: sizes in KiB, durations in seconds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from policy.model.pbs_units import MOST_DIGITS, UnitError, parse_duration_s, parse_size_kib
from tui.model.attribute_types import typed
from tui.model.typed_attributes import Attributes
from tui.tables.columns import Column
from tui.tables.filter_line import SizeKib, Value
from tui.text.screen_line import safe

Key = TypeVar("Key")
AttributesOf = Callable[[Key], "Attributes | None"]
"""An object's attributes by its key; None if there is no such object."""

_CELLS, _MOST_CELLS = 12, 32
_LOOKED_AT = 500


def value_of(text: str | None) -> Value:
    """An attribute's value: a number, a size in KiB, a duration in seconds, else its text; None without a text. A
    number of more digits than PBS's amounts have is a text."""
    if text is None:
        return None
    if text.isascii() and text[:1].isdigit():
        if text.isdigit() and len(text) <= MOST_DIGITS:
            return int(text)
        with contextlib.suppress(UnitError):
            return SizeKib(parse_size_kib(text))
        with contextlib.suppress(UnitError):
            return parse_duration_s(text)
    return text


def attribute_column(name: str, attributes_of: AttributesOf[Key], resources: Mapping[str, Attributes]) -> Column[Key]:
    """A column for one attribute: its cell is PBS's text, its exported value has the attribute's type. ``resources``
    are the server's resources, with their types."""

    def text(key: Key) -> str | None:
        return (attributes_of(key) or {}).get(name)

    return Column(
        name,
        safe(name),
        _CELLS,
        lambda key: value_of(text(key)),
        lambda key: ((safe(text(key) or "-"), ""),),
        rank=1,
        most=_MOST_CELLS,
        export_value=lambda key: typed(name, text(key), resources),
    )


def attribute_names(keys: Iterable[Key], attributes_of: AttributesOf[Key]) -> list[str]:
    """The attributes of the first objects, sorted: enough to offer for completion, not to reject others."""
    names: dict[str, None] = {}
    for key in islice(keys, _LOOKED_AT):
        names.update(dict.fromkeys(attributes_of(key) or ()))
    return sorted(names)


def find_attribute(wanted: str, keys: Sequence[Key], attributes_of: AttributesOf[Key]) -> str | None:
    """PBS's spelling of an attribute that some object has, typed in any case; None if no object has it."""
    lowered = wanted.lower()
    seen: set[str] = set()
    for key in keys:
        attributes = attributes_of(key) or {}
        if wanted in attributes:
            return wanted
        for name in attributes.keys() - seen:
            if name.lower() == lowered:
                return name
            seen.add(name)
    return None
