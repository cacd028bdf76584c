"""A simulated PBS server: jobs from submission to history, on simulated MoMs, moved by its own clock.

Attributes have PBS's names and formats, refusals PBS's messages. Like PBS, it starts a job on the requested vnodes
without a check of what is free there: the sender of the request, and the runjob hook, must be right.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from policy.model.pbs_units import parse_duration_s
from sim.pbs_server.hook_calls_interface import HookRejection, Hooks, NoHooks
from sim.pbs_server.job_lifecycle import JobLife, change_holds
from sim.pbs_server.objects.attributes import JOB, check_value, find_attribute
from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.objects.errors import (
    BAD_STATE,
    HOOK_REJECTED,
    INVALID_REQUEST,
    JOB_FINISHED,
    MODIFIED_WHILE_RUNNING,
    NO_SCHEDULER,
    NOT_RERUNNABLE,
    QUEUE_NOT_ENABLED,
    READ_ONLY,
    REJECTED_BY_MOM,
    UNDEFINED_ATTRIBUTE,
    UNKNOWN_QUEUE,
    PbsError,
)
from sim.pbs_server.objects.jobs import (
    QSUB_DEFAULTS,
    SimJob,
    check_request,
    read_indices,
    show_indices,
    work_out_chunks,
)
from sim.pbs_server.objects.moms import USUAL, Use

_WALLTIME = "Resource_List.walltime"
_FIXED_WHILE_RUNNING = frozenset({"select", "place", "ncpus", "mem", "nodect"})


class SimServer(JobLife):
    """One server with its objects and requests. Not safe for two threads at once."""

    def __init__(self, name: str, clock: Clock, hooks: Hooks | None = None) -> None:
        super().__init__(name, clock)
        self.hooks: Hooks = hooks or NoHooks()
        self._next_number = 0

    # ---- requests about jobs

    def submit(
        self,
        user: str,
        group: str,
        attributes: Mapping[str, str],
        run_s: float,
        exit_status: int = 0,
        use: Use = USUAL,
    ) -> str:
        """Submit a job as `qsub` would; returns its id. `attributes` are the user's, by their names in PBS.

        `queue` names the queue, `array_indices_submitted` makes a job array, `run_s` is the true run time of the job or
        of each subjob in seconds, `use` the part of its cores and memory that it uses. Raises PbsError for what the
        server or the queuejob hook refuses.
        """
        asked = {**QSUB_DEFAULTS, **attributes}
        try:
            self.hooks.queuejob(user, asked)
        except HookRejection as rejection:
            raise PbsError(HOOK_REJECTED, text=str(rejection)) from rejection
        queue = asked.pop("queue", "") or self.texts["default_queue"]
        if queue not in self.queues:
            raise PbsError(UNKNOWN_QUEUE)
        if self.queues[queue].get("enabled") != "True":
            raise PbsError(QUEUE_NOT_ENABLED)
        indices = read_indices(asked.pop("array_indices_submitted")) if "array_indices_submitted" in asked else ()
        texts = check_request(asked, self.resources, self.texts)
        number, now = self._next_number, str(int(self.clock.now_s))
        job_id = f"{number}[].{self.name}" if indices else f"{number}.{self.name}"
        self._next_number += 1
        texts.update(
            {
                "Job_Owner": f"{user}@{self.name}", "server": self.name, "queue": queue, "ctime": now, "qtime": now,
                "mtime": now, "etime": now, "euser": user, "egroup": group, "queue_type": "E",
                "queue_rank": f"{int(self.clock.now_s * 1e6) + number % 1000}", "Submit_Host": self.name,
                "job_state": "Q", "substate": "10",
            }
        )  # fmt: skip
        job = SimJob(job_id, texts, run_s, exit_status, indices=indices, waiting=list(indices), use=use)
        if indices:
            job.set(
                {"array": "True", "array_indices_submitted": show_indices(indices, job.step), **job.count_subjobs()}
            )
        self.jobs[job_id] = job
        self._depend(job)
        self._settle(job)
        self._count(job, 1)
        self.note(
            job_id, f"Job Queued at request of {user}@{self.name}, job name = {texts['Job_Name']}, queue = {queue}"
        )
        return job_id

    def run_job(self, job_id: str, exec_vnode: str) -> None:
        """Start a job or subjob on exactly these vnodes, whatever is free there."""
        parent, index = self.look_up(job_id)
        job = parent if index is None else parent.subjobs.get(index)
        if job is not None and job.is_array:
            raise PbsError(INVALID_REQUEST)
        if job is not None and job.state not in "QHW":
            raise PbsError(BAD_STATE)
        if job is None and index not in parent.waiting:
            raise PbsError(JOB_FINISHED)
        if not exec_vnode:
            raise PbsError(NO_SCHEDULER)
        allocation = self.read_allocation(exec_vnode)
        starting = job or self._make_subjob(parent, index or 0)
        try:
            self.hooks.runjob(starting, exec_vnode)
        except HookRejection as rejection:
            self.note(job_id, f"not started: {rejection}")
            raise PbsError(HOOK_REJECTED, text=str(rejection)) from rejection
        if any(self.vnodes[name].down for name in allocation.vnodes):
            raise PbsError(REJECTED_BY_MOM)
        self._start(starting, allocation, exec_vnode)

    def rerun_job(self, job_id: str) -> None:
        """Requeue a running job or subjob, or all running subjobs of an array."""
        parent, index = self.look_up(job_id)
        if index is None and parent.is_array:
            for subjob in [subjob for subjob in parent.subjobs.values() if subjob.state == "R"]:
                self.rerun_job(subjob.id)
            return
        job = parent if index is None else parent.subjobs.get(index)
        if job is None or job.state != "R":
            raise PbsError(BAD_STATE)
        if job.texts["Rerunable"] != "True":
            raise PbsError(NOT_RERUNNABLE)
        self.moms.kill(job.id)
        self._requeue(job)

    def delete_job(self, job_id: str, by: str = "root") -> None:
        """Delete a job or subjob, started or not, or an array with all its subjobs."""
        parent, index = self.look_up(job_id)
        if parent.state == "F":
            raise PbsError(JOB_FINISHED)
        if index is not None and index in parent.waiting:
            parent.waiting.remove(index)
            self._close_array(parent)
            return
        job = parent if index is None else parent.subjobs.get(index)
        if job is None:
            # A subjob that was deleted before it ran.
            raise PbsError(JOB_FINISHED)
        self._delete(job, by)

    def hold_job(self, job_id: str, holds: str) -> None:
        """Put holds on a job: `u` the owner's, `o` an operator's, `s` the system's."""
        job, index = self.look_up(job_id)
        if index is not None or job.state == "F":
            raise PbsError(BAD_STATE if index is None else INVALID_REQUEST)
        when = time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(self.clock.now_s))
        job.set({"Hold_Types": change_holds(job, added=holds), "comment": f"Job held by root on {when}"})
        self._resettle(job)

    def release_job(self, job_id: str, holds: str) -> None:
        """Remove holds from a job."""
        job, index = self.look_up(job_id)
        if index is not None or job.state == "F":
            raise PbsError(BAD_STATE if index is None else INVALID_REQUEST)
        left = change_holds(job, removed=holds)
        job.set({"Hold_Types": left}, without=["comment"] if left == "n" else [])
        self._resettle(job)

    def move_job(self, job_id: str, queue: str) -> None:
        """Move a job that has not started to another queue; its time in that queue begins now."""
        job, index = self.look_up(job_id)
        if queue not in self.queues:
            raise PbsError(UNKNOWN_QUEUE)
        if index is not None or job.state not in "QHW":
            raise PbsError(BAD_STATE)
        self._count(job, -1)
        job.set({"queue": queue, "qtime": str(int(self.clock.now_s))})
        self._count(job, 1)

    def alter_job(self, job_id: str, changes: Mapping[str, str], by: str = "root") -> None:
        """Change attributes of a job, as `qalter` does: all of them or, where one is refused, none.

        An empty text unsets a resource. Requests of PBS's scheduler (`by` is `Scheduler`) run no modifyjob hook.
        """
        job, index = self.look_up(job_id)
        if index is not None:
            raise PbsError(INVALID_REQUEST)
        if job.state == "F":
            raise PbsError(JOB_FINISHED)
        wanted = dict(changes)
        if by != "Scheduler":
            try:
                self.hooks.modifyjob(by, job, wanted)
            except HookRejection as rejection:
                raise PbsError(HOOK_REJECTED, text=str(rejection)) from rejection
        checked: dict[str, str] = {}
        unset: set[str] = set()
        for name, text in wanted.items():
            attribute_name, _, resource = name.partition(".")
            attribute = find_attribute(JOB, attribute_name)
            if not attribute.writable:
                raise PbsError(READ_ONLY, name)
            if attribute.kind.by_resource and not resource:
                raise PbsError(UNDEFINED_ATTRIBUTE)
            if attribute_name == "Resource_List" and job.state == "R" and resource in _FIXED_WHILE_RUNNING:
                raise PbsError(MODIFIED_WHILE_RUNNING, name)
            if resource and not text and resource in self.resources:
                unset.add(name)
            else:
                checked[name] = check_value(attribute, resource, text, self.resources)
        merged = {name: text for name, text in {**job.texts, **checked}.items() if name not in unset}
        if any(name in checked for name in ("Resource_List.select", "Resource_List.place")):
            checked.update(work_out_chunks(merged, self.resources, self.texts))
        job.texts = {**merged, **checked, "mtime": str(int(self.clock.now_s))}
        if _WALLTIME in checked and job.state == "R":
            self.moms.change_walltime(job.id, parse_duration_s(job.texts[_WALLTIME]))
        self._resettle(job)

    # ---- vnodes that fail

    def fail_vnode(self, name: str) -> None:
        """Let the vnode's MoM stop answering: the vnode is down, and its jobs are requeued after `node_fail_requeue`
        seconds.
        """
        vnode = self.find_vnode(name)
        if vnode.down:
            return
        since_s = vnode.down_since_s = self.clock.now_s
        vnode.touch(since_s)

        def give_up() -> None:
            if vnode.down_since_s == since_s:
                for job in [self.find_job(job_id) for job_id in vnode.jobs]:
                    self._lose(job)

        self.clock.after(float(self.texts["node_fail_requeue"]), give_up)

    def refresh_used(self) -> None:
        """Update `resources_used` of each running job from the MoMs."""
        for vnode in self.vnodes.values():
            for job_id in vnode.jobs:
                used = self.moms.used(job_id)
                if used:
                    self.find_job(job_id).set(used)
