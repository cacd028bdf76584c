"""Dynamic server resources: a program of the site's prints how much of a resource, often licences, is free now.

The programs are the ``server_dyn_res`` lines of a scheduler's ``sched_config``, run as PBS's scheduler runs them before
each cycle (Administrator's Guide, "Dynamic Server-level Resources"; ``query_server_dyn_res`` in its source).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import DYNAMIC, SchedFiles, read_options
from hooks.pbs.server_status_type_and_attributes import ServerStatus, read_whole

_LINE = re.compile(r"([^\s,]+)[\s,]+!\s*(\S.*)", re.DOTALL)
_ALARM_S = 30
"""PBS's default of a scheduler's ``server_dyn_res_alarm``."""
_SHOWN = 80


class DynamicResource(NamedTuple):
    """A resource, the command line that prints how much of it is free, and the program in it."""

    name: str
    command: str
    program: str


def read_dynamic_resources(sched_config: str) -> tuple[list[DynamicResource], str]:
    """The dynamic resources of a ``sched_config``, and the first of its lines that cannot be honoured, with why; empty
    if all can."""
    found, obstacle = [], ""
    for value in read_options(sched_config, prime=True).get("server_dyn_res", ()):
        match = _LINE.fullmatch(value)
        program = match[2].split()[0] if match else ""
        why = _find_missing(program) if match else 'allowed is "RESOURCE !/PROGRAM ARGUMENTS"'
        if match and not why:
            found.append(DynamicResource(match[1], match[2], program))
        elif not obstacle:
            obstacle = f"server_dyn_res {value[:_SHOWN]!r}: {why}"
    return found, obstacle


def find_asked_for(server_status: ServerStatus, files: SchedFiles) -> dict[str, list[DynamicResource]]:
    """By scheduler, the dynamic resources that jobs ask for which wait; schedulers without any are left out."""
    asked = {
        scheduler: [
            resource
            for resource in read_dynamic_resources(own.get("sched_config", ""))[0]
            if _is_asked_for(server_status, f"Resource_List.{resource.name}")
        ]
        for scheduler, own in files.items()
    }
    return {scheduler: resources for scheduler, resources in asked.items() if resources}


def find_alarm_s(server_status: ServerStatus, scheduler: str) -> float:
    """How long PBS's scheduler waits for such a program; infinite for its 0."""
    return read_whole(server_status.scheds.get(scheduler, {}).get("server_dyn_res_alarm", ""), _ALARM_S) or math.inf


def read_printed(files: SchedFiles) -> Iterator[tuple[str, str, str]]:
    """Scheduler, resource and printed text of each program that has run."""
    for scheduler, own in files.items():
        for line in own.get(DYNAMIC, "").splitlines():
            name, _, text = line.partition(" ")
            yield scheduler, name, text


def _is_asked_for(server_status: ServerStatus, attribute: str) -> bool:
    return any(attribute in texts and texts.get("job_state", "") in "QHWB" for texts in server_status.jobs.values())


def _find_missing(program: str) -> str:
    """Why the program cannot be there; empty if it may be. Not everybody may look at it."""
    if not Path(program).is_absolute():
        return f"{program[:_SHOWN]!r} is no absolute path"
    try:
        Path(program).stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return f"there is no {program[:_SHOWN]!r}"
    except OSError:
        return ""
    return ""
