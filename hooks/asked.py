"""What a job of an event asks for, as texts, and how a hook changes it: the resources that submissions and alterations
are judged by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Union

from hooks.resources import OWN_SELECT, WISHES

ASKED = (
    "select", "place", "ncpus", "mem", "vmem", "ngpus", "naccelerators",
    "walltime", "soft_walltime", "min_walltime", "max_walltime", OWN_SELECT, *WISHES,
)  # fmt: skip


_CHUNKS = frozenset({"select", "nodes", OWN_SELECT})

Changes = Mapping[str, Union[str, int, None]]
"""By resource: a text, seconds for a duration, None to unset."""


def read_asked(resources: Any) -> dict[str, str]:
    """The values of a ``Resource_List``; empty ones are what an alteration unsets.

    At submission PBS has not applied its defaults yet, and an alteration names only what it changes: anything may be
    missing.
    """
    asked = {}
    for name in ASKED:
        value = read_value(resources, name)
        if value is not None:
            asked[name] = value
    return asked


def read_value(resources: Any, name: str) -> str | None:
    """One value; None where it is not named, or where the server does not know the resource."""
    try:
        value = resources[name]
    except Exception:  # noqa: BLE001 - how PBS says that it does not know a resource differs by version
        return None
    return None if value is None else str(value)


def read_lengths(resources: Any) -> dict[str, int]:
    """How long the text of each resource of a ``Resource_List`` is, chunks apart, which have bounds of their own."""
    # PBS's object lists nothing before one of it was read, and has no iterator.
    read_value(resources, "ncpus")
    return {name: len(str(resources[name])) for name in resources.keys() if name not in _CHUNKS}  # noqa: SIM118


def refuse_name(name: Any) -> str:
    """Why a job may not be called so; empty where it may, or where no name is given. PBS's own commands let no line
    break through, but its server takes one, and writes the name into its log as it is: lines that nobody caused."""
    text = "" if name is None else str(name)
    return "its name has a line break" if "\n" in text or "\r" in text else ""


def read_select(resources: Any) -> str:
    """The chunks asked for, as ``select`` or in the old form as ``nodes``; empty where none are named."""
    return read_value(resources, "select") or read_value(resources, "nodes") or ""


def without_empty(asked: dict[str, str]) -> dict[str, str]:
    """What has a value."""
    return {name: text for name, text in asked.items() if text}


def change_asked(pbs: Any, resources: Any, changes: Changes) -> None:
    """Set what a job of an event asks for. PBS takes no plain text for ``select`` and ``place``."""
    kinds = {"select": pbs.select, "place": pbs.place}
    for name, value in changes.items():
        if isinstance(value, int):
            resources[name] = pbs.duration(value)
        else:
            resources[name] = value if value is None or name not in kinds else kinds[name](value)
