"""Builds server statuses from the reader's answers: a whole one, then differences.

Unchanged objects, and texts that many jobs share, are the same objects in each status: that makes comparison quick and
saves most of the memory. An answer that breaks off or is invalid has no effect, and the next one has to be whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from sys import intern
from typing import Any, NamedTuple

from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus

_KINDS = ("jobs", "vnodes")
_OWN = frozenset({"ctime", "qtime", "stime", "exec_vnode", "jobs", "estimated.start_time"})
"""Attributes whose texts are rarely shared between objects, and so are not interned."""


class _Keys(NamedTuple):
    """The attributes of rows to come, whether each one's texts are shared, and an object without texts to copy."""

    names: list[str]
    shared: list[bool]
    blank: dict[str, str]


class Assembly:
    """The objects received so far."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Attributes]]
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget everything; the next answer has to be whole."""
        self.is_empty = True
        self._known = {kind: {} for kind in _KINDS}
        self._begin(whole=False)

    def _begin(self, *, whole: bool) -> None:
        self._whole = whole
        self._next: dict[str, dict[str, Attributes]] = {kind: {} for kind in _KINDS}
        self._gone: dict[str, list[str]] = {}
        if whole or self.is_empty:
            self._keys: list[_Keys] = []

    def take(self, part: Mapping[str, Any]) -> ServerStatus | None:
        """Process one line of an answer; the last line returns the server status.

        Raises KeyError, IndexError, TypeError or ValueError for an invalid line.
        """
        if "anew" in part:
            self._begin(whole=True)
        elif "keys" in part:
            names = [intern(name) for name in part["keys"]]
            self._keys.append(_Keys(names, [name not in _OWN for name in names], _blank(names)))
        elif "gone" in part:
            self._gone = {kind: list(part["gone"][kind]) for kind in _KINDS}
        elif "rest" in part:
            return self._complete(part["rest"])
        else:
            for kind, rows in part.items():
                self._take_rows(self._known[kind], self._next[kind], rows)
        return None

    def _take_rows(
        self, known: Mapping[str, Attributes], objects: dict[str, Attributes], rows: list[list[Any]]
    ) -> None:
        for number, name, *values in rows:
            names, shared, blank = self._keys[number]
            if len(names) != len(values):
                raise ValueError(f"{name!r} has {len(values)} values for {len(names)} attributes")
            texts = blank.copy()
            texts.update(zip(names, [intern(text) if share else _text(text) for text, share in zip(values, shared)]))
            if "qtime" in texts and texts["qtime"] == texts.get("ctime"):
                # Equal for nearly every job: one text instead of two.
                texts["qtime"] = texts["ctime"]
            before = known.get(name)
            objects[_text(name)] = before if before is not None and before == texts else texts

    def _complete(self, rest: Mapping[str, Any]) -> ServerStatus:
        if self.is_empty and not self._whole:
            raise ValueError("differences without a whole answer before them")
        known = {}
        for kind in _KINDS:
            # A new mapping each time, since the previous status may still be in use.
            known[kind] = objects = self._next[kind] if self._whole else {**self._known[kind], **self._next[kind]}
            for each in self._gone.get(kind, ()):
                objects.pop(each, None)
        # Not copied: a dictionary of a hundred thousand jobs is five megabytes.
        without = ServerStatus.from_data({**rest, **{kind: {} for kind in _KINDS}})
        server_status = replace(without, jobs=known["jobs"], vnodes=known["vnodes"])
        self._known, self.is_empty = known, False
        self._begin(whole=False)
        return server_status


def _blank(names: Sequence[str]) -> dict[str, str]:
    """A dictionary with these keys whose copies share them: Python shares keys among the attribute dictionaries of a
    class's instances, up to some thirty, and among copies of these. With more keys it is an ordinary dictionary."""
    holder = type("Holder", (), {})()
    blank: dict[str, str] = vars(holder)
    for name in names:
        blank[name] = ""
    return blank


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} where there should be a text")
    return value
