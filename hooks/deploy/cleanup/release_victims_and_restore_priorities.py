"""Undoes from outside the server what passes did to jobs, for when no more passes run.

It releases victims whose mark says that we hold them (:mod:`hooks.pbs.job_attributes.victim_mark`), restores priorities
that are still ours (:mod:`hooks.act.job_priorities_for_pbs_sched`), and clears comments and marks
(:mod:`hooks.deploy.cleanup.clear_job_marks`). Holds, priorities and comments of others are not touched.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

from hooks.deploy.read_installed_server_state import DeployError, Reply
from hooks.pbs.client.pbs_ifl_client import HOLD
from hooks.pbs.files_and_output.json_output import read_json
from hooks.pbs.job_attributes.victim_mark import MARK_ATTRIBUTE, MARK_RESOURCE, read_marks
from hooks.store.original_priorities import Priorities
from policy.model.pbs_units import show_count

Programs = Callable[[Sequence[str]], Reply]
"""Runs one of PBS's commands: its name, and its arguments."""


def find_held(programs: Programs) -> list[str]:
    """The jobs and arrays that we hold. Raises :class:`DeployError` if the server cannot be reached."""
    listed = programs(("qselect", "-h", HOLD))
    if listed.status != 0:
        raise DeployError(f"qselect -h {HOLD}: {listed.complaint.strip() or f'ended with {listed.status}'}")
    return [job_id for job_id in listed.text.split() if _is_held_by_us(_read_job(programs, job_id))]


def release_victim(programs: Programs, job_id: str) -> None:
    """Release our hold; one that is gone already is no error. Raises :class:`DeployError`."""
    reply = programs(release_argv(job_id))
    if reply.status != 0 and job_id in find_held(programs):
        raise DeployError(f"{' '.join(release_argv(job_id))}: {reply.complaint.strip()}")


def find_own_priorities(programs: Programs, memory: Priorities) -> dict[str, int]:
    """The jobs that have a priority of ours, with their users' own. One request for each priority that we gave, not for
    each job. Raises :class:`DeployError` if the server cannot be reached."""
    own: dict[str, int] = {}
    for given in sorted({each for changed in memory.values() for each in changed.given}):
        argv = ("qselect", "-p", f".eq.{given}")
        listed = programs(argv)
        if listed.status != 0:
            raise DeployError(f"{' '.join(argv)}: {listed.complaint.strip() or f'ended with {listed.status}'}")
        ours = (job_id for job_id in listed.text.split() if job_id in memory and given in memory[job_id].given)
        own.update((job_id, memory[job_id].own) for job_id in ours)
    return own


def put_back_priority(programs: Programs, job_id: str, priority: int) -> None:
    """Give a job this priority; a job that has ended is no error. Raises :class:`DeployError`."""
    reply = programs(priority_argv(job_id, priority))
    if reply.status != 0 and _read_job(programs, job_id):
        raise DeployError(f"{' '.join(priority_argv(job_id, priority))}: {reply.complaint.strip()}")


def list_marked_jobs(programs: Programs, pbs_exec: str) -> tuple[str, ...]:
    """The jobs that have a comment or a mark of ours; none if that cannot be found out, since neither does harm."""
    return tuple(str(job_id) for job_id in run_clear_job_marks(programs, pbs_exec, "find").get("jobs", ()))


def ask_to_clear_marked_jobs(programs: Programs, pbs_exec: str) -> str:
    """Clear our comments and marks; returns a sentence on the outcome."""
    answer = run_clear_job_marks(programs, pbs_exec, "clear")
    if "error" in answer:
        return f"comments and marks stay: {answer['error']}"
    left = f"; {show_count(answer['left'], 'job')} not: {answer['why']}" if answer["left"] else ""
    return f"cleared {show_count(answer['cleared'], 'job')}{left}"


def run_clear_job_marks(programs: Programs, pbs_exec: str, what: str) -> Any:
    """The reply of :mod:`hooks.deploy.cleanup.clear_job_marks` to the command ``what``; an ``error`` if it failed or
    cannot be read."""
    argv = ("pbs_python", "-I", str(Path(__file__).with_name("clear_job_marks.py")), pbs_exec, what)
    reply = programs(argv)
    try:
        answer = json.loads(reply.text or "{}")
    except ValueError:
        answer = {}
    complaint = (reply.complaint.strip() or f"ended with {reply.status}").splitlines()[-1]
    return answer if isinstance(answer, dict) and answer else {"error": f"{argv[0]} {argv[2]}: {complaint}"}


def priority_argv(job_id: str, priority: int) -> tuple[str, ...]:
    """The command that gives a job this priority."""
    return ("qalter", "-p", str(priority), job_id)


def release_argv(job_id: str) -> tuple[str, ...]:
    """The command that releases a hold of ours."""
    return ("qrls", "-h", HOLD, job_id)


def _read_job(programs: Programs, job_id: str) -> Any:
    """One job's attributes; none for one that has gone. For several ids qstat shows only the first as JSON, and its
    other form shows users' texts unescaped, which could then look like other attributes."""
    shown = programs(("qstat", "-f", "-F", "json", job_id)).text
    try:
        return read_json(shown or "{}", "qstat").get("Jobs", {}).get(job_id, {})
    except (ValueError, AttributeError) as error:
        raise DeployError(f"qstat -f -F json {job_id}: its answer cannot be read ({error})") from error


def _is_held_by_us(texts: Any) -> bool:
    estimated = texts.get(MARK_ATTRIBUTE, {}) if isinstance(texts, dict) else {}
    mark = read_marks({f"{MARK_ATTRIBUTE}.{MARK_RESOURCE}": str(estimated.get(MARK_RESOURCE, ""))}).get(None)
    return mark is not None and mark.held
