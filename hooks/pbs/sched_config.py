"""A scheduler's own files, as far as pbsteer uses them: the options of its ``sched_config``, and its dedicated time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from hooks.pbs.status import ServerStatus

SchedFiles = Mapping[str, Mapping[str, str]]
"""Scheduler to file name to text."""

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
    return files


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
