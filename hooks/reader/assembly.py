"""A picture put together from the reader's answers (:mod:`hooks.reader.differences`): a whole one, then differences.

What did not change is the same object from picture to picture, so whoever compares two of them is quick. Texts that
many jobs share are held once, and so are the names of the attributes of objects that have the same ones, which are most
of what a hundred thousand dictionaries hold. An answer that breaks off, or makes no sense, leaves nothing behind: the
next one has to be whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import intern
from typing import Any, NamedTuple

from hooks.pbs.status import Attributes, Picture

_KINDS = ("jobs", "vnodes")
_OWN = frozenset({"ctime", "qtime", "stime", "exec_vnode", "jobs", "estimated.start_time"})
"""Attributes that hardly two objects share: these texts are not looked up."""


class _Keys(NamedTuple):
    """The attributes of rows to come, which of them have texts that are shared, and an object without texts to copy."""

    names: list[str]
    shared: list[bool]
    blank: dict[str, str]


class Assembly:
    """The objects that were told so far."""

    def __init__(self) -> None:
        self._told: dict[str, dict[str, Attributes]]
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget everything; the next answer has to be whole."""
        self.is_empty = True
        self._told = {kind: {} for kind in _KINDS}
        self._begin(whole=False)

    def _begin(self, *, whole: bool) -> None:
        self._whole = whole
        self._next: dict[str, dict[str, Attributes]] = {kind: {} for kind in _KINDS}
        self._gone: dict[str, list[str]] = {}
        if whole or self.is_empty:
            self._keys: list[_Keys] = []

    def take(self, part: Mapping[str, Any]) -> Picture | None:
        """One line of an answer; the last one gives the picture.

        Raises KeyError, IndexError, TypeError or ValueError for anything that is no such line.
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
                self._take_rows(self._told[kind], self._next[kind], rows)
        return None

    def _take_rows(self, told: Mapping[str, Attributes], objects: dict[str, Attributes], rows: list[list[Any]]) -> None:
        for number, name, *values in rows:
            names, shared, blank = self._keys[number]
            if len(names) != len(values):
                raise ValueError(f"{name!r} has {len(values)} values for {len(names)} attributes")
            texts = blank.copy()
            texts.update(zip(names, [intern(text) if share else _text(text) for text, share in zip(values, shared)]))
            if "qtime" in texts and texts["qtime"] == texts.get("ctime"):
                # So it is with nearly every job: one text instead of two.
                texts["qtime"] = texts["ctime"]
            before = told.get(name)
            objects[_text(name)] = before if before is not None and before == texts else texts

    def _complete(self, rest: Mapping[str, Any]) -> Picture:
        if self.is_empty and not self._whole:
            raise ValueError("differences to a picture that was never told")
        told = {}
        for kind in _KINDS:
            # A new mapping each time, since the picture before may still be looked at.
            told[kind] = objects = self._next[kind] if self._whole else {**self._told[kind], **self._next[kind]}
            for each in self._gone.get(kind, ()):
                objects.pop(each, None)
        picture = Picture.from_data({**rest, **told})
        self._told, self.is_empty = told, False
        self._begin(whole=False)
        return picture


def _blank(names: Sequence[str]) -> dict[str, str]:
    """A dictionary with these keys whose copies do not hold keys of their own: Python lets the attributes of a class's
    instances share them, up to some thirty, and copies of such a dictionary as well. Beyond that it is like any other.
    """
    holder = type("Holder", (), {})()
    blank: dict[str, str] = vars(holder)
    for name in names:
        blank[name] = ""
    return blank


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} where there should be a text")
    return value
