"""A picture put together from the reader's answers (:mod:`hooks.differences`): a whole one, then differences.

What did not change is the same object from picture to picture, so whoever compares two of them is quick. Texts that
many jobs share are held once. An answer that breaks off, or makes no sense, leaves nothing behind: the next one has to
be whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any

from hooks.picture import Attributes, Picture

_KINDS = ("jobs", "vnodes")
_OWN = frozenset({"ctime", "qtime", "stime", "Job_Name", "exec_vnode", "comment", "jobs", "estimated.start_time"})
"""Attributes that hardly two objects share: these texts are not looked up."""


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
            self._keys: list[tuple[list[str], list[bool]]] = []

    def take(self, part: Mapping[str, Any]) -> Picture | None:
        """One line of an answer; the last one gives the picture.

        Raises KeyError, IndexError, TypeError or ValueError for anything that is no such line.
        """
        if "anew" in part:
            self._begin(whole=True)
        elif "keys" in part:
            keys = [intern(key) for key in part["keys"]]
            self._keys.append((keys, [key not in _OWN for key in keys]))
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
            keys, shared = self._keys[number]
            if len(keys) != len(values):
                raise ValueError(f"{name!r} has {len(values)} values for {len(keys)} attributes")
            texts = dict(zip(keys, [intern(text) if share else _text(text) for text, share in zip(values, shared)]))
            before = told.get(name)
            objects[_text(name)] = before if before == texts else texts

    def _complete(self, rest: Mapping[str, Any]) -> Picture:
        if self.is_empty and not self._whole:
            raise ValueError("differences to a picture that was never told")
        told = {}
        for kind in _KINDS:
            # A new mapping each time, since the picture before may still be looked at.
            told[kind] = objects = self._next[kind] if self._whole else {**self._told[kind], **self._next[kind]}
            for name in self._gone.get(kind, ()):
                objects.pop(name, None)
        picture = Picture.from_data({**rest, **told})
        self._told, self.is_empty = told, False
        self._begin(whole=False)
        return picture


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} where there should be a text")
    return value
