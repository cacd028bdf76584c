"""What is looked up for one job alone: its attributes also after its end, what passes did with it, its output's end."""

from __future__ import annotations

from tui.backends.base import Source, SourceError
from tui.backends.output_tail import tail_of
from tui.pages.job_history import story_of
from tui.pages.job_page import JobDetail


def detail_of(source: Source, job_id: str) -> JobDetail:
    """All of one job, also of one that has ended; what cannot be read is told in its place."""
    attributes, problem = None, ""
    try:
        attributes = source.read("ended job", job_id)
    except SourceError as error:
        problem = str(error)
    story = story_of(source.journal.about(job_id), job_id)
    tail = tail_of(job_id, attributes, source.spool) if attributes is not None else None
    return JobDetail(job_id, attributes, tuple(story), tail, problem or source.journal.problem)
