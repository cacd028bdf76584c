"""Consumables that are not counted: no vnode has an amount of them, and no scheduler checks them.

Jobs ask for ``vmem`` and the like to bound their processes, and PBS's scheduler, which checks only what the
``resources`` line of its ``sched_config`` names, starts them. For the policy each vnode has an unlimited amount of
these.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import SchedFiles, read_sched_config
from hooks.pbs.server_status_type_and_attributes import ServerStatus

_SEPARATORS = re.compile(r"[,\s]+")


def find_uncounted(server_status: ServerStatus, consumables: Collection[str], files: SchedFiles) -> frozenset[str]:
    """Those of the vnodes' consumables that are not counted."""
    listed = {name for own in files.values() for name in list_resources(own.get("sched_config", ""))}
    unlisted = set(consumables) - listed
    if not unlisted:
        return frozenset()
    attributes = set().union(*server_status.vnodes.values())
    return frozenset(name for name in unlisted if f"resources_available.{name}" not in attributes)


def find_unlisted(consumables: Collection[str], files: SchedFiles) -> frozenset[str]:
    """The consumables that no scheduler checks; empty if the schedulers' configuration cannot be read."""
    configs = [own["sched_config"] for own in files.values() if "sched_config" in own]
    listed = {name for config in configs for name in list_resources(config)}
    return frozenset(consumables) - listed if configs else frozenset()


def list_resources(sched_config: str) -> list[str]:
    """The resources that a scheduler with this configuration checks."""
    return [name for line in read_sched_config(sched_config).get("resources", ()) for name in _SEPARATORS.split(line)]
