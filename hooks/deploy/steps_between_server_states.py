"""The steps from one state of a server to another: every qmgr line and every file, in groups with their reason.

Applying, going back after a failed step, and removing are this one function with different arguments, so doing any of
them twice gives an empty list. Nothing here talks to a server.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hooks.deploy.cleanup.release_victims_and_restore_priorities import priority_argv, release_argv
from hooks.deploy.hook_events_alarms_and_order import CREATED, HOOK_EVENTS
from hooks.deploy.read_installed_server_state import Hook, Installed
from policy.model.pbs_units import show_count

_SETTING = re.compile(r"set ((?:queue \S+|server) \S+)")
_GUARD = "runjob"
_GOING = {"periodic": 0, _GUARD: 2}
_WORKS_ON = "PBS's scheduler works as before"
_LIMITS_STAY = "limits are set again as they are: PBS forgets them at its restart after a resource was deleted"
_WIDTH = 79
_MOST_SHOWN = 5
_NO_FLAG = "''"
_KINDS = (("application/x-python", ".py"), ("application/x-config", ".json"))


class Step(NamedTuple):
    """One thing to do: run a qmgr line, write a file (``text``), make a folder ``like`` another, remove a file or
    folder, release a held job, give a job its ``priority``, clear what passes wrote on jobs (``marked_jobs``), or clear
    PBS's temporary files of our hooks from the folder ``sweep``.

    ``why``: its purpose, the same for all steps of a group.
    """

    line: str = ""
    path: Path | None = None
    text: str | None = None
    like: Path | None = None
    job: str = ""
    priority: int | None = None
    marked_jobs: tuple[str, ...] = ()
    sweep: Path | None = None
    why: str = ""

    def show(self) -> str:
        """The step as an administrator reads it."""
        if self.line:
            return f'qmgr -c "{self.line}"'
        if self.job:
            argv = release_argv(self.job) if self.priority is None else priority_argv(self.job, self.priority)
            return " ".join(argv)
        if self.marked_jobs:
            jobs = " ".join(self.marked_jobs[:_MOST_SHOWN]) + (" ..." if len(self.marked_jobs) > _MOST_SHOWN else "")
            return f"clear comment and mark of {show_count(len(self.marked_jobs), 'job')}: {jobs}"
        if self.sweep is not None:
            return f"remove what is of our hooks in {self.sweep}"
        if self.like is not None:
            return f"make folder {self.path} like {self.like}, with its configuration"
        if self.text is None:
            return f"remove {self.path}"
        return f"write {self.path} ({len(self.text.encode()):,} bytes)"

    def to_data(self) -> dict[str, object]:
        """The step as plain data for JSON."""
        if self.line:
            return {"do": "qmgr", "line": self.line}
        if self.priority is not None:
            return {"do": "alter", "job": self.job, "priority": self.priority}
        if self.job:
            return {"do": "release", "job": self.job}
        if self.marked_jobs:
            return {"do": "clear", "jobs": list(self.marked_jobs)}
        if self.sweep is not None:
            return {"do": "sweep", "path": str(self.sweep)}
        if self.like is not None:
            return {"do": "make", "path": str(self.path), "like": str(self.like)}
        if self.text is None:
            return {"do": "remove", "path": str(self.path)}
        return {"do": "write", "path": str(self.path), "bytes": len(self.text.encode()), "text": self.text}


def show_steps(steps: Sequence[Step]) -> Iterator[str]:
    """The steps, one per line, each group below lines with its reason."""
    why = ""
    for step in steps:
        if step.why != why:
            why = step.why
            yield from show_remark(why)
        yield step.show()


def show_remark(text: str) -> list[str]:
    """A sentence between steps, as lines."""
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)


def steps_between(now: Installed, then: Installed, folder: Path) -> list[Step]:
    """All steps from one state to the other. ``folder``: where the texts to import are written."""
    going = [name for name in now.hooks if name not in then.hooks]
    # The pass goes first, and the guard of starts once PBS's scheduler starts jobs again.
    going.sort(key=lambda name: _GOING.get(now.hooks[name].event, 1))
    steps = [Step(f"delete hook {name}", why="our hooks go") for name in going if now.hooks[name].event != _GUARD]
    on = [
        name for name, scheduling in then.scheduling.items() if scheduling == "True" != now.scheduling.get(name, "True")
    ]
    steps += [Step(f"set sched {name} scheduling = True", why=_WORKS_ON) for name in on]
    steps += [Step(f"delete hook {name}", why="our guard goes") for name in going if now.hooks[name].event == _GUARD]
    steps += _steps_of_resources(now, then)
    steps += _steps_of_partitions(now, then)
    for name, hook in then.hooks.items():
        why = f"{name}: {HOOK_EVENTS[hook.event].purpose}" if hook.event in HOOK_EVENTS else name
        steps += [step._replace(why=why) for step in _steps_of_hook(name, now.hooks.get(name), hook, folder)]
    for name, scheduling in then.scheduling.items():
        if name in now.scheduling and scheduling != now.scheduling[name] and name not in on:
            steps.append(Step(f"set sched {name} scheduling = {scheduling}", why=_WORKS_ON))
    return steps


def _steps_of_resources(now: Installed, then: Installed) -> Iterator[Step]:
    dropped = [line for line in now.lines if line not in then.lines]
    for setting in dict.fromkeys(_setting_of(line) for line in dropped):
        yield Step(f"unset {setting}", why="what was set through our resources goes")
    for name in sorted(now.resources.keys() - then.resources):
        yield Step(f"delete resource {name}", why="our resources go, and what vnodes reported through them")
    if now.resources.keys() - then.resources:
        yield from steps_to_keep_limits(now, then)
    for name in sorted(then.resources.keys() - now.resources):
        kind, flag = then.resources[name]
        line = f"create resource {name} type={kind}" + (f",flag={flag}" if flag else "")
        yield Step(
            line, why="resources: what queues say, jobs ask for and vnodes report; PBS itself does nothing by them"
        )
    for name, resource in sorted(then.resources.items()):
        if name in now.resources and not now.resources[name].has_flags(resource.flag):
            # PBS does not "unset" a flag of what jobs ask for, but takes an empty one.
            line = f"set resource {name} flag = {resource.flag or _NO_FLAG}"
            yield Step(line, why="resources get the flags that belong there")
    for line in then.lines:
        if line not in now.lines:
            yield Step(line, why="what was set through our resources")


def steps_to_keep_limits(now: Installed, then: Installed) -> Iterator[Step]:
    """Set one entry of each limit again, as it is, so that PBS writes the whole limit into its data store.

    When a resource is deleted, PBS 23.06 drops the limits of all queues and of the server from its data store, whether
    or not they name that resource. They hold until its next restart, and are gone after it.
    """
    saved = {""}
    for limit in now.limits:
        attribute = limit.where.partition(".")[0]
        if attribute not in saved and limit.resource not in now.resources.keys() - then.resources:
            saved.add(attribute)
            yield Step(f"set {limit.where} += {limit.entry}", why=_LIMITS_STAY)


def _steps_of_partitions(now: Installed, then: Installed) -> Iterator[Step]:
    """A scheduler is made before what it serves, and deleted after it."""
    why = "partition: its queues and vnodes are scheduled apart from the others"
    for name in sorted(then.scheduling.keys() - now.scheduling.keys()):
        yield Step(f"create sched {name}", why=why)
    for name, partition in then.partitions.items():
        if now.partitions.get(name) != partition:
            yield Step(f"set {name} partition = {partition}", why=why)
    for name in sorted(then.scheduling.keys() - now.scheduling.keys()):
        if then.scheduling[name] == "True":
            yield Step(f"set sched {name} scheduling = True", why=why)
    gone = now.scheduling.keys() - then.scheduling.keys()
    for name in now.partitions:
        if name not in then.partitions and name not in {f"sched {scheduler}" for scheduler in gone}:
            yield Step(f"unset {name} partition", why="the partition goes")
    for name in sorted(gone):
        yield Step(f"delete sched {name}", why="the partition goes")


def _steps_of_hook(name: str, now: Hook | None, then: Hook, folder: Path) -> Iterator[Step]:
    old = (None, None) if now is None or now.event != then.event else (now.script, now.config)
    texts = [
        (kind, folder / (name + suffix), new)
        for (kind, suffix), before, new in zip(_KINDS, old, (then.script, then.config))
        if new is not None and new != before
    ]
    # All files first: the lines after them can then be done by one program.
    for _, path, text in texts:
        yield Step(path=path, text=text)
    if now is None or now.event != then.event:
        if now is not None:
            yield Step(f"delete hook {name}")
        given = {key: then.attributes[key] for key in ("alarm", "freq") if key in then.attributes}
        pairs = {"event": then.event, **given, "enabled": "false"}
        yield Step(f"create hook {name} " + ",".join(f"{key}={value}" for key, value in pairs.items()))
        now = Hook(then.event, {**CREATED, **given, "enabled": "false"})
    alarm = then.attributes.get("alarm", "")
    if alarm.isdecimal() and int(alarm) > int(now.attributes.get("alarm", alarm)):
        # The hook gets a longer alarm before the settings that need it: PBS would cut off a run in between.
        yield Step(f"set hook {name} alarm = {alarm}")
        now = replace(now, attributes={**now.attributes, "alarm": alarm})
    for kind, path, _ in texts:
        yield Step(f"import hook {name} {kind} default {path}")
    for key, value in then.attributes.items():
        if key != "enabled" and now.attributes.get(key) != value:
            yield Step(f"set hook {name} {key} = {value}")
    if now.enabled != then.enabled:
        yield Step(f"set hook {name} enabled = {str(then.enabled).lower()}")


def _setting_of(line: str) -> str:
    """``queue workq resources_available.x`` of ``set queue workq resources_available.x = 1``."""
    match = _SETTING.match(line)
    return match.group(1) if match else ""
