"""The files of PBS's fair share: ``resource_group``, the tree; and ``usage``, what its entities have used.

``usage`` is binary, in the layout of PBS's scheduler on a 64-bit host (``fairshare.cpp``, version 2): a header, the
time of the last decay, then name and usage of each entity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from struct import Struct

from policy.order.fair_share_tree import Group

_HEADER = Struct("<9s7xdq")
"""The tag with its closing zero, the version, and the time of the last decay."""
_ENTITY = Struct("<50s6xd")
_TAG, _VERSION = b"PBS_MAG!", 2.0
_VALID = re.compile(rb"[A-Za-z0-9._ :-]{1,49}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")


def read_groups(text: str) -> list[Group]:
    """The lines of a ``resource_group`` file, in order. A line that a scheduler would leave out is left out."""
    groups, known = [], {"root", "TREEROOT", "unknown"}
    for line in text.splitlines():
        words = line.split()
        if not words or words[0][0] in "#*" or len(words) < 4:
            continue
        name, own_number, parent, shares = words[:4]
        if name in known or parent not in known or not (_NUMBER.fullmatch(own_number) and _NUMBER.fullmatch(shares)):
            continue
        known.add(name)
        groups.append(Group(name, parent, int(shares)))
    return groups


def read_usage(text: str) -> tuple[dict[str, float], int]:
    """The usage of each entity, and when the tree last decayed (0 if that is unknown), from the bytes of a ``usage``
    file. A file that is none of version 2 has no usage."""
    data = text.encode("latin-1", errors="replace")
    if len(data) < _HEADER.size:
        return {}, 0
    tag, version, decayed_s = _HEADER.unpack_from(data)
    if tag.rstrip(b"\0") != _TAG or version != _VERSION:
        return {}, 0
    usage = {}
    whole = (len(data) - _HEADER.size) // _ENTITY.size * _ENTITY.size
    for field, used in _ENTITY.iter_unpack(data[_HEADER.size : _HEADER.size + whole]):
        name = field.split(b"\0", 1)[0]
        if used >= 0 and _VALID.fullmatch(name):
            usage[name.decode("ascii")] = used
    return usage, max(0, decayed_s)


def format_usage(usage: Iterable[tuple[str, float]], decayed_s: int) -> bytes:
    """The bytes of a ``usage`` file. An entity whose name the file has no room for is left out, as a scheduler cuts it
    and then no longer finds it."""
    entities = ((name.encode("utf-8"), used) for name, used in usage)
    return _HEADER.pack(_TAG, _VERSION, decayed_s) + b"".join(
        _ENTITY.pack(name, used) for name, used in entities if _VALID.fullmatch(name)
    )
