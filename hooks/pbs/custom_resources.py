"""The custom resources that pbsteer defines in a server: on queues and vnodes, and as preferences of jobs.

A resource that the server does not define is simply not set anywhere; README.md has why each has its type and flags.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hooks.pbs.custom_resources_on_hosts import READING, SAVE


class Resource(NamedTuple):
    """A resource's type and flags, as ``qmgr -c "list resource"`` shows them."""

    kind: str
    flag: str = ""

    def has_flags(self, flag: str) -> bool:
        """Whether its flags are these, in whatever order."""
        return set(self.flag) == set(flag)


MODE = "pbsteer_mode"
"""Of a queue: its mode, which says what passes carry out there (``resources_available``)."""
PRIORITY = "user_priority"
"""Of a queue: the priorities of users and groups (``max_run_res_soft``; docs/policies.md, P2)."""
DEFERRABLE = "pbsteer_deferrable"
"""Of a queue or a job: preempted first among equals (docs/policies.md, P2)."""
APPLICATION = "pbsteer_app"
"""Of a job: its application, by which striping learns (docs/policies.md, P5). An account names the payer, so it is not
used."""
RANK = "pbsteer_rank"
"""Of a job: the mode by which its vnodes are ranked (docs/policies.md, P4)."""
MIN_MEMORY, MIN_COMPUTE, MIN_NETWORK = "pbsteer_min_mem", "pbsteer_min_compute", "pbsteer_min_network"
MAX_TEMPERATURE = "pbsteer_max_temp"
"""Of a job: what each of its vnodes must have left, and how hot it may be (docs/policies.md, P4)."""
DETAIL = "pbsteer_list"
"""Of a job: whether only its vnodes are listed, or sockets or cores as well (docs/policies.md, P4)."""
LAYOUT, WIDTH, STRIPE_NODES = "pbsteer_layout", "pbsteer_width", "pbsteer_stripe_nodes"
"""Of a job: pack or stripe, over how many nodes, and how many of them one stripe spans (docs/policies.md, P5)."""
OWN_SELECT = "pbsteer_asked"
"""Of a job: its own select, if that was cut for a stripe; set by hooks and managers only."""
PLACE = "pbsteer_priority"
"""Of a job: its priority among all users' jobs; set by managers and operators only (docs/policies.md, "Together, in one
pass")."""

SAVE_ATTRIBUTE = f"resources_available.{SAVE}"
"""The attribute of a queue that says how its jobs save their work (hooks/pbs/custom_resources_on_hosts.py)."""

PAUSED = "pbsteer_paused"
"""Of the server: why pbsteer is paused; it is not if this is unset (hooks/pbs/pause_in_server_attributes.py)."""
PAUSED_ATTRIBUTE = f"resources_available.{PAUSED}"
"""The attribute of the server that has it."""

RESOURCES: Mapping[str, Resource] = {
    MODE: Resource("string", "r"),
    PRIORITY: Resource("long", "i"),
    DEFERRABLE: Resource("boolean"),
    APPLICATION: Resource("string"),
    RANK: Resource("string"),
    MIN_MEMORY: Resource("string"),
    MIN_COMPUTE: Resource("string"),
    MIN_NETWORK: Resource("string"),
    MAX_TEMPERATURE: Resource("string"),
    DETAIL: Resource("string"),
    LAYOUT: Resource("string"),
    WIDTH: Resource("string"),
    STRIPE_NODES: Resource("string"),
    OWN_SELECT: Resource("string", "r"),
    PLACE: Resource("long", "r"),
    SAVE: Resource("string", "m"),
    READING: Resource("string", "r"),
    PAUSED: Resource("string", "r"),
}
"""All of them, by name."""

PREFERENCES = tuple(name for name, resource in RESOURCES.items() if not {"i", "r"}.intersection(resource.flag))
"""Those that a job may request."""


MODE_ATTRIBUTE = f"resources_available.{MODE}"


DEFERRABLE_ATTRIBUTE = f"resources_available.{DEFERRABLE}"


SOFT_LIMIT = "max_run_res_soft"


PRIORITY_ATTRIBUTE = f"max_run_res_soft.{PRIORITY}"


DEFAULT_PARTITION = "pbs-default"


PLENTY = 1 << 50
"""The amount that each vnode has of a consumable that is not counted (:mod:`hooks.translate.uncounted_resources`): more
than any job asks for, in whatever unit."""
