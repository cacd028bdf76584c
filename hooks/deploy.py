"""The hooks put into a server, and taken out again without a trace: every qmgr line and every file known beforehand.

What is in the server and what shall be are two values of one type, and one function gives the steps from one to the
other. Applying, going back when a step fails, and removing are that function with different arguments; doing any of
them twice is a list of no steps. Needs root on the server's host, as PBS itself demands for hooks.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, NamedTuple

from hooks.bundle import EVENTS, build
from hooks.config import show_config
from hooks.resources import MODE, PRIORITY, RESOURCES
from hooks.state import state_folder
from policy.settings import Settings

HOOKS: Mapping[str, str] = {f"pbsteer_{event}": event for event in EVENTS}
"""Our hooks, with their events."""

_BLOCKING_ALARM_S = 10
_RECORD = "installed.json"
_FIRST_RESOURCES = frozenset({MODE, PRIORITY})
"""Those of the versions whose record does not say which they made."""

_BUSY_ON_JOB = "15174"
_SAFE_PATH = re.compile(r"/[\w./+-]*")
_OWN_LINE = re.compile(r"set (?:queue \S+|server) \S+\.(?:" + "|".join(RESOURCES) + r") ")
_SETTING = re.compile(r"set ((?:queue \S+|server) \S+)")


class Reply(NamedTuple):
    """What qmgr said: its exit status, what it printed, and its complaints."""

    status: int
    text: str
    complaint: str


Qmgr = Callable[[str], Reply]
"""Runs one qmgr command."""


class DeployError(Exception):
    """A step failed, or cannot be planned; the message names it, and what state the server is in now."""


class _ResourceBusyError(DeployError):
    """A resource that jobs ask for cannot be deleted."""


@dataclass(frozen=True)
class Hook:
    """One of our hooks as the server has it. ``script`` and ``config`` are the imported texts, None for none."""

    event: str
    alarm_s: int
    freq_s: int | None = None
    enabled: bool = True
    script: str | None = None
    config: str | None = None


@dataclass(frozen=True)
class Installed:
    """All that deploying touches: our hooks, our resources with their types, the lines that use these resources, who
    schedules."""

    hooks: Mapping[str, Hook] = field(default_factory=dict)
    resources: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    scheduling: Mapping[str, str] = field(default_factory=dict)


class Step(NamedTuple):
    """One thing to do: write a file, remove a file or folder, run a qmgr line; in this order where it is several."""

    line: str = ""
    path: Path | None = None
    text: str | None = None

    def show(self) -> str:
        """The step as an administrator reads it."""
        if self.line:
            return f'qmgr -c "{self.line}"'
        if self.text is None:
            return f"remove {self.path}"
        return f"write {self.path} ({len(self.text.encode()):,} bytes)"


def want(settings: Settings, found: Installed) -> Installed:
    """What shall be in the server: our hooks with these settings, and nothing else changed."""
    config = show_config(settings)
    schedule = settings.schedule
    hooks = {}
    for name, event in HOOKS.items():
        hook = Hook(event, _BLOCKING_ALARM_S, script=build(event), config=config)
        if event == "periodic":
            # A pass may need a little more than its budget for what it began; below the interval unless it must not be.
            alarm_s = max(schedule.interval_s - 1, math.ceil(schedule.budget_s) + 5)
            hook = replace(hook, alarm_s=alarm_s, freq_s=schedule.interval_s)
        hooks[name] = hook
    return replace(found, hooks=hooks, resources={name: resource.kind for name, resource in RESOURCES.items()})


class Deployment:
    """The hooks of one server: ``pbs_home`` is its PBS_HOME, ``qmgr`` runs commands on it."""

    def __init__(self, pbs_home: str, qmgr: Qmgr) -> None:
        if not _SAFE_PATH.fullmatch(pbs_home):
            raise DeployError(f"PBS_HOME {pbs_home!r}: qmgr needs a path of letters, digits and / . _ + -")
        self._home = Path(pbs_home)
        self._folder = state_folder(pbs_home)
        self._qmgr = qmgr

    def read(self) -> Installed:
        """What is in the server now. Raises :class:`DeployError`."""
        hooks = {}
        for name, texts in _parse_list(self._ask("list hook @default")).items():
            if name in HOOKS:
                hooks[name] = Hook(
                    texts.get("event", ""),
                    int(texts.get("alarm", "0")),
                    int(texts["freq"]) if "freq" in texts and texts.get("event") == "periodic" else None,
                    texts.get("enabled") == "true",
                    self._read_hook_file(name, ".PY"),
                    self._read_hook_file(name, ".CF"),
                )
        listed = _parse_list(self._ask("list resource"))
        resources = {name: texts.get("type", "") for name, texts in listed.items() if name in RESOURCES}
        printed = self._ask("print server").splitlines()
        schedulers = _parse_list(self._ask("list sched"))
        return Installed(
            hooks,
            resources,
            tuple(line for line in printed if _OWN_LINE.match(line)),
            {name: texts.get("scheduling", "") for name, texts in schedulers.items()},
        )

    def plan_apply(self, settings: Settings) -> list[Step]:
        """All that :meth:`apply` would do; empty where the server has everything already."""
        found = self.read()
        return self._steps_to_apply(found, want(settings, found))

    def plan_remove(self) -> list[Step]:
        """All that :meth:`remove` would do; empty where the server has nothing of ours."""
        found = self.read()
        steps = self._steps(found, self._before(found))
        return [*steps, Step(path=self._folder)] if self._folder.exists() else steps

    def apply(self, settings: Settings, say: Callable[[str], None]) -> None:
        """Do what :meth:`plan_apply` says. Where a step fails, go back and raise :class:`DeployError`."""
        found = self.read()
        self._carry_out(self._steps_to_apply(found, want(settings, found)), found, say)

    def remove(self, say: Callable[[str], None]) -> list[str]:
        """Do what :meth:`plan_remove` says. Where a step fails, go back and raise :class:`DeployError`.

        Returns the resources that have to stay as jobs still ask for them, ended ones in the server's history too; the
        record of what was there before stays with them, and removing again later takes both.
        """
        return self._carry_out(self.plan_remove(), self.read(), say)

    # Steps

    def _steps_to_apply(self, found: Installed, wanted: Installed) -> list[Step]:
        for name, kind in found.resources.items():
            if kind != RESOURCES[name].kind:
                raise DeployError(
                    f"resource {name} is there already, of type {kind}; pbsteer needs it to be of type"
                    f" {RESOURCES[name].kind}: whoever made it has to delete it first, qmgr -c 'delete resource {name}'"
                )
        steps = self._steps(found, wanted)
        record = self._read_record()
        made = _made_by(record) | (wanted.resources.keys() - found.resources.keys())
        if steps and record.get("made") != sorted(made):
            new = {"scheduling": dict(found.scheduling), **record, "made": sorted(made)}
            steps.insert(0, Step(path=self._folder / _RECORD, text=json.dumps(new, sort_keys=True) + "\n"))
        return steps

    def _read_record(self) -> dict[str, Any]:
        """What the first apply found, and which resources were made since; empty where nothing was recorded."""
        try:
            record = json.loads((self._folder / _RECORD).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) else {}

    def _before(self, found: Installed) -> Installed:
        """The server without us, as it was before the first apply; who schedules is put back too."""
        record = self._read_record()
        made = _made_by(record) if record else RESOURCES.keys()
        resources = {name: kind for name, kind in found.resources.items() if name not in made}
        lines = tuple(line for line in found.lines if any(f".{resource} " in line for resource in resources))
        before = record.get("scheduling", {})
        scheduling = {name: before.get(name, now) for name, now in found.scheduling.items()}
        return Installed({}, resources, lines, scheduling)

    def _steps(self, now: Installed, then: Installed) -> list[Step]:
        steps = [Step(f"delete hook {name}") for name in now.hooks if name not in then.hooks]
        dropped = [line for line in now.lines if line not in then.lines]
        steps += [Step(f"unset {setting}") for setting in dict.fromkeys(_setting_of(line) for line in dropped)]
        steps += [Step(f"delete resource {name}") for name in sorted(now.resources.keys() - then.resources)]
        for name in sorted(then.resources.keys() - now.resources):
            kind, flag = RESOURCES[name]
            steps.append(Step(f"create resource {name} type={kind}" + (f",flag={flag}" if flag else "")))
        steps += [Step(line) for line in then.lines if line not in now.lines]
        for name, hook in then.hooks.items():
            steps += self._steps_of_hook(name, now.hooks.get(name), hook)
        for name, scheduling in then.scheduling.items():
            if scheduling != now.scheduling.get(name, scheduling):
                steps.append(Step(f"set sched {name} scheduling = {scheduling}"))
        return steps

    def _steps_of_hook(self, name: str, now: Hook | None, then: Hook) -> list[Step]:
        steps = []
        if now is None or now.event != then.event:
            steps += [Step(f"delete hook {name}")] if now is not None else []
            freq = f",freq={then.freq_s}" if then.freq_s is not None else ""
            steps.append(Step(f"create hook {name} event={then.event},alarm={then.alarm_s}{freq},enabled=false"))
            now = Hook(then.event, then.alarm_s, then.freq_s, enabled=False)
        for kind, suffix, old, new in (
            ("application/x-python", ".py", now.script, then.script),
            ("application/x-config", ".json", now.config, then.config),
        ):
            if new is not None and new != old:
                path = self._folder / "hooks" / (name + suffix)
                steps.append(Step(path=path, text=new))
                steps.append(Step(f"import hook {name} {kind} default {path}"))
        if now.alarm_s != then.alarm_s:
            steps.append(Step(f"set hook {name} alarm = {then.alarm_s}"))
        if then.freq_s is not None and now.freq_s != then.freq_s:
            steps.append(Step(f"set hook {name} freq = {then.freq_s}"))
        if now.enabled != then.enabled:
            steps.append(Step(f"set hook {name} enabled = {str(then.enabled).lower()}"))
        return steps

    def _carry_out(self, steps: Sequence[Step], found: Installed, say: Callable[[str], None]) -> list[str]:
        """Do the steps; returns the resources that could not be deleted as jobs ask for them."""
        left: list[str] = []
        for step in steps:
            if left and step.path == self._folder and step.text is None:
                continue
            say(step.show())
            try:
                self._do(step)
            except _ResourceBusyError:
                left.append(step.line.split()[2])
            except (DeployError, OSError) as error:
                wrong = self._go_back(found, say)
                outcome = (
                    f"; going back failed too: {'; '.join(wrong)}" if wrong else "; the server is as it was before"
                )
                raise DeployError(f"{step.show()}: {error}{outcome}") from error
        return left

    def _go_back(self, found: Installed, say: Callable[[str], None]) -> list[str]:
        """Undo what was done, as far as it goes; returns what went wrong."""
        try:
            steps = self._steps(self.read(), found)
        except DeployError as error:
            return [str(error)]
        wrong = []
        for step in steps:
            say(f"going back: {step.show()}")
            try:
                self._do(step)
            except (DeployError, OSError) as error:
                wrong.append(f"{step.show()}: {error}")
        return wrong

    def _do(self, step: Step) -> None:
        if step.path is not None and step.text is not None:
            for folder in (self._folder, step.path.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
            step.path.write_text(step.text, encoding="utf-8")
            step.path.chmod(0o600)
        elif step.path is not None:
            shutil.rmtree(step.path)
        if step.line:
            self._ask(step.line)

    # The server

    def _ask(self, line: str) -> str:
        reply = self._qmgr(line)
        if reply.status != 0:
            complaint = reply.complaint.strip() or f"qmgr ended with status {reply.status}"
            if line.startswith("delete resource ") and _BUSY_ON_JOB in complaint:
                raise _ResourceBusyError(complaint)
            raise DeployError(f'qmgr -c "{line}": {complaint}')
        return reply.text

    def _read_hook_file(self, name: str, suffix: str) -> str | None:
        path = self._home / "server_priv" / "hooks" / (name + suffix)
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DeployError(f"{path}: {error.strerror}; hooks are root's business on the server's host") from error


def _made_by(record: Mapping[str, Any]) -> frozenset[str]:
    """The resources that a record says pbsteer made."""
    if not record:
        return frozenset()
    return frozenset(record.get("made", _FIRST_RESOURCES.difference(record.get("resources", ()))))


def _setting_of(line: str) -> str:
    """``queue workq resources_available.x`` of ``set queue workq resources_available.x = 1``."""
    match = _SETTING.match(line)
    return match.group(1) if match else ""


def _parse_list(text: str) -> dict[str, dict[str, str]]:
    """What ``qmgr -c "list ..."`` prints: a line with kind and name, indented attributes, long values continued."""
    objects: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    last = ""
    for line in text.splitlines():
        if line.startswith("\t") and last:
            current[last] += line.strip()
        elif line.startswith(" "):
            last, _, value = (part.strip() for part in line.partition(" = "))
            current[last] = f"{current[last]},{value}" if last in current else value
        elif len(line.split()) == 2 and not line.startswith("#"):
            current, last = objects.setdefault(line.split()[1], {}), ""
    return objects
