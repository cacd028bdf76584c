"""What stands in the way of ``drive``: who else schedules the queue's jobs, and what pbsteer would not honour there.

Starting jobs is refused, queue by queue, with a sentence that names the obstacle and what removes it. Preempting is
refused with it: nobody is taken off vnodes for a job that may not be started.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path

from hooks.picture import Attributes, Picture
from hooks.queues import DEFAULT_PARTITION, read_modes
from policy.settings import Settings

_FAIR_SHARE = re.compile(r"^\s*fair_share\s*:\s*true", re.IGNORECASE | re.MULTILINE)
_SCHED_FILES = ("sched_config", "dedicated_time")

SchedFiles = Mapping[str, Mapping[str, str]]
"""A scheduler's own files that matter here: scheduler to file name to text."""


def read_sched_files(picture: Picture) -> SchedFiles:
    """The schedulers' configuration files, as far as this host has them."""
    files: dict[str, dict[str, str]] = {}
    for name, texts in picture.scheds.items():
        found = files.setdefault(name, {})
        for file_name in _SCHED_FILES:
            path = Path(texts.get("sched_priv", "")) / file_name
            if texts.get("sched_priv") and path.is_file():
                found[file_name] = path.read_text(encoding="utf-8", errors="replace")
    return files


def find_obstacles(
    picture: Picture, settings: Settings, unread: Mapping[str, str], files: SchedFiles
) -> dict[str, str]:
    """For each queue in ``drive`` for which nothing may be started: why. ``unread``: limits that could not be read."""
    modes = read_modes(picture, settings)
    found = {}
    for queue, mode in modes.items():
        if mode == "drive":
            obstacle = unread.get("") or unread.get(queue) or _find_obstacle(picture, queue, files)
            if obstacle:
                found[queue] = obstacle
    return found


def find_orphans(picture: Picture, settings: Settings) -> list[str]:
    """Queues that nobody schedules: not in ``drive``, and their scheduler is switched off. One sentence each."""
    sentences = []
    for queue, mode in read_modes(picture, settings).items():
        partition = picture.queues[queue].get("partition", "") or DEFAULT_PARTITION
        name = _serving(picture, partition)
        if mode != "drive" and name is not None and not _is_scheduling(picture, name):
            sentences.append(
                f"queue {queue} is in {mode}, but scheduler {name} has scheduling = False: nobody starts its jobs"
            )
    return sentences


def _find_obstacle(picture: Picture, queue: str, files: SchedFiles) -> str:
    texts = picture.queues[queue]
    partition = texts.get("partition", "") or DEFAULT_PARTITION
    name = _serving(picture, partition)
    if name is None:
        return f"no scheduler serves partition {partition} of queue {queue}: create one in qmgr (it need not run)"
    if _is_scheduling(picture, name):
        return f"scheduler {name} starts jobs too: qmgr -c 'set sched {name} scheduling = False'"
    key = picture.server.get("node_group_key", "") or texts.get("node_group_key", "")
    if key and picture.server.get("node_group_enable") == "True":
        return f"placement sets are in use (node_group_key = {key}), which pbsteer does not honour"
    formula = picture.server.get("job_sort_formula", "") or picture.scheds.get(name, {}).get("job_sort_formula", "")
    if formula:
        return f"job_sort_formula is set ({formula[:80]}), which pbsteer does not honour"
    if _FAIR_SHARE.search(files.get(name, {}).get("sched_config", "")):
        return f"fair_share is true in the sched_config of scheduler {name}, which pbsteer does not honour"
    window = _find_dedicated_time(files.get(name, {}).get("dedicated_time", ""), picture.time_s)
    if window:
        return f"scheduler {name} has dedicated time ({window}), which pbsteer does not honour"
    return ""


def _serving(picture: Picture, partition: str) -> str | None:
    """The scheduler that serves the partition. A server that names no schedulers has the default one alone."""
    for name, texts in picture.scheds.items():
        if partition in (texts.get("partition", "") or DEFAULT_PARTITION).split(","):
            return name
    return "default" if not picture.scheds and partition == DEFAULT_PARTITION else None


def _is_scheduling(picture: Picture, name: str) -> bool:
    texts: Attributes = picture.scheds.get(name, picture.server)
    return texts.get("scheduling", picture.server.get("scheduling", "True")) == "True"


def _find_dedicated_time(text: str, now_s: float) -> str:
    """The first window of a ``dedicated_time`` file that is not over; one that cannot be read counts as such."""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            end_s = time.mktime(time.strptime(" ".join(words[2:]), "%m/%d/%Y %H:%M"))
        except (ValueError, OverflowError):
            return line.strip()[:80]
        if end_s > now_s:
            return line.strip()[:80]
    return ""
