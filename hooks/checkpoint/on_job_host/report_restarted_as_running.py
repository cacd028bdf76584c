"""Finds the jobs that were restarted from a checkpoint, so that the MoM reports them as running.

The server keeps a job restarted from a checkpoint in substate 41, and checkpoints it no second time, until its MoM
reports another session than before. Hooks may set what a MoM reports, so the session number is sent with the opposite
sign; the MoM itself writes the sessions of ended tasks in that form.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from hooks.store.atomic_file import replace_file

RESTARTED = "pbsteer-restarted-"
"""Prefix of notes in a MoM's ``mom_priv``, followed by a job's id: our script has restarted the job."""

HELD_S = 118
"""How long a session is told before the other one. A MoM tells its server every two minutes at least; the server hears
nothing of what the MoM was told in between. Two runs of the hook at the default interval take two minutes. A pass waits
for the server to hear of it for 300 s (:mod:`hooks.checkpoint.save_method.save_method_of_job`)."""

_LEAST_HELD = 2
"""The session that the server knows may have either sign."""


class _Note(NamedTuple):
    """What a note says: the session that the MoM was told, since when (seconds of the host's clock), and how many were
    told before for long enough."""

    session: int
    held: int
    since_s: int


def find_restarted(pbs_home: str) -> dict[str, Path]:
    """The notes of restarted jobs, by job."""
    return {path.name[len(RESTARTED) :]: path for path in (Path(pbs_home) / "mom_priv").glob(f"{RESTARTED}*")}


def report(job: Any, note: Path, now_s: float) -> None:
    """Have the MoM report another session of an event's job than before for :data:`HELD_S`, and then the first again.

    PBS drops what a run of a hook sets that is cut off, and the server a report that comes before the MoM's answer that
    the job runs, which may take long on a busy host: what is told for a while is reported several times. The note is
    deleted at the end of a time without the opposite sign. Raises OSError if the note cannot be written; nothing is
    reported then.
    """
    session, held = int(job.session_id), 0
    told = _read(note.read_text(encoding="ascii", errors="replace"))
    if told is not None:
        held = told.held
        if told.session == session:
            if 0 <= int(now_s) - told.since_s < HELD_S:
                return
            held += 1
            if session > 0 and held >= _LEAST_HELD:
                note.unlink()
                return
    replace_file(note, f"{-session} {held} {int(now_s)}".encode("ascii"), sync=False)
    job.session_id = -session


def _read(text: str) -> _Note | None:
    """The note; None for one that the script has just made, or that another version wrote."""
    try:
        session, taken, since_s = map(int, text.split())
    except ValueError:
        return None
    return _Note(session, taken, since_s)
