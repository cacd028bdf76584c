"""A job's life on a simulated server: held, waiting, queued, running, requeued, ended, and in the history for a while.

Each step sets the attributes that PBS sets and takes or frees the job's resources; whether it is allowed is checked
before, by :class:`sim.pbs_server.server.SimServer`. Also here: dependencies, arrays as their subjobs start and end, and
the count of jobs by queue and state.
"""

from __future__ import annotations

from collections import Counter, deque

from policy.model.allocation import Allocation
from policy.model.pbs_units import parse_duration_s
from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.objects.jobs import SimJob, show_day
from sim.pbs_server.objects.moms import KILLED, REQUEUED, WALLTIME_EXCEEDED, Moms, Process
from sim.pbs_server.objects.object_inventory import Inventory

HISTORY_S = 14 * 24 * 3600
"""Seconds for which PBS keeps ended jobs where `job_history_duration` is not set."""

_DELETED, _FINISHED, _FAILED = "91", "92", "93"
_ENDINGS = {_DELETED: " and terminated", _FINISHED: " and finished", _FAILED: " and failed"}
"""What PBS adds to the comment of an array at its end, by substate."""

_OF_A_RUN = ("exec_host", "exec_vnode", "jobdir", "resources_used")


class JobLife(Inventory):
    """The state changes of a server's jobs. `states` counts them by queue and state."""

    def __init__(self, name: str, clock: Clock) -> None:
        super().__init__(name, clock)
        self.moms = Moms(clock)
        self.states: Counter[tuple[str, str]] = Counter()
        self._history: deque[tuple[float, str]] = deque()
        self._dependents: dict[str, list[str]] = {}

    def _make_subjob(self, array: SimJob, index: int) -> SimJob:
        """The subjob that is about to start; it is not in the array's `subjobs` before it has started."""
        texts = array.waiting_subjob(index)
        texts.update({"array_id": array.id, "array_index": str(index)})
        texts.update({name: array.texts[name] for name in ("project", "Submit_Host")})
        for name in ("comment", "Checkpoint", "Hold_Types"):
            texts.pop(name, None)
        return SimJob(
            array.subjob_id(index), texts, array.run_s, array.exit_status, parent=array, index=index, use=array.use
        )

    def _start(self, job: SimJob, allocation: Allocation, exec_vnode: str) -> None:
        now_s, now = self.clock.now_s, str(int(self.clock.now_s))
        array = job.parent
        if array is not None:
            array.subjobs[job.index] = job
            array.waiting.remove(job.index)
        else:
            self._count(job, -1)
        job.allocation, job.exclusive = allocation, job.request(self.consumables).exclusive
        hosts = self._show_hosts(allocation)
        for vnode, amounts, chunks, _ in allocation.spots:
            self.vnodes[vnode].assign(job.id, amounts, chunks, job.exclusive, now_s)
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
            now_s, allocation.total("ncpus"), allocation.total("mem"), lambda status: self._obit(job, status)
        )
        walltime_s = parse_duration_s(walltime) if walltime else None
        self.moms.start(job.id, process, job.run_s, walltime_s, job.exit_status, job.use)
        self.note(job.id, f"Job Run on exec_vnode {exec_vnode}")

    def _show_hosts(self, allocation: Allocation) -> str:
        """`exec_host`: for each chunk the host, the number of jobs on it, and the cores if there is more than one."""
        hosts = []
        for vnode, amounts, chunks, _ in allocation.spots:
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
        if job.allocation is not None:
            for vnode, amounts, chunks, _ in job.allocation.spots:
                self.vnodes[vnode].release(job.id, amounts, chunks, self.clock.now_s)
        job.allocation = None

    def _lose(self, job: SimJob) -> None:
        """Handle the loss of a job's vnode: requeue the job or, if it is not rerunnable, delete it."""
        if job.texts["Rerunable"] == "True":
            self.moms.kill(job.id)
            self._requeue(job)
        else:
            self._delete(job)

    def _delete(self, job: SimJob, by: str = "root") -> None:
        """End a job that has not ended, with all its subjobs."""
        for subjob in list(job.subjobs.values()):
            if subjob.state == "R":
                self._delete(subjob, by)
        if job.state == "F":
            return
        ran = job.state == "R"
        self.moms.kill(job.id)
        job.waiting.clear()
        self._finish(job, KILLED if ran else None, f" and terminated by {by}@{self.name}" if ran else " and terminated")

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
        changes = {"substate": _substate_at_end(job, status), "mtime": now, "history_timestamp": now, **used}
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
            self._close_array(job.parent, status)
            return
        self._history.append((self.clock.now_s, job.id))
        self._forget()
        self._release_dependents(job.id, status)

    def _close_array(self, array: SimJob, status: int | None = None) -> None:
        """After a subjob has ended with a status, or was deleted before it ran: update the array's counts, and end the
        array when no subjob waits or runs. Its own status is 0, 1 (above 0) or 2 (below) by the last one, whatever the
        others were (PBS's update_sj_parent).
        """
        array.set(array.count_subjobs())
        if status is not None:
            array.set({"Exit_status": str(0 if status == 0 else 1 if status > 0 else 2)})
        if not array.waiting and not any(subjob.state == "R" for subjob in array.subjobs.values()):
            of_array = int(array.texts.get("Exit_status", "0"))
            self._finish(array, of_array, _ENDINGS[_substate_at_end(array, of_array)])

    def _forget(self) -> None:
        duration = self.texts.get("job_history_duration", "")
        keep_s = parse_duration_s(duration) if duration else HISTORY_S
        while self._history and self._history[0][0] < self.clock.now_s - keep_s:
            del self.jobs[self._history.popleft()[1]]

    def _settle(self, job: SimJob) -> None:
        """Set the state of a job that does not run from its holds, its dependencies and its start time."""
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
            # While a job is held, PBS keeps the start time of its last run.
            job.set({"job_state": "Q", "substate": "10", "etime": etime}, without=["stime"])

    def _resettle(self, job: SimJob) -> None:
        if job.state in "QHWB":
            self._count(job, -1)
            self._settle(job)
            self._count(job, 1)

    def _depend(self, job: SimJob) -> None:
        """Hold a job with `afterok:ID` or `afterany:ID` until that job has ended."""
        other = self.jobs.get(job.texts.get("depend", "").partition(":")[2])
        if other is not None and other.state != "F":
            self._dependents.setdefault(other.id, []).append(job.id)
            job.set({"Hold_Types": change_holds(job, added="s")})

    def _release_dependents(self, job_id: str, status: int | None) -> None:
        """Release the jobs that depend on this job's end; those that need its success are deleted if it failed, as in
        PBS.
        """
        for dependent in self._dependents.pop(job_id, []):
            job = self.jobs.get(dependent)
            if job is None or job.state != "H":
                continue
            if status == 0 or job.texts["depend"].startswith("afterany:"):
                job.set({"Hold_Types": change_holds(job, removed="s")}, without=["depend"])
                self._resettle(job)
            else:
                self._delete(job)

    def _count(self, job: SimJob, step: int) -> None:
        self.states[job.texts["queue"], job.state] += step


def _substate_at_end(job: SimJob, status: int | None) -> str:
    """Of an array: that of its first subjob that failed or was deleted."""
    if job.is_array:
        ended = (subjob.texts["substate"] for _, subjob in sorted(job.subjobs.items()))
        return next(
            (substate for substate in ended if status is not None and substate in (_DELETED, _FAILED)), _FINISHED
        )
    return _FINISHED if status == 0 else _DELETED if status in (None, KILLED) else _FAILED


def change_holds(job: SimJob, added: str = "", removed: str = "") -> str:
    """A job's holds with these added and removed; `n` for none."""
    return "".join(sorted((set(job.texts["Hold_Types"]) | set(added)) - set(removed) - {"n"})) or "n"
