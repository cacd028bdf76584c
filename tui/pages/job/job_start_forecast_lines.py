"""When a job starts, as lines and as data: three moments, where, after whose end, its place in line.

Each answer says what it comes from, how old that is, and what it leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from policy.model.pbs_units import show_count, show_job
from policy.model.printable_text import printable
from tui.forecast.job_not_submitted_yet import ProposedJob
from tui.forecast.when_it_starts import HIDDEN, ProposedJobForecast, When
from tui.model.reservation_of_queue import QueueReservation
from tui.model.typed_attributes import RUNNING_STATES, Attributes, moment, user_of
from tui.pages.job.job_explanation import labelled, refused_lines
from tui.state.cluster_view import ClusterView
from tui.state.cores_idle_and_coming_free import QUARTER_S, free_by_quarter, idle_cores
from tui.state.wording_by_queue_mode import starts_in
from tui.tables.columns_by_view.job_start_and_end import expected_end
from tui.text.name_ranges import folded_names
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import day_and_time, short_span, show_hms

NEVER = "never with the vnodes as they are"


def when_lines(cluster: ClusterView, job_id: str, when: When, cells: int) -> list[Line]:
    """The answer for a job that is on the server."""
    attributes = cluster.job(job_id) or {}
    lines = [_title(job_id, attributes)]
    lines += start_lines(cluster, when, cells)
    ahead = place_in_line(cluster, job_id)
    if ahead is not None:
        lines += labelled("place in line", describe_place(ahead), cells)
    lines += labelled("but", starts_in(cluster, attributes.get("queue", "")).undone, cells)
    lines += refused_lines(cluster, job_id, cells)
    return [*lines, *source_lines(cluster, when, cells)]


def _title(job_id: str, attributes: Attributes) -> Line:
    queue = safe(attributes.get("queue", "?"))
    return (safe(show_job(job_id)), "bold"), (f" {safe(user_of(attributes))} in {queue}", "")


def running_lines(cluster: ClusterView, job_id: str, cells: int) -> list[Line]:
    """The answer for a job that runs: since when, and when it ends at the latest."""
    attributes = cluster.job(job_id) or {}
    since_s, until_s = moment(attributes, "stime"), expected_end(cluster, job_id)
    lines: list[Line] = [((safe(show_job(job_id)), "bold"), (f" {safe(user_of(attributes))} runs already", ""))]
    if since_s is not None:
        lines += labelled("started", day_and_time(since_s, cluster.now_s), cells)
    if until_s is not None:
        lines += labelled("ends by", day_and_time(until_s, cluster.now_s), cells)
    return lines


def is_running(cluster: ClusterView, job_id: str) -> bool:
    """Whether the job has started: it runs, is suspended or exits."""
    return (cluster.job(job_id) or {}).get("job_state", "") in RUNNING_STATES


def reserved_lines(cluster: ClusterView, job_id: str, reservation: QueueReservation, cells: int) -> list[Line]:
    """The answer for a waiting job in the queue of a reservation, which no forecast has."""
    attributes = cluster.job(job_id) or {}
    text = f"by PBS's scheduler: it is in {reservation.describe(cluster.now_s)}"
    held = "it is held, and starts only after its release" if attributes.get("job_state") == "H" else ""
    return [
        _title(job_id, attributes),
        *labelled("starts", text, cells, "title"),
        *labelled("but", held, cells),
    ]


def imagined_lines(cluster: ClusterView, imagined: ProposedJobForecast, cells: int) -> list[Line]:
    """The answer for a job that is not submitted, and for its alternatives, the soonest first."""
    proposed = imagined.proposed
    lines: list[Line] = [
        (("a job submitted now", "bold"), (f" by {safe(proposed.user)} to {safe(proposed.queue)}", ""))
    ]
    walltime_s = proposed.walltime_s
    request = (
        f"select={proposed.resources['select']}, walltime {'none' if walltime_s is None else show_hms(walltime_s)}"
    )
    lines += labelled("request", request, cells)
    for refusal in imagined.refusals:
        lines += labelled("but PBS refuses it", refusal, cells)
    lines += start_lines(cluster, imagined.when, cells)
    lines += labelled("but", starts_in(cluster, proposed.queue).undone, cells)
    # That the request never fits needs no forecast: then the source is that of the alternatives.
    made_for = imagined.others[0][2] if imagined.when.never and imagined.others else imagined.when
    return [*lines, *_alternative_lines(cluster, imagined, cells), *source_lines(cluster, made_for, cells)]


def _alternative_lines(cluster: ClusterView, imagined: ProposedJobForecast, cells: int) -> list[Line]:
    """The requests that start sooner, the soonest first, and the names of the others that were tried; empty for a
    request that starts now."""
    if _rank(imagined.when)[1] <= cluster.now_s:
        return []
    ranked = sorted(imagined.others, key=lambda each: _rank(each[2]))
    sooner = [each for each in ranked if _rank(each[2]) < _rank(imagined.when)]
    later = [name for name, _, when in ranked if _rank(when) >= _rank(imagined.when)]
    lines: list[Line] = []
    for name, other, when in sooner:
        undone = starts_in(cluster, other.queue).undone if other.queue != imagined.proposed.queue else ""
        shown = safe(_short(cluster, when))
        lines.append(((f"  {safe(name)}: ", ""), (shown, "good"), (undone and f" ({undone})", "dim")))
    lines += labelled("  no sooner", "; ".join(later), cells)
    without = [f"{name} ({_why_without_start(when)})" for name, when in imagined.without_start]
    lines += labelled("  no start", "; ".join(without), cells)
    title = "what might start sooner" if sooner else "nothing that was tried starts sooner"
    return [(), ((title, "title"),), *lines] if lines else []


def _why_without_start(when: When) -> str:
    if when.never:
        return "never"
    return "not by itself" if when.estimate is None else "later than the forecast looks"


def start_lines(cluster: ClusterView, when: When, cells: int) -> list[Line]:
    """The moments, where, and after whose end."""
    estimate, now_s = when.estimate, cluster.now_s
    if when.subjobs:
        return labelled("starts", _after_subjobs(cluster, when.subjobs), cells, "title")
    if estimate is None:
        return labelled("starts", f"not by itself: {when.waits_for}", cells, "title")
    lines: list[Line] = []
    beyond = f"later than {_moment(when.forecast.horizon_s, now_s)}, as far as the forecast looks"
    if when.never:
        return labelled("starts", f"{NEVER}: {when.never}", cells, "title")
    if when.is_beyond:
        why = labelled("waits for", safe(when.waits_for), cells, "title") if when.waits_for else []
        return [*labelled("starts", beyond, cells, "title"), *why]
    for label, at_s, cases in (
        ("starts", estimate.half_s, "in half of the cases"),
        (" ", estimate.nine_tenths_s, "in nine of ten"),
        (" ", estimate.last_s, "if all jobs run as long as they asked for"),
    ):
        text = f"{cases}: {beyond}" if at_s is None else f"{cases} {_by(at_s, now_s, when.forecast.time_s)}"
        lines += labelled(label, text, cells, "title")
    if estimate.vnode_count:
        more = estimate.vnode_count - len(estimate.vnodes)
        lines += labelled(
            "probably on", folded_names(estimate.vnodes, 8) + (f" and {more:,} more" if more else ""), cells
        )
    if estimate.after:
        whose = estimate.after if estimate.after == HIDDEN else f"job {show_job(estimate.after)}"
        lines += labelled("most often after", f"the end of {whose}, in {estimate.after_share:.0%} of the cases", cells)
    return lines


def _after_subjobs(cluster: ClusterView, subjobs: Sequence[str]) -> str:
    """When an array at its ``max_run_subjobs`` goes on: by the walltimes of its running subjobs."""
    ends_s = [end_s for end_s in (expected_end(cluster, each) for each in subjobs) if end_s is not None]
    by = f", expected by {_moment(min(ends_s), cluster.now_s)}" if ends_s and min(ends_s) > cluster.now_s else ""
    which = "its running subjob" if len(subjobs) == 1 else f"one of its {len(subjobs):,} running subjobs"
    return f"when {which} ends{by}, as max_run_subjobs allows no more"


def source_lines(cluster: ClusterView, when: When, cells: int) -> list[Line]:
    """What the answer comes from, how old that is, and what it leaves out."""
    forecast = when.forecast
    if when.never and not forecast.draws_wanted:
        return labelled("forecast", f"none is needed: this is so by the vnodes as {when.by} sees them now", cells)
    age_s = forecast.age_s(cluster.now_s)
    age = "now" if age_s < 1 else f"{short_span(age_s)} ago"
    draws = f"{forecast.draws} of {show_count(forecast.draws_wanted, 'case')}"
    whole = show_count(forecast.draws, "case") if forecast.is_whole else f"{draws}, as the time was up"
    runs = f"run times as in {show_count(forecast.runs, 'past run')}" + (
        f" of {when.learned_from}" if when.learned_from else ""
    )
    if not forecast.runs:
        runs = "no past run is known here, so all jobs run as long as they asked for"
    ahead = short_span(max(0.0, forecast.horizon_s - forecast.time_s))
    text = (
        f"made {age} by {when.by}: {whole}, {runs}; it looks {ahead} ahead, and leaves out jobs that are still to come"
    )
    if forecast.left_out:
        jobs = len(forecast.jobs)
        text += f", with the first {jobs - forecast.left_out:,} of {show_count(jobs, 'job')} in line"
    lines = labelled("forecast", text, cells)
    if cluster.server_status.server.get("query_other_jobs") == "False":
        hidden = "this server may show you your own jobs only: a forecast made from these is too early"
        lines += labelled("but", hidden, cells)
    return lines


def in_line_lines(cluster: ClusterView, job_id: str, cells: int) -> list[Line]:
    """A waiting job's place in line, and which cores come free meanwhile; empty if it is in no line."""
    ahead = place_in_line(cluster, job_id)
    if ahead is None:
        return []
    return [
        *labelled("place in line", describe_place(ahead), cells),
        *labelled("cores coming free", _coming_free(cluster, (cluster.job(job_id) or {}).get("queue", "")), cells),
    ]


_SHOWN_HOURS = (1, 4, 12)


def _coming_free(cluster: ClusterView, queue: str) -> str:
    """``12 idle, 40 in 1 h, 96 in 4 h``: the idle cores of the queue's vnodes, as the reasons of its jobs count them,
    and as many more as runs give back by then."""
    decision = cluster.decision
    if decision is None:
        return ""
    idle, coming = idle_cores(decision.plan.started, queue), free_by_quarter(decision.plan.started, queue)
    quarters = [int(hours * 3600 / QUARTER_S) - 1 for hours in _SHOWN_HOURS]
    sums = [f"{idle + coming[at]:,} in {hours} h" for hours, at in zip(_SHOWN_HOURS, quarters)]
    return f"{idle:,} idle now, {', '.join(sums)}, by the asked walltimes, before any job takes them"


def place_in_line(cluster: ClusterView, job_id: str) -> int | None:
    """How many jobs that wait for room come before it; None if it is in no line."""
    decision = cluster.decision
    if decision is None or decision.in_line is None:
        return None
    ahead = decision.in_line.numbers(job_id).get("ahead")
    return int(ahead) if isinstance(ahead, (int, float)) else None


def describe_place(ahead: int) -> str:
    """``first``, or how many are before it."""
    return "first: no job that waits for room comes before it" if not ahead else f"{show_count(ahead, 'job')} before it"


def when_data(cluster: ClusterView, job_id: str, when: When) -> dict[str, Any]:
    """The answer for a job on the server, as plain data."""
    attributes = cluster.job(job_id) or {}
    return {
        **_title_data(job_id, attributes),
        "jobs_ahead": place_in_line(cluster, job_id),
        "not_carried_out": starts_in(cluster, attributes.get("queue", "")).undone,
        **answer_data(cluster, when),
    }


def _title_data(job_id: str, attributes: Attributes) -> dict[str, Any]:
    return {
        "job": job_id,
        "user": printable(user_of(attributes)),
        "queue": printable(attributes.get("queue", "")),
    }


def running_data(cluster: ClusterView, job_id: str) -> dict[str, Any]:
    """The same for a job that runs."""
    attributes = cluster.job(job_id) or {}
    ends_s = expected_end(cluster, job_id)
    return {"job": job_id, "running": True, "started_s": moment(attributes, "stime"), "ends_by_s": ends_s}


def reserved_data(cluster: ClusterView, job_id: str, reservation: QueueReservation) -> dict[str, Any]:
    """The same for a waiting job in the queue of a reservation."""
    return {
        **_title_data(job_id, cluster.job(job_id) or {}),
        "reservation": reservation.name,
        "reservation_begins_s": reservation.begins_s,
        "reservation_ends_s": reservation.ends_s,
    }


def imagined_data(cluster: ClusterView, imagined: ProposedJobForecast) -> dict[str, Any]:
    """The answer for a job that is not submitted, as plain data."""

    def data(proposed: ProposedJob, when: When) -> dict[str, Any]:
        request = {name: printable(text) for name, text in proposed.resources.items()}
        undone = starts_in(cluster, proposed.queue).undone
        return {"queue": proposed.queue, "request": request, "not_carried_out": undone, **answer_data(cluster, when)}

    return {
        "user": printable(imagined.proposed.user),
        "refused": [printable(each) for each in imagined.refusals],
        **data(imagined.proposed, imagined.when),
        "alternatives": [{"name": name, **data(proposed, when)} for name, proposed, when in imagined.others],
        "without_start": [
            {"name": name, "never": printable(when.never), "waits_for": printable(when.waits_for)}
            for name, when in imagined.without_start
        ],
    }


def answer_data(cluster: ClusterView, when: When) -> dict[str, Any]:
    """Moments in seconds since 1970, None beyond the horizon; and what they come from."""
    estimate, forecast = when.estimate, when.forecast
    return {
        "starts_half_s": estimate.half_s if estimate else None,
        "starts_nine_tenths_s": estimate.nine_tenths_s if estimate else None,
        "starts_last_s": estimate.last_s if estimate else None,
        "after": estimate.after if estimate else "",
        "after_share": estimate.after_share if estimate else 0.0,
        "vnodes": list(estimate.vnodes) if estimate else [],
        "vnode_count": estimate.vnode_count if estimate else 0,
        "waits_for": printable(when.waits_for),
        "after_subjobs": list(when.subjobs),
        "never": printable(when.never),
        "forecast": {
            "by": when.by,
            "made_s": forecast.time_s,
            "age_s": forecast.age_s(cluster.now_s),
            "horizon_s": forecast.horizon_s,
            "draws": forecast.draws,
            "draws_wanted": forecast.draws_wanted,
            "past_runs": forecast.runs,
            "jobs_left_out": forecast.left_out,
        },
    }


def _by(at_s: float, now_s: float, made_s: float) -> str:
    """By when. A moment that has passed since the forecast was made is not ``now``: the job waits though it has."""
    if made_s < at_s <= now_s:
        return f"by {day_and_time(at_s, now_s)}, which has passed since this was forecast"
    return "now" if at_s <= now_s else f"by {_moment(at_s, now_s)}"


def _moment(at_s: float, now_s: float) -> str:
    if at_s <= now_s:
        return "now"
    return f"{day_and_time(at_s, now_s)} (in {short_span(at_s - now_s)})"


def _short(cluster: ClusterView, when: When) -> str:
    estimate = when.estimate
    if estimate is None:
        return f"not by itself: {when.waits_for}"
    half, most = (
        "later" if at_s is None else _moment(at_s, cluster.now_s) for at_s in (estimate.half_s, estimate.nine_tenths_s)
    )
    return f"half {half}, nine of ten {most}"


def _rank(when: When) -> tuple[float, float]:
    estimate = when.estimate
    if estimate is None:
        return float("inf"), float("inf")
    half_s, most_s = (float("inf") if at_s is None else at_s for at_s in (estimate.half_s, estimate.nine_tenths_s))
    return half_s, most_s
