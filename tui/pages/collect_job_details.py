"""Looks up the details of one job: its attributes even after its end, its history in the journal, its output's end."""

from __future__ import annotations

from tui.backends.backend_protocol import Backend, BackendError
from tui.backends.job_output_tail import ERRORS, tail_of
from tui.pages.job_page import JobDetail
from tui.pages.job_story_from_passes import story_of


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
