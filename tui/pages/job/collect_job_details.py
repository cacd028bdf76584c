"""Looks up the details of one job: its attributes even after its end, its history in the journal, its output's end; and
its script and log, which take longer."""

from __future__ import annotations

from tui.backends.interface.backend_protocol import Backend, BackendError
from tui.backends.job_output_tail import ERRORS, tail_of
from tui.pages.job.job_page import JobDetail, JobFiles
from tui.pages.job.job_story_from_passes import story_of


def detail_of(backend: Backend, job_id: str) -> JobDetail:
    """The details of one job, also of an ended one; what cannot be read is replaced by the reason."""
    attributes, problem = None, ""
    try:
        attributes = backend.read("ended job", job_id)
    except BackendError as error:
        problem = str(error)
    story = story_of(backend.journal.about(job_id), job_id)
    tail = tail_of(job_id, attributes, backend.spool) if attributes is not None else None
    errors = tail_of(job_id, attributes, backend.spool, ERRORS) if attributes is not None else None
    return JobDetail(job_id, attributes, tuple(story), tail, problem or backend.journal.problem, errors)


_DAY_S = 86400.0
_MOST_DAYS = 30


def files_of(backend: Backend, job_id: str, age_s: float) -> JobFiles:
    """The script and the log of a job that was submitted ``age_s`` ago; of an old one, the log's last days."""
    found = JobFiles(job_id)
    try:
        found = found._replace(script=backend.script(job_id))
    except BackendError as error:
        found = found._replace(script_problem=str(error))
    try:
        days = max(1, min(_MOST_DAYS, int(age_s // _DAY_S) + 2))
        return found._replace(log=tuple(backend.log_lines(job_id, days)))
    except BackendError as error:
        return found._replace(log_problem=str(error))
