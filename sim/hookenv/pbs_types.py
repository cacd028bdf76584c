"""The types of attribute values in hooks, as PBS's Python module `pbs` has them.

Numbers are ints; sizes, durations and truth values have types that print as PBS writes them; all else is text. Objects
have only the attributes that PBS knows: an unset one is None, an unknown one raises AttributeError.
"""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping, MutableMapping
from functools import total_ordering
from typing import Any

from policy.model.pbs_units import parse_duration_s, parse_size_kib
from sim.pbs_server.objects.attributes import DURATIONS, Kind, Resources, Table

JOB_STATES: Mapping[str, int] = {
    "T": 0, "Q": 1, "H": 2, "W": 3, "R": 4, "E": 5, "X": 6, "B": 7, "M": 8, "F": 9, "S": 400, "U": 410,
}  # fmt: skip
VNODE_STATES: Mapping[str, int] = {"free": 0, "offline": 0x1, "down": 0x2, "job-busy": 0x10, "job-exclusive": 0x40}


@total_ordering
class size:  # noqa: N801 - PBS's name
    """An amount of memory. Prints as it was given; compares and adds by its value, rounded up to whole KiB."""

    def __init__(self, value: str | int | size) -> None:
        self._text = f"{value}b" if isinstance(value, int) else str(value)
        self._kib = parse_size_kib(self._text)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (size, str, int)) and self._kib == size(other)._kib

    def __lt__(self, other: str | int | size) -> bool:
        return self._kib < size(other)._kib

    def __hash__(self) -> int:
        return hash(self._kib)

    def __add__(self, other: str | int | size) -> size:
        return size(f"{self._kib + size(other)._kib}kb")

    def __sub__(self, other: str | int | size) -> size:
        return size(f"{self._kib - size(other)._kib}kb")


class duration(int):  # noqa: N801 - PBS's name
    """Seconds. Made from seconds or from `hours:minutes:seconds`, and prints as it was given."""

    _text: str

    def __new__(cls, value: str | int) -> duration:
        """The duration of this text or number of seconds."""
        made = super().__new__(cls, parse_duration_s(value) if isinstance(value, str) else value)
        made._text = str(value)
        return made

    def __str__(self) -> str:
        return self._text


class pbs_bool:  # noqa: N801 - PBS's name
    """A truth value; prints as 1 or 0."""

    def __init__(self, value: object) -> None:
        self._value = str(value).lower() in ("true", "t", "1", "y")

    def __bool__(self) -> bool:
        return self._value

    def __int__(self) -> int:
        return int(self._value)

    def __str__(self) -> str:
        return str(int(self._value))


class pbs_int(int):  # noqa: N801 - PBS's name
    """A number."""


class pbs_str(str):  # noqa: N801 - PBS's name
    """A text."""

    __slots__ = ()


class select(pbs_str):  # noqa: N801 - PBS's name
    """Chunks."""

    __slots__ = ()


class place(pbs_str):  # noqa: N801 - PBS's name
    """An arrangement of chunks."""

    __slots__ = ()


_OF_THEIR_OWN = {"select": select, "place": place}


class pbs_resource:  # noqa: N801 - PBS's name
    """The values of one attribute by resource, such as a job's `Resource_List`, written through to `texts`. Setting
    None stores an empty text, which unsets the resource, as in PBS.
    """

    def __init__(self, name: str, texts: MutableMapping[str, str], resources: Resources, *, limits: bool) -> None:
        self._name = name
        self._texts = texts
        self._resources = resources
        self._limits = limits

    def __getitem__(self, resource: str) -> Any:
        text = self._texts.get(self._key(resource))
        if not text or self._limits:
            return text
        return read_resource(resource, self._resources[resource][0], text)

    def __setitem__(self, resource: str, value: object) -> None:
        key = self._key(resource)
        kind = _OF_THEIR_OWN.get(resource)
        if kind is not None and value is not None and not isinstance(value, kind):
            raise TypeError(f"value for class <pbs_resource> attribute <{resource}> must be 'None' or a {resource}")
        self._texts[key] = "" if value is None else str(value)

    def keys(self) -> KeysView[str]:
        """The resources that have a value."""
        prefix = f"{self._name}."
        return {key[len(prefix) :]: None for key in self._texts if key.startswith(prefix)}.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, resource: str) -> bool:
        return f"{self._name}.{resource}" in self._texts

    def __str__(self) -> str:
        return ",".join(f"{resource}={self._texts[f'{self._name}.{resource}']}" for resource in self.keys())

    def _key(self, resource: str) -> str:
        if resource not in self._resources:
            raise AttributeError(f"'pbs_resource' object has no attribute '{resource}'")
        return f"{self._name}.{resource}"


class PbsObject:
    """A job, vnode, queue or server as a hook sees it: attributes by the names in `table`, read from `texts`.

    `special` has values that are not read from a text, such as a job's queue.
    """

    def __init__(
        self, name: str, table: Table, texts: MutableMapping[str, str], resources: Resources, special: Mapping[str, Any]
    ) -> None:
        vars(self).update(_name=name, _table=table, _texts=texts, _resources=resources, _special=special)

    def __getattr__(self, name: str) -> Any:
        own = vars(self)
        if name in own["_special"]:
            return own["_special"][name]
        attribute = own["_table"].get(name)
        if attribute is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if attribute.kind.by_resource:
            limits = attribute.kind is Kind.RESOURCE_LIMITS
            return pbs_resource(name, own["_texts"], own["_resources"], limits=limits)
        text = own["_texts"].get(name)
        return None if text is None else read_value(name, attribute.kind, text)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in vars(self)["_table"]:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        vars(self)["_texts"][name] = str(value)

    def __str__(self) -> str:
        return str(vars(self)["_name"])


def read_value(name: str, kind: Kind, text: str) -> Any:
    """An attribute's value by its kind; states become PBS's numbers."""
    if name == "job_state":
        return JOB_STATES[text]
    if kind is Kind.STATE:
        return sum(VNODE_STATES[state] for state in text.split(","))
    if kind is Kind.FLAG:
        return pbs_bool(text)
    return pbs_int(text) if kind is Kind.NUMBER else pbs_str(text)


def read_resource(resource: str, kind: str, text: str) -> Any:
    """A resource's value by the resource's type."""
    if resource in DURATIONS:
        return duration(text)
    if kind == "size":
        return size(text)
    if kind == "long" and text.lstrip("-").isdigit():
        return pbs_int(text)
    if kind == "float":
        return float(text)
    if resource in _OF_THEIR_OWN:
        return _OF_THEIR_OWN[resource](text)
    return pbs_bool(text) if kind == "boolean" else pbs_str(text)
