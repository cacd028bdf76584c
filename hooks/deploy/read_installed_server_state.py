"""Reads the state of a server that deploying touches: through qmgr, and from PBS's files of our hooks.

Two such states, the present and the wanted one, are all that a plan is made from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, NamedTuple

from hooks.deploy.hook_events_alarms_and_order import ATTRIBUTES
from hooks.pbs.custom_resources import RESOURCES, Resource
from hooks.pbs.files_and_output.parse_qmgr_list import parse_list
from hooks.store.bounded_json import parse_json
from policy.settings.site_settings import Settings, SettingsError

_BEING_DELETED = "is pending delete"
_BUSY = "15174"
"""PBS's error number for a resource that cannot be deleted or get other flags because jobs, queues or vnodes have
it."""

_NO_VNODES = "(15064)"
"""PBS's error number as qmgr shows it where the server has no vnodes; of a server without queues qmgr says nothing."""

_EXISTS = "(15055)"
"""PBS's error number, as qmgr shows it, for a resource that is to be created and exists already."""

_UNAUTHORIZED = "unauthorized to access hooks data"
"""qmgr's complaint to all but root on the server's host; it then shows no hooks at all, with exit status 0."""

_OWN_LINE = re.compile(r"set (?:queue \S+|server) \S+\.(?:" + "|".join(RESOURCES) + r") ")


_LIMIT = re.compile(r"set ((?:queue \S+|server) (?:max|queued)_\w+(?:\.(\S+))?) \+?= (\[.*)")
"""A line of ``print server`` for one entry of a limit: object and attribute, the resource, the entry."""


class LimitEntry(NamedTuple):
    """An entry of a limit of a queue or of the server: ``where`` is object and attribute as qmgr names them, with the
    ``resource`` if it limits one, ``entry`` is ``[u:alice=128]``."""

    where: str
    resource: str
    entry: str


class Reply(NamedTuple):
    """qmgr's reply: its exit status, what it printed, and its complaints."""

    status: int
    text: str
    complaint: str


Qmgr = Callable[[str], Reply]
"""Runs one qmgr command."""


class DeployError(Exception):
    """A step failed, or cannot be planned; the message names it, and the present state of the server."""


class ResourceBusyError(DeployError):
    """A resource cannot be deleted, or get other flags, because jobs, queues or vnodes have it."""


class ResourceExistsError(DeployError):
    """The resource ``name`` is to be created and exists already. It did not when the server was read."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name


class HookBeingDeletedError(DeployError):
    """PBS creates no hook as long as it still deletes one of that name on hosts; ``line`` is the refused qmgr line."""

    def __init__(self, line: str, complaint: str) -> None:
        super().__init__(
            f'qmgr -c "{line}": {complaint}: PBS still deletes the earlier hook on hosts. One whose MoM does not answer'
            " (pbsnodes -l) holds that up until it does, or its vnodes are deleted from the server; then apply again"
        )
        self.line = line


@dataclass(frozen=True)
class Hook:
    """One of our hooks in the server: its event, its values for
    :data:`hooks.deploy.hook_events_alarms_and_order.ATTRIBUTES`, and the texts that were imported, None for none."""

    event: str
    attributes: Mapping[str, str]
    script: str | None = None
    config: str | None = None

    @property
    def enabled(self) -> bool:
        """Whether PBS runs it."""
        return self.attributes.get("enabled") == "true"


@dataclass(frozen=True)
class Installed:
    """All that deploying touches: our hooks, our resources, the qmgr lines that use these resources, all limits of
    queues and server, ``scheduling`` by scheduler (``True`` or ``False``), and the partitions of schedulers, queues and
    vnodes.

    ``partitions`` is by object as qmgr names it (``sched default``, ``queue workq``, ``node n1``); objects without a
    partition of their own are not in it. ``scheduling`` has all schedulers, not only ours. ``has_vnodes``:
    whether the server has any.
    """

    hooks: Mapping[str, Hook] = field(default_factory=dict)
    resources: Mapping[str, Resource] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    limits: tuple[LimitEntry, ...] = ()
    scheduling: Mapping[str, str] = field(default_factory=dict)
    partitions: Mapping[str, str] = field(default_factory=dict)
    has_vnodes: bool = True


def ask(qmgr: Qmgr, line: str) -> str:
    """Run a qmgr command; returns what it prints. Raises :class:`DeployError` with its complaint."""
    return demand_success(qmgr(line), line)


def list_partitions(qmgr: Qmgr, kind: str) -> dict[str, dict[str, str]]:
    """The server's queues (``kind`` ``queue``) or vnodes (``node``), with their partitions; raises
    :class:`DeployError`. A server that has none is no failure, though qmgr ends with a status above 0."""
    line = f"list {kind} @default partition"
    reply = qmgr(line)
    has_none = not reply.text.strip() and (_NO_VNODES in reply.complaint or not reply.complaint.strip())
    return {} if reply.status != 0 and has_none else parse_list(demand_success(reply, line))


def demand_success(reply: Reply, line: str) -> str:
    """What qmgr printed for a line. Raises :class:`DeployError` with its complaint."""
    if _UNAUTHORIZED in reply.complaint:
        raise DeployError(f"{' '.join(reply.complaint.split())}: do this as root, on the server's host")
    if reply.status != 0:
        complaint = " ".join(reply.complaint.split()) or f"qmgr ended with status {reply.status}"
        words = line.split()
        if words[1] == "resource" and _BUSY in complaint:
            raise ResourceBusyError(
                f'qmgr -c "{line}": {complaint}: PBS refuses this while a job, a queue or a vnode has'
                f" {words[2]}, ended jobs of the history too"
            )
        if _BEING_DELETED in complaint:
            raise HookBeingDeletedError(line, complaint)
        failed = f'qmgr -c "{line}": {complaint}'
        if words[:2] == ["create", "resource"] and _EXISTS in complaint:
            raise ResourceExistsError(words[2], failed)
        raise DeployError(failed)
    return reply.text


def read_installed(qmgr: Qmgr, home: Path, names: Iterable[str]) -> Installed:
    """The present state of the server. ``home``: its PBS_HOME; ``names``: our hooks. Raises :class:`DeployError`."""
    listed = parse_list(ask(qmgr, "list hook @default"))
    locks = server_locks(home)
    if not any(lock.exists() for lock in locks):
        raise DeployError(
            f"{locks[0]} is not there: no PBS server has run with PBS_HOME {home}, which pbs.conf names;"
            " allowed is the one of the server that is asked"
        )
    hooks = {name: _read_hook(name, listed[name], home) for name in names if name in listed}
    resources = parse_list(ask(qmgr, "list resource"))
    printed = ask(qmgr, "print server").splitlines()
    schedulers = parse_list(ask(qmgr, "list sched"))
    objects = {
        "sched": schedulers,
        "queue": list_partitions(qmgr, "queue"),
        "node": list_partitions(qmgr, "node"),
    }
    return Installed(
        hooks,
        {
            name: Resource(texts.get("type", ""), texts.get("flag", ""))
            for name, texts in resources.items()
            if name in RESOURCES
        },
        tuple(line for line in printed if _OWN_LINE.match(line)),
        tuple(LimitEntry(found[1], found[2] or "", found[3]) for found in map(_LIMIT.fullmatch, printed) if found),
        {name: texts.get("scheduling", "") for name, texts in schedulers.items()},
        {
            f"{kind} {name}": texts["partition"]
            for kind, found in objects.items()
            for name, texts in found.items()
            if "partition" in texts
        },
        has_vnodes=bool(objects["node"]),
    )


def read_applied(installed: Installed) -> Settings | None:
    """The settings that were applied last; None if no hook has readable ones.

    If hooks have different ones, because an apply was cut off, those of the pass count, since it decides.
    """
    hooks = sorted(installed.hooks.values(), key=lambda hook: hook.event != "periodic")
    found = (_parse_settings(hook.config or "") for hook in hooks)
    return next((settings for settings in found if settings is not None), None)


def _parse_settings(text: str) -> Settings | None:
    try:
        return Settings.from_data(parse_json(text), "the hooks' configuration")
    except (SettingsError, ValueError):
        return None


def _read_hook(name: str, texts: Mapping[str, str], home: Path) -> Hook:
    event = texts.get("event", "")
    # PBS shows a frequency for some hooks that do not use one, and refuses to set it.
    attributes = {key: texts[key] for key in ATTRIBUTES if key in texts and (key != "freq" or "periodic" in event)}
    return Hook(event, attributes, _read_hook_file(home, name, ".PY"), _read_hook_file(home, name, ".CF"))


def hooks_folder(home: Path) -> Path:
    """The folder in which a server with this PBS_HOME keeps its hooks."""
    return home / "server_priv" / "hooks"


def server_locks(home: Path) -> tuple[Path, ...]:
    """The lock files of a running server with this PBS_HOME: the primary's, and that of a failover's secondary on
    another host. Each has its server's process id, and remains after the server."""
    return tuple(home / "server_priv" / name for name in ("server.lock", "server.lock.secondary"))


def _read_hook_file(home: Path, name: str, suffix: str) -> str | None:
    path = hooks_folder(home) / (name + suffix)
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DeployError(f"{path}: {error.strerror}; hooks are root's business on the server's host") from error
