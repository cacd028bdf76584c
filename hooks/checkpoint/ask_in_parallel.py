"""Asking several victims side by side to save or to go, in processes of their own.

The server answers a requeue only when the job has ended: two seconds when all goes well, most of a minute when its MoM
is lost; and a signal or a checkpoint when the MoM has answered. Nobody else may wait for that, so child processes do.
What has not ended when the pass does goes on by itself; so a victim is looked at once more just before it is asked,
since by then the run that was meant may be over.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Mapping, Sequence
from typing import Any, Callable

from hooks.checkpoint.ask_to_save import LetGo
from hooks.checkpoint.method import CHECKPOINT, REQUEUE, SIGNAL
from hooks.pbs.client import Connection, IflError
from hooks.pbs.job_ids import read_start_s, was_deleted
from hooks.pbs.job_mark import MARK_ATTRIBUTE, read_marks
from hooks.pbs.status import Attributes

_MOST_CHILDREN = 16
_LATEST_S = 30.0
"""Whoever waits that long behind slow victims is not asked any more: later passes have decided anew by then, and it may
have started elsewhere. Its time to save is over no later for it."""
_ORDER = (SIGNAL, CHECKPOINT, REQUEUE)
_LOOKED_AT = ("job_state", "stime", "comment", MARK_ATTRIBUTE)
_LATE = "{} was not asked to go, as those before it took too long"
_LETS_GO = frozenset({15001, 15016, 15139})
"""PBS's error numbers for an unknown job, one in a state that cannot be requeued (not running, or exiting), a finished
one (pbs_error.h)."""


class Departures:
    """Victims that are asked, each what its request says. ``failures`` has what went wrong with whom, ``let_alone``
    those that were not asked, since there was no need any more.

    ``release`` is called first in each child: there it lets go of what it must not keep. A simulated server answers at
    once and lives in this very process: for that no children are made. (The module of a real one is SWIG's, and carries
    its C half as ``_pbs_ifl``.)
    """

    def __init__(self, pbs_ifl: Any, requests: Sequence[LetGo], release: Callable[[], None]) -> None:
        self.failures: dict[str, str] = {}
        self.let_alone: set[str] = set()
        self._pipes: dict[int, int] = {}
        self._said: dict[int, bytes] = {}
        self._until_s = time.monotonic() + _LATEST_S
        # Asking to save takes no time, and whose time to save runs already must not wait behind those that only end.
        requests = sorted(requests, key=lambda request: _ORDER.index(request.how))
        if not hasattr(pbs_ifl, "_pbs_ifl"):
            self._note(_ask(pbs_ifl, requests, self._until_s))
            return
        for share in share_out(requests):
            self._start_child(pbs_ifl, share, release)

    def wait(self, seconds: float) -> None:
        """Wait for the children, no longer than this; what those that ended have said is known afterwards."""
        deadline = time.monotonic() + seconds
        while self._pipes:
            left_s = deadline - time.monotonic()
            readable = select.select(list(self._pipes), [], [], max(0.0, left_s))[0]
            for pipe in readable:
                self._read(pipe)
            if left_s <= 0 and not readable:
                return

    def _start_child(self, pbs_ifl: Any, requests: Sequence[LetGo], release: Callable[[], None]) -> None:
        readable, writable = os.pipe()
        pid = os.fork()
        if pid:
            os.close(writable)
            self._pipes[readable] = pid
            self._said[readable] = b""
            return
        try:
            release()
            lines = [f"{job_id}\t{error}" for job_id, error in _ask(pbs_ifl, requests, self._until_s).items()]
            os.write(writable, "\n".join(lines).encode("utf-8", "replace"))
        finally:
            # The child is a copy of a process that is the server's: it must not run anything of that.
            os._exit(0)

    def _read(self, pipe: int) -> None:
        piece = os.read(pipe, 65536)
        if piece:
            self._said[pipe] += piece
            return
        os.close(pipe)
        os.waitpid(self._pipes.pop(pipe), 0)
        lines = self._said.pop(pipe).decode("utf-8", "replace").splitlines()
        self._note({job_id: error for job_id, _, error in (line.partition("\t") for line in lines)})

    def _note(self, answers: Mapping[str, str]) -> None:
        self.failures.update({job_id: error for job_id, error in answers.items() if error})
        self.let_alone.update(job_id for job_id, error in answers.items() if not error)


def share_out(requests: Sequence[LetGo]) -> list[list[LetGo]]:
    """What each child asks, in the order given.

    Who has to save is asked by the child of its host: a MoM that hangs keeps back its own jobs, and as few others as
    can be. Who only ends takes seconds each, so these are dealt out one by one.
    """
    shares: list[list[LetGo]] = [[] for _ in range(min(_MOST_CHILDREN, len(requests)))]
    hosts: dict[str, int] = {}
    for number, request in enumerate(requests):
        at = number if request.how == REQUEUE else hosts.setdefault(request.host, len(hosts))
        shares[at % len(shares)].append(request)
    return [share for share in shares if share]


def _ask(pbs_ifl: Any, requests: Sequence[LetGo], until_s: float) -> dict[str, str]:
    """What went wrong, by victim; empty for one that was let alone. Whoever was asked is not in it."""
    answers: dict[str, str] = {}
    try:
        with Connection(pbs_ifl) as connection:
            for request in requests:
                if time.monotonic() > until_s:
                    answers[request.id] = _LATE.format(request.id)
                    continue
                try:
                    if not _ask_one(connection, request):
                        answers[request.id] = ""
                except IflError as error:
                    answers[request.id] = "" if error.code in _LETS_GO else str(error)
    except IflError as error:
        return dict.fromkeys((request.id for request in requests), str(error))
    return answers


def _ask_one(connection: Connection, request: LetGo) -> bool:
    """Whether it was asked: not where that run is over, since it has let go, nor where somebody has deleted the job, as
    PBS would queue one again that takes its time to die. Raises :class:`IflError`."""
    texts = connection.read_job(request.id, _LOOKED_AT)
    if was_deleted(texts) or read_start_s(texts) != request.start_s:
        return False
    if request.how == SIGNAL:
        connection.signal(request.id, request.signal)
    elif request.how == REQUEUE:
        connection.requeue(request.id)
    elif _is_waited_for(texts):
        connection.checkpoint(request.id)
    else:
        return False
    return True


def _is_waited_for(texts: Attributes) -> bool:
    """Whether its mark still says that it is held. A checkpoint is a hold, and who waited here behind slow victims may
    have been let go meanwhile by a pass, which forgot it: nobody would take this hold off."""
    mark = read_marks(texts).get(None)
    return mark is not None and mark.held
