"""The history of one job from the journal: a line for each event, however many passes repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hooks.pbs.job_attributes.job_ids_and_states import index_of, is_array, is_subjob, parent_of
from policy.model.pbs_units import show_job
from tui.backends.pass_journal import Part, Pass
from tui.model.typed_attributes import vnodes_of
from tui.pages.plan.pass_page import moved_for, preemption_outcome, reserved_for, start_outcome
from tui.state.wording_by_queue_mode import preemptions_of
from tui.text.name_ranges import few_names
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import day_and_time

_EVENTS_AT_ONCE = 3
"""An event equal to one of the last so many chapters continues it: a pass has up to so many events of one job."""


_MOST_SUBJOBS = 8
"""Most subjobs that one event names."""


class Chapter(NamedTuple):
    """One event that ``passes`` passes reported, from ``first_s`` to ``last_s``."""

    first_s: float
    last_s: float
    text: str
    role: str = ""
    passes: int = 1


def story_of(entries: Sequence[Pass], job_id: str) -> list[Chapter]:
    """A job's chapters, oldest first, from all passes that name it. Those of an array have the preemptions of its
    subjobs; those of a subjob do not include its array's."""
    chapters: list[Chapter] = []
    for entry in entries:
        for text, role in _events(entry, job_id):
            recent = range(max(0, len(chapters) - _EVENTS_AT_ONCE), len(chapters))
            same = next((at for at in recent if chapters[at].text == text), None)
            if same is None:
                chapters.append(Chapter(entry.time_s, entry.time_s, text, role))
            else:
                chapters[same] = chapters[same]._replace(last_s=entry.time_s, passes=chapters[same].passes + 1)
    return chapters


def _events(entry: Pass, job_id: str) -> Iterator[tuple[str, str]]:
    """The events of one job in one pass, in words."""
    started = set(entry.texts("started"))
    for part in _of(entry, "starts", job_id):
        how = " by backfilling" if part.get("backfilled") else ""
        where = few_names(vnodes_of(str(part.get("exec_vnode", ""))))
        yield f"{start_outcome(part, entry, started)}{how} on {where}", "good" if job_id in started else ""
    for part in _of(entry, "preempts", job_id):
        yield preemption_outcome(part, entry), "warn"
    yield from _preempted_subjobs(entry, job_id)
    if job_id in entry.texts("requeued"):
        yield "requeued", "warn"
    if job_id in entry.texts("released"):
        yield "released: no job needs its cores any more", ""
    for part in entry.parts("preempts"):
        if part.get("beneficiary") == job_id:
            is_undone = entry.preemption_outcome(part) == "undone"
            done = "could not preempt yet:" if is_undone else preemptions_of(entry, part.get("queue")).did("preempted")
            yield f"{done} {show_job(str(part.get('job', '')))} for it", ""
    for part in _of(entry, "estimates", job_id):
        yield f"reserved {reserved_for(part, entry.time_s)}", ""
    for part in _of(entry, "moved", job_id):
        yield f"its promise moved: {moved_for(part, entry.time_s)}", "warn"
    for part in entry.parts("waits"):
        if part.get("example") == job_id:
            yield f"left waiting: {part.get('code', '')}", "dim"


def _preempted_subjobs(entry: Pass, array_id: str) -> Iterator[tuple[str, str]]:
    """The preemptions of an array's subjobs, those with one outcome together."""
    subjobs: dict[str, list[str]] = {}
    for part in entry.parts("preempts") if is_array(array_id) else ():
        job_id = str(part.get("job", ""))
        if is_subjob(job_id) and parent_of(job_id) == array_id:
            subjobs.setdefault(preemption_outcome(part, entry), []).append(f"[{index_of(job_id)}]")
    for outcome, names in subjobs.items():
        more = f" and {len(names) - _MOST_SUBJOBS:,} more" if len(names) > _MOST_SUBJOBS else ""
        word = "subjob" if len(names) == 1 else "subjobs"
        yield f"{word} {', '.join(names[:_MOST_SUBJOBS])}{more}: {outcome}", "warn"


def _of(entry: Pass, name: str, job_id: str) -> Iterator[Part]:
    return (part for part in entry.parts(name) if part.get("job") == job_id)


def story_lines(chapters: Sequence[Chapter], now_s: float) -> list[Line]:
    """The chapters as lines, the newest first."""
    lines: list[Line] = []
    for chapter in reversed(chapters):
        passes = (
            f" ({chapter.passes:,} passes, last {day_and_time(chapter.last_s, now_s)})" if chapter.passes > 1 else ""
        )
        when = f"{day_and_time(chapter.first_s, now_s):<6}"
        lines.append(((when, "dim"), (safe(chapter.text), chapter.role), (passes, "dim")))
    return lines
