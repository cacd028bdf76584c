"""Reads what PBS's programs print with ``-F json``, which is not always JSON."""

from __future__ import annotations

import json
import re
from typing import Any

_MOST_NESTED = 20
"""Values in each other, of which PBS's own are five: Python can show and write these, and not what it just can read."""
_TEXT_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_LEFT_OUT = ""


def read_json(text: str, program: str) -> dict[str, Any]:
    """A program's JSON output. Control characters and stray backslashes are accepted; other damage is a ValueError.

    PBS prints each entry of a limit of the server as a member of its own, all with the same name: they are one text, as
    a queue's are. It prints a job's resource that is JSON as such: what a user has nested deeply in it is left out, and
    all else is read."""
    try:
        data = _load(text)
    except ValueError:
        try:
            data = _load(_mended(text))
        except ValueError as error:
            raise ValueError(f"{program} printed what is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"{program} printed JSON that is no object")  # noqa: TRY004
    return data


def _load(text: str) -> Any:
    try:
        data = json.loads(text, strict=False, object_pairs_hook=_join_entries)
    except RecursionError:
        data = json.loads(_without_deep(text), strict=False, object_pairs_hook=_join_entries)
    _leave_out_deep(data)
    return data


def _leave_out_deep(data: Any) -> None:
    level = [data] if type(data) in (dict, list) else []
    for _ in range(_MOST_NESTED - 1):
        # A list or an object by its very type, which takes a third of the time that isinstance does.
        level = [
            value
            for each in level
            for value in (each.values() if type(each) is dict else each)
            if type(value) is dict or type(value) is list
        ]
    for each in level:
        for key in each if type(each) is dict else range(len(each)):
            if type(each[key]) in (dict, list):
                each[key] = _LEFT_OUT


def _without_deep(text: str) -> str:
    """The same, before Python reads the text, which it cannot if far more is nested in it."""
    pieces: list[str] = []
    depth = begin = 0
    for found in _TEXT_OR_BRACKET.finditer(text):
        bracket = found.group()
        if bracket in "[{":
            depth += 1
            if depth == _MOST_NESTED + 1:
                pieces += (text[begin : found.start()], json.dumps(_LEFT_OUT))
        elif bracket in "]}":
            if depth == _MOST_NESTED + 1:
                begin = found.end()
            depth -= 1
    if depth > _MOST_NESTED:
        raise ValueError("it is nested too deeply, without an end")
    return "".join((*pieces, text[begin:]))


def _mended(text: str) -> str:
    r"""PBS does not escape some names: a backslash that begins no JSON escape is doubled."""
    return re.sub(r'\\(?!["\\/bfnrtu])', r"\\\\", text)


def _join_entries(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in members:
        before = found.get(name)
        are_entries = all(isinstance(each, str) and each.startswith("[") for each in (before, value))
        found[name] = f"{before},{value}" if are_entries else value
    return found
