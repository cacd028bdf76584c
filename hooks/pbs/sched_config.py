"""A scheduler's own files, as far as pbsteer uses them: the options of its ``sched_config``, and its dedicated time."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path

from hooks.pbs.raw_server_status import ServerStatus
from hooks.pbs.unread_sched_config_edit import find_unread_edit

SchedFiles = Mapping[str, Mapping[str, str]]
"""Scheduler to file name to text; and under :data:`EDITED`, when one was edited that the scheduler has not read."""

EDITED = "sched_config not read again"
"""The key of when a ``sched_config`` was edited, where its scheduler has not read it since."""
_FILES = ("sched_config", "dedicated_time")
_LINE = re.compile(r"^[ \t]*([a-z_]+)[ \t]*:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_PRIME_WORD = re.compile(r"[ \t]+(all|prime|non_prime)$", re.IGNORECASE)


def read_sched_files(server_status: ServerStatus) -> SchedFiles:
    """The schedulers' configuration files, as far as this host has them."""
    files: dict[str, dict[str, str]] = {}
    for name, texts in server_status.scheds.items():
        found = files.setdefault(name, {})
        for file_name in _FILES:
            path = Path(texts.get("sched_priv", "")) / file_name
            if path.is_absolute() and path.is_file():
                found[file_name] = path.read_text(encoding="utf-8", errors="replace")
        edited_s = find_unread_edit(texts, server_status.time_s)
        if edited_s is not None:
            found[EDITED] = time.strftime("%H:%M:%S", time.localtime(edited_s))
    return files


def describe_unread_edit(scheduler: str, files: SchedFiles) -> str:
    """The sentence on a ``sched_config`` that its scheduler has not read since it was edited; empty if it has."""
    edited = files.get(scheduler, {}).get(EDITED, "")
    if not edited:
        return ""
    return (
        f"the sched_config of scheduler {scheduler} was edited at {edited} and not read since, so the options that"
        " it uses are unknown: send it a HUP"
    )


def read_sched_config(text: str) -> dict[str, list[str]]:
    """The values of each option of a ``sched_config``, in order and without quotes; without the words for prime time,
    non-prime time or all of it."""
    found: dict[str, list[str]] = {}
    for line in _LINE.finditer(text):
        found.setdefault(line.group(1), []).append(_PRIME_WORD.sub("", line.group(2)).strip("\"' \t"))
    return found


def is_on(config: Mapping[str, list[str]], option: str) -> bool:
    """Whether an option is true at any time of the day."""
    return any(value.lower() == "true" for value in config.get(option, ()))
