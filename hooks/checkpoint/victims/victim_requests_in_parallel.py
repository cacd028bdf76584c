"""Sends the victims' requests (signal, checkpoint, requeue) in parallel, from child processes, as the server answers a
requeue only when the job has ended.

Each victim is read again just before its request, as its run may be over by then; its MoM is asked too, where PBS would
run an ended job again.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Mapping, Sequence
from typing import Any, Callable

from hooks.checkpoint.forked_server_request import Child, read_piece, start_child
from hooks.checkpoint.save_method.read_save_method_job_asked_for import CHECKPOINT, REQUEUE, SIGNAL
from hooks.checkpoint.victims.plan_victim_requests import VictimRequest
from hooks.checkpoint.victims.runs_that_never_begin import USED, never_begins
from hooks.pbs.client.pbs_ifl_client import HOLD, NOT_RUNNING, Connection, IflError, is_real_server
from hooks.pbs.job_attributes.job_ids_and_states import (
    RUNS_AT_HOST,
    STAGES_IN,
    index_of,
    parent_of,
    read_start_s,
    was_deleted,
)
from hooks.pbs.job_attributes.victim_mark import MARK_ATTRIBUTE, read_marks
from hooks.pbs.server_status_type_and_attributes import Attributes

_MOST_CHILDREN = 16
_LATEST_S = 30.0
"""Requests that have waited longer than this behind slow victims are dropped: later passes have replanned by then, and
the job may have started elsewhere. The victim's time to save is not extended by it."""
_NOT_REQUEUED = "not requeued"
_ORDER = (SIGNAL, CHECKPOINT, REQUEUE)
_LOOKED_AT = ("job_state", "substate", "stime", "comment", "Hold_Types", MARK_ATTRIBUTE, USED)
_LATE = "{} got no request, as its host or those before it took too long"


class _LateError(Exception):
    """The time for requests is over."""


class VictimRequests:
    """Sends the requests when constructed, and collects the results.

    ``failures`` has the error by victim. ``skipped`` are the victims whose request was unnecessary: the run had already
    ended, the job was deleted, or its hold was no longer wanted. ``not_requeued`` are those of the failures that the
    server answered a requeue with.

    ``release`` is called first in each child and frees what the child must not keep. A simulated server answers at once
    and lives in this process, so it gets no children.
    """

    def __init__(self, pbs_ifl: Any, requests: Sequence[VictimRequest], release: Callable[[], None]) -> None:
        self.failures: dict[str, str] = {}
        self.skipped: set[str] = set()
        self.not_requeued: set[str] = set()
        self._children: dict[int, Child] = {}
        self._output: dict[int, bytes] = {}
        self._until_s = time.monotonic() + _LATEST_S
        # Requests to save are quick, and a running time to save must not wait behind slow requeues.
        requests = sorted(requests, key=lambda request: _ORDER.index(request.how))
        if not is_real_server(pbs_ifl):
            self._note(_ask(pbs_ifl, requests, self._until_s))
            return
        for share in split_requests(requests):
            self._start_child(pbs_ifl, share, release)

    def wait(self, seconds: float) -> None:
        """Wait for the children, at most ``seconds``; the results of those that ended are recorded. The others go on
        alone, and what they answer is not read."""
        deadline = time.monotonic() + seconds
        while self._children:
            left_s = deadline - time.monotonic()
            readable = select.select(list(self._children), [], [], max(0.0, left_s))[0]
            for pipe in readable:
                self._read(pipe)
            if left_s <= 0 and not readable:
                break
        for pipe in self._children:
            os.close(pipe)
        self._children.clear()

    def _start_child(self, pbs_ifl: Any, requests: Sequence[VictimRequest], release: Callable[[], None]) -> None:
        def answer() -> bytes:
            release()
            answers = _ask(pbs_ifl, requests, self._until_s)
            lines = [f"{job_id}\t{how}\t{error}" for job_id, (how, error) in answers.items()]
            return "\n".join(lines).encode("utf-8", "replace")

        child = start_child(answer)
        self._children[child.pipe] = child
        self._output[child.pipe] = b""

    def _read(self, pipe: int) -> None:
        piece = read_piece(self._children[pipe])
        if piece:
            self._output[pipe] += piece
            return
        del self._children[pipe]
        lines = self._output.pop(pipe).decode("utf-8", "replace").splitlines()
        parts = [line.split("\t", 2) for line in lines]
        self._note({part[0]: (part[1], part[2]) for part in parts if len(part) == 3})

    def _note(self, answers: Mapping[str, tuple[str, str]]) -> None:
        self.failures.update({job_id: error for job_id, (_, error) in answers.items() if error})
        self.skipped.update(job_id for job_id, (_, error) in answers.items() if not error)
        self.not_requeued.update(job_id for job_id, (how, error) in answers.items() if error and how == _NOT_REQUEUED)


def split_requests(requests: Sequence[VictimRequest]) -> list[list[VictimRequest]]:
    """The requests of each child, in the given order.

    Requests to save go to one child per host: a MoM that hangs delays its own jobs and as few others as possible.
    Requeues take seconds each, so they are dealt out one by one.
    """
    shares: list[list[VictimRequest]] = [[] for _ in range(min(_MOST_CHILDREN, len(requests)))]
    hosts: dict[str, int] = {}
    for number, request in enumerate(requests):
        at = number if request.how == REQUEUE else hosts.setdefault(request.host, len(hosts))
        shares[at % len(shares)].append(request)
    return [share for share in shares if share]


def _ask(pbs_ifl: Any, requests: Sequence[VictimRequest], until_s: float) -> dict[str, tuple[str, str]]:
    """By victim, whether the server answered its requeue with an error (:data:`_NOT_REQUEUED`), and the error; empty
    for a skipped one. A victim whose request succeeded is not in the result."""
    try:
        with Connection(pbs_ifl) as connection:
            answers = {request.id: _answer(connection, request, until_s) for request in requests}
    except IflError as error:
        return dict.fromkeys((request.id for request in requests), ("", str(error)))
    return {job_id: answer for job_id, answer in answers.items() if answer is not None}


def _answer(connection: Connection, request: VictimRequest, until_s: float) -> tuple[str, str] | None:
    """The answer to one request as :func:`_ask` has it; None for one that succeeded."""
    try:
        return None if _ask_one(connection, request, until_s) else ("", "")
    except _LateError:
        return "", _LATE.format(request.id)
    except IflError as error:
        how = _NOT_REQUEUED if request.how == REQUEUE and error.code else ""
        return ("", "") if error.code in NOT_RUNNING else (how, str(error))


def _ask_one(connection: Connection, request: VictimRequest, until_s: float) -> bool:
    """Send one request. False if there is no need: the run is over, or the job was deleted (PBS would queue either
    again, as its MoM reports the end later), or its mark no longer says what is to be sent. A deleted job whose program
    never begins is queued again and deleted there. Raises :class:`IflError`, and :class:`_LateError` once the time
    ``until_s`` of the monotonic clock is over."""
    _demand_time(until_s)
    texts = connection.read_job(request.id, _LOOKED_AT)
    is_stuck = request.how == REQUEUE and never_begins(texts, time.time())
    if is_stuck and was_deleted(texts) and read_start_s(texts) == request.start_s:
        # Deleting it by force would leave PBS's count of its cores where it is being requeued.
        connection.requeue(request.id, force=True)
        connection.delete(request.id)
        return True
    if not _is_wanted(texts, request):
        return False
    if request.how == SIGNAL:
        if not _stands(connection, texts, request):
            return False
        connection.signal(request.id, request.signal)
        return True
    if texts.get("substate", "") == RUNS_AT_HOST:
        # The host may answer late, and passes may have released or requeued the victim meanwhile, or rest.
        if connection.has_ended_at_host(request.id):
            return False
        _demand_time(until_s)
        texts = connection.read_job(request.id, _LOOKED_AT)
        if not _is_wanted(texts, request):
            return False
    if request.how == REQUEUE:
        # A job that is being staged in runs no program yet, which force would not wait for.
        connection.requeue(request.id, force=is_stuck or texts.get("substate", "") == STAGES_IN)
    else:
        _checkpoint(connection, request.id)
    return True


def _demand_time(until_s: float) -> None:
    if time.monotonic() > until_s:
        raise _LateError


def _stands(connection: Connection, texts: Attributes, request: VictimRequest) -> bool:
    """Whether the mark still asks this run to save: a later pass withdraws a request that it takes for sent, or clears
    the mark. A program that gets its signal nevertheless ends as one that was not asked. The mark of a subjob is its
    array's; with Torque, where arrays are no jobs, it is its own."""
    index = index_of(request.id)
    mark = read_marks(texts).get(index)
    if mark is None and index is not None:
        array = parent_of(request.id)
        mark = read_marks(connection.read_these_jobs([array], (MARK_ATTRIBUTE,)).get(array, {})).get(index)
    return mark is not None and mark.how == SIGNAL and not mark.why and mark.is_of_run(request.start_s)


def _is_wanted(texts: Attributes, request: VictimRequest) -> bool:
    """Whether the job is still in the run that is meant, and, for a checkpoint, its mark still says that it is held."""
    is_meant = read_start_s(texts) == request.start_s and not was_deleted(texts)
    return is_meant and (request.how != CHECKPOINT or _is_held_by_us(texts))


def _checkpoint(connection: Connection, job_id: str) -> None:
    """Have PBS checkpoint the job, which sets a hold. A hold without our mark would stay for good, so it is released
    where a pass has released the victim and cleared its mark just before. Raises :class:`IflError`."""
    try:
        connection.checkpoint(job_id)
    finally:
        texts = connection.read_these_jobs([job_id], _LOOKED_AT).get(job_id, {})
        if HOLD in texts.get("Hold_Types", "") and not _is_held_by_us(texts):
            connection.release(job_id)


def _is_held_by_us(texts: Attributes) -> bool:
    mark = read_marks(texts).get(None)
    return mark is not None and mark.held
