"""The ``Resource_List`` of an event's job: the resources by which submissions and alterations are judged, as texts, and
how a hook changes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Union

from hooks.pbs.custom_resources import OWN_SELECT, PREFERENCES
from hooks.pbs.job_attributes.read_resource_list_value import read_value

ASKED = (
    "select", "place", "ncpus", "mem", "vmem", "ngpus", "naccelerators",
    "walltime", "soft_walltime", "min_walltime", "max_walltime", OWN_SELECT, *PREFERENCES,
)  # fmt: skip


_CHUNKS = frozenset({"select", "nodes", OWN_SELECT})
_STORED = "__pad_values"
"""The attribute in which PBS's object stores its values (``PbsAttributeDescriptor``). Its ``keys`` method tries every
resource of the server, which takes longer than the rest of judging a submission."""

Changes = Mapping[str, Union[str, int, None]]
"""By resource: a text, seconds for a duration, None to unset."""


def read_resource_list(resources: Any) -> dict[str, str]:
    """The values of a ``Resource_List``; an alteration unsets those that are empty.

    At submission PBS has not applied its defaults yet, and an alteration names only what it changes: any resource may
    be missing.
    """
    stored = _read_stored(resources)
    found = stored.get if stored is not None else partial(read_value, resources)
    return {name: str(value) for name in ASKED if (value := found(name)) is not None}


def read_all(resources: Any) -> dict[str, str]:
    """Every value of a ``Resource_List``, as text."""
    stored = _read_stored(resources)
    names = resources.keys() if stored is None else [name for name, value in stored.items() if value is not None]
    return {name: str(resources[name]) for name in names if not name.startswith("_")}


def read_lengths(resources: Any) -> dict[str, int]:
    """The text length of each resource of a ``Resource_List``, without those for chunks, which have limits of their
    own."""
    return {name: len(text) for name, text in read_all(resources).items() if not is_for_chunks(name)}


def is_for_chunks(resource: str) -> bool:
    """Whether a resource has a job's chunks."""
    return resource in _CHUNKS


def _read_stored(resources: Any) -> Mapping[str, Any] | None:
    """The values that PBS's object stores, by resource; None if this version of PBS stores them in another way."""
    # The object stores and lists nothing before one of its resources was read.
    read_value(resources, "ncpus")
    stored = getattr(resources, _STORED, None)
    return stored if isinstance(stored, dict) else None


def read_select(resources: Any) -> str:
    """The requested chunks, as ``select`` or in the old form as ``nodes``; empty if none are named."""
    return read_value(resources, "select") or read_value(resources, "nodes") or ""


def without_empty(resource_list: dict[str, str]) -> dict[str, str]:
    """The resources that have a value."""
    return {name: text for name, text in resource_list.items() if text}


def change_resource_list(pbs: Any, resources: Any, changes: Changes) -> None:
    """Change the resource list of an event's job. PBS takes no plain text for ``select`` and ``place``."""
    kinds = {"select": pbs.select, "place": pbs.place}
    for name, value in changes.items():
        if isinstance(value, int):
            resources[name] = pbs.duration(value)
        else:
            resources[name] = value if value is None or name not in kinds else kinds[name](value)
