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

REPORTED_S = 150
"""Seconds for which a restarted job is reported: at the default interval four times, and two times at least. A pass
waits for the server to see it for 300 s (:mod:`hooks.checkpoint.save_method.save_method_of_job`)."""


_LEAST_REPORTS = 2


class _Note(NamedTuple):
    """What a note says: the session that the MoM was told, how many earlier ones it has taken, and when the first
    report was made (seconds of the host's clock)."""

    session: int
    taken: int
    since_s: int


def find_restarted(pbs_home: str) -> dict[str, Path]:
    """The notes of restarted jobs, by job."""
    return {path.name[len(RESTARTED) :]: path for path in (Path(pbs_home) / "mom_priv").glob(f"{RESTARTED}*")}


def report(job: Any, note: Path, now_s: float) -> None:
    """Have the MoM report another session of an event's job than before, again and again for :data:`REPORTED_S`.

    PBS drops what a run of a hook sets that is cut off, and the server a report that comes before the MoM's answer that
    the job runs, which may take long on a busy host. The run of the hook that finds the time over and the session
    without the opposite sign deletes the note. Raises OSError if the note cannot be written; nothing is reported then.
    """
    session = int(job.session_id)
    told = _read(note.read_text(encoding="ascii", errors="replace")) or _Note(session, -1, int(now_s))
    taken = told.taken + (told.session == session)
    if session > 0 and taken >= _LEAST_REPORTS and not 0 <= int(now_s) - told.since_s < REPORTED_S:
        note.unlink()
        return
    replace_file(note, f"{-session} {taken} {told.since_s}".encode("ascii"), sync=False)
    job.session_id = -session


def _read(text: str) -> _Note | None:
    """The note; None for one that the script has just made, or that another version wrote."""
    try:
        session, taken, since_s = map(int, text.split())
    except ValueError:
        return None
    return _Note(session, taken, since_s)
