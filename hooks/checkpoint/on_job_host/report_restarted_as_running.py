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

REPORTED_S = 118
"""How long a session is reported before the other one. A MoM reports to its server every two minutes at least; what its
hook has set in between does not reach the server. Two runs of the hook at the default interval take two minutes. A
pass waits for the server to have it for 300 s (:mod:`hooks.checkpoint.save_method.save_method_of_job`)."""

_LEAST_REPORTED = 2
"""The session that the server knows may have either sign."""


class _Note(NamedTuple):
    """What a note says: the session that the hook has set, how many it had set before for long enough, and since when
    (seconds of the host's clock)."""

    session: int
    before: int
    since_s: int


def find_restarted(pbs_home: str) -> dict[str, Path]:
    """The notes of restarted jobs, by job."""
    return {path.name[len(RESTARTED) :]: path for path in (Path(pbs_home) / "mom_priv").glob(f"{RESTARTED}*")}


def report(job: Any, note: Path, now_s: float) -> None:
    """Have the MoM report another session of an event's job for :data:`REPORTED_S`, and then the first one again.

    PBS drops what a run of a hook sets that is cut off, and the server a report that comes before the MoM's answer that
    the job runs, which may take long on a busy host: what is set for a while is reported several times. The note is
    deleted at the end of a time without the opposite sign. Raises OSError if the note cannot be written; nothing is
    reported then.
    """
    session, before = int(job.session_id), 0
    noted = _read(note.read_text(encoding="ascii", errors="replace"))
    if noted is not None:
        before = noted.before
        if noted.session == session:
            if 0 <= int(now_s) - noted.since_s < REPORTED_S:
                return
            before += 1
            if session > 0 and before >= _LEAST_REPORTED:
                note.unlink()
                return
    replace_file(note, f"{-session} {before} {int(now_s)}".encode("ascii"), sync=False)
    job.session_id = -session


def _read(text: str) -> _Note | None:
    """The note; None for one that the script has just made, or that another version wrote."""
    try:
        session, before, since_s = map(int, text.split())
    except ValueError:
        return None
    return _Note(session, before, since_s)
