"""The recorded moment of a real Torque server (``tests/torque/record_status.py``), as each way of reading has it."""

from __future__ import annotations

import json
from typing import Any

from hooks.pbs.server_status_type_and_attributes import NAME, ServerStatus
from tests.torque.record_status import RECORDED
from torque.read.parse_program_output import parse_objects, parse_texts
from torque.translate.server_status import read_server_status


def by_library() -> dict[str, Any]:
    """``server``, ``queues``, ``nodes`` and ``jobs`` in Torque's own words, as the library gave them."""
    read: dict[str, Any] = json.loads((RECORDED / "library.json").read_text(encoding="utf-8"))
    return read


def recorded_text(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


def status_by_library() -> ServerStatus:
    read = by_library()
    name, server = read["server"]
    return read_server_status(0.0, {NAME: name, **server}, read["queues"], read["nodes"], read["jobs"])


def status_by_programs() -> ServerStatus:
    name, server = next(iter(parse_texts(recorded_text("server.txt")).items()))
    return read_server_status(
        0.0,
        {NAME: name, **server},
        parse_texts(recorded_text("queues.txt")),
        parse_objects(recorded_text("nodes.xml"), "Node"),
        parse_objects(recorded_text("jobs.xml"), "Job"),
    )


def job_named(status: ServerStatus, name: str) -> dict[str, str]:
    """The one job of this name."""
    (found,) = (dict(texts) for texts in status.jobs.values() if texts["Job_Name"] == name)
    return found
