"""The pages of one job beside its main one: an array's subjobs, output and errors, script, resources, history, log."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hooks.pbs.job_attributes.job_ids_and_states import is_array
from policy.model.pbs_units import parse_amount, show_job
from tui.backends.job_output_tail import Tail
from tui.model.job_state_and_exit_status_words import state_words
from tui.model.typed_attributes import Attributes, amount, moment, seconds, vnodes_of
from tui.pages.job.job_page import JobDetail, JobFiles, history_lines, job_lines
from tui.state.cluster_view import ClusterView
from tui.text.memory_amount_as_text import in_bytes
from tui.text.name_ranges import few_names
from tui.text.screen_line import Line, safe, width
from tui.text.times_and_durations import short_span

WHY, SUBJOBS, OUTPUT, SCRIPT, RESOURCES, HISTORY, LOG = (
    "why", "subjobs", "output", "script", "resources", "history", "log",
)  # fmt: skip
OF_FILES = (SCRIPT, LOG)
"""The pages that are looked up when they are shown, since PBS's programs take a while for them."""
_MOST_SUBJOBS = 1000
_LOOKED_UP_YET: Line = (("looking it up", "dim"),)
_USED, _ASKED = "resources_used.", "Resource_List."


def tabs_of(job_id: str) -> tuple[str, ...]:
    """The names of a job's pages, in order."""
    return (WHY, *((SUBJOBS,) if is_array(job_id) else ()), OUTPUT, SCRIPT, RESOURCES, HISTORY, LOG)


def tab_lines(
    tab: str, cluster: ClusterView, job_id: str, cells: int, detail: JobDetail | None, files: JobFiles | None = None
) -> list[Line]:
    """One of the pages; ``detail`` and ``files`` are None until they have been looked up."""
    if tab in OF_FILES:
        return [_LOOKED_UP_YET] if files is None else _script(files) if tab == SCRIPT else _log(files)
    if tab == SUBJOBS:
        return _subjobs(cluster, job_id)
    if tab == OUTPUT:
        return _output(detail)
    if tab == RESOURCES:
        return _resources(cluster, job_id, detail)
    if tab == HISTORY:
        return [_LOOKED_UP_YET] if detail is None else history_lines(detail, cluster.now_s)
    return job_lines(cluster, job_id, cells, detail)


def _subjobs(cluster: ClusterView, array_id: str) -> list[Line]:
    """The subjobs that run, each with its vnodes and how long it runs, then the indices of those that wait."""
    ids = cluster.subjob_ids.get(array_id, ())
    lines: list[Line] = [((f"{len(ids) or 'none'} {'run' if len(ids) > 1 else 'runs'}", "title"),)]
    for each in ids[:_MOST_SUBJOBS]:
        texts = cluster.job(each) or {}
        began_s = moment(texts, "stime")
        ran = "" if began_s is None else f", {short_span(cluster.now_s - began_s)}"
        state = state_words(texts.get("job_state", ""))
        where = safe(few_names(vnodes_of(texts.get("exec_vnode", ""))))
        lines.append(((f"  {safe(show_job(each)):<12}", "bold"), (f"  {state}{ran}  ", ""), (where, "dim")))
    if len(ids) > _MOST_SUBJOBS:
        lines.append(((f"  and {len(ids) - _MOST_SUBJOBS:,} more", "dim"),))
    waiting = (cluster.job(array_id) or {}).get("array_indices_remaining", "")
    lines += [(), (("waiting", "title"), (f"  {safe(waiting) if waiting not in ('', '-') else 'none'}", ""))]
    return lines


def _output(detail: JobDetail | None) -> list[Line]:
    """The ends of the output and of the errors."""
    if detail is None:
        return [_LOOKED_UP_YET]
    lines: list[Line] = []
    for title, tail in (("errors", detail.errors), ("output", detail.tail)):
        lines += [*_tail(title, tail), ()] if tail is not None else []
    return lines[:-1] or [(("its output is not known", "dim"),)]


def _script(files: JobFiles) -> list[Line]:
    """The script, with comments and PBS's directives apart."""
    if files.script_problem:
        return [((safe(files.script_problem), "warn"),)]
    return [((safe(line), _role_of(line)),) for line in files.script.splitlines()]


def _role_of(line: str) -> str:
    if line.startswith("#PBS"):
        return "title"
    return "dim" if line.lstrip().startswith("#") else ""


def _log(files: JobFiles) -> list[Line]:
    if files.log_problem:
        return [((safe(files.log_problem), "warn"),)]
    return [((safe(line), ""),) for line in files.log] or [(("the logs on this host have no line of it", "dim"),)]


def _tail(title: str, tail: Tail) -> list[Line]:
    written: list[Line] = [((safe(text), ""),) for text in tail.lines]
    head: Line = ((title, "title"), (f"  {safe(tail.path)}" if tail.path else "", "dim"))
    return [head, *(written or [((f"  {safe(tail.problem or 'empty so far')}", "dim"),)])]


def _resources(cluster: ClusterView, job_id: str, detail: JobDetail | None) -> list[Line]:
    """What was asked for and what is used, by resource, with the share; what cannot be compared stands below."""
    looked_up = (detail.attributes if detail is not None else None) or {}
    texts: Attributes = {**looked_up, **(cluster.with_use(job_id) or {})}
    asked = {name[len(_ASKED) :]: text for name, text in texts.items() if name.startswith(_ASKED)}
    used = {name[len(_USED) :]: text for name, text in texts.items() if name.startswith(_USED)}
    rows = [
        (name, _in_words(asked.get(name, "-")), _in_words(used.get(name, "-")), _share(name, asked, used))
        for name in dict.fromkeys(["ncpus", "mem", "walltime", *sorted({*asked, *used})])
        if (name in asked or name in used) and name not in _LAYOUT
    ]
    busy = _cpu_share(texts, used)
    lines = _table([("resource", "asked for", "used", "share"), *rows])
    if busy is not None:
        role = "warn" if busy < _LITTLE else "good"
        lines += [
            (),
            (("cores busy  ", "title"), (f"{busy:.0%}", role), (" of the cores that it holds, in the mean", "")),
        ]
    elif not used:
        lines += [(), (("the server has no figures of its use", "dim"),)]
    for name in _LAYOUT:
        if name in asked:
            lines.append(((f"{name:<12}", "title"), (safe(asked[name]), "")))
    return lines


_SIZE = re.compile(r"[0-9]+[kmgtp]?b", re.IGNORECASE)


def _in_words(text: str) -> str:
    """A size with few digits; any other amount as PBS writes it."""
    kib = parse_amount(text) if _SIZE.fullmatch(text) else None
    return text if kib is None else in_bytes(kib)


_LAYOUT = ("select", "place", "schedselect")
_LITTLE = 0.25


def _share(name: str, asked: Mapping[str, str], used: Mapping[str, str]) -> str:
    if name not in asked or name not in used:
        return ""
    whole, part = _number(asked[name]), _number(used[name])
    return f"{part / whole:.0%}" if whole and part is not None else ""


def _number(text: str) -> float | None:
    if ":" in text:
        return seconds({"": text}, "")
    return parse_amount(text)


def _cpu_share(texts: Attributes, used: Mapping[str, str]) -> float | None:
    """The mean share of the job's cores that was busy; None without figures."""
    cores, cpu_s, ran_s = amount(texts, "Resource_List.ncpus"), *(seconds(used, name) for name in ("cput", "walltime"))
    return cpu_s / (cores * ran_s) if cores and ran_s and cpu_s is not None else None


def _table(rows: Sequence[tuple[str, str, str, str]]) -> list[Line]:
    widths = [max(width(safe(row[at])) for row in rows) for at in range(4)]
    lines: list[Line] = []
    for number, row in enumerate(rows):
        name, *rest = (safe(text) for text in row)
        role = "" if number else "title"
        cells = "  ".join(" " * (size - width(text)) + text for text, size in zip(rest, widths[1:]))
        lines.append(((name + " " * (widths[0] - width(name) + 2), "title"), (cells, role)))
    return lines


def show_tabs(job_id: str, active: str) -> Line:
    """The names of the pages on one line, with a mark at the one that is shown."""
    spans = [((f"[{tab}]", "title") if tab == active else (f" {tab} ", "dim")) for tab in tabs_of(job_id)]
    return tuple(spans)
