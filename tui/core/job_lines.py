"""One job's lines: what it is, why it waits and what would have to change, where it runs, what it asked for."""

from __future__ import annotations

from tui.core.durations import day_and_time, show_hms
from tui.core.explaining import explain_lines, labelled
from tui.core.facts import amount, group_of, moment, seconds, short_id, user_of, vnodes_of
from tui.core.job_rows import elapsed_of, state_words
from tui.core.lines import Line, safe
from tui.core.names import folded_names
from tui.core.world import World

_SHOWN_LAST = ("Resource_List.select", "Resource_List.place", "depend", "Hold_Types", "project", "comment")


def job_lines(world: World, job_id: str, cells: int) -> list[Line]:
    """The whole view for a line of so many cells."""
    attributes = world.picture.jobs.get(job_id)
    if attributes is None:
        return [((f"{safe(short_id(job_id))} is no longer on the server", "warn"),)]
    cores = amount(attributes, f"Resource_List.{world.counted}")
    walltime = show_hms(seconds(attributes, "Resource_List.walltime"))
    lines: list[Line] = [
        (
            (f"{safe(short_id(job_id))} {safe(user_of(attributes))}", "bold"),
            (f" · {safe(attributes.get('queue', '?'))} · {cores:,} cores, ", ""),
            ("no walltime" if walltime == "-" else walltime, ""),
        ),
        *labelled("name", attributes.get("Job_Name", ""), cells),
        *labelled("state", _state(world, job_id), cells),
        (),
        *explain_lines(world, job_id, cells),
    ]
    if attributes.get("exec_vnode"):
        vnodes = vnodes_of(attributes["exec_vnode"])
        lines += labelled(
            "runs on", f"{folded_names(vnodes, 8)} ({len(vnodes):,} vnode{'' if len(vnodes) == 1 else 's'})", cells
        )
    lines.append(())
    for label, name in (("submitted", "qtime"), ("created", "ctime"), ("started", "stime")):
        at_s = moment(attributes, name)
        if at_s is not None:
            lines += labelled(label, day_and_time(at_s, world.now_s), cells)
    lines += labelled("group", group_of(attributes), cells)
    for name in _SHOWN_LAST:
        lines += labelled(name.rpartition(".")[2].lower(), attributes.get(name, ""), cells)
    if attributes.get("run_count", "0") not in ("", "0"):
        lines += labelled("runs so far", attributes["run_count"], cells)
    return lines


def _state(world: World, job_id: str) -> str:
    letter = world.picture.jobs[job_id].get("job_state", "?")
    elapsed_s = elapsed_of(world, job_id)
    return state_words(letter) + ("" if elapsed_s is None else f" for {show_hms(elapsed_s)}")
