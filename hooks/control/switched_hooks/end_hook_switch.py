"""The hook at a job's end: off while no job could be asked to save, and on at its host again before one is asked.

For it PBS starts a Python process at each job's end, which takes longer than a short job runs (docs/hooks.md, "The hook
at a job's end").
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path

from hooks.checkpoint.save_method.read_save_method_job_asked_for import SAVING
from hooks.checkpoint.save_method.save_method_of_job import METHOD_OF_JOB
from hooks.pbs.client.pbs_ifl_client import Connection, IflError
from hooks.pbs.client.requests_within_time_budget import attempt
from hooks.pbs.files_and_output.moms_waiting_for_hook_copy import find_waiting_moms, read_tracking
from hooks.pbs.first_host_is_up import EXEC_VNODE
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, read_marks
from hooks.pbs.own_switch_values import END_HOOK
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from hooks.store.state_files import END_HOOK_NEEDED, State
from policy.settings.settings_of_server_and_passes import ALWAYS
from policy.settings.site_settings import Settings

KEPT_S = 600.0
"""How long the hook stays on after it was last needed. Each switch is sent to all hosts, and a job that fails to be
restarted ends some seconds after it has begun to run."""
_NOTED_S = 60.0
_WAITS = frozenset("HQW")


def is_end_hook_needed(server_status: ServerStatus, methods: Mapping[str, str]) -> bool:
    """Whether some job could be asked to save, was asked, or waits to be restarted from a checkpoint of PBS's, whoever
    asked for that. ``methods``: how jobs of a queue save that do not say."""
    if any(method in SAVING for method in methods.values()):
        return True
    for texts in server_status.jobs.values():
        # PBS takes the vnodes from a job that waits, unless it is to be restarted on them.
        is_checkpointed = EXEC_VNODE in texts and texts.get("job_state", "") in _WAITS
        if is_checkpointed or texts.get(METHOD_OF_JOB, "") in SAVING or _was_asked(texts):
            return True
    return False


def switch_end_hook(
    connection: Connection, settings: Settings, server_status: ServerStatus, methods: Mapping[str, str], state: State
) -> list[str]:
    """Switch the hook on if it is needed or is always to be on, and off :data:`KEPT_S` after it was needed; returns a
    sentence if the server refuses. A server without this hook is left alone."""
    needed, now_s = is_end_hook_needed(server_status, methods), server_status.time_s
    last_s = _read_time(state.read_published(END_HOOK_NEEDED))
    if needed and not 0 <= now_s - last_s < _NOTED_S:
        state.publish(END_HOOK_NEEDED, {"time_s": now_s}, shared=False, sync=False)
    wanted = settings.server.end_hook == ALWAYS or needed or 0 <= now_s - last_s < KEPT_S
    error = attempt(partial(connection.switch_hook, END_HOOK, enabled=wanted))
    return [] if error is None else [str(error)]


class EndHookOnHosts:
    """Answers whether the hook is on at a host, and as the server has it. The server and its file are read at the first
    question. On a server without the hook the answer is yes for all."""

    def __init__(self, connection: Connection, pbs_home: Path) -> None:
        self._connection = connection
        self._home = pbs_home
        self._is_on: bool | None = None
        self._waiting: Collection[str] = ()

    def is_on(self, host: str) -> bool:
        """Whether a job may be asked to save whose end the host is to judge."""
        if self._is_on is None:
            self._read()
        names = {host.lower(), host.partition(".")[0].lower()}
        return bool(self._is_on) and names.isdisjoint(self._waiting)

    def _read(self) -> None:
        try:
            self._is_on = self._connection.is_hook_enabled(END_HOOK) is not False
        except IflError:
            self._is_on = False
        moms = [mom.lower() for mom in find_waiting_moms(read_tracking(self._home)).get(END_HOOK, ())]
        self._waiting = {*moms, *(mom.partition(".")[0] for mom in moms)}


def _was_asked(texts: Attributes) -> bool:
    """Whether the job, or a subjob of it, has a request to save on it: an end with the agreed exit status requeues it
    long after that."""
    return MARK_KEY in texts and any(mark.how in SAVING for mark in read_marks(texts).values())


def _read_time(noted: Mapping[str, object]) -> float:
    time_s = noted.get("time_s", 0.0)
    return float(time_s) if isinstance(time_s, (int, float)) else 0.0
