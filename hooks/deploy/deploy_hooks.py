"""Installs the hooks in a server and removes them without a trace: steps are shown or done, and undone if one fails.

Needs root on the server's host, as PBS itself demands for hooks.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Callable, NamedTuple

from hooks.deploy.cleanup.hook_temp_files_cleanup import clear_copies, sweep
from hooks.deploy.cleanup.hooks_deleted_on_hosts import await_deleted_on_hosts
from hooks.deploy.cleanup.release_victims_and_restore_priorities import (
    Programs,
    ask_to_clear_marked_jobs,
    put_back_priority,
    release_victim,
)
from hooks.deploy.deployment_record import RECORD, DeploymentRecord, find_limited
from hooks.deploy.disk_space_and_busy_vnodes import demand_room, describe_jobs_saving, find_busy_vnodes
from hooks.deploy.hook_names import ALL_HOOKS
from hooks.deploy.qmgr_lines_in_one_program import RunLines, ask_in_turn, split_steps
from hooks.deploy.read_installed_server_state import (
    DeployError,
    HookBeingDeletedError,
    Installed,
    Qmgr,
    ResourceBusyError,
    ResourceExistsError,
    ask,
    hooks_folder,
    read_installed,
)
from hooks.deploy.settings_and_partition.check_settings_against_server import find_unfit
from hooks.deploy.settings_and_partition.make_partition_scheduler_folders import (
    make_folder,
)
from hooks.deploy.settings_and_partition.partition_with_own_scheduler import Part
from hooks.deploy.settings_and_partition.settings_choice import Chosen, choose
from hooks.deploy.steps_between_server_states import Step, show_steps
from hooks.deploy.steps_to_apply_and_remove import DeploySteps
from hooks.store.forecast_run_and_write_locks import no_forecast_written
from hooks.store.state_files import SecondWriterError, State, StateError
from hooks.store.state_folder import state_folder
from policy.model.pbs_units import show_count
from policy.settings.site_settings import Settings

_DELETE_PERIODIC_HOOK = "delete hook pbsteer_periodic"
_DELETE_EPILOGUE_HOOK = "delete hook pbsteer_execjob_epilogue"
_DELETE_RESOURCE = "delete resource "
_MOST_HOSTS = 5
_SAFE_PATH = re.compile(r"/[\w./+-]*")
_LAST_PASS_S = 60.0
"""How long to wait for a pass that is under way once its hook is gone."""
_HOOKS_DELETED_S = 20.0
"""How long to wait until PBS has deleted a hook on hosts: they all answer within some seconds, or one is down."""

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
    comments and marks on jobs stay; without ``run_lines`` each qmgr line is a program of its own.
    """

    def __init__(
        self,
        pbs_home: str,
        qmgr: Qmgr,
        programs: Programs | None = None,
        pbs_exec: str = "",
        run_lines: RunLines | None = None,
    ) -> None:
        if not _SAFE_PATH.fullmatch(pbs_home):
            raise DeployError(f"PBS_HOME {pbs_home!r}: qmgr needs a path of letters, digits and / . _ + -")
        self._home = Path(pbs_home)
        self._folder = state_folder(pbs_home)
        self._qmgr = qmgr
        self._programs = programs
        self._pbs_exec = pbs_exec
        self._run_lines = run_lines
        self._planned = DeploySteps(self._home, qmgr, programs, pbs_exec)

    def read(self) -> Installed:
        """The present state of the server. Raises :class:`DeployError`."""
        return read_installed(self._qmgr, self._home, ALL_HOOKS)

    def plan_apply(self, settings: Settings, part: Part | None = None) -> list[Step]:
        """All that :meth:`apply` would do; empty if the server has everything already. :meth:`find_obstacle` has
        whether PBS permits it now."""
        return self._planned.to_apply(self.read(), settings, part)

    def plan_remove(self, *, keep_partition: bool = False) -> list[Step]:
        """All that :meth:`remove` would do; empty if the server has nothing of ours. :meth:`find_obstacle` has whether
        PBS permits it now."""
        return self._planned.to_remove(self.read(), keep_partition=keep_partition)

    def choose(self, given: Settings | None, source: str) -> Chosen:
        """The settings to apply, as :func:`hooks.deploy.settings_and_partition.settings_choice.choose` finds them.
        Raises :class:`DeployError`."""
        return choose(self.read(), given, source)

    def apply(self, settings: Settings, say: Say, part: Part | None = None) -> list[Step]:
        """Do the steps of :meth:`plan_apply`; returns them. If a step fails, go back and raise :class:`DeployError`."""
        with self._alone():
            found = self.read()
            steps = self._planned.to_apply(found, settings, part)
            self._demand_way(steps, settings)
            self._do_steps(steps, found, say, may_stay=False, replan=partial(self.plan_apply, settings, part))
        return steps

    def remove(self, say: Say, *, keep_partition: bool = False) -> Removed:
        """Do the steps of :meth:`plan_remove`. If a step fails, go back and raise :class:`DeployError`."""
        with self._alone():
            found = self.read()
            steps = self._planned.to_remove(found, keep_partition=keep_partition)
            self._demand_way(steps)
            limited = find_limited(found, DeploymentRecord.read(self._folder / RECORD))
            replan = partial(self.plan_remove, keep_partition=keep_partition)
            steps, busy = self._do_steps(steps, found, say, may_stay=True, limited=bool(limited), replan=replan)
            steps += self._delete_reported_late(steps, say)
        done = [step for step in steps if step.line.split()[2:3] not in [[name] for name in busy]]
        return Removed(done, [*busy, *limited], limited)

    def _delete_reported_late(self, done: Sequence[Step], say: Say) -> list[Step]:
        """Delete again the resources that PBS has created anew since, for a MoM whose hook was running when it was
        deleted; returns the steps."""
        deleted = {step.line.split()[2] for step in done if step.line.startswith(_DELETE_RESOURCE)}
        found = self.read() if deleted else Installed()
        there = {name: resource for name, resource in found.resources.items() if name not in deleted}
        steps = self._planned.between(found, replace(found, resources=there))
        return self._do_steps(steps, found, say, may_stay=True)[0]

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
        saving = self._describe_jobs_saving() if any(step.line == _DELETE_EPILOGUE_HOOK for step in steps) else ""
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

    def _do_steps(
        self,
        steps: Sequence[Step],
        found: Installed,
        say: Say,
        *,
        may_stay: bool,
        limited: bool = False,
        replan: Callable[[], list[Step]] | None = None,
    ) -> tuple[list[Step], list[str]]:
        """Do the steps; returns those that were done, and the resources that stay because jobs, queues or vnodes have
        them, if they ``may_stay``. The record of what was made stays with them, and where others are ``limited``.

        ``replan`` has the steps that are left, from the server as it is: once no pass can begin any more, as the last
        one may have held a victim, switched a scheduler off or changed a priority since they were planned, and where a
        MoM has reported a value of a resource that is still to be created.
        """
        left: list[str] = []
        done: list[Step] = []
        why = ""
        reported: set[str] = set()
        hosts_have_hooks = any(step.line.startswith("delete hook ") for step in steps)
        missing = tuple(step.path for step in steps if step.like is not None and step.path is not None)
        files = _Files(self._folder.exists(), self._read_record_text(), missing)
        removing = any(step.line == _DELETE_PERIODIC_HOOK for step in steps)
        pending = deque(split_steps(steps))
        with contextlib.ExitStack() as held:
            while pending:
                group = pending.popleft()
                step = group[0]
                if (left or limited) and step.path == self._folder and step.text is None:
                    continue
                try:
                    if files.folder and not removing and step.path == self._folder and step.text is None:
                        self._lock_folder(held)
                    for line in show_steps(group) if step.why != why else [each.show() for each in group]:
                        say(line)
                    why = step.why
                    if hosts_have_hooks and step.line.startswith(_DELETE_RESOURCE):
                        hosts_have_hooks = False
                        self._await_hosts(say)
                    try:
                        outcome = self._do(group)
                    except ResourceExistsError as error:
                        if replan is None or error.name in reported:
                            raise
                        reported.add(error.name)
                        pending = deque(split_steps(replan()))
                        continue
                    done += group
                    if outcome:
                        say(outcome)
                    if files.folder and step.line == _DELETE_PERIODIC_HOOK:
                        self._lock_folder(held)
                        rest = None if replan is None else replan()
                        pending = pending if rest is None else deque(split_steps(rest))
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
        return done, left

    def _await_hosts(self, say: Say) -> None:
        silent = await_deleted_on_hosts(self._home, ALL_HOOKS)
        if silent:
            say(f"  {show_count(len(silent), 'host')} did not answer: {', '.join(silent[:_MOST_HOSTS])}")

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
            steps = self._planned.between(self.read(), found)
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
                self._do([step])
            except (DeployError, OSError) as error:
                wrong.append(str(error) if isinstance(error, DeployError) else f"{step.show()}: {error}")
        return wrong

    def _do(self, group: Sequence[Step]) -> str:
        """Do a step, or several that are qmgr lines; returns a message on it, empty for none."""
        step = group[0]
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
            sweep(self._home, ALL_HOOKS, self._folder / "hooks")
        elif step.line:
            # Victims of a pass that was under way during the steps before this one.
            saving = self._describe_jobs_saving() if step.line == _DELETE_EPILOGUE_HOOK else ""
            if saving:
                raise DeployError(saving)
            self._ask([each.line for each in group])
        return ""

    def _ask(self, lines: Sequence[str]) -> None:
        """Do qmgr lines. A hook that PBS still deletes on hosts, after a removal a moment ago, is waited for."""
        rest, deadline_s = list(lines), time.monotonic() + _HOOKS_DELETED_S
        try:
            while rest:
                rest = self._ask_or_wait(rest, deadline_s)
        finally:
            for line in lines:
                if line.startswith("import hook "):
                    clear_copies(self._home, Path(line.split()[-1]))

    def _ask_or_wait(self, lines: list[str], deadline_s: float) -> list[str]:
        """Do qmgr lines; returns those that have to wait for a hook to be deleted, after a moment."""
        try:
            self._ask_in_turn(lines)
        except HookBeingDeletedError as error:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.5)
            return lines[lines.index(error.line) :]
        return []

    def _ask_in_turn(self, lines: Sequence[str]) -> None:
        """Do qmgr lines until one fails, several by one program where there is one for that."""
        if len(lines) > 1 and self._run_lines is not None:
            ask_in_turn(self._run_lines, lines)
        else:
            for line in lines:
                ask(self._qmgr, line)

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
