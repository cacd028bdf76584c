"""The queues of a simulated cluster, or of one with Torque, as its settings describe them: quotas, hard limits,
priorities, modes. On a cluster with PBS the server holds all of this.

A limit is a text in PBS's syntax, or a table of such texts by resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from policy.model.limit_attributes import LimitError, Limits, parse_limits, show_limits
from policy.values.frozen_value import FrozenValue

TORQUE_MODES = ("observe", "drive")
MOST_PRIORITY = 1024
"""The highest priority of a job or a queue in PBS."""


@dataclass(frozen=True)
class QueueSettings(FrozenValue):
    """A queue, or the whole cluster where the name is "": soft quotas and hard limits by resource, priorities of users
    and groups, the queue's own priority, and its mode on Torque; "" is that of the server. ``paused`` is of the whole
    cluster on Torque: why pbsteer is paused; "" if it is not."""

    name: str
    quotas: Mapping[str, Limits] = field(default_factory=dict)
    max_run_res: Mapping[str, Limits] = field(default_factory=dict)
    priorities: Limits = field(default_factory=Limits)
    priority: int = 0
    mode: str = ""
    paused: str = ""

    def to_data(self) -> dict[str, Any]:
        """The table that describes it, as plain data."""
        tables = {"quotas": self.quotas, "max_run_res": self.max_run_res}
        data: dict[str, Any] = {"name": self.name} if self.name else {}
        for key, limits in tables.items():
            texts = {resource: show_limits(each) for resource, each in limits.items()}
            if texts:
                data[key] = texts["ncpus"] if texts.keys() == {"ncpus"} else texts
        if self.priorities:
            data["priorities"] = show_limits(self.priorities)
        if self.priority:
            data["priority"] = self.priority
        if self.mode:
            data["mode"] = self.mode
        if self.paused:
            data["paused"] = self.paused
        return data


def read_queues(data: Any, of_text: str, where: str, problems: list[str]) -> tuple[QueueSettings, ...]:
    """The queues of a file. What is wrong with them is appended to ``problems``; ``of_text`` is the resource of a limit
    that is a plain text."""
    if not isinstance(data, (list, tuple)) or not all(isinstance(item, Mapping) for item in data):
        problems.append(f"{where}: queue = {data!r}; allowed is a list of tables, [[queue]]")
        return ()
    queues: list[QueueSettings] = []
    known = [f.name for f in fields(QueueSettings) if f.name != "paused"]
    for number, item in enumerate(data, start=1):
        name = item.get("name")
        if not isinstance(name, str) or not name:
            problems.append(f"{where}: queue {number}: name = {name!r}; allowed is the queue's name")
            _queue("", item, known, of_text, f"{where}: queue {number}", problems)
            continue
        if any(queue.name == name for queue in queues):
            problems.append(f"{where}: queue {number}: two queues are named {name!r}; a name is allowed once")
        queues.append(_queue(name, item, known, of_text, f"{where}: queue {name!r}", problems))
    return tuple(queues)


def read_cluster(data: Any, of_text: str, where: str, problems: list[str]) -> QueueSettings:
    """The limits of all queues together, and a pause, ``[cluster]``."""
    if not isinstance(data, Mapping):
        problems.append(f"{where}: cluster = {data!r}; allowed is a table, [cluster]")
        return QueueSettings("")
    return _queue("", data, ["quotas", "max_run_res", "paused"], of_text, f"{where}: cluster", problems)


def _queue(
    name: str, item: Mapping[str, Any], known: list[str], of_text: str, where: str, problems: list[str]
) -> QueueSettings:
    """A queue, or the whole cluster."""
    for key in item:
        if key not in known:
            problems.append(f"{where}: unknown key {key!r}; allowed are {', '.join(known)}")
    tables = {}
    for key in ("quotas", "max_run_res"):
        texts = item.get(key, {})
        texts = texts if isinstance(texts, Mapping) else {of_text: texts}
        read = {resource: _limits(text, f"{where}: {key}", problems) for resource, text in texts.items()}
        tables[key] = {resource: limits for resource, limits in read.items() if limits}
    priority = item.get("priority", 0)
    if not isinstance(priority, int) or isinstance(priority, bool) or abs(priority) > MOST_PRIORITY:
        problems.append(
            f"{where}: priority = {priority!r}; allowed is a whole number from -{MOST_PRIORITY} to {MOST_PRIORITY}"
        )
        priority = 0
    priorities = _limits(item.get("priorities", ""), f"{where}: priorities", problems)
    mode = item.get("mode", "")
    if "mode" in item and mode not in TORQUE_MODES:
        problems.append(f"{where}: mode = {mode!r}; allowed is {' or '.join(TORQUE_MODES)}")
        mode = ""
    paused = item.get("paused", "")
    if not isinstance(paused, str):
        problems.append(f"{where}: paused = {paused!r}; allowed is the reason of a pause, a text")
        paused = ""
    return QueueSettings(name, tables["quotas"], tables["max_run_res"], priorities, priority, mode, paused)


def _limits(text: Any, where: str, problems: list[str]) -> Limits:
    if not isinstance(text, str):
        problems.append(f"{where} = {text!r}; allowed is a text like '[u:alice=128],[u:PBS_GENERIC=32]'")
        return Limits()
    try:
        return parse_limits(text, where)
    except LimitError as error:
        problems += error.problems
        return Limits()
