"""PBS's limit attributes: ``[u:alice=128],[g:chem=512],[u:PBS_GENERIC=32]``, parsed, looked up and written.

The same syntax carries soft quotas (``max_run_res_soft.ncpus``), hard limits (``max_run_res.ncpus``, ``max_run``) and
priorities, on a queue or on the server. A user's own entry beats the generic one; entries of a group, a project or of
all bind as well, each over the use of all jobs that it counts (PBS Administrator's Guide, "Managing Resource Usage").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from policy.model.pbs_units import UnitError, parse_size_kib

ALL = ("o", "PBS_ALL")
GENERIC = "PBS_GENERIC"
LONGEST_NAME = 64
"""The longest name that is given a limit. OpenPBS's server ends at one with more than 119 characters in the name and
its resource together."""
_KINDS = {"u": "user", "g": "group", "p": "project", "o": "overall"}
_PLAIN_NAME = re.compile(r"[\w.@+$-]+")
_ENTRY = re.compile(r"\s*\[\s*(?:\"([^\"\]]*)\"|([^\]\"]*?))\s*=\s*([^\]=]*)\]\s*(,|$)")

EntityKey = tuple[str, str]
"""``(kind, name)``: kind ``u``, ``g``, ``p`` or ``o``; the overall entity is ``("o", "PBS_ALL")``."""


class LimitError(ValueError):
    """A limit that cannot be read; ``problems`` has one line for each entry, which quotes it and says what is
    allowed."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = list(problems)


class Bound(NamedTuple):
    """An entry that binds a job: the entity whose use is counted, and the limit."""

    entity: EntityKey
    limit: int


class Limits:
    """One limit attribute of a queue or server: ``entries`` maps entities to numbers, ``kinds`` are the kinds among the
    entities. A value; empty means no limit."""

    __slots__ = ("entries", "kinds")

    def __init__(self, entries: Mapping[EntityKey, int] = {}) -> None:
        self.entries: dict[EntityKey, int] = dict(entries)
        self.kinds = frozenset([kind for kind, _ in self.entries])

    def __bool__(self) -> bool:
        return bool(self.entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Limits) and self.entries == other.entries

    def __hash__(self) -> int:
        return hash(frozenset(self.entries.items()))

    def __repr__(self) -> str:
        return f"Limits({show_limits(self)!r})"

    def bounds(self, user: str, group: str, project: str) -> Iterator[Bound]:
        """The entries that bind a job of this user, group and project, in the order user, group, project, all."""
        entries = self.entries
        for kind, name in (("u", user), ("g", group), ("p", project)):
            limit = entries.get((kind, name))
            if limit is None:
                limit = entries.get((kind, GENERIC))
            if limit is not None:
                yield Bound((kind, name), limit)
        overall = entries.get(ALL)
        if overall is not None:
            yield Bound(ALL, overall)

    def with_entry(self, entity: EntityKey, limit: int) -> Limits:
        """These limits with one entry set to a number."""
        return Limits({**self.entries, entity: limit})

    def without_entry(self, entity: EntityKey) -> Limits:
        """These limits without one entry."""
        return Limits({key: limit for key, limit in self.entries.items() if key != entity})


def parse_limits(text: str, where: str, *, sizes: bool = False) -> Limits:
    """Read PBS's entity syntax; ``where`` names the attribute in errors. ``sizes``: a number may also be a size, as the
    server writes limits on memory (``1gb``, ``100b``), which is read in KiB. Raises :class:`LimitError` with all
    problems."""
    entries: dict[EntityKey, int] = {}
    problems: list[str] = []
    position = 0
    while position < len(text):
        match = _ENTRY.match(text, position)
        if not match:
            problems.append(
                f"{where}: cannot read {text[position : position + 60]!r}; allowed is "
                f"[u:NAME=NUMBER], [g:..], [p:..], [o:PBS_ALL=..]"
            )
            following = text.find("[", position + 1)
            position = len(text) if following < 0 else following
            continue
        position = match.end()
        try:
            entity = parse_entity(match.group(1) if match.group(1) is not None else match.group(2), where)
        except LimitError as error:
            problems += error.problems
            continue
        number = match.group(3).strip()
        limit = _read_number(number, sizes=sizes)
        if limit is None:
            allowed = f"a whole number, 0 or more{', or a size' if sizes else ''}"
            problems.append(f"{where}: {show_entity(entity)} has {number!r}; allowed is {allowed}")
        elif entity in entries:
            problems.append(f"{where}: {show_entity(entity)} is given twice")
        else:
            entries[entity] = limit
    if problems:
        raise LimitError(*problems)
    return Limits(entries)


def _read_number(text: str, *, sizes: bool) -> int | None:
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return parse_size_kib(text) if sizes else None
    except UnitError:
        return None


def parse_entity(text: str, where: str) -> EntityKey:
    """Read ``u:alice``, ``g:chem``, ``p:x`` or ``o:PBS_ALL``. Raises :class:`LimitError`."""
    kind, colon, name = text.strip().partition(":")
    name = name.strip().strip('"')
    if not colon or kind not in _KINDS or not name or (kind == "o" and name != "PBS_ALL"):
        raise LimitError(f"{where}: {text!r} is no entity; allowed is u:USER, g:GROUP, p:PROJECT or o:PBS_ALL")
    return (kind, name)


def show_entity(entity: EntityKey) -> str:
    """The entity in PBS's syntax, quoted where PBS needs quotes."""
    kind, name = entity
    return f"{kind}:{name}" if _PLAIN_NAME.fullmatch(name) else f'"{kind}:{name}"'


def show_limits(limits: Limits) -> str:
    """The limits in PBS's syntax."""
    return ",".join(f"[{show_entity(entity)}={limit}]" for entity, limit in sorted(limits.entries.items()))
