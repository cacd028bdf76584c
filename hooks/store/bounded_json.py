"""JSON of a file that may be damaged, or of an answer that may do harm: bounded values, or ValueError and nothing else.

The reader of Python alone also raises RecursionError, and takes numbers that raise OverflowError where they are used.
"""

from __future__ import annotations

# Not imported: typing takes longer to load than this module and all that it needs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOST_DIGITS = 100
"""Of a whole number: far more than those of the largest size in PBS, and a product of three is still a float."""
_MOST_NESTED = 100
"""Values in each other: far more than in any file of ours, and what is read can be shown and written again."""
_INFINITE = float("inf")


def parse_json(text: str | bytes, to_object: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None = None) -> Any:
    """The value of a JSON text: all numbers in it are finite, and nothing is nested deeply. ``to_object`` makes each
    object from its members in place of ``dict``. Raises ValueError."""
    import json  # noqa: PLC0415 - it loads a dozen modules, and hooks on hosts seldom read any JSON

    try:
        data = json.loads(
            text, parse_int=_whole, parse_float=_finite, parse_constant=_refuse, object_pairs_hook=to_object
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    refuse_deep(data)
    return data


def refuse_deep(data: object) -> None:
    """Raise ValueError if lists and objects of parsed data are nested deeply."""
    level: list[Any] = [data]
    for _ in range(_MOST_NESTED):
        # A list or an object by its very type, which takes a third of the time that isinstance does.
        level = [
            value
            for each in level
            for value in (each.values() if type(each) is dict else each if type(each) is list else ())
            if type(value) is list or type(value) is dict
        ]
        if not level:
            return
    raise ValueError(f"it is nested too deeply; allowed are {_MOST_NESTED} values in each other")


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"{text[:20]}... has {len(text):,} digits; allowed are {_MOST_DIGITS}")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not -_INFINITE < number < _INFINITE:
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is no number; allowed are finite ones")
