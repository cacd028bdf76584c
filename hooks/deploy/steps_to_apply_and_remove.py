"""The steps by which a server gets the hooks, or loses them without a trace: every qmgr line and every file.

The wanted state is computed from the present one, the settings, and a record of the state before the first apply.
Nothing is changed here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from hooks.control.pbs_scheduler.scheduler_switch import Switched
from hooks.deploy.bundle_hook import build
from hooks.deploy.cleanup.hook_temp_files_cleanup import find_leftovers
from hooks.deploy.cleanup.release_victims_and_restore_priorities import (
    Programs,
    find_held,
    find_own_priorities,
    list_marked_jobs,
)
from hooks.deploy.deployment_record import RECORD, DeploymentRecord, demand_ours, take_back
from hooks.deploy.hook_events_alarms_and_order import attributes_of, is_switched_by_passes
from hooks.deploy.hook_names import ALL_HOOKS, hooks_of
from hooks.deploy.read_installed_server_state import (
    DeployError,
    Hook,
    Installed,
    Qmgr,
    ask,
    hooks_folder,
    list_partitions,
    read_applied,
)
from hooks.deploy.settings_and_partition.make_partition_scheduler_folders import (
    steps_to_make,
    steps_to_remove,
)
from hooks.deploy.settings_and_partition.partition_with_own_scheduler import Part, with_part
from hooks.deploy.steps_between_server_states import Step, steps_between, steps_to_keep_limits
from hooks.pbs.custom_resources import DEFAULT_PARTITION, MODE_ATTRIBUTE, RESOURCES
from hooks.pbs.server_status_type_and_attributes import DEFAULT_SCHEDULER
from hooks.quota_plan.take_back_at_removal import lines_to_take_back
from hooks.store.hook_settings import show_config
from hooks.store.original_priorities import read_priorities
from hooks.store.state_files import SCHEDULERS, State
from hooks.store.state_folder import state_folder
from policy.settings.site_settings import Settings

_GUARD = "pbsteer_runjob"
_STOP_LINE = "set server scheduling = False"
_MODE_LINE = re.compile(rf"set queue (\S+) {re.escape(MODE_ATTRIBUTE)} = (\S+)")


class DeploySteps:
    """The steps of one server: see :class:`hooks.deploy.deploy_hooks.Deployment`, which does them."""

    def __init__(self, home: Path, qmgr: Qmgr, programs: Programs | None, pbs_exec: str) -> None:
        self._home = home
        self._folder = state_folder(str(home))
        self._qmgr = qmgr
        self._programs = programs
        self._pbs_exec = pbs_exec

    def to_apply(self, found: Installed, settings: Settings, part: Part | None) -> list[Step]:
        """All that an apply does; empty if the server has everything already. Raises :class:`DeployError`."""
        for name, resource in found.resources.items():
            if resource.kind != RESOURCES[name].kind:
                raise DeployError(
                    f"resource {name} is there already, of type {resource.kind}; pbsteer needs it to be of type"
                    f" {RESOURCES[name].kind}: whoever made it has to delete it first, qmgr -c 'delete resource {name}'"
                )
        wanted = replace(
            found,
            hooks={
                name: _make_hook(event, settings, found.hooks.get(name)) for name, event in hooks_of(settings).items()
            },
            resources=RESOURCES,
        )
        written = DeploymentRecord.read(self._folder / RECORD)
        demand_ours(found, written)
        old_schedulers = written.schedulers if written is not None else frozenset()
        if part is not None:
            wanted = with_part(self._qmgr, found, wanted, part, old_schedulers)
        steps = self.between(found, wanted)
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

    def to_remove(self, found: Installed, *, keep_partition: bool) -> list[Step]:
        """All that a removal does; empty if the server has nothing of ours. Raises :class:`DeployError`."""
        record = DeploymentRecord.read(self._folder / RECORD)
        demand_ours(found, record)
        before = take_back(found, record, self._find_switched(found), keep_partition=keep_partition)
        steps = self.between(found, before)
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
            first = sum(step.line in (f"delete hook {name}" for name in ALL_HOOKS if name != _GUARD) for step in steps)
            steps[first:first] = held
        if found.hooks or find_leftovers(self._home, ALL_HOOKS):
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
        queue in ``drive``, as in a pass (:func:`hooks.control.pbs_scheduler.scheduler_switch.hand_back`)."""
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

    def between(self, now: Installed, then: Installed) -> list[Step]:
        """The steps from one state of the server to another."""
        return steps_between(now, then, self._folder / "hooks")


def _make_hook(event: str, settings: Settings, present: Hook | None) -> Hook:
    attributes = attributes_of(event, settings)
    if present is not None and is_switched_by_passes(event, settings):
        attributes["enabled"] = str(present.enabled).lower()
    return Hook(event, attributes, build(event), show_config(settings))
