"""Chooses the settings of an apply, and what they change: those that are given, else those that the hooks have already.

The built-in ones are used only if there are none, or on request: applying again never loses what an administrator has
applied.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from hooks.deploy.read_installed_server_state import DeployError, Installed, read_applied
from policy.settings.site_settings import Settings

BUILT_IN = "the built-in ones"
_NONE = "none"
_BARE_KEY = re.compile("[A-Za-z0-9_-]+")


class Change(NamedTuple):
    """A key of the settings, with its old and new value as an administrator reads them."""

    key: str
    old: str
    new: str


class Chosen(NamedTuple):
    """The settings to apply. ``source``: where they come from, in words; ``changes``: the difference from the applied
    ones, or from the built-in ones if none are applied (``first``)."""

    settings: Settings
    source: str
    changes: tuple[Change, ...]
    first: bool

    def show(self) -> Iterator[str]:
        """The settings' source and changes as an administrator reads them."""
        yield f"# settings: {self.source}"
        if not self.first and not self.changes:
            yield "#   nothing changes in them"
        elif self.changes:
            yield f"#   {'other than built in' if self.first else 'changed'}:"
        yield from (f"#   {change.key}: {change.old} -> {change.new}" for change in self.changes)

    def to_data(self) -> dict[str, Any]:
        """The same as plain data for JSON."""
        return {
            "source": self.source,
            "first": self.first,
            "changes": {change.key: {"old": change.old, "new": change.new} for change in self.changes},
        }


def choose(found: Installed, given: Settings | None, source: str) -> Chosen:
    """The settings for a server in state ``found``. ``given``: those that the administrator named, with their
    ``source``.

    Raises :class:`DeployError` if none are given and those of the hooks cannot be read.
    """
    applied = read_applied(found)
    if given is None and applied is None and any(hook.config for hook in found.hooks.values()):
        raise DeployError(
            "the settings that the hooks have cannot be read by this version: name a file with --settings, or ask for"
            " the built-in ones with --defaults"
        )
    if given is not None:
        settings = given
    elif applied is not None:
        settings, source = applied, "those that the hooks have already"
    else:
        settings, source = Settings(), f"{BUILT_IN}, as none have been applied yet"
    return Chosen(settings, source, tuple(_compare(applied or Settings(), settings)), applied is None)


def _compare(old: Settings, new: Settings) -> Iterator[Change]:
    for table in fields(Settings):
        before, after = getattr(old, table.name), getattr(new, table.name)
        if is_dataclass(before):
            for key in fields(before):
                was, now = getattr(before, key.name), getattr(after, key.name)
                if was != now:
                    yield Change(f"{table.name}.{key.name}", _show(was), _show(now))
        elif before != after:
            # Queues of a simulated cluster, which hooks do not use: their number is enough.
            yield Change("queue", f"{len(before)} described", f"{len(after)} described")


def _show(value: Any) -> str:
    """A value as ``pbsteer check --keys`` shows it and TOML writes it."""
    if value in (None, "", ()):
        return _NONE
    return value if isinstance(value, str) else _show_part(value)


def _show_part(value: Any) -> str:
    """A value, or a part of one; tables are kept as pairs."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, tuple):
        return str(value)
    if all(isinstance(each, tuple) for each in value):
        return f"{{ {', '.join(f'{_show_key(key)} = {_show_part(part)}' for key, part in value)} }}"
    return f"[{', '.join(map(_show_part, value))}]"


def _show_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
