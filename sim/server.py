"""A simulated PBS server: jobs from submission to history, on simulated MoMs, moved by a clock of its own.

It keeps attributes under PBS's names and in PBS's formats and refuses in PBS's words. Like PBS, it starts a job
wherever it is told to, without a look at what is free there: whoever starts jobs, and the runjob hook, must be right.
What managers change is in `sim.management`; hooks are called through the :class:`Hooks` that the server is given.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping

from policy.placement import Placement
from policy.units import parse_duration_s
from sim.attributes import JOB, check_value, find_attribute
from sim.clock import Clock
from sim.hook_calls import HookRejection, Hooks, NoHooks
from sim.inventory import Inventory
from sim.moms import KILLED, REQUEUED, WALLTIME_EXCEEDED, Moms, Process
from sim.pbs_error import (
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
from sim.sim_jobs import (
    QSUB_DEFAULTS,
    SimJob,
    check_request,
    read_indices,
    show_day,
    show_indices,
    work_out_chunks,
)

HISTORY_S = 14 * 24 * 3600
"""How long PBS remembers ended jobs where `job_history_duration` does not say."""

_OF_A_RUN = ("exec_host", "exec_vnode", "jobdir", "resources_used")
_FIXED_WHILE_RUNNING = frozenset({"select", "place", "ncpus", "mem", "nodect"})


class SimServer(Inventory):
    """One server, from what it has to what happens on it. Not safe for two threads at once."""

    def __init__(self, name: str, clock: Clock, hooks: Hooks | None = None) -> None:
        super().__init__(name, clock)
        self.hooks: Hooks = hooks or NoHooks()
        self.moms = Moms(clock)
        self.states: Counter[tuple[str, str]] = Counter()
        self._history: deque[tuple[float, str]] = deque()
        self._dependents: dict[str, list[str]] = {}
        self._next_number = 0

    # ---- a job's life

    def submit(self, user: str, group: str, attributes: Mapping[str, str], run_s: float, exit_status: int = 0) -> str:
        """Submit a job as `qsub` would; returns its id. `attributes` are what the user asks for, by their names in PBS.

        `queue` names the queue, `array_indices_submitted` makes a job array, `run_s` is how long it (each subjob)
        truly runs. Raises PbsError for what the server or the queuejob hook refuses.
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
        job = SimJob(job_id, texts, run_s, exit_status, indices=indices, waiting=list(indices))
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
        """Start a job or subjob exactly there, whatever is free."""
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
        placement = self.read_placement(exec_vnode)
        starting = job or self._make_subjob(parent, index or 0)
        try:
            self.hooks.runjob(starting, exec_vnode)
        except HookRejection as rejection:
            self.note(job_id, f"not started: {rejection}")
            raise PbsError(HOOK_REJECTED, text=str(rejection)) from rejection
        if any(self.vnodes[name].down for name in placement.vnodes):
            raise PbsError(REJECTED_BY_MOM)
        self._start(starting, placement, exec_vnode)

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
        """End a job or subjob; one that has not started, and an array with all its subjobs, likewise."""
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
        for subjob in list(job.subjobs.values()):
            if subjob.state == "R":
                self.delete_job(subjob.id, by)
        if job.state == "F":
            return
        ran = job.state == "R"
        self.moms.kill(job.id)
        job.waiting.clear()
        self._finish(job, KILLED if ran else None, f" and terminated by {by}@{self.name}" if ran else " and terminated")

    def hold_job(self, job_id: str, holds: str) -> None:
        """Put holds on a job: `u` its owner's, `o` an operator's, `s` the system's."""
        job, index = self.look_up(job_id)
        if index is not None or job.state == "F":
            raise PbsError(BAD_STATE if index is None else INVALID_REQUEST)
        when = time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(self.clock.now_s))
        job.set({"Hold_Types": _change_holds(job, added=holds), "comment": f"Job held by root on {when}"})
        self._resettle(job)

    def release_job(self, job_id: str, holds: str) -> None:
        """Take holds off a job."""
        job, index = self.look_up(job_id)
        if index is not None or job.state == "F":
            raise PbsError(BAD_STATE if index is None else INVALID_REQUEST)
        left = _change_holds(job, removed=holds)
        job.set({"Hold_Types": left}, without=["comment"] if left == "n" else [])
        self._resettle(job)

    def move_job(self, job_id: str, queue: str) -> None:
        """Move a job that has not started to another queue, where it is the youngest."""
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

        An empty text unsets a resource. PBS's scheduler, `Scheduler`, is not asked by hooks.
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
        self._resettle(job)

    # ---- vnodes that fail

    def fail_vnode(self, name: str) -> None:
        """The vnode's MoM falls silent: it is down, and its jobs are requeued when `node_fail_requeue` has passed."""
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

    def recover_vnode(self, name: str) -> None:
        """The vnode's MoM answers again."""
        vnode = self.find_vnode(name)
        vnode.down_since_s = None
        vnode.touch(self.clock.now_s)

    def refresh_used(self) -> None:
        """Have the MoMs tell what each running job has used so far."""
        for vnode in self.vnodes.values():
            for job_id in vnode.jobs:
                used = self.moms.used(job_id)
                if used:
                    self.find_job(job_id).set(used)

    # ---- within

    def _make_subjob(self, array: SimJob, index: int) -> SimJob:
        """The subjob that is about to start; the array does not know it before it has."""
        texts = array.waiting_subjob(index)
        texts.update({"array_id": array.id, "array_index": str(index)})
        texts.update({name: array.texts[name] for name in ("project", "Submit_Host")})
        for name in ("comment", "Checkpoint", "Hold_Types"):
            texts.pop(name, None)
        return SimJob(array.subjob_id(index), texts, array.run_s, array.exit_status, parent=array, index=index)

    def _start(self, job: SimJob, placement: Placement, exec_vnode: str) -> None:
        now_s, now = self.clock.now_s, str(int(self.clock.now_s))
        array = job.parent
        if array is not None:
            array.subjobs[job.index] = job
            array.waiting.remove(job.index)
        else:
            self._count(job, -1)
        job.placement, job.exclusive = placement, job.request(self.consumables).exclusive
        hosts = self._show_hosts(placement)
        for vnode, amounts, chunks, _ in placement.spots:
            self.vnodes[vnode].hold(job.id, amounts, chunks, job.exclusive, now_s)
        job.set(
            {
                "job_state": "R", "substate": "42", "stime": now, "mtime": now, "exec_vnode": exec_vnode,
                "exec_host": hosts, "run_count": str(int(job.texts.get("run_count", "0")) + 1),
                "comment": f"Job run at {show_day(now_s)} on {exec_vnode}", "hashname": job.id, "session_id": "4242",
                "run_version": job.texts.get("run_count", "0"),
            }
        )  # fmt: skip
        self._count(job, 1)
        if array is not None:
            self._begin_array(array, now)
        walltime = job.texts.get("Resource_List.walltime", "")
        process = Process(
            now_s, placement.total("ncpus"), placement.total("mem"), lambda status: self._obit(job, status)
        )
        self.moms.start(job.id, process, job.run_s, parse_duration_s(walltime) if walltime else None, job.exit_status)
        self.note(job.id, f"Job Run on exec_vnode {exec_vnode}")

    def _show_hosts(self, placement: Placement) -> str:
        """`exec_host`: for each chunk the host, the number of the job there, and the cores where they are several."""
        hosts = []
        for vnode, amounts, chunks, _ in placement.spots:
            cores = dict(amounts).get("ncpus", 0)
            host = f"{vnode}/{len(self.vnodes[vnode].jobs)}" + (f"*{cores}" if cores > 1 else "")
            hosts += [host] * chunks
        return "+".join(hosts)

    def _begin_array(self, array: SimJob, now: str) -> None:
        changes = array.count_subjobs()
        if array.state != "B":
            self._count(array, -1)
            comment = f"Job Array Began at {show_day(self.clock.now_s)}"
            changes.update({"job_state": "B", "substate": "70", "stime": now, "comment": comment})
            array.set(changes)
            self._count(array, 1)
        else:
            array.set(changes)

    def _obit(self, job: SimJob, status: int) -> None:
        ending = {0: " and finished", WALLTIME_EXCEEDED: " and exceeded resource walltime"}.get(status, " and failed")
        self._finish(job, status, ending)

    def _free(self, job: SimJob) -> None:
        if job.placement is not None:
            for vnode, amounts, chunks, _ in job.placement.spots:
                self.vnodes[vnode].release(job.id, amounts, chunks, self.clock.now_s)
        job.placement = None

    def _lose(self, job: SimJob) -> None:
        """A job's vnode is lost: the job is requeued or, where it may not be, deleted."""
        if job.texts["Rerunable"] == "True":
            self.moms.kill(job.id)
            self._requeue(job)
        else:
            self.delete_job(job.id)

    def _requeue(self, job: SimJob) -> None:
        now = str(int(self.clock.now_s))
        self._count(job, -1)
        self._free(job)
        self.note(job.id, "Job requeued")
        if job.parent is not None:
            del job.parent.subjobs[job.index]
            job.parent.waiting.append(job.index)
            job.parent.waiting.sort()
            job.parent.set({**job.parent.count_subjobs(), "mtime": now, "Exit_status": "2"})
            return
        job.set({"obittime": now, "mtime": now, "Exit_status": str(REQUEUED)}, without=_OF_A_RUN)
        self._settle(job)
        self._count(job, 1)

    def _finish(self, job: SimJob, status: int | None, ending: str) -> None:
        now = str(int(self.clock.now_s))
        self._count(job, -1)
        used = self.moms.used(job.id)
        self._free(job)
        substate = (
            "92" if status == 0 or (job.is_array and status is None) else "91" if status in (None, KILLED) else "93"
        )
        changes = {"substate": substate, "mtime": now, "history_timestamp": now, **used}
        if "comment" in job.texts:
            changes["comment"] = job.texts["comment"] + ending
        if status is not None:
            changes.update({"Exit_status": str(status), "obittime": now})
        changes["job_state"] = "F" if job.parent is None else "X"
        job.set(changes)
        if job.is_array:
            job.set(job.count_subjobs())
        self.note(job.id, f"Exit_status={status}" if status is not None else "Job deleted")
        if job.parent is not None:
            self._close_array(job.parent)
            return
        self._history.append((self.clock.now_s, job.id))
        self._forget()
        self._release_dependents(job.id, status)

    def _close_array(self, array: SimJob) -> None:
        """After a subjob has gone: the array's counts, and its end when no subjob waits or runs."""
        array.set(array.count_subjobs())
        if not array.waiting and not any(subjob.state == "R" for subjob in array.subjobs.values()):
            self._finish(array, 0, " and finished")

    def _forget(self) -> None:
        duration = self.texts.get("job_history_duration", "")
        keep_s = parse_duration_s(duration) if duration else HISTORY_S
        while self._history and self._history[0][0] < self.clock.now_s - keep_s:
            del self.jobs[self._history.popleft()[1]]

    def _settle(self, job: SimJob) -> None:
        """The state of a job that does not run, from its holds, its dependencies and its start time."""
        texts = job.texts
        starts = texts.get("Execution_Time", "")
        if texts["Hold_Types"] != "n":
            job.set({"job_state": "H", "substate": "22" if "depend" in texts else "20"}, without=["etime"])
        elif starts and float(starts) > self.clock.now_s:
            job.set({"job_state": "W", "substate": "30"}, without=["etime"])
            self.clock.at(float(starts), lambda: self._resettle(job))
        elif job.is_array and job.subjobs:
            job.set({"job_state": "B", "substate": "70"})
        else:
            etime = texts.get("etime", "") or str(int(self.clock.now_s))
            # PBS keeps when the last run began as long as the job is held.
            job.set({"job_state": "Q", "substate": "10", "etime": etime}, without=["stime"])

    def _resettle(self, job: SimJob) -> None:
        if job.state in "QHWB":
            self._count(job, -1)
            self._settle(job)
            self._count(job, 1)

    def _depend(self, job: SimJob) -> None:
        """Hold a job that needs another one's end, `afterok:ID` or `afterany:ID`, until there is that end."""
        other = self.jobs.get(job.texts.get("depend", "").partition(":")[2])
        if other is not None and other.state != "F":
            self._dependents.setdefault(other.id, []).append(job.id)
            job.set({"Hold_Types": _change_holds(job, added="s")})

    def _release_dependents(self, job_id: str, status: int | None) -> None:
        """Let go what waited for this job's end; what waited for its success goes with its failure, as in PBS."""
        for dependent in self._dependents.pop(job_id, []):
            job = self.jobs.get(dependent)
            if job is None or job.state != "H":
                continue
            if status == 0 or job.texts["depend"].startswith("afterany:"):
                job.set({"Hold_Types": _change_holds(job, removed="s")}, without=["depend"])
                self._resettle(job)
            else:
                self.delete_job(dependent)

    def _count(self, job: SimJob, step: int) -> None:
        self.states[job.texts["queue"], job.state] += step


def _change_holds(job: SimJob, added: str = "", removed: str = "") -> str:
    """A job's holds with these added and those taken off; `n` for none."""
    return "".join(sorted((set(job.texts["Hold_Types"]) | set(added)) - set(removed) - {"n"})) or "n"
