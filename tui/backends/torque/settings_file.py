"""Changes of quotas, priorities and modes in the settings file, which has on Torque what qmgr has in PBS.

One value is changed at a time, in the text as it is, so that comments and order stay. The new text is parsed first and
must differ in that value alone; then the file is replaced whole, under a lock, with its mode and group.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hooks.store.atomic_file import replace_file
from migration.config.parse_toml import parse_toml
from policy.model.limit_attributes import LimitError, parse_entity, parse_limits, show_limits
from policy.settings.site_settings import QuotaSettings, Settings, SettingsError
from torque.passes.watched_settings import NO_ENTRY, WHOLE_CLUSTER

_HEADER = re.compile(r"\s*\[")
_QUEUE = re.compile(r"\s*\[\[\s*queue\s*\]\]\s*(?:#.*)?")
_BY_HAND = "edit it by hand"
_TEXTS = ("mode", "paused")
"""The keys whose value is one word or sentence, not entries of a limit."""


class EditError(ValueError):
    """The file cannot be changed so; the message says why."""


def edit_settings_file(arguments: Sequence[str]) -> None:
    """Carry out the arguments of a change: the file; a queue, or ``@server`` for the whole cluster; the key (``mode``,
    ``paused``, ``priorities``, ``quotas.ncpus``); and the value: of ``mode`` and ``paused`` the text, "" to remove it,
    else entries of a limit, those to be removed with ``none``. Raises :class:`EditError`, and OSError."""
    name, queue, key, value = arguments
    path = Path(name)
    with _locked(path.parent):
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            text = ""
        changed = change_text(text, "" if queue == WHOLE_CLUSTER else queue, key, value, str(path))
        status = path.stat() if text else None
        mode, group = (status.st_mode & 0o777, status.st_gid) if status is not None else (0o644, None)
        replace_file(path, changed.encode("utf-8"), mode=mode, group=group)


def change_text(text: str, queue: str, key: str, value: str, where: str) -> str:
    """The text of the file with the change. Raises :class:`EditError`."""
    try:
        before = parse_toml(text)
    except ValueError as error:
        raise EditError(f"{where} is not TOML: {error}") from error
    table = _table_of(before, queue)
    name, _, resource = key.partition(".")
    wanted = value if name in _TEXTS else _change_limit(table.get(name, ""), resource, value, _plain_of(before))
    lines = text.splitlines()
    first, last = _section(lines, queue, before)
    if first is None:
        header = "[cluster]" if not queue else f"[[queue]]\nname = {json.dumps(queue)}"
        lines += [*([""] if lines else []), *header.splitlines()]
        first = last = len(lines)
    at = next((number for number in range(first, last) if re.match(rf"\s*{name}\s*=", lines[number])), None)
    line = f"{name} = {_show(wanted)}" if wanted else None
    if at is None:
        while last > first and not lines[last - 1].strip():
            last -= 1
        lines[last:last] = [line] if line else []
    else:
        lines[at : at + 1] = [line] if line else []
    changed = "\n".join(lines) + "\n"
    _check(changed, before, queue, name, wanted, where)
    return changed


def _check(changed: str, before: dict[str, Any], queue: str, key: str, wanted: object, where: str) -> None:
    """Raise :class:`EditError` unless the text means what it meant before, with the value as wanted."""
    expected = json.loads(json.dumps(before))
    table = _table_of(expected, queue)
    table.pop(key, None)
    if wanted:
        table[key] = wanted
    if not any(each is table for each in (expected.get("cluster"), *expected.get("queue", []))):
        if queue:
            expected.setdefault("queue", []).append({"name": queue, **table})
        else:
            expected["cluster"] = table
    try:
        found = parse_toml(changed)
        Settings.from_data(found, where)
    except SettingsError as error:
        raise EditError("; ".join(error.problems)) from error
    except ValueError as error:
        raise EditError(f"{where} is written in a way that is not changed here ({error}): {_BY_HAND}") from error
    if found != expected:
        raise EditError(f"{where} is written in a way that is not changed here: {_BY_HAND}")


def _change_limit(now: object, resource: str, entries: str, plain: str) -> object:
    """The value of a limit with these entries: a text, which is of the resource ``plain`` (and of priorities, which
    have no resource), or a table of texts by resource."""
    of_text = plain if resource else ""
    texts = dict(now) if isinstance(now, Mapping) else {of_text: now} if now else {}
    try:
        limits = parse_limits(str(texts.get(resource, "")), resource)
        for entry in entries.split(","):
            entity, _, amount = entry.strip("[]").rpartition("=")
            key = parse_entity(entity, resource)
            limits = limits.without_entry(key) if amount == NO_ENTRY else limits.with_entry(key, int(amount))
    except (LimitError, ValueError) as error:
        raise EditError(f"{entries!r}: {error}") from error
    texts[resource] = show_limits(limits)
    texts = {name: text for name, text in texts.items() if text}
    is_plain = texts.keys() <= {of_text} and not isinstance(now, Mapping)
    return texts.get(of_text, "") if is_plain else texts


def _plain_of(data: Mapping[str, Any]) -> str:
    """The resource of a limit that is a plain text."""
    with contextlib.suppress(SettingsError, AttributeError):
        return Settings.from_data({"quota": data.get("quota", {})}, "").quota.shown
    return QuotaSettings().shown


def _table_of(data: dict[str, Any], queue: str) -> dict[str, Any]:
    """The table of a queue, or of the cluster; a new one if there is none."""
    if not queue:
        found = data.get("cluster", {})
        return found if isinstance(found, dict) else {}
    queues = data.get("queue", [])
    return next((each for each in queues if isinstance(each, dict) and each.get("name") == queue), {})


def _section(lines: Sequence[str], queue: str, data: Mapping[str, Any]) -> tuple[int | None, int]:
    """The first line after the header of a table, and the one after its last; None if it has none."""
    is_header = re.compile(r"\s*\[\s*cluster\s*\]\s*(?:#.*)?") if not queue else _QUEUE
    wanted = 0
    if queue:
        names = [each.get("name") for each in data.get("queue", [])]
        if queue not in names:
            return None, 0
        wanted = names.index(queue)
    starts = [number for number, line in enumerate(lines) if is_header.fullmatch(line)]
    if wanted >= len(starts):
        return None, 0
    first = starts[wanted] + 1
    last = next((number for number in range(first, len(lines)) if _HEADER.match(lines[number])), len(lines))
    return first, last


def _show(value: object) -> str:
    """A text, or a table of texts, as TOML, whose strings have JSON's escapes."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {json.dumps(text)}" for name, text in value.items()) + " }"
    return json.dumps(value)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """No other console edits a file of this folder meanwhile."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
