"""One pass of the journal as lines: what it decided and why, where it was carried out, and what prevented it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from policy.model.pbs_units import show_job
from tui.backends.pass_journal import Part, Pass, Passes
from tui.model.typed_attributes import vnodes_of
from tui.state.wording_by_queue_mode import preemptions_of, starts_of
from tui.text.name_ranges import few_names
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import clock_time, day_and_time, short_span

_MOST_LINES = 200
_A_MINUTE_S = 60.0


def pass_lines(entry: Pass, now_s: float) -> list[Line]:
    """The whole pass, the most important parts first."""
    lines = [_cost(entry, now_s), *_modes(entry), _load(entry), ()]
    started = set(entry.texts("started"))
    for title, part in (
        ("failed", [((safe(text), "bad"),) for text in entry.texts("failures")]),
        ("notes", [((safe(text), "warn"),) for text in entry.texts("notes")]),
        ("sets quotas", [((safe(text), ""),) for text in entry.texts("quotas_set")]),
        ("starts", [_start(part, entry, started) for part in entry.parts("starts")]),
        ("preempts", [_preempt(part, entry) for part in entry.parts("preempts")]),
        ("reserves", [_estimate(part, entry) for part in entry.parts("estimates")]),
        ("moves promises", [_moved(part, entry) for part in entry.parts("moved")]),
        ("leaves waiting", [_wait(part) for part in entry.parts("waits")]),
    ):
        if part or title in ("starts", "preempts"):
            shown: Sequence[Line] = part[:_MOST_LINES] or [(("nothing", "dim"),)]
            more = [((f"and {len(part) - _MOST_LINES:,} more", "dim"),)] if len(part) > _MOST_LINES else []
            lines += [((title, "title"),), *((("  ", ""), *line) for line in [*shown, *more]), ()]
    return lines


def _cost(entry: Pass, now_s: float) -> Line:
    seconds = entry.seconds()
    parts = [
        f"{word} {seconds[name]:.2f} s"
        for word, name in (("read", "read_s"), ("decided", "decide_s"), ("acted", "act_s"))
        if name in seconds
    ]
    ago = short_span(now_s - entry.time_s)
    return (
        (f"pass of {clock_time(entry.time_s, seconds=True)}", "bold"),
        (f", {ago} ago: {' · '.join(parts)}", ""),
    )


def _modes(entry: Pass) -> list[Line]:
    """One line for each queue: its mode, and how much of the plan was carried out there."""
    lines: list[Line] = []
    for queue, mode in sorted(entry.table("modes").items()):
        words = starts_of(entry, queue).undone or f"{queue} was in {mode}: carried out"
        lines.append(((safe(words), "dim"),))
    return list(dict.fromkeys(lines))


def _load(entry: Pass) -> Line:
    counts = (f"{entry.number(name):,.0f} {word}" for name, word in (("running", "jobs ran"), ("waiting", "waited")))
    put_off = entry.number("put_off")
    later = f" · {put_off:,.0f} acts put off to the next pass" if put_off else ""
    return ((f"{', '.join(counts)}, {entry.number('idle_cores'):,.0f} cores idle{later}", ""),)


def _text(part: Part, name: str) -> str:
    found = part.get(name)
    return safe(found) if isinstance(found, str) else ""


def _whole(part: Part, name: str) -> int:
    found = part.get(name)
    return int(found) if isinstance(found, (int, float)) else 0


def _start(part: Part, entry: Pass, started: Collection[str]) -> Line:
    return (
        (show_job(_text(part, "job")), "good"),
        (f" {_text(part, 'user')} {_whole(part, 'cores'):,}c on {few_names(vnodes_of(_text(part, 'exec_vnode')))}", ""),
        (" backfilled" if part.get("backfilled") else "", "dim"),
        (f" · {start_outcome(part, entry, started)}", "dim"),
        (f" {_text(part, 'why')}" if part.get("why") else "", "dim"),
    )


def start_outcome(part: Part, entry: Pass, started: Collection[str]) -> str:
    """What became of a start that a pass decided on."""
    wording = starts_of(entry, part.get("queue"))
    is_done = wording.undone or part.get("job") in started
    return wording.was("started") if is_done else "not started (put off, or refused)"


def preemption_outcome(part: Part, entry: Pass) -> str:
    """What became of a preemption that a pass decided on, with its reason."""
    why = _text(part, "why") or "preempted"
    if entry.preemption_outcome(part) == "undone":
        return f"not done (put off, or refused): {why}"
    return preemptions_of(entry, part.get("queue")).was(why)


def _preempt(part: Part, entry: Pass) -> Line:
    return (
        (show_job(_text(part, "job")), "warn"),
        (f" {_text(part, 'user')} {_whole(part, 'cores'):,}c for {show_job(_text(part, 'beneficiary'))}", ""),
        (f" · {preemption_outcome(part, entry)}", ""),
    )


def _estimate(part: Part, entry: Pass) -> Line:
    return ((show_job(_text(part, "job")), "bold"), (f" {reserved_for(part, entry.time_s)}", ""))


def _moved(part: Part, entry: Pass) -> Line:
    return ((show_job(_text(part, "job")), "bold"), (f" {moved_for(part, entry.time_s)}", ""))


def moved_for(part: Part, now_s: float) -> str:
    """The beneficiary for which a promise moved, and its times before and after."""
    was_s, at_s = part.get("was_s"), part.get("at_s")
    was = day_and_time(was_s, now_s) if isinstance(was_s, (int, float)) else "?"
    now = f"at {day_and_time(at_s, now_s)}" if isinstance(at_s, (int, float)) else "at no time yet"
    if isinstance(was_s, (int, float)) and isinstance(at_s, (int, float)) and now == f"at {was}":
        # Both are in the same minute: show seconds.
        was, now = clock_time(was_s, seconds=True), f"at {clock_time(at_s, seconds=True)}"
        was += ", less than a second" if now == f"at {was}" else ""
    return f"{now}, promised {was} before, for {show_job(_text(part, 'beneficiary'))}"


def reserved_for(part: Part, now_s: float) -> str:
    """The reserved start time of a job, and its first promise if that differs by a minute or more."""
    at_s, promised_s = part.get("at_s"), part.get("promised_s")
    if not isinstance(at_s, (int, float)):
        return "at no time that is known yet"
    sentence = f"at {day_and_time(at_s, now_s)}"
    if isinstance(promised_s, (int, float)) and abs(promised_s - at_s) >= _A_MINUTE_S:
        sentence += f"; first promised {clock_time(promised_s)}"
    return sentence


def _wait(part: Part) -> Line:
    jobs, example = _whole(part, "jobs"), show_job(_text(part, "example"))
    return (
        (f"{jobs:,} jobs, such as {example}: " if jobs > 1 else f"{example}: ", "bold"),
        (_text(part, "sentence"), ""),
    )


def would_have(passes: Passes) -> Line:
    """What passes would have done in queues that they did not drive, in episodes; empty if there is nothing.

    The hook counts them since the mode was set. A job that would be started in twenty passes in a row is one episode.
    """
    last = passes.last
    if last is None:
        return ()
    would = last.table("would")
    starts, preempts, since_s = _whole(would, "starts"), _whole(would, "preempts"), would.get("since_s")
    watching = [queue for queue in last.table("modes") if starts_of(last, queue).undone]
    if not watching or not starts + preempts or not isinstance(since_s, (int, float)):
        return ()
    return (
        (f"since {day_and_time(since_s, last.time_s)} ", ""),
        (f"{starts:,} job{'' if starts == 1 else 's'} would have been started, {preempts:,} preempted", "bold"),
        (f" in {safe(', '.join(watching))}", ""),
    )
