"""Reads a command of the audit as the request that it makes of the server: of which object, and which attributes.

All of them are read in the words of a qmgr line, as the server's log and its hook write requests too, and as those are
what a change of a vnode, a queue or a scheduler comes from. Commands on jobs are no such requests.
"""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from typing import NamedTuple

from hooks.pbs.custom_resources import MODE_ATTRIBUTE, PRIORITY_ATTRIBUTE, SOFT_LIMIT
from torque.passes.watched_settings import EDIT, WHOLE_CLUSTER

QMGR_WORDS = frozenset({"set", "unset", "create", "delete"})
_KEYS = {"mode": MODE_ATTRIBUTE, "priorities": PRIORITY_ATTRIBUTE}
_QUOTAS = "quotas."
"""The keys of a queue in the settings file of a Torque server, beside the attributes of PBS that mean the same."""


class Request(NamedTuple):
    """What a command asks of one object: the verb, kind and name as qmgr has them (the server has no name), and the
    attributes with their values as they were written."""

    verb: str
    kind: str
    name: str
    attributes: str = ""

    def asks(self, what: str, entry: str = "") -> bool:
        """Whether it asks for ``what``: ``create``, ``delete``, or to change the attribute of this name; of a limit,
        whether it changes this entity's ``entry``, as the removal or replacement of the whole limit does too."""
        if what in ("create", "delete"):
            return self.verb == what
        found = re.search(rf"(?:^|,\s*){re.escape(what)}\s*(=|\+=|-=|,|$)", self.attributes)
        if found is None:
            return False
        changes_all = self.verb == "unset" or found.group(1) == "="
        return not entry or changes_all or f"[{entry}=" in self.attributes


@lru_cache(maxsize=1 << 14)
def request_of(command: str) -> Request | None:
    """The request of a command; None for one on jobs, or that cannot be read."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    program = words[0] if words else ""
    if program == "pbsnodes":
        return Request("set", "node", words[-1], "state =")
    if program == EDIT:
        return _of_edit(words)
    line = words[-1] if program == "qmgr" else command
    verb, kind, rest = [*line.split(None, 2), "", "", ""][:3]
    if verb not in QMGR_WORDS:
        return None
    name, _, attributes = ("", "", rest) if kind == "server" else rest.partition(" ")
    return Request(verb, kind, name, attributes.strip())


def _of_edit(words: list[str]) -> Request | None:
    """Of an edit of a Torque server's settings: the file, the queue, the key and its value."""
    try:
        _, _, queue, key, value = words
    except ValueError:
        return None
    of_quotas = f"{SOFT_LIMIT}.{key[len(_QUOTAS) :]}" if key.startswith(_QUOTAS) else key
    kind, name = ("server", "") if queue == WHOLE_CLUSTER else ("queue", queue)
    sign = "+=" if value.startswith("[") else "="
    return Request("set", kind, name, f"{_KEYS.get(key, of_quotas)} {sign} {value}")
