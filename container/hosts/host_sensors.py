"""Readings of their own for the hosts of a testbed, which would otherwise all report this machine's.

They are parts of a reading in the file for a site's own sensors, which pbsteer's hook on the host reads
(docs/hooks.md, "A site's own sensors").
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from container.testbed_spec import TestbedError

_FILE = "mom_priv/pbsteer_sensors"
_NUMBER = r"-?[0-9]+(\.[0-9]+)?"
_FORMS = {
    "idle": (re.compile(r"(0(\.[0-9]+)?|1(\.0+)?)"), "a number from 0 to 1, such as 0.25"),
    "mem": (re.compile(rf"{_NUMBER}/{_NUMBER}"), "MiB left of all, such as 2048/65536"),
    "net": (re.compile(rf"{_NUMBER}/{_NUMBER}"), "Mbit/s left of all, such as 100/10000"),
    "temp": (re.compile(rf"{_NUMBER}/{_NUMBER}"), "degrees now and at most, such as 85/95"),
}


def read_sensors(home: Path) -> dict[str, str]:
    """The parts that the host of this PBS_HOME has of its own; empty if it reports what the machine measures."""
    try:
        text = (home / _FILE).read_text(encoding="ascii")
    except FileNotFoundError:
        return {}
    return {part: value for part, _, value in (word.partition("=") for word in text.strip().split(";")) if value}


def write_sensors(home: Path, parts: Mapping[str, str]) -> None:
    """Give the host these parts. `TestbedError` for a value that is none."""
    for part, value in parts.items():
        form, allowed = _FORMS[part]
        if value != "none" and not form.fullmatch(value):
            raise TestbedError(f"{part} {value!r}: allowed is {allowed}, or none")
    path = home / _FILE
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600)
    fresh.write_text(";".join(f"{part}={value}" for part, value in parts.items()) + "\n", encoding="ascii")
    os.replace(fresh, path)  # noqa: PTH105 - the whole file or none


def clear_sensors(home: Path) -> None:
    """Let the host report what the machine measures again."""
    (home / _FILE).unlink(missing_ok=True)
