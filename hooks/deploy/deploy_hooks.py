"""Installs the hooks in a server, and removes them without a trace: every qmgr line and every file is known beforehand.

The wanted state is computed from the present one, the settings, and a record of the state before the first apply; the
steps between are shown or done, and undone if one fails. Needs root on the server's host, as PBS itself demands for
hooks.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Callable, NamedTuple

from hooks.control.scheduler_switch import Switched
from hooks.deploy.bundle_hook import EVENTS, ON_DEMAND, build
from hooks.deploy.cleanup.hook_temp_files_cleanup import clear_copies, find_leftovers, sweep
from hooks.deploy.cleanup.release_victims_and_restore_priorities import (
    Programs,
    ask_to_clear_marked_jobs,
    find_held,
    find_own_priorities,
    list_marked_jobs,
    put_back_priority,
    release_victim,
)
from hooks.deploy.deployment_record import RECORD, DeploymentRecord, demand_ours, find_limited, take_back
from hooks.deploy.disk_space_and_busy_vnodes import demand_room, describe_jobs_saving, find_busy_vnodes
from hooks.deploy.hook_events_alarms_and_order import attributes_of
from hooks.deploy.read_installed_server_state import (
    DeployError,
    Hook,
    Installed,
    Qmgr,
    ResourceBusyError,
    ask,
    hooks_folder,
    list_partitions,
    read_applied,
    read_installed,
)
from hooks.deploy.settings_and_partition.check_settings_against_server import find_unfit
from hooks.deploy.settings_and_partition.make_partition_scheduler_folders import (
    make_folder,
    steps_to_make,
    steps_to_remove,
)
from hooks.deploy.settings_and_partition.partition_with_own_scheduler import Part, with_part
from hooks.deploy.settings_and_partition.settings_choice import Chosen, choose
from hooks.deploy.steps_between_server_states import Step, show_steps, steps_between, steps_to_keep_limits
from hooks.pbs.custom_resources import DEFAULT_PARTITION, MODE_ATTRIBUTE, RESOURCES
from hooks.pbs.server_status_type_and_attributes import DEFAULT_SCHEDULER
from hooks.quota_plan.take_back_at_removal import lines_to_take_back
from hooks.store.forecast_run_and_write_locks import no_forecast_written
from hooks.store.hook_settings import show_config
from hooks.store.original_priorities import read_priorities
from hooks.store.state_files import SCHEDULERS, SecondWriterError, State, StateError
from hooks.store.state_folder import state_folder
from policy.settings.site_settings import HANDED_ON_HOST, Settings

HOOKS: Mapping[str, str] = {f"pbsteer_{event}": event for event in EVENTS}
"""Our hooks that every server has, with their events."""

_ON_DEMAND = {f"pbsteer_{event}": event for event in ON_DEMAND}
_ALL: Mapping[str, str] = {**HOOKS, **_ON_DEMAND}


def hooks_of(settings: Settings | None) -> Mapping[str, str]:
    """The hooks that a server with these settings has, with their events."""
    return _ALL if settings is not None and settings.ranking.lists in HANDED_ON_HOST else HOOKS


_PASS, _GUARD = "pbsteer_periodic", "pbsteer_runjob"
_AT_ITS_END = "delete hook pbsteer_execjob_epilogue"
_STOP_LINE = "set server scheduling = False"
_MODE_LINE = re.compile(rf"set queue (\S+) {re.escape(MODE_ATTRIBUTE)} = (\S+)")
_SAFE_PATH = re.compile(r"/[\w./+-]*")
_LAST_PASS_S = 60.0
"""How long to wait for a pass that is under way once its hook is gone."""

Say = Callable[[str], None]


class Removed(NamedTuple):
    """What a removal did. ``left``: the resources that have to stay because jobs, queues or vnodes still have them,
    including ended jobs in the server's history. The record of the state before stays with them; a later removal takes
    both. ``limited``: those that limits name, with the qmgr lines that unset these limits.
    """

    steps: list[Step]
    left: list[str]
    limited: Mapping[str, list[str]]


class _Files(NamedTuple):
    """The state of our files: whether the folder exists, the record's text (None for none), and the folders to be
    made."""

    folder: bool
    record: str | None
    missing: tuple[Path, ...]


class Deployment:
    """The hooks of one server: ``pbs_home`` is its PBS_HOME, ``qmgr`` and ``programs`` run commands on it.

    Without ``programs`` a removal does not look for held victims; without ``pbs_exec``, where PBS is installed,
    comments and marks on jobs stay.
    """

    def __init__(self, pbs_home: str, qmgr: Qmgr, programs: Programs | None = None, pbs_exec: str = "") -> None:
        if not _SAFE_PATH.fullmatch(pbs_home):
            raise DeployError(f"PBS_HOME {pbs_home!r}: qmgr needs a path of letters, digits and / . _ + -")
        self._home = Path(pbs_home)
        self._folder = state_folder(pbs_home)
        self._qmgr = qmgr
        self._programs = programs
        self._pbs_exec = pbs_exec

    def read(self) -> Installed:
        """The present state of the server. Raises :class:`DeployError`."""
        return read_installed(self._qmgr, self._home, _ALL)

    def plan_apply(self, settings: Settings, part: Part | None = None) -> list[Step]:
        """All that :meth:`apply` would do; empty if the server has everything already. :meth:`find_obstacle` has
        whether PBS permits it now."""
        return self._steps_to_apply(self.read(), settings, part)

    def plan_remove(self, *, keep_partition: bool = False) -> list[Step]:
        """All that :meth:`remove` would do; empty if the server has nothing of ours. :meth:`find_obstacle` has whether
        PBS permits it now."""
        return self._steps_to_remove(self.read(), keep_partition=keep_partition)

    def choose(self, given: Settings | None, source: str) -> Chosen:
        """The settings to apply, as :func:`hooks.deploy.settings_and_partition.settings_choice.choose` finds them.
        Raises :class:`DeployError`."""
        return choose(self.read(), given, source)

    def apply(self, settings: Settings, say: Say, part: Part | None = None) -> list[Step]:
        """Do the steps of :meth:`plan_apply`; returns them. If a step fails, go back and raise :class:`DeployError`."""
        with self._alone():
            found = self.read()
            steps = self._steps_to_apply(found, settings, part)
            self._demand_way(steps, settings)
            self._do_steps(steps, found, say, may_stay=False)
        return steps

    def remove(self, say: Say, *, keep_partition: bool = False) -> Removed:
        """Do the steps of :meth:`plan_remove`. If a step fails, go back and raise :class:`DeployError`."""
        with self._alone():
            found = self.read()
            steps = self._steps_to_remove(found, keep_partition=keep_partition)
            self._demand_way(steps)
            limited = find_limited(found, DeploymentRecord.read(self._folder / RECORD))
            busy = self._do_steps(steps, found, say, may_stay=True, limited=bool(limited))
        done = [step for step in steps if step.line.split()[2:3] not in [[name] for name in busy]]
        return Removed(done, [*busy, *limited], limited)

    def find_limited(self) -> Mapping[str, list[str]]:
        """Our resources that a removal would leave because limits name them, with the qmgr lines that unset these."""
        return find_limited(self.read(), DeploymentRecord.read(self._folder / RECORD))

    def find_obstacle(self, steps: Sequence[Step], settings: Settings | None = None) -> str:
        """What would stop these steps before they change anything; empty if nothing does. PBS changes the partition of
        no vnode that has jobs or a reservation, jobs may still be saving, and the ``settings`` to apply may count
        resources that the server does not have. Raises :class:`DeployError`."""
        unfit = find_unfit(self._qmgr, settings) if settings is not None else ""
        if unfit:
            return unfit
        saving = self._describe_jobs_saving() if any(step.line == _AT_ITS_END for step in steps) else ""
        return saving or find_busy_vnodes(self._qmgr, steps)

    def _describe_jobs_saving(self) -> str:
        return (
            describe_jobs_saving(self._programs, self._pbs_exec)
            if self._programs is not None and self._pbs_exec
            else ""
        )

    def _demand_way(self, steps: Sequence[Step], settings: Settings | None = None) -> None:
        obstacle = self.find_obstacle(steps, settings)
        if obstacle:
            raise DeployError(obstacle)
        demand_room(self._home, steps)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep others from changing the server at the same time: they would undo each other's steps. The lock is on a
        folder of PBS's, as none of ours may exist before the first apply and after a removal."""
        folder = hooks_folder(self._home)
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise DeployError(f"{folder}: {error.strerror}: do this as root, on the server's host") from error
        try:
            _lock_out_others(lock, folder)
            yield
        finally:
            os.close(lock)

    # Steps

    def _steps_to_apply(self, found: Installed, settings: Settings, part: Part | None) -> list[Step]:
        for name, resource in found.resources.items():
            if resource.kind != RESOURCES[name].kind:
                raise DeployError(
                    f"resource {name} is there already, of type {resource.kind}; pbsteer needs it to be of type"
                    f" {RESOURCES[name].kind}: whoever made it has to delete it first, qmgr -c 'delete resource {name}'"
                )
        wanted = replace(
            found,
            hooks={name: _make_hook(event, settings) for name, event in hooks_of(settings).items()},
            resources=RESOURCES,
        )
        written = DeploymentRecord.read(self._folder / RECORD)
        demand_ours(found, written)
        old_schedulers = written.schedulers if written is not None else frozenset()
        if part is not None:
            wanted = with_part(self._qmgr, found, wanted, part, old_schedulers)
        steps = self._steps(found, wanted)
        schedulers = old_schedulers | (wanted.scheduling.keys() - found.scheduling.keys())
        folders = list(steps_to_make(self._home, sorted(schedulers)) if part is not None else ())
        steps += folders
        # Hooks without a record: theirs was lost, and the new one has what a removal would then take for ours.
        old = written or DeploymentRecord(frozenset(found.resources) if found.hooks else frozenset())
        changed = {
            what: (found.partitions.get(what, ""), partition)
            for what, partition in wanted.partitions.items()
            if found.partitions.get(what) != partition and not what.startswith("sched ")
        }
        made = old.made | (wanted.resources.keys() - found.resources.keys())
        flags = {
            name: (now.flag, wanted.resources[name].flag)
            for name, now in found.resources.items()
            if name not in made and not now.has_flags(wanted.resources[name].flag)
        }
        new = replace(
            old,
            made=made,
            flags={**flags, **{name: (pair[0], RESOURCES[name].flag) for name, pair in old.flags.items()}},
            schedulers=schedulers,
            folders=old.folders | {step.path.name for step in folders if step.path is not None},
            partitions={
                **old.partitions,
                **{what: (old.partitions.get(what, pair)[0], pair[1]) for what, pair in changed.items()},
            },
        )
        if new != written and (steps or found.hooks):
            why = "how the server is now, so that it can be put back"
            steps.insert(0, Step(path=self._folder / RECORD, text=new.show(), why=why))
        return steps

    def _steps_to_remove(self, found: Installed, *, keep_partition: bool) -> list[Step]:
        record = DeploymentRecord.read(self._folder / RECORD)
        demand_ours(found, record)
        before = take_back(found, record, self._find_switched(found), keep_partition=keep_partition)
        steps = self._steps(found, before)
        if record is not None and not found.resources.keys() - before.resources:
            # An earlier removal may have been killed after its last resource.
            steps += steps_to_keep_limits(found, before)
        if self._programs is not None and (found.hooks or found.resources):
            why = "preempted jobs that are held until their beneficiary starts are released"
            held = [Step(job=job_id, why=why) for job_id in find_held(self._programs)]
            why = "jobs have the priority again that their users gave them"
            own = find_own_priorities(self._programs, read_priorities(State(self._folder)))
            held += [Step(job=job_id, priority=priority, why=why) for job_id, priority in own.items()]
            marked_jobs = list_marked_jobs(self._programs, self._pbs_exec) if self._pbs_exec else ()
            if marked_jobs:
                why = "what passes wrote on jobs goes: comments, and marks of those that made room"
                held.append(Step(marked_jobs=marked_jobs, why=why))
            first = sum(step.line in (f"delete hook {name}" for name in _ALL if name != _GUARD) for step in steps)
            steps[first:first] = held
        if found.hooks or find_leftovers(self._home, _ALL):
            why = "what PBS keeps of our hooks for some time goes, once the last pass has ended"
            steps.append(Step(sweep=hooks_folder(self._home) / "tmp", why=why))
        if record is not None and not keep_partition:
            steps += steps_to_remove(self._home, record.folders)
        why = "planned quotas that are set go back to what was there before"
        limits = [(limit.where, limit.entry) for limit in found.limits]
        steps += [Step(line, why=why) for line in lines_to_take_back(State(self._folder), limits)]
        why = "our files go, the journal with them"
        # A step by itself, as the folder may have to stay: pbsteer switches no scheduler off from now on.
        steps += [Step(path=path, why=why) for path in (self._folder / SCHEDULERS, self._folder) if path.exists()]
        return steps

    def _find_switched(self, found: Installed) -> frozenset[str]:
        """The schedulers that pbsteer has switched off, without the default one if an administrator has stopped the
        server's scheduling since. If the record cannot be read and hooks are there: those that are off and serve a
        queue in ``drive``, as in a pass (:func:`hooks.control.scheduler_switch.hand_back`)."""
        switched = Switched.read(State(self._folder))
        off = {name for name, scheduling in found.scheduling.items() if scheduling != "True"}
        if not switched.lost or not found.hooks:
            is_stop = switched.unset and _STOP_LINE in ask(self._qmgr, "print server").splitlines()
            return (switched.names - {DEFAULT_SCHEDULER} if is_stop else switched.names) & off
        mode = (read_applied(found) or Settings()).server.mode
        modes = dict.fromkeys(list_partitions(self._qmgr, "queue"), mode)
        modes.update((match[1], match[2]) for match in map(_MODE_LINE.fullmatch, found.lines) if match)
        parts = {
            found.partitions.get(f"queue {queue}", DEFAULT_PARTITION) for queue in modes if modes[queue] == "drive"
        }
        return frozenset(
            name for name in off if parts & set(found.partitions.get(f"sched {name}", DEFAULT_PARTITION).split(","))
        )

    def _steps(self, now: Installed, then: Installed) -> list[Step]:
        return steps_between(now, then, self._folder / "hooks")

    def _do_steps(
        self, steps: Sequence[Step], found: Installed, say: Say, *, may_stay: bool, limited: bool = False
    ) -> list[str]:
        """Do the steps; returns the resources that stay because jobs, queues or vnodes have them, if they
        ``may_stay``. The record of what was made stays with them, and where others are ``limited``."""
        left: list[str] = []
        why = ""
        missing = tuple(step.path for step in steps if step.like is not None and step.path is not None)
        files = _Files(self._folder.exists(), self._read_record_text(), missing)
        removing = any(step.line == f"delete hook {_PASS}" for step in steps)
        with contextlib.ExitStack() as held:
            for step in steps:
                if (left or limited) and step.path == self._folder and step.text is None:
                    continue
                try:
                    if files.folder and not removing and step.path == self._folder and step.text is None:
                        self._lock_folder(held)
                    for line in show_steps([step]) if step.why != why else [step.show()]:
                        say(line)
                    why = step.why
                    outcome = self._do(step)
                    if outcome:
                        say(outcome)
                    if files.folder and step.line == f"delete hook {_PASS}":
                        self._lock_folder(held)
                except BaseException as error:
                    if may_stay and isinstance(error, ResourceBusyError):
                        left.append(step.line.split()[2])
                        say(f"  {left[-1]} stays: jobs, queues or vnodes have it")
                        continue
                    wrong = self._go_back(found, files, say)
                    if not isinstance(error, (DeployError, OSError)):
                        raise
                    now = f"going back failed too: {'; '.join(wrong)}" if wrong else "the server is as it was before"
                    failed = error if isinstance(error, DeployError) else f"{step.show()}: {error}"
                    raise DeployError(f"{failed}; {now}") from error
        return left

    def _lock_folder(self, held: contextlib.ExitStack) -> None:
        """Lock our folder: wait for a pass that is under way, which its own alarm ends, and let none begin anew."""
        deadline_s = time.monotonic() + _LAST_PASS_S
        while not self._try_to_lock(held):
            if time.monotonic() > deadline_s:
                raise DeployError(f"{self._folder}: a pass still writes there after {_LAST_PASS_S:g} s")
            time.sleep(0.1)

    def _try_to_lock(self, held: contextlib.ExitStack) -> bool:
        try:
            held.enter_context(State(self._folder).locked())
            held.enter_context(no_forecast_written(self._folder))
        except SecondWriterError:
            return False
        except StateError as error:
            raise DeployError(str(error)) from error
        return True

    def _go_back(self, found: Installed, files: _Files, say: Say) -> list[str]:
        """Undo what was done, as far as possible; returns what went wrong."""
        try:
            steps = self._steps(self.read(), found)
        except DeployError as error:
            return [str(error)]
        if not found.hooks:
            steps.append(Step(sweep=hooks_folder(self._home) / "tmp"))
        steps += [Step(path=path) for path in files.missing if path.is_dir()]
        if not files.folder and self._folder.is_dir():
            steps.append(Step(path=self._folder))
        elif files.folder and self._read_record_text() != files.record:
            steps.append(Step(path=self._folder / RECORD, text=files.record))
        wrong = []
        for step in steps:
            with contextlib.suppress(OSError):  # The reader may have gone; the step is done all the same.
                say(f"going back: {step.show()}")
            try:
                self._do(step)
            except (DeployError, OSError) as error:
                wrong.append(str(error) if isinstance(error, DeployError) else f"{step.show()}: {error}")
        return wrong

    def _do(self, step: Step) -> str:
        """Do one step; returns a message on it, empty for none."""
        if step.path is not None and step.text is not None:
            for folder in (self._folder, step.path.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
            State(step.path.parent).replace(step.path.name, step.text)
        elif step.path is not None and step.like is not None:
            make_folder(step.path, step.like)
        elif step.path is not None and step.path.is_dir():
            shutil.rmtree(step.path)
        elif step.path is not None:
            step.path.unlink()
        elif step.priority is not None and self._programs is not None:
            put_back_priority(self._programs, step.job, step.priority)
        elif step.job and self._programs is not None:
            release_victim(self._programs, step.job)
        elif step.marked_jobs and self._programs is not None:
            return ask_to_clear_marked_jobs(self._programs, self._pbs_exec)
        elif step.sweep is not None:
            sweep(self._home, _ALL, self._folder / "hooks")
        elif step.line:
            # Victims of a pass that was under way during the steps before this one.
            saving = self._describe_jobs_saving() if step.line == _AT_ITS_END else ""
            if saving:
                raise DeployError(saving)
            try:
                ask(self._qmgr, step.line)
            finally:
                if step.line.startswith("import hook "):
                    clear_copies(self._home, Path(step.line.split()[-1]))
        return ""

    def _read_record_text(self) -> str | None:
        try:
            return (self._folder / RECORD).read_text(encoding="utf-8")
        except OSError:
            return None


def _lock_out_others(lock: int, folder: Path) -> None:
    # On a file system that cannot lock folders, such as NFS, an apply goes on without the lock.
    with contextlib.suppress(OSError):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DeployError(
                f"{folder} is locked: another pbsteer hooks apply or remove is at work on this server; wait for its end"
            ) from error


def _make_hook(event: str, settings: Settings) -> Hook:
    return Hook(event, attributes_of(event, settings), build(event), show_config(settings))
