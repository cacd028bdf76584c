"""Consumables that nobody counts: no vnode says how much it has, and no scheduler is told to look.

Jobs ask for ``vmem`` and the like so that their processes are bounded, on clusters where no vnode has any of it. PBS's
scheduler starts them, as it looks only at what the ``resources`` line of its ``sched_config`` names. To the policy each
vnode has plenty of these. What one vnode has, or a scheduler looks at, a vnode that does not say has none of.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from hooks.pbs.sched_config import SchedFiles, read_sched_config
from hooks.pbs.status import Picture

PLENTY = 1 << 50
"""So much of it each vnode has: more than any job asks for, in whatever unit."""

_SEPARATORS = re.compile(r"[,\s]+")


def find_uncounted(picture: Picture, consumables: Collection[str], files: SchedFiles) -> frozenset[str]:
    """Those of the vnodes' consumables."""
    listed = {name for own in files.values() for name in list_resources(own.get("sched_config", ""))}
    unlisted = set(consumables) - listed
    if not unlisted:
        return frozenset()
    said = set().union(*picture.vnodes.values())
    return frozenset(name for name in unlisted if f"resources_available.{name}" not in said)


def find_unlisted(consumables: Collection[str], files: SchedFiles) -> frozenset[str]:
    """The consumables that no scheduler looks at; none where the schedulers' configuration cannot be read."""
    configs = [own["sched_config"] for own in files.values() if "sched_config" in own]
    listed = {name for config in configs for name in list_resources(config)}
    return frozenset(consumables) - listed if configs else frozenset()


def list_resources(sched_config: str) -> list[str]:
    """The resources that a scheduler with this configuration looks at."""
    return [name for line in read_sched_config(sched_config).get("resources", ()) for name in _SEPARATORS.split(line)]
