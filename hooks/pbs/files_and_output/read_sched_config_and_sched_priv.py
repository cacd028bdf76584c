"""A scheduler's own files, as far as pbsteer uses them: its ``sched_config``, its dedicated time, and its holidays."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from hooks.pbs.files_and_output.unread_sched_config_edit import find_unread_edit
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus

SchedFiles = Mapping[str, Mapping[str, str]]
"""Scheduler to file name to text; under :data:`EDITED`, when one was edited that the scheduler has not read; and under
:data:`DYNAMIC`, what its programs printed."""

Options = Mapping[str, Sequence[str]]
"""Option of a ``sched_config`` to its values, in order."""

RESOURCE_GROUP, USAGE = "resource_group", "usage"
"""The files of fair share: the tree, and what its entities have used. The latter is binary; each of its bytes is one
character of the text."""
DYNAMIC = "what server_dyn_res printed"
"""The key of what the programs of a scheduler's ``server_dyn_res`` lines printed: a resource and a text on each line
(:mod:`hooks.pbs.files_and_output.dynamic_server_resources`)."""
EDITED = "sched_config not read again"
"""The key of when a ``sched_config`` was edited, where its scheduler has not read it since."""
_TEXTS_KEPT = 16
"""So many texts of ``sched_config`` are parsed once: a pass reads each option by itself, and passes follow each other
in one process."""
_FILES = ("sched_config", "dedicated_time", "holidays")
_LINE = re.compile(r"^[ \t]*([a-z_]+)[ \t]*:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_PRIME_WORD = re.compile(r"[ \t]+(all|prime|non_prime)$", re.IGNORECASE)
_OPTION = re.compile(
    r"""^[ \t]*([a-z_]+)[ \t]*:[ \t:]*(?:"([^"\n]*)"?|'([^'\n]*)'?|([^\s"']\S*))(?:[ \t]+(\S+))?""", re.MULTILINE
)
_CONTINUED = re.compile(r"\\\n")


def read_sched_files(server_status: ServerStatus) -> SchedFiles:
    """The schedulers' configuration files, as far as this host has them."""
    files: dict[str, dict[str, str]] = {}
    for name, texts in server_status.scheds.items():
        found = files.setdefault(name, {})
        for file_name in _FILES:
            path = Path(texts.get("sched_priv", "")) / file_name
            if path.is_absolute() and path.is_file():
                found[file_name] = path.read_text(encoding="utf-8", errors="replace")
        if _may_share(server_status, texts, found.get("sched_config", "")):
            found.update(_read_fair_share_files(Path(texts.get("sched_priv", ""))))
        edited_s = find_unread_edit(texts, server_status.time_s)
        if edited_s is not None:
            found[EDITED] = time.strftime("%H:%M:%S", time.localtime(edited_s))
    return files


def _may_share(server_status: ServerStatus, texts: Attributes, sched_config: str) -> bool:
    """Whether fair share may matter to a scheduler's order: by its options, its sort keys, or its formula."""
    formula = texts.get("job_sort_formula", "") or server_status.server.get("job_sort_formula", "")
    return "fair" in formula or any(
        is_true(options, "fair_share") or any("fair_share_perc" in key for key in options.get("job_sort_key", ()))
        for options in (read_options(sched_config, prime=prime) for prime in (True, False))
    )


def _read_fair_share_files(folder: Path) -> dict[str, str]:
    found = {}
    for name, encoding in ((RESOURCE_GROUP, "utf-8"), (USAGE, "latin-1")):
        path = folder / name
        if path.is_absolute() and path.is_file():
            found[name] = path.read_bytes().decode(encoding, errors="replace")
    return found


def describe_unread_edit(scheduler: str, files: SchedFiles) -> str:
    """The sentence on a ``sched_config`` that its scheduler has not read since it was edited; empty if it has."""
    edited = files.get(scheduler, {}).get(EDITED, "")
    if not edited:
        return ""
    return (
        f"the sched_config of scheduler {scheduler} was edited at {edited} and not read since, so the options that"
        " it uses are unknown: send it a HUP"
    )


@lru_cache(maxsize=_TEXTS_KEPT)
def read_sched_config(text: str) -> Options:
    """The values of each option of a ``sched_config``, in order and without quotes; without the words for prime time,
    non-prime time or all of it."""
    found: dict[str, list[str]] = {}
    for line in _LINE.finditer(text):
        found.setdefault(line.group(1), []).append(_PRIME_WORD.sub("", line.group(2)).strip("\"' \t"))
    return found


@lru_cache(maxsize=_TEXTS_KEPT)
def read_options(text: str, *, prime: bool) -> Options:
    """The values of each option as a scheduler reads them (``parse.cpp``), in prime or in non-prime time: a value ends
    at a blank unless it is in quotes, and a word after it says when it holds."""
    found: dict[str, list[str]] = {}
    others = ("non_prime", "NON_PRIME") if prime else ("prime", "PRIME")
    for line in _OPTION.finditer(_CONTINUED.sub("", text)):
        name, double, single, bare, when = line.groups()
        if when is None or when.startswith("#") or when not in (*others, "none", "NONE"):
            found.setdefault(name, []).append(next((value for value in (double, single) if value is not None), bare))
    return found


def is_true(options: Options, option: str, *, missing: bool = False) -> bool:
    """Whether a scheduler takes the last value of an option as true: it does with all but ``false`` and 0."""
    values = options.get(option)
    return missing if not values else values[-1].lower() not in ("false", "0")


def is_on(config: Options, option: str) -> bool:
    """Whether an option is true at any time of the day."""
    return any(value.lower() == "true" for value in config.get(option, ()))
