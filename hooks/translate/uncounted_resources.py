"""Consumables that are not counted on a vnode: each vnode without an amount of them has, for the policy, no limit.

Jobs ask for ``vmem`` and the like to bound their processes, and PBS's scheduler, which checks only what the
``resources`` line of its ``sched_config`` names, starts them where no vnode has an amount. What its
``resource_unset_infinite`` names it checks only on vnodes that have an amount.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import SchedFiles, read_sched_config
from hooks.pbs.scheduler_object_of_queue import find_scheduler_of_partition
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


def find_unlimited(
    server_status: ServerStatus, consumables: Collection[str], files: SchedFiles
) -> Mapping[str, frozenset[str]]:
    """By partition of the vnodes ("" is the default one), the consumables that a vnode without an amount of them has
    without limit."""
    uncounted = find_uncounted(server_status, consumables, files)
    found = {}
    for partition in {texts.get("partition", "") for texts in server_status.vnodes.values()}:
        own = files.get(find_scheduler_of_partition(server_status, partition) or "", {})
        found[partition] = uncounted.union(list_unset_infinite(own.get("sched_config", ""))).intersection(consumables)
    return found


def find_unlisted(consumables: Collection[str], files: SchedFiles) -> frozenset[str]:
    """The consumables that no scheduler checks; empty if the schedulers' configuration cannot be read."""
    configs = [own["sched_config"] for own in files.values() if "sched_config" in own]
    listed = {name for config in configs for name in list_resources(config)}
    return frozenset(consumables) - listed if configs else frozenset()


def list_resources(sched_config: str) -> list[str]:
    """The resources that a scheduler with this configuration checks."""
    return _list_names(sched_config, "resources")


def list_unset_infinite(sched_config: str) -> list[str]:
    """The resources of which a scheduler with this configuration takes a vnode without a value to have any."""
    return _list_names(sched_config, "resource_unset_infinite")


def _list_names(sched_config: str, option: str) -> list[str]:
    lines = read_sched_config(sched_config).get(option, ())
    return [name for line in lines for name in _SEPARATORS.split(line) if name]
