"""The rows of an answer to the console: objects with the same attributes name these once.

The wire format is that of :mod:`hooks.reader.status_differences`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hooks.pbs.server_status_type_and_attributes import ServerStatus

Part = dict[str, Any]

_ROWS = 100


class Rows:
    """The lists of attributes that one console was sent so far; a whole answer needs a new object."""

    def __init__(self) -> None:
        self._keys: dict[tuple[str, ...], int] = {}

    def of(self, kind: str, objects: Iterable[tuple[str, Mapping[str, str]]]) -> Iterator[Part]:
        """The parts with these objects; ``kind`` is jobs or vnodes."""
        rows: list[list[Any]] = []
        for name, texts in objects:
            keys = tuple(texts)
            number = self._keys.get(keys)
            if number is None:
                number = self._keys[keys] = len(self._keys)
                yield {"keys": keys}
            rows.append([number, name, *texts.values()])
            if len(rows) >= _ROWS:
                yield {kind: rows}
                rows = []
        if rows:
            yield {kind: rows}


def rest_of(server_status: ServerStatus) -> Part:
    """The status as plain data without jobs and vnodes, for the last part."""
    data = server_status.to_data()
    del data["jobs"], data["vnodes"]
    return data
