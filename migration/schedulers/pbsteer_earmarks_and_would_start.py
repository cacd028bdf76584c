"""For queues whose jobs pbsteer starts: the cores that its last pass has earmarked, and its decision about one more
job.

The service reads what the last pass has published, so its account must be in ``journal_group``. Without a recent pass
that it can read, PBS's own scheduler counts.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import hooks.reader.answer_console_by_json_lines
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from hooks.reader.answer_lines import NO_LIBRARY
from hooks.reader.apply_status_differences import Assembly
from hooks.store.state_files import LAST_PASS, State
from hooks.store.state_folder import state_folder
from migration.programs.run_external_program_with_limits import TIMED_OUT, Run
from migration.schedulers.scheduler_interface import LocalJob, SchedulerSilent, Verdict
from policy.model.ledger_between_passes import Ledger
from policy.settings.site_settings import Settings

_RECENT_S = 60
_MISSED = 5
"""A pass counts as the last one for so many times its interval, and at least the seconds above."""
_NEW_ID = "999999999999.new"
"""An id behind every job of the server, and of none of them."""


class LastPass(NamedTuple):
    """``driven`` are the queues whose jobs the pass started itself."""

    settings: Settings
    ledger: Ledger
    driven: frozenset[str]

    def count_earmarked(self, free: Mapping[str, int]) -> int:
        """The idle cores that are earmarked for jobs that have preempted others. ``free``: vnode -> its idle cores."""
        earmarked: dict[str, int] = {}
        for earmark in self.ledger.earmarks.values():
            for spot in earmark.allocation.spots:
                earmarked[spot.vnode] = earmarked.get(spot.vnode, 0) + spot.chunks * dict(spot.amounts).get("ncpus", 0)
        return sum(min(cores, max(0, free.get(vnode, 0))) for vnode, cores in earmarked.items())


def read_last_pass(pbs_home: str, now_s: float) -> LastPass | None:
    """The last pass of the server with this PBS_HOME; None if there is none, if it is old, or not for us to read."""
    published = State(state_folder(pbs_home)).read_published(LAST_PASS)
    try:
        settings = Settings.from_data(published["settings"], LAST_PASS)
        age_s = now_s - float(published["time_s"])
        if age_s > max(_RECENT_S, _MISSED * settings.schedule.interval_s):
            return None
        return LastPass(settings, Ledger.from_data(published["ledger"]), frozenset(map(str, published["acted"])))
    except (KeyError, TypeError, ValueError):
        return None


def read_status(run: Run, pbs_exec: str, timeout_s: float) -> ServerStatus | None:
    """The server's status, by the reader under PBS's own Python; None if no Python here can load PBS's library.

    Raises :class:`SchedulerSilent`.
    """
    reader = str(Path(hooks.reader.answer_console_by_json_lines.__file__).resolve())
    for python in _pythons(pbs_exec):
        done = run([python, "-I", reader, pbs_exec], stdin=b'{"want": "status", "whole": true}\n', timeout_s=timeout_s)
        if done.status == TIMED_OUT:
            raise SchedulerSilent(f"the reader: {done.problem}")
        error, status = _assemble(done.out)
        if status is not None:
            return status
        if error and not error.startswith(NO_LIBRARY):
            raise SchedulerSilent(error)
    return None


def _assemble(lines: bytes) -> tuple[str, ServerStatus | None]:
    """The reader's error, and the status if there is one."""
    assembly = Assembly()
    try:
        for line in lines.splitlines():
            part = json.loads(line)
            if "error" in part:
                return str(part["error"]), None
            status = assembly.take(part)
            if status is not None:
                return "", status
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as problem:
        return f"the reader's answer cannot be used: {problem}", None
    return "", None


def _pythons(pbs_exec: str) -> Iterator[str]:
    for python in dict.fromkeys((f"{pbs_exec}/python/bin/python3", "/usr/bin/python3", sys.executable)):
        if os.access(python, os.X_OK):
            yield python


def would_start(status: ServerStatus, last: LastPass, job: LocalJob, queue: str, select: str) -> Verdict:
    """Whether a pass at this moment would start the job, if it were submitted last."""
    from hooks.translate.snapshot import translate  # noqa: PLC0415 - what is earmarked is read without the engine
    from policy.cycle.engine import decide  # noqa: PLC0415 - as above

    texts = _texts_of(job, queue, select, status.time_s)
    snapshot = translate(replace(status, jobs={**status.jobs, _NEW_ID: texts}), last.settings).snapshot
    plan = decide(snapshot, last.ledger, last.settings)
    if any(start.id == _NEW_ID for start in plan.starts):
        return Verdict(now=True)
    found = plan.reasons().get(_NEW_ID)
    return Verdict(now=False, text=found[1].sentence(found[0], plan.time_s) if found else "would not start now")


def _texts_of(job: LocalJob, queue: str, select: str, time_s: float) -> Attributes:
    """The attributes that the job would have, as the server shows them."""
    demand, time = job.demand, f"{time_s:.0f}"
    asked = {
        "select": select,
        "place": "scatter" if demand.nodes else "free",
        "ncpus": str(demand.cores),
        "nodect": str(demand.nodes or demand.cores),
        "walltime": str(demand.walltime_s),
    }
    if demand.nodes and demand.mem_mib:
        asked["mem"] = f"{demand.nodes * demand.mem_mib}mb"
    if demand.nodes and demand.gpus:
        asked["ngpus"] = str(demand.nodes * demand.gpus)
    return {
        "job_state": "Q", "substate": "10", "queue": queue, "euser": job.user, "Job_Owner": f"{job.user}@new",
        "Job_Name": job.name, "Priority": "0", "Rerunable": "True", "qtime": time, "ctime": time, "schedselect": select,
        **{f"Resource_List.{name}": value for name, value in asked.items()},
    }  # fmt: skip
