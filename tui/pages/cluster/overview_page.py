"""The overview: what is in use now and was in the last day, what needs attention, who uses it, and what comes free.

It is rows of parts; a part with a link can be entered. Where a screen is narrow the parts stand below each other, and
where it is low the charts shrink first: what needs attention, the queues and the users are always there, further down
if need be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hooks.record.day_of_activity import SLOT_S, SLOTS, Day, Slot
from policy.model.pbs_units import show_job
from tui.audit.read_and_merge_audit_records import AuditRecord
from tui.backends.idle_core_history import IdleHistory
from tui.model.status_counts import suspended_among
from tui.pages.cluster.changes_since_opened import changed_lines
from tui.pages.cluster.needs_attention import needs
from tui.pages.link_target_type import PLAN, Link
from tui.pages.plan.console_plan_in_short_and_mode_notes import plan_in_short
from tui.pages.plan.pass_page import would_have
from tui.state.cluster_view import ClusterView, execution_queues
from tui.state.cores_idle_and_coming_free import AHEAD, QUARTER_S, idle_cores
from tui.tables.column_layout import Widths, header, row
from tui.tables.columns import Sort
from tui.tables.columns_by_view.queue_columns import queue_columns
from tui.tables.columns_by_view.quota_rows_and_columns import QuotaRow, quota_rows, rows_over_quota, show_name
from tui.tables.filter_line import quoted
from tui.text.screen_line import Line, Span, fit_line, safe, width
from tui.text.text_bars import area, heights, quota_bar, round_scale, thin_bar
from tui.text.times_and_durations import clock_time, day_and_time, short_span

_WIDE = 108
"""From so many cells on two parts stand beside each other."""
_GAP = 3
_RIGHT_SHARE = 0.34
_GIB = 1 << 20
_HOUR_SLOTS = 3600 // SLOT_S
_LEAST_CHART, _MOST_CHART = 3, 6
_LEAST_USERS, _MOST_USERS = 4, 8
_MOST_CHANGES = 6
_LONGEST_NAME = 32
_NUMBERS = 25
"""The cells of a gauge's share and amounts."""


class Part(NamedTuple):
    """A line of one column, and where it leads to, if it does."""

    line: Line = ()
    link: Link | None = None


class Row(NamedTuple):
    """Parts beside each other, and the cells of each."""

    parts: tuple[Part, ...]
    cells: tuple[int, ...]


class _Page:
    """Collects rows for a width; sections are kept apart by a blank row if there is room."""

    def __init__(self, cells: int, *, airy: bool) -> None:
        self.cells, self._airy = cells, airy
        self.rows: list[Row] = []

    def begin(self) -> None:
        if self._airy and self.rows:
            self.rows.append(Row((Part(),), (self.cells,)))

    def add(self, parts: Iterable[Part]) -> None:
        self.rows += [Row((part,), (self.cells,)) for part in parts]

    def beside(self, left: Sequence[Part], right: Sequence[Part], right_cells: int) -> None:
        cells = (self.cells - right_cells - _GAP, right_cells)
        for number in range(max(len(left), len(right))):
            parts = tuple(each[number] if number < len(each) else Part() for each in (left, right))
            self.rows.append(Row(parts, cells))


def overview_rows(
    cluster: ClusterView, day: Day, history: IdleHistory, cells: int, height: int, records: Sequence[AuditRecord] = ()
) -> list[Row]:
    """The page for so many cells and lines; ``records`` are the changes in the audit."""
    wide = cells >= _WIDE
    page = _Page(cells, airy=height >= 30)
    right_cells = int(cells * _RIGHT_SHARE)
    left_cells = cells - right_cells - _GAP
    chart_rows = max(_LEAST_CHART, min(_MOST_CHART, height // 7))
    if wide:
        chart = _chart(cluster, day, history, left_cells, chart_rows)
        page.beside(chart, [_rule("now", right_cells), *_gauges(cluster, right_cells)], right_cells)
    else:
        page.add(_gauges(cluster, cells))
    page.begin()
    page.add(_needs(cluster, cells))
    page.begin()
    page.add(_queues(cluster, cells))
    page.begin()
    users = _MOST_USERS if height >= 34 else _LEAST_USERS
    if wide:
        page.beside(_users(cluster, left_cells, users), _last_hour(day, cluster.now_s, right_cells), right_cells)
    else:
        page.add(_users(cluster, cells, users))
        page.add(_last_hour_in_short(day, cluster.now_s))
    page.add(_plan(cluster))
    page.begin()
    page.add(_coming_free(cluster, cells, 2 if height >= 40 else 1))
    if not wide:
        page.begin()
        page.add(_chart(cluster, day, history, cells, _LEAST_CHART))
    page.begin()
    page.add(_changes(cluster, records, cells))
    return page.rows


def _rule(title: str, cells: int, right: str = "") -> Part:
    """A section's title on a line."""
    tail: tuple[Span, ...] = ((f" {right} ", "dim"), ("─", "dim")) if right else ()
    room = cells - width(title) - 4 - sum(width(text) for text, _ in tail)
    return Part((("─ ", "dim"), (title, "title"), (" " + "─" * max(0, room), "dim"), *tail))


# Now.


def _share(part: float, whole: float) -> str:
    """Per cent, rounded down: what is not full is not shown as full."""
    return f"{int(100 * part / whole):3d}%" if whole else "  -"


def _gauges(cluster: ClusterView, cells: int) -> list[Part]:
    vnodes = cluster.counts.vnodes
    up, not_up = vnodes.busy + vnodes.free, sum(map(len, vnodes.not_up.values()))
    bar_cells = max(4, min(40, cells - 8 - _NUMBERS))

    def gauge(label: str, part: float, whole: float, amounts: str, link: Link) -> Part:
        bar = thin_bar(part, whole, bar_cells)
        return Part(((f"{label:<8}", "bold"), *bar, (f" {_share(part, whole)}", "bold"), (f" {amounts}", "")), link)

    amounts = f"{vnodes.used:,} / {vnodes.total:,}"
    found = [gauge("cores", vnodes.used, vnodes.total, amounts, Link("grid"))]
    used, total = vnodes.gpus
    if total:
        have = Link("vnodes", filter="resources_available.ngpus:>0")
        found.append(gauge("gpus", used, total, f"{used:,} / {total:,}", have))
    used, total = vnodes.memory_kib
    if total:
        found.append(gauge("memory", used, total, _in_bytes(used, total), Link("vnodes")))
    found.append(gauge("vnodes", up, up + not_up, f"{up:,} / {up + not_up:,} up", Link("vnodes")))
    parts = ((vnodes.busy - vnodes.part, "full"), (vnodes.part, "part used"), (vnodes.free, "empty"))
    shown = "  ".join(f"{number:,} {word}" for number, word in parts)
    found.append(Part((("        ", ""), (shown, "dim")), Link("vnodes")))
    counts, held = cluster.counts, cluster.counts.states["H"]
    jobs: Line = (
        ("jobs    ", "bold"),
        (f"R {counts.running:,}{suspended_among(counts)}", "good"),
        (f"  Q {counts.queued:,}", ""),
        (f"  H {held:,}", "warn" if held else "dim"),
    )
    return [*found, Part(jobs, Link("jobs"))]


def _in_bytes(used_kib: int, total_kib: int) -> str:
    unit, scale = ("TB", _GIB << 10) if total_kib >= 10 * (_GIB << 10) else ("GB", _GIB)
    digits = 1 if unit == "TB" else 0
    return f"{used_kib / scale:,.{digits}f} / {total_kib / scale:,.{digits}f} {unit}"


# The last day.


def _chart(cluster: ClusterView, day: Day, history: IdleHistory, cells: int, rows: int) -> list[Part]:
    """The share of the cores that was in use, by time; from the idle cores of whole hours where no day was kept."""
    labels = 5
    shares = _shares(cluster, day, history, cells - labels)
    known = [share for share in shares if share is not None]
    mean = f"mean {int(100 * sum(known) / len(known))}%" if known else "nothing was recorded yet"
    found = [_rule("cores in use, last 24 h", cells, mean)]
    names = {0: "100%", rows - 1: "  0%", (rows - 1) // 2: " 50%"} if rows % 2 else {0: "100%", rows - 1: "  0%"}
    for number, text in enumerate(area(shares, rows)):
        found.append(Part(((f"{names.get(number, ''):>4} ", "dim"), (text, "bar"))))
    begin = day_and_time(cluster.now_s - SLOTS * SLOT_S, cluster.now_s)
    end = clock_time(cluster.now_s)
    middle = clock_time(cluster.now_s - SLOTS * SLOT_S / 2)
    room = cells - labels
    axis = f"{begin:<{max(0, room // 2 - 2)}}{middle}"
    return [*found, Part(((" " * labels, ""), (f"{axis:<{max(0, room - len(end))}}{end}", "dim")))]


def _shares(cluster: ClusterView, day: Day, history: IdleHistory, cells: int) -> list[float | None]:
    """The share in use in each of ``cells`` equal parts of the last day; None where nothing is known."""
    newest = int(cluster.now_s // SLOT_S)
    slots = {slot.number: slot for slot in day.slots}
    hours = {hour.number: hour for hour in history.hours}
    found: list[float | None] = []
    for cell in range(cells):
        first = newest - SLOTS + 1 + cell * SLOTS // cells
        last = max(first + 1, newest - SLOTS + 1 + (cell + 1) * SLOTS // cells)
        here = [slots[number] for number in range(first, last) if number in slots and slots[number].total]
        hour = hours.get(first * SLOT_S // 3600)
        if here:
            found.append(sum(slot.used / slot.total for slot in here) / len(here))
        elif hour is not None:
            found.append(1.0 - hour.mean)
        else:
            found.append(None)
    return found


def _of_hour(day: Day, now_s: float) -> list[Slot]:
    """The slots of the last hour."""
    newest = int(now_s // SLOT_S)
    return [slot for slot in day.slots if newest - _HOUR_SLOTS < slot.number <= newest]


def _since(day: Day, now_s: float) -> str:
    """The time that the counts cover: the last hour, or since when there are counts if that is less."""
    first = day.slots[0] if day.slots else Slot(int(now_s // SLOT_S))
    if first.number <= now_s // SLOT_S - _HOUR_SLOTS + 1:
        return "last hour"
    counted_until_s = min((first.number + 1) * SLOT_S, day.last_s or now_s)
    return f"since {clock_time(max(first.number * SLOT_S, counted_until_s - first.seconds))}"


_HAPPENED = (
    ("started", "started", "good"),
    ("ended", "ended", ""),
    ("preempted", "preempted", "warn"),
    ("failed", "refused", "bad"),
)
"""What a slot counts, its word, and its role. Requests of passes that failed are not called so: these are no jobs."""


def _last_hour(day: Day, now_s: float, cells: int) -> list[Part]:
    """What happened in the last hour, beside the whole day in small."""
    hour = _of_hour(day, now_s)
    newest = int(now_s // SLOT_S)
    slots = {slot.number: slot for slot in day.slots}
    columns = max(6, min(36, cells - 22))
    each = SLOTS // columns or 1
    found = [_rule(_since(day, now_s), cells, "last 24 h")]
    for name, word, role in _HAPPENED:
        count = sum(getattr(slot, name) for slot in hour)
        sums = [
            sum(getattr(slots[number], name) for number in range(first, first + each) if number in slots)
            for first in range(newest - columns * each + 1, newest + 1, each)
        ]
        drawn = heights(sums, max(sums, default=0))
        line: Line = ((f"{word:<10}", ""), (f"{count:>6,}  ", role if count else "dim"), (drawn, "bar"))
        found.append(Part(line, PLAN))
    waited = _mean_wait(hour)
    if waited:
        found.append(Part(((f"mean wait {waited:>7}", ""),), PLAN))
    return found


def _mean_wait(hour: Sequence[Slot]) -> str:
    """How long those that started had waited, in the mean; empty where none did."""
    started = sum(slot.started for slot in hour)
    return short_span(sum(slot.waited_s for slot in hour) / started) if started else ""


def _last_hour_in_short(day: Day, now_s: float) -> list[Part]:
    hour = _of_hour(day, now_s)
    if not hour:
        return []
    spans: list[Span] = [(f"{_since(day, now_s)}  ", "title")]
    for name, word, role in _HAPPENED:
        count = sum(getattr(slot, name) for slot in hour)
        spans += [(f"{count:,} ", role if count else "dim"), (f"{word}  ", "")]
    waited = _mean_wait(hour)
    spans += [("mean wait ", ""), (waited, "dim")] if waited else []
    return [Part(tuple(spans), PLAN)]


# What needs attention, and who uses it.


def _needs(cluster: ClusterView, cells: int) -> list[Part]:
    found = needs(cluster)
    parts = [_rule("attention", cells, f"{len(found):,}" if found else "")]
    for need in found:
        mark: Span = ("● ", "bad") if need.is_grave else ("▲ ", "warn")
        parts.append(Part((mark, *need.line), need.link))
    return parts if found else [*parts, Part((("  nothing needs attention", "good"),))]


def _queues(cluster: ClusterView, cells: int) -> list[Part]:
    names = execution_queues(cluster)
    placed = Widths[str]().place(queue_columns(cluster), names, cells)
    rows = [
        Part(row(placed, name), Link("jobs", filter=f"queue:={quoted(name)}", kind="queue", names=(name,)))
        for name in names
    ]
    return [Part(header(placed, Sort())), *rows]


def _users(cluster: ClusterView, cells: int, most: int) -> list[Part]:
    """The users with the most cores over all queues, each beside its quota; the title has how many users, groups and
    projects are over one, that of the whole cluster too."""
    found: list[tuple[str, QuotaRow]] = []
    for queue in execution_queues(cluster):
        rows = quota_rows(cluster, queue).items()
        found += [(queue, each) for entity, each in rows if entity[0] == "u" and each.use.cores]
    found.sort(key=lambda item: (-item[1].use.cores, item[0], item[1].entity))
    over = sum(map(len, rows_over_quota(cluster).values()))
    shown = found[:most]
    parts = [_rule("in use by", cells, f"{over:,} over quota" if over else "nobody over quota")]
    if not shown:
        return [*parts, Part((("  no user", "dim"),))]
    scale = round_scale(max(max(each.use.cores, each.quota or 0) for _, each in shown))
    names = max(8, min(_LONGEST_NAME, max(width(show_name(each.entity)) for _, each in shown)))
    queues = max(8, min(_LONGEST_NAME, max(width(safe(queue)) for queue, _ in shown))) + 1
    bar_cells = max(8, cells - names - queues - 33)
    for queue, each in shown:
        note: Span = ("", "")
        if each.over is not None:
            note = (f"over {each.over:,}", "warn") if each.over > 0 else (f"free {-each.over:,}", "dim")
        line: Line = (
            *fit_line(((show_name(each.entity), "bold"),), names),
            *fit_line(((f" {safe(queue)}", "dim"),), queues),
            (f"{each.use.cores:>7,} ", ""),
            *quota_bar(each.use.cores, each.quota, scale, bar_cells),
            (" ", ""),
            *fit_line((note,), 12),
            (f"{each.use.waiting:,} wait" if each.use.waiting else "", "dim"),
        )
        parts.append(Part(line, Link("quotas", subject=queue, cursor=each.entity)))
    if len(found) > len(shown):
        parts.append(Part(((f"and {len(found) - len(shown):,} more", "dim"),), Link("quotas")))
    return parts


# What comes.


def _plan(cluster: ClusterView) -> list[Part]:
    parts = [Part((("next pass  ", "title"), (plan_in_short(cluster), "")), PLAN)]
    would = would_have(cluster.passes)
    return [*parts, Part(would, PLAN)] if would else parts


def _coming_free(cluster: ClusterView, cells: int, rows: int) -> list[Part]:
    """The cores that runs give back in the next hours, with the promised starts on them."""
    decision = cluster.decision
    if decision is None or not cluster.counts.vnodes.total:
        return []
    total, now_s = cluster.counts.vnodes.total, cluster.now_s
    idle = idle_cores(decision.snapshot)
    coming = [min(total, idle + cores) for cores in decision.coming_free]
    end = coming[-1]
    free = [cores / end if end else 0.0 for cores in coming]
    columns = cells - 2
    shares = [free[column * AHEAD // columns] for column in range(columns)]
    starts: Line = ()
    at = 0
    for estimate in decision.plan.estimates:
        column = int((estimate.at_s - now_s) / (AHEAD * QUARTER_S) * columns)
        words = f"▼ {safe(show_job(estimate.id))} {clock_time(estimate.at_s)} "
        if at <= column < columns - len(words):
            starts = (*starts, (" " * (column - at), ""), (words, "warn"))
            at = column + len(words)
    parts = [_rule("cores coming free, by expected ends", cells, f"up to {end:,} of {total:,} in 12 h")]
    if starts:
        parts.append(Part((("  ", ""), *starts), PLAN))
    parts += [Part((("  ", ""), (text, "good"))) for text in area(shares, rows)]
    marks = "".join(f"{'now' if not hour else f'+{hour} h':<{columns // 4}}" for hour in (0, 3, 6, 9))
    return [*parts, Part((("  ", ""), (marks, "dim")))]


def _changes(cluster: ClusterView, records: Sequence[AuditRecord], cells: int) -> list[Part]:
    lines = changed_lines(cluster, records, _MOST_CHANGES)
    return [_rule("changed", cells), *(Part((("  ", ""), *line), Link("audit")) for line in lines)]
