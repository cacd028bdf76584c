"""What pbsteer made in a server, and what was there before: the record by which a removal restores the server.

It is written before anything is changed, and removed last.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hooks.deploy.bundle_hook import digest_of
from hooks.deploy.read_installed_server_state import DeployError, Installed
from hooks.pbs.custom_resources import RESOURCES
from hooks.store.bounded_json import parse_json

RECORD = "installed.json"


@dataclass(frozen=True)
class DeploymentRecord:
    """The server before the first apply, and what was made since.

    ``made``: resources; ``schedulers``: those that were created; ``folders``: the names of their folders in PBS_HOME;
    ``partitions``: for each object whose partition was changed the old one, "" for none, and the new one; ``flags``:
    the same for resources that others had made. The schedulers that pbsteer has switched off are not in it: each pass
    records its own switches (:class:`hooks.control.pbs_scheduler.scheduler_switch.Switched`), and an administrator may
    switch in between.
    """

    made: frozenset[str] = frozenset()
    schedulers: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    partitions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    flags: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> DeploymentRecord | None:
        """The record in a file; None if there is none. Raises :class:`DeployError` for one that cannot be read."""
        try:
            data = parse_json(path.read_text(encoding="utf-8"))
            return cls(
                frozenset(data["made"]),
                frozenset(data.get("schedulers", ())),
                frozenset(data.get("folders", ())),
                *(
                    {what: (str(old), str(new)) for what, (old, new) in data.get(key, {}).items()}
                    for key in ("partitions", "flags")
                ),
            )
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DeployError(
                f"{path} cannot be read ({error}): it says which resources, schedulers and partitions pbsteer made."
                " Move it away to go on without: while hooks are there, all resources of pbsteer's names then count as"
                " made by it, and partitions stay as they are"
            ) from error

    def show(self) -> str:
        """The text of the file."""
        data: dict[str, Any] = {"made": sorted(self.made)}
        if self.schedulers or self.partitions:
            data.update(schedulers=sorted(self.schedulers), partitions=dict(self.partitions))
        if self.flags:
            data["flags"] = dict(self.flags)
        if self.folders:
            data["folders"] = sorted(self.folders)
        return json.dumps(data, sort_keys=True) + "\n"


def take_back(
    found: Installed, record: DeploymentRecord | None, switched: Collection[str], *, keep_partition: bool
) -> Installed:
    """The server as it was before the first apply, with the schedulers on that we have ``switched`` off. Resources that
    limits name stay (:func:`find_limited`)."""
    made = _find_made(found, record) - find_limited(found, record).keys()
    resources = {name: resource for name, resource in found.resources.items() if name not in made}
    for name, (old, new) in record.flags.items() if record is not None else ():
        if name in resources and resources[name].has_flags(new):
            resources[name] = resources[name]._replace(flag=old)
    lines = tuple(line for line in found.lines if any(f".{resource} " in line for resource in resources))
    scheduling = {name: "True" if name in switched else now for name, now in found.scheduling.items()}
    if record is None:
        return Installed({}, resources, lines, found.limits, scheduling, found.partitions)
    ours = frozenset() if keep_partition else record.schedulers
    gone = {f"sched {name}" for name in ours}
    partitions = {what: now for what, now in found.partitions.items() if what not in gone}
    for what, (old, new) in () if keep_partition else record.partitions.items():
        # A partition that an administrator has changed since is theirs.
        if partitions.get(what) == new:
            partitions.pop(what)
            partitions.update({what: old} if old else {})
    scheduling = {name: now for name, now in scheduling.items() if name not in ours}
    return Installed({}, resources, lines, found.limits, scheduling, partitions)


def find_limited(found: Installed, record: DeploymentRecord | None) -> dict[str, list[str]]:
    """Those of our resources that a limit of a queue or of the server names, with the qmgr lines that unset these."""
    limited: dict[str, list[str]] = {}
    made = _find_made(found, record)
    for limit in found.limits:
        line = f"unset {limit.where}"
        if limit.resource in made and line not in limited.setdefault(limit.resource, []):
            limited[limit.resource].append(line)
    return limited


def _find_made(found: Installed, record: DeploymentRecord | None) -> frozenset[str]:
    """The resources that an apply has made. Hooks without a record: theirs was lost. If there are no hooks either,
    nothing there is ours."""
    if record is not None:
        return frozenset(record.made)
    return frozenset(RESOURCES) if found.hooks else frozenset()


def demand_ours(found: Installed, record: DeploymentRecord | None) -> None:
    """Raise :class:`DeployError` for a hook of our name that others made: without a record nothing of it could be
    restored."""
    for name, hook in found.hooks.items() if record is None else ():
        if hook.script is not None and not digest_of(hook.script):
            raise DeployError(
                f"hook {name} is there already, and its script is not pbsteer's: whoever made it has to give it another"
                f" name, or to delete it, qmgr -c 'delete hook {name}'"
            )
