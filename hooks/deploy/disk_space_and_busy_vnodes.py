"""Checks before an apply or removal: room on the disk (undoing a failed step needs room too), vnodes in use, and jobs
that still save.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from hooks.deploy.cleanup.release_victims_and_restore_priorities import Programs, run_clear_job_marks
from hooks.deploy.read_installed_server_state import DeployError, Qmgr, ask, hooks_folder
from hooks.deploy.steps_between_server_states import Step
from hooks.pbs.files_and_output.parse_qmgr_list import parse_list

_TIMES = 4
"""Each text exists as our file, qmgr's copy, the server's copy of that, and the hook's own file."""

_KIB = 1024


def demand_room(home: Path, steps: Sequence[Step]) -> None:
    """Raise :class:`DeployError` if these steps could fill the disk of PBS_HOME or of the hooks in it."""
    needed_kib = _TIMES * sum(len(step.text.encode("utf-8")) for step in steps if step.text is not None) // _KIB
    for folder in (home, hooks_folder(home)):
        free_kib = shutil.disk_usage(folder).free // _KIB
        if free_kib < needed_kib:
            raise DeployError(
                f"{folder}: {free_kib:,} KiB are free on its disk, where the files of the hooks need {needed_kib:,} KiB"
                " while they are imported: make room first"
            )


def find_busy_vnodes(qmgr: Qmgr, steps: Sequence[Step]) -> str:
    """A sentence on vnodes with jobs or a reservation, which would stop these steps; empty if there are none. Raises
    :class:`DeployError`."""
    busy = []
    for words in (step.line.split() for step in steps):
        if words[1:2] == ["node"] and words[3:4] == ["partition"]:
            name = words[2]
            texts = parse_list(ask(qmgr, f"list node {name} jobs,resv")).get(name, {})
            jobs = sorted({job.strip().partition("/")[0] for job in texts.get("jobs", "").split(",")} - {""})
            holders = [*jobs, *([f"reservation {texts['resv']}"] if texts.get("resv") else [])]
            busy += [f"{name} ({', '.join(holders)})"] if holders else []
    if not busy:
        return ""
    return (
        f"PBS changes the partition only of vnodes without jobs and reservations; these have some:"
        f" {', '.join(busy)}: take them offline (pbsnodes -o), and come back when the jobs have ended"
    )


_MOST_SHOWN = 5


def describe_jobs_saving(programs: Programs, pbs_exec: str) -> str:
    """A sentence that names the jobs that still save, and what to do; empty if there are none, or if that cannot be
    known: passes that could not reach the server either have asked no job to save."""
    saving_jobs: dict[str, int] = run_clear_job_marks(programs, pbs_exec, "saving").get("saving", {})
    if not saving_jobs:
        return ""
    shown = [f"{job_id} until {_clock(until_s)}" for job_id, until_s in list(saving_jobs.items())[:_MOST_SHOWN]]
    more = f" and {len(saving_jobs) - _MOST_SHOWN} more" if len(saving_jobs) > _MOST_SHOWN else ""
    return (
        f"jobs that were asked to save still may, and without the hooks the end of such a job would be for good:"
        f" {', '.join(shown)}{more}; set the queues to observe, in which no job is asked to save, and come back"
        f" after {_clock(max(saving_jobs.values()))}"
    )


def _clock(time_s: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(time_s))
