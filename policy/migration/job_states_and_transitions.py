"""The states of a migrating job, and every way from one to another, as a table.

All code that changes a state goes through :func:`next_state`; what the table does not have cannot happen. The states
of the paper are those from ``Waiting`` on; ``Requested`` and ``Offered`` come before a target has the job.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

REQUESTED = "Requested"
OFFERED = "Offered"
WAITING = "Waiting"
UPLOADING = "Uploading"
MAKING = "Making"
SUBMITTED = "Submitted"
DOWNLOADING = "Downloading"
END = "End"
ABORTED = "Aborted"
STOPPED = "Stopped"

STATES = (REQUESTED, OFFERED, WAITING, UPLOADING, MAKING, SUBMITTED, DOWNLOADING, END, ABORTED, STOPPED)
FINAL = frozenset({END, ABORTED, STOPPED})
AT_SOURCE = frozenset({REQUESTED, OFFERED})
"""The states in which the source alone changes the record; in the others that are not final the target does."""
BEFORE_RUN = frozenset({WAITING, UPLOADING, MAKING})
"""The states at the target whose cores no scheduler there counts yet."""

_OLD_SPELLINGS = MappingProxyType({"Stoped": STOPPED})

SOURCE, TARGET = "source", "target"


class Transition(NamedTuple):
    """``event`` in ``state`` leads to ``to``. ``at`` is the side on which it happens, ``why`` when."""

    state: str
    event: str
    to: str
    at: str
    why: str


class NoSuchTransition(ValueError):  # noqa: N818 - it says what it is
    """An event that the table does not have for the state."""


TRANSITIONS: tuple[Transition, ...] = (
    Transition(REQUESTED, "offer", OFFERED, SOURCE, "written to sent.q before the target is asked"),
    Transition(REQUESTED, "start-here", SUBMITTED, SOURCE, "its own scheduler can start it: nothing is copied"),
    Transition(REQUESTED, "fallback-started", SUBMITTED, SOURCE, "the job that was also submitted here has started"),
    Transition(REQUESTED, "refused", ABORTED, SOURCE, "every cluster refuses the request for good"),
    Transition(REQUESTED, "stop", STOPPED, SOURCE, "mgstop"),
    Transition(OFFERED, "accepted", WAITING, SOURCE, "the target has it in received.q"),
    Transition(OFFERED, "declined", REQUESTED, SOURCE, "the target is busy or refuses"),
    Transition(OFFERED, "withdrawn", REQUESTED, SOURCE, "the target never had it, and now refuses this attempt"),
    Transition(OFFERED, "forgotten", REQUESTED, SOURCE, "an administrator says that the target is lost"),
    Transition(OFFERED, "stop", STOPPED, SOURCE, "mgstop, once the target has said that it never had it"),
    Transition(WAITING, "upload", UPLOADING, TARGET, "a free slot among the uploads"),
    Transition(WAITING, "given-back", REQUESTED, TARGET, "nothing of it has run"),
    Transition(WAITING, "abandoned", ABORTED, TARGET, "failed with nothing at the target to bring back"),
    Transition(WAITING, "stop", STOPPED, TARGET, "mgstop"),
    Transition(WAITING, "forgotten", REQUESTED, SOURCE, "an administrator says that the target is lost"),
    Transition(UPLOADING, "build", MAKING, TARGET, "the folder is there, and there is a build command"),
    Transition(UPLOADING, "submit", SUBMITTED, TARGET, "the folder is there, and nothing is to be built"),
    Transition(UPLOADING, "given-back", REQUESTED, TARGET, "no space, or too slow; nothing of it has run"),
    Transition(UPLOADING, "failed", DOWNLOADING, TARGET, "something exists at the target: logs come back first"),
    Transition(UPLOADING, "abandoned", ABORTED, TARGET, "failed with nothing at the target to bring back"),
    Transition(UPLOADING, "stop", DOWNLOADING, TARGET, "mgstop: what there is comes back"),
    Transition(UPLOADING, "discard", STOPPED, TARGET, "mgstop --discard"),
    Transition(UPLOADING, "forgotten", REQUESTED, SOURCE, "an administrator says that the target is lost"),
    Transition(MAKING, "submit", SUBMITTED, TARGET, "built"),
    Transition(MAKING, "failed", DOWNLOADING, TARGET, "the build failed: its log comes back"),
    Transition(MAKING, "stop", DOWNLOADING, TARGET, "mgstop: what there is comes back"),
    Transition(MAKING, "discard", STOPPED, TARGET, "mgstop --discard"),
    Transition(MAKING, "forgotten", REQUESTED, SOURCE, "an administrator says that the target is lost"),
    Transition(SUBMITTED, "ended", DOWNLOADING, TARGET, "the local job has ended, with whatever exit status"),
    Transition(SUBMITTED, "ended-here", END, TARGET, "the same where the source ran it in place"),
    Transition(SUBMITTED, "failed", DOWNLOADING, TARGET, "refused for good or vanished: logs come back first"),
    Transition(SUBMITTED, "failed-here", ABORTED, TARGET, "the same where the source ran it in place"),
    Transition(SUBMITTED, "given-back", REQUESTED, TARGET, "refused here or unstarted for too long; it has never run"),
    Transition(SUBMITTED, "stop", DOWNLOADING, TARGET, "mgstop: the local job is deleted, what there is comes back"),
    Transition(SUBMITTED, "stop-here", STOPPED, TARGET, "mgstop where the source ran it in place"),
    Transition(SUBMITTED, "discard", STOPPED, TARGET, "mgstop --discard"),
    Transition(SUBMITTED, "forgotten", REQUESTED, SOURCE, "an administrator says that the target is lost"),
    Transition(DOWNLOADING, "downloaded", END, TARGET, "a second transfer found nothing to do"),
    Transition(DOWNLOADING, "downloaded-failed", ABORTED, TARGET, "the same after a failure"),
    Transition(DOWNLOADING, "downloaded-stopped", STOPPED, TARGET, "the same after mgstop"),
    Transition(DOWNLOADING, "gave-up", ABORTED, TARGET, "seven days without a way back; the copy is kept"),
    Transition(DOWNLOADING, "discard", STOPPED, TARGET, "mgstop --discard"),
    Transition(DOWNLOADING, "forgotten", REQUESTED, SOURCE, "an administrator says that the target is lost"),
    Transition(ABORTED, "resume", DOWNLOADING, TARGET, "mgproc resume, while the copy is kept"),
)

DOWNLOADED = MappingProxyType({END: "downloaded", ABORTED: "downloaded-failed", STOPPED: "downloaded-stopped"})
"""The event that ends a download, by the final state that the record names as ``then``."""

_NEXT = MappingProxyType({(line.state, line.event): line for line in TRANSITIONS})


def next_state(state: str, event: str) -> Transition:
    """The line of the table. Raises :class:`NoSuchTransition`, which names what the state allows."""
    line = _NEXT.get((state, event))
    if line is None:
        allowed = ", ".join(sorted(line.event for line in TRANSITIONS if line.state == state)) or "nothing: it is final"
        raise NoSuchTransition(f"state {state}: {event!r} is no event of it; allowed: {allowed}")
    return line


def read_state(text: str) -> str:
    """The state of this name; the paper's ``Stoped`` is read as ``Stopped``. Raises ValueError."""
    state = _OLD_SPELLINGS.get(text, text)
    if state not in STATES:
        raise ValueError(f"state {text!r}: must be one of {', '.join(STATES)}")
    return state
