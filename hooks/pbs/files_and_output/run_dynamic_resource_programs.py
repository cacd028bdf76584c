"""Runs the programs of dynamic server resources side by side, and reads the first line that each prints.

A program that fails, prints nothing in time, or could be changed by others than root counts as one that printed 0, as
with PBS's scheduler (``query_server_dyn_res`` in its source).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Collection, Mapping

from hooks.pbs.files_and_output.dynamic_server_resources import DynamicResource, find_alarm_s
from hooks.pbs.files_and_output.only_root_can_write import find_fault
from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import DYNAMIC, SchedFiles
from hooks.pbs.server_status_type_and_attributes import ServerStatus

_LONGEST = 255
"""PBS reads that much of the first line."""
_ENDS_WITHIN_S = 0.25
"""How long all programs have to end after each signal."""


def with_printed(
    server_status: ServerStatus, files: SchedFiles, asked: Mapping[str, Collection[DynamicResource]], most_s: float
) -> tuple[SchedFiles, list[str]]:
    """The schedulers' files with what the programs of the resources that are ``asked`` for print, under
    :data:`DYNAMIC`, and sentences on programs that count as 0. The programs of a scheduler have its
    ``server_dyn_res_alarm``, and ``most_s`` seconds at most."""
    found: dict[str, Mapping[str, str]] = dict(files)
    problems: list[str] = []
    for scheduler, resources in asked.items():
        printed = _run(resources, min(find_alarm_s(server_status, scheduler), most_s), problems)
        lines = [f"{name} {text}" for name, text in printed.items()]
        found[scheduler] = {**files[scheduler], DYNAMIC: "\n".join(lines)}
    return found, problems


def _run(dynamic: Collection[DynamicResource], most_s: float, problems: list[str]) -> dict[str, str]:
    """What each resource's program prints first, or "0"; why it is "0" is added to ``problems``."""
    printed: dict[str, str] = {}
    children: list[tuple[DynamicResource, subprocess.Popen[bytes]]] = []
    deadline_s = time.monotonic() + most_s
    try:
        for resource in dynamic:
            printed[resource.name] = "0"
            fault = find_fault(resource.program, may_be_sticky=True)
            if fault:
                problems.append(f"server_dyn_res of {resource.name}: {fault}, so it counts as 0")
                continue
            # The line is root's own, and PBS's scheduler gives it to a shell as well.
            children.append((resource, _begin(resource.command)))
        for resource, child in children:
            text = _read_line(child, deadline_s - time.monotonic())
            if text:
                printed[resource.name] = text
            else:
                why = f"printed nothing in {most_s:.3g} s" if text is None else "printed no first line"
                problems.append(f"server_dyn_res of {resource.name}: {resource.program} {why}, so it counts as 0")
    finally:
        _end([child for _, child in children])
    return printed


def _begin(command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _read_line(child: subprocess.Popen[bytes], most_s: float) -> str | None:
    """The first line of its output, without blanks around it; None if there was none in time."""
    if child.stdout is None:
        return None
    until_s = time.monotonic() + most_s
    text = b""
    while b"\n" not in text and len(text) < _LONGEST:
        ready, _, _ = select.select([child.stdout], [], [], max(0.0, until_s - time.monotonic()))
        if not ready:
            return None
        more = os.read(child.stdout.fileno(), _LONGEST - len(text))
        if not more:
            break
        text += more
    return text.partition(b"\n")[0].decode("ascii", errors="replace").strip()


def _end(children: Collection[subprocess.Popen[bytes]]) -> None:
    """End the programs and all that they have started. A program that the kernel does not let end, as while it waits
    for a disk that does not answer, is left to itself."""
    left = list(children)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for child in left:
            with contextlib.suppress(OSError):
                os.killpg(child.pid, number)
        until_s = time.monotonic() + _ENDS_WITHIN_S
        left = [child for child in left if not _has_ended(child, until_s)]
    for child in children:
        if child.stdout is not None:
            child.stdout.close()


def _has_ended(child: subprocess.Popen[bytes], until_s: float) -> bool:
    try:
        child.wait(max(0.0, until_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True
