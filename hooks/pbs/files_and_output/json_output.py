"""Reads what PBS's programs print with ``-F json``, which is not always JSON."""

from __future__ import annotations

import json
import re
from typing import Any


def read_json(text: str, program: str) -> dict[str, Any]:
    """A program's JSON output. Control characters and stray backslashes are accepted; other damage is a ValueError.

    PBS prints each entry of a limit of the server as a member of its own, all with the same name: they are one text, as
    a queue's are."""
    try:
        data = json.loads(text, strict=False, object_pairs_hook=_join_entries)
    except ValueError:
        try:
            data = json.loads(_mended(text), strict=False, object_pairs_hook=_join_entries)
        except ValueError as error:
            raise ValueError(f"{program} printed what is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"{program} printed JSON that is no object")  # noqa: TRY004
    return data


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
