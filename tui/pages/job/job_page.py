"""The page of one job, the answer first: when it starts, why it waits and what would change that, or where it runs;
then its quotas, times and request, its history and the end of its output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from policy.model.pbs_units import show_count, show_job
from tui.backends.job_output_tail import Tail
from tui.forecast.when_it_starts import when_known
from tui.model.job_state_and_exit_status_words import state_words, substate_words
from tui.model.typed_attributes import (
    MAY_START_STATES,
    SUSPENDED_STATES,
    Attributes,
    amount,
    group_of,
    moment,
    seconds,
    user_of,
    vnodes_of,
)
from tui.pages.job.job_explanation import explain_lines, labelled
from tui.pages.job.job_start_forecast_lines import NEVER, in_line_lines, source_lines, start_lines
from tui.pages.job.job_story_from_passes import Chapter, story_lines
from tui.pages.job.subjob_counts_line import subjobs_in, subjobs_lines
from tui.state.cluster_view import ClusterView
from tui.tables.columns_by_view.job_columns import elapsed_of
from tui.tables.columns_by_view.job_start_and_end import due_at, expected_end
from tui.tables.columns_by_view.planned_job_outcome import ending
from tui.text.name_ranges import folded_names
from tui.text.screen_line import Line, plain, safe, width
from tui.text.times_and_durations import day_and_time, short_span, show_hms

_UNSET = {"Hold_Types": "n", "project": "_pbs_project_default"}
"""What PBS has for a job without holds, and for one without a project."""
_SHOWN_LAST = ("Resource_List.select", "Resource_List.place", "depend", "Hold_Types", "project", "comment")


_UNNAMED = (
    "nothing: passes write down what starts, is preempted or reserved, and of the jobs that wait one for each kind of"
    " reason"
)


class JobDetail(NamedTuple):
    """What is looked up for one job only: all its attributes, its chapters in the journal, the ends of its output and
    of its errors."""

    job_id: str
    attributes: Attributes | None
    story: Sequence[Chapter] = ()
    tail: Tail | None = None
    problem: str = ""
    errors: Tail | None = None


class JobFiles(NamedTuple):
    """A job's script and its lines in the logs, each with the reason where there is none."""

    job_id: str
    script: str = ""
    script_problem: str = ""
    log: Sequence[str] = ()
    log_problem: str = ""


def job_lines(cluster: ClusterView, job_id: str, cells: int, detail: JobDetail | None = None) -> list[Line]:
    """The whole page for a width in cells; ``detail`` is None until it has been looked up."""
    attributes = cluster.job(job_id) or (detail.attributes if detail is not None else None)
    if attributes is None:
        gone = [((f"{safe(show_job(job_id))} is no longer on the server", "warn"),)]
        return [*gone, (), *_looked_up(detail, cluster.now_s)]
    cores = amount(attributes, f"Resource_List.{cluster.counted}")
    walltime = show_hms(seconds(attributes, "Resource_List.walltime"))
    lines: list[Line] = [
        *_title(job_id, attributes, show_count(cores, "core"), "no walltime" if walltime == "-" else walltime, cells),
        *labelled("state", _state(cluster, job_id, attributes), cells),
        *subjobs_lines(cluster, job_id, cells),
        (),
    ]
    known = when_known(cluster, job_id) if _waits(attributes) else None
    if known is not None and known.never:
        lines += labelled("starts", NEVER, cells, "title")  # Why follows, as what it waits for.
    else:
        lines += _expected_start(cluster, job_id, cells) if known is None else start_lines(cluster, known, cells)
    if attributes.get("exec_vnode"):
        vnodes = vnodes_of(attributes["exec_vnode"])
        lines += labelled(
            "runs on", f"{folded_names(vnodes, 8)} ({len(vnodes):,} vnode{'' if len(vnodes) == 1 else 's'})", cells
        )
    lines += labelled("cores busy", _cores_busy(cluster, job_id), cells)
    standing: list[Line] = []
    if _is_planned(cluster, job_id):
        answer, standing = explain_lines(cluster, job_id, cells)
        lines += answer
    lines += in_line_lines(cluster, job_id, cells) if _waits(attributes) else []
    lines += [(), *standing, *_moments(cluster, job_id, attributes, cells)]
    lines += source_lines(cluster, known, cells) if known is not None else []
    lines += labelled("group", group_of(attributes), cells)
    for name in _SHOWN_LAST:
        text = attributes.get(name, "")
        lines += labelled(name.rpartition(".")[2].lower(), "" if text == _UNSET.get(name) else text, cells)
    if attributes.get("run_count", "0") not in ("", "0"):
        lines += labelled("runs so far", attributes["run_count"], cells)
    for name in sorted(detail.attributes or {}) if detail is not None else ():
        if name.startswith("resources_used."):
            lines += labelled(
                f"used {name.partition('.')[2]}", (detail.attributes or {})[name] if detail else "", cells
            )
    return [*lines, (), *_looked_up(detail, cluster.now_s)]


def _title(job_id: str, attributes: Attributes, cores: str, walltime: str, cells: int) -> list[Line]:
    """The job, its owner, queue, size and name; a name for which the line has no room stands below."""
    title: Line = (
        (f"{safe(show_job(job_id))} {safe(user_of(attributes))}", "bold"),
        (f" · {safe(attributes.get('queue', '?'))} · {cores}, {walltime}", ""),
    )
    name = attributes.get("Job_Name", "")
    named: Line = (*title, (f" · {safe(name)}", "")) if name else title
    if width(plain(named)) <= cells:
        return [named]
    return [title, *labelled("name", name, cells)]


def _expected_start(cluster: ClusterView, job_id: str, cells: int) -> list[Line]:
    """The start that is reserved for a job, or that PBS expects; none for one that starts now, or without either."""
    at_s = due_at(cluster, job_id)
    if at_s is None or at_s <= cluster.now_s:
        return []
    by = "reserved" if cluster.decision is not None and job_id in cluster.decision.estimates else "by PBS's estimate"
    text = f"{day_and_time(at_s, cluster.now_s)}, in {short_span(at_s - cluster.now_s)}, {by}"
    return labelled("starts", text, cells, "title")


def _cores_busy(cluster: ClusterView, job_id: str) -> str:
    """The share of its cores that the job keeps busy, and how many that leaves idle; empty without figures."""
    shares = cluster.shares(job_id)
    if shares.cpu is None:
        return ""
    idle = f": {show_count(int(shares.idle_cores), 'core')} idle" if shares.is_idle else ""
    return f"{shares.cpu:.0%}, in the mean since its start{idle}"


def _moments(cluster: ClusterView, job_id: str, attributes: Attributes, cells: int) -> list[Line]:
    """When it was submitted and started, and its expected end."""
    queued_s, created_s = moment(attributes, "qtime"), moment(attributes, "ctime")
    moments = (
        ("submitted", queued_s),
        ("created", created_s if created_s != queued_s else None),
        ("started", moment(attributes, "stime")),
        ("expected end", expected_end(cluster, job_id)),
    )
    found = [(label, at_s) for label, at_s in moments if at_s is not None]
    return [line for label, at_s in found for line in labelled(label, day_and_time(at_s, cluster.now_s), cells)]


def _waits(attributes: Attributes) -> bool:
    return attributes.get("job_state", "") in MAY_START_STATES


def _is_planned(cluster: ClusterView, job_id: str) -> bool:
    """Whether the plan has the job: not ended, and not an array whose subjobs have all been started."""
    subjobs = subjobs_in(cluster, job_id)
    return job_id in cluster.server_status.jobs and (subjobs is None or subjobs.waiting > 0)


def _looked_up(detail: JobDetail | None, now_s: float) -> list[Line]:
    """The history and the output, each under a title."""
    if detail is None:
        return [(("looking up its history and output", "dim"),)]
    lines = [*history_lines(detail, now_s), ()]
    tail = detail.tail
    if tail is not None:
        lines.append((("output", "title"), (f" {safe(tail.path)}" if tail.path else "", "dim")))
        written: list[Line] = [((safe(text), ""),) for text in tail.lines]
        lines += [_indented(line) for line in written or [((safe(tail.problem or "empty so far"), "dim"),)]]
    return lines


def history_lines(detail: JobDetail, now_s: float) -> list[Line]:
    """What passes did with the job, under a title."""
    story: list[Line] = story_lines(detail.story, now_s) or [((detail.problem or _UNNAMED, "dim"),)]
    return [(("history, by the journal", "title"),), *(_indented(line) for line in story)]


def _indented(line: Line) -> Line:
    return (("  ", ""), *line)


def _state(cluster: ClusterView, job_id: str, attributes: Attributes) -> str:
    letter = attributes.get("job_state", "?")
    if letter == "F":
        return ending(attributes, cluster.now_s)[0]
    elapsed_s = elapsed_of(cluster, job_id)
    lasting = "" if elapsed_s is None else f" for {short_span(elapsed_s)}"
    if letter in SUSPENDED_STATES:
        # PBS keeps when the job started, and not when it was suspended.
        lasting = "" if elapsed_s is None else f", started {short_span(elapsed_s)} ago"
    return ", ".join(filter(None, [f"{safe(letter)}: {state_words(letter)}{lasting}", substate_words(attributes)]))
