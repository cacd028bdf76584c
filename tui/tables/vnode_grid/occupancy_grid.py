"""The occupancy grid: one cell for each vnode, or for each group of vnodes if there are too many.

Cells are as large as fit: name and value, the value alone, or one character
(:mod:`tui.tables.vnode_grid.grid_colours`). A vnode in another state than up shows the state's letter, and so does a
group that shares one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from policy.model.pbs_units import show_job
from tui.model.typed_attributes import amount, moment, seconds, state_in_words, user_of, vnode_state
from tui.state.cluster_view import ClusterView
from tui.tables.columns_by_view.vnode_columns import ids_on, jobs_on, reading_of
from tui.tables.vnode_grid.grid_colours import Colours, Shade
from tui.tables.vnode_grid.vnode_ranks import Ranks, readings_in_words
from tui.text.name_ranges import folded_names, natural
from tui.text.screen_line import Line, Span, fit, fit_line, safe
from tui.text.screen_line import width as cell_width
from tui.text.times_and_durations import day_and_time, short_span
from tui.text.truncate_names import cut, find_tail

_VALUE = 3
_CELLS = (2 * _VALUE + 1, _VALUE, 1)
"""The widths of a cell in characters: name and value, the value, a glyph."""
_MOST_PARTS = 40
"""If there are more racks than this, they are not told apart."""
_BEGINNING = re.compile(r"[^0-9]*")
_LEAST_LABEL, _MOST_LABEL = 8, 32
_LABEL_SHARE = 4
"""Row labels take at most one part in so many of the line."""
_GIB = 1 << 20


@dataclass(frozen=True)
class Cell:
    """One cell: its vnodes, and the glyph, value and role that it shows."""

    vnodes: tuple[str, ...]
    shade: Shade

    @property
    def span(self) -> Span:
        """The cell in one character."""
        return self.shade.glyph, self.shade.role


class GridRow(NamedTuple):
    """The cells from ``start`` on, and the label in front of them."""

    label: str
    start: int
    cells: int


@dataclass(frozen=True)
class Grid:
    """Cells in rows, behind labels of ``label_cells`` cells; each cell has ``group`` vnodes and is ``cell_cells`` wide,
    with a cell beside it where that is more than one."""

    cells: tuple[Cell, ...]
    rows: tuple[GridRow, ...]
    group: int
    label_cells: int = _LEAST_LABEL
    cell_cells: int = 1

    def row_of(self, index: int) -> int:
        """The row of a cell."""
        return max(0, bisect_right([row.start for row in self.rows], index) - 1)


def lay_out(cluster: ClusterView, width: int, height: int, colours: Colours) -> Grid:
    """The grid for this room, in natural order of names, with the largest cells and the smallest groups that fit. A
    row ends with its rack, placement set, or kind of name."""
    parts = _parts(cluster)
    label_cells = max(_LEAST_LABEL, min(max(map(cell_width, parts), default=0), _MOST_LABEL, width // _LABEL_SHARE))
    room = max(1, width - label_cells - 1)
    for cell_cells in _CELLS:
        columns = max(1, room // (cell_cells + 1) if cell_cells > 1 else room)
        if sum(-(-len(names) // columns) for names in parts.values()) <= max(1, height):
            return _filled(cluster, parts, columns, 1, label_cells, cell_cells, colours)
    everything = sum(map(len, parts.values()))
    group = max(1, -(-everything // (room * max(1, height))))
    while sum(-(-len(names) // (room * group)) for names in parts.values()) > max(1, height) and group < everything:
        group += 1
        if len(parts) > max(1, height):
            break
    return _filled(cluster, parts, room, group, label_cells, 1, colours)


def _parts(cluster: ClusterView) -> Mapping[str, Sequence[str]]:
    """The vnodes by what they stand together by: the resource of PBS's placement sets, else a resource ``rack``, else
    the letters that their names begin with."""
    server_status = cluster.server_status
    key = server_status.server.get("node_group_key", "").partition(",")[0].strip() or "rack"
    parts: dict[str, list[str]] = defaultdict(list)
    for name in cluster.vnode_names:
        where = server_status.vnodes[name].get(f"resources_available.{key}", "")
        parts[f"{where} " if where else _BEGINNING.match(name)[0]].append(name)  # type: ignore[index]
    if len(parts) > _MOST_PARTS:
        return {"": list(cluster.vnode_names)}
    return {label: parts[label] for label in sorted(parts, key=natural)}


def _filled(
    cluster: ClusterView,
    parts: Mapping[str, Sequence[str]],
    columns: int,
    group: int,
    label_cells: int,
    cell_cells: int,
    colours: Colours,
) -> Grid:
    cells: list[Cell] = []
    rows: list[GridRow] = []
    for label, names in parts.items():
        groups = [tuple(names[start : start + group]) for start in range(0, len(names), group)]
        for start in range(0, len(groups), columns):
            here = groups[start : start + columns]
            rows.append(GridRow(f"{label}{here[0][0]}" if label.endswith(" ") else here[0][0], len(cells), len(here)))
            cells += [Cell(each, _shade(cluster, each, colours)) for each in here]
    return Grid(tuple(cells), tuple(rows), group, label_cells, cell_cells)


def _shade(cluster: ClusterView, names: Sequence[str], colours: Colours) -> Shade:
    """What vnodes show: the letter of a state other than up, else the colours' shade."""
    states = [vnode_state(cluster.server_status.vnodes[name]) for name in names]
    letters = Counter(state.letter for state in states)
    if "" not in letters and (len(letters) == 1 or not any(state.up for state in states)):
        letter = next(letter for letter in "d?oxr" if letter in letters)
        if letter not in "xr" or colours.name == "fill":
            return Shade(letter, _IN_SHORT[letter], "bad" if letter in "d?" else "warn")
    return colours.shade(names)


_IN_SHORT = {"d": "dn", "?": "?", "o": "off", "x": "ex", "r": "rsv"}


def cell_text(cell: Cell, cell_cells: int) -> str:
    """A cell in exactly so many characters: the glyph, the value, or the end of the name with the value."""
    if cell_cells == 1:
        return cell.shade.glyph
    value = f"{cell.shade.value:>{_VALUE}}"
    return value if cell_cells == _VALUE else f"{safe(cell.vnodes[0])[-_VALUE:]:>{_VALUE}} {value}"


def row_labels(grid: Grid) -> list[str]:
    """The label of each row; names that are too long are cut where they stay distinct."""
    names = [safe(row.label) for row in grid.rows]
    tail = find_tail(names, grid.label_cells)
    return [fit(cut(name, grid.label_cells, tail), grid.label_cells) for name in names]


def describe_cell(cluster: ClusterView, cell: Cell) -> str:
    """One cell in words: names, states, free cores, memory and GPUs, and jobs."""
    vnodes = [cluster.server_status.vnodes[name] for name in cell.vnodes if name in cluster.server_status.vnodes]
    if not vnodes:
        return f"{safe(cell.vnodes[0])} is no longer there"
    states = Counter(state_in_words(vnode, cluster.counted) for vnode in vnodes)
    parts = [safe(folded_names(cell.vnodes, 2))]
    parts.append(", ".join(safe(s) if len(vnodes) == 1 else f"{count} {safe(s)}" for s, count in states.most_common()))
    if not any(vnode_state(vnode).up for vnode in vnodes):
        vnodes = []
    for resource, unit, scale in ((cluster.counted, "cores", 1), ("mem", "GB", _GIB), ("ngpus", "GPUs", 1)):
        has = sum(amount(vnode, f"resources_available.{resource}") for vnode in vnodes)
        held = sum(amount(vnode, f"resources_assigned.{resource}") for vnode in vnodes)
        if has:
            parts.append(f"{(has - held) // scale:,} of {has // scale:,} {unit} free")
    jobs = list(dict.fromkeys(show_job(job) for name in cell.vnodes for job in jobs_on(cluster, name)))
    if jobs:
        parts.append("jobs " + safe(" ".join(jobs[:6])) + (f" and {len(jobs) - 6} more" if len(jobs) > 6 else ""))
    return " · ".join(parts)


def describe_more(cluster: ClusterView, cell: Cell, ranks: Ranks | None) -> str:
    """Further words on one cell: since when a vnode is not up, its comment, host readings, and ranks."""
    vnodes = [
        (name, cluster.server_status.vnodes[name]) for name in cell.vnodes if name in cluster.server_status.vnodes
    ]
    readings = [reading for reading in (reading_of(vnode) for _, vnode in vnodes) if reading is not None]
    parts = []
    if len(vnodes) == 1:
        ((_, vnode),) = vnodes
        since_s = moment(vnode, "last_state_change_time")
        if since_s is not None and not vnode_state(vnode).up:
            parts.append(f"not up since {day_and_time(since_s, cluster.now_s)}")
        if vnode.get("comment"):
            parts.append(safe(vnode["comment"]))
    parts += readings_in_words(readings, cluster.now_s)
    if ranks is not None:
        places = sorted(ranks.places[name] for name, _ in vnodes if name in ranks.places)
        of = f"of {len(ranks.places):,} by {ranks.mode}"
        if not places:
            parts.append(f"no place {of}")
        elif len(vnodes) == 1:
            score = ranks.score(vnodes[0][0])
            parts.append(f"rank {places[0]:,} {of}" + (f", {score:.2f}" if score is not None else ", no reading"))
        else:
            parts.append(f"ranks {places[0]:,} to {places[-1]:,} {of}")
    return " · ".join(parts)


def legend(grid: Grid, cells: int, colours: Colours) -> str:
    """What the cells mean, in as many words as fit."""
    each = _cell_size(grid)
    meaning = f"{each}{colours.meaning(cells - len(each))}"
    letters = "o offline · d down · x exclusive · r reserved · ? unknown"
    return next((words for words in (f"{meaning} · {letters}",) if cell_width(words) <= cells), meaning)


def legend_rest(grid: Grid, cells: int, colours: Colours) -> str:
    """The letters for which :func:`legend` has no room in so many cells; empty if it has all."""
    return colours.rest_of_meaning(cells - len(_cell_size(grid)))


def _cell_size(grid: Grid) -> str:
    return "" if grid.group == 1 else f"each cell {grid.group} vnodes · "


def jobs_of_cell(cluster: ClusterView, cell: Cell, most: int) -> list[Line]:
    """The jobs on a cell's vnodes, those with the most cores there first: id, user, cores, what it uses of
    them, how long it may still run, and its name."""
    ids = dict.fromkeys(job_id for name in cell.vnodes for job_id in ids_on(cluster, name))
    jobs = [(job_id, cluster.server_status.jobs[job_id]) for job_id in ids if job_id in cluster.server_status.jobs]
    jobs.sort(key=lambda job: -amount(job[1], f"Resource_List.{cluster.counted}"))
    lines: list[Line] = []
    for job_id, attributes in jobs[:most]:
        began_s, walltime_s = moment(attributes, "stime"), seconds(attributes, "Resource_List.walltime")
        left = "no walltime"
        if began_s is not None and walltime_s is not None:
            left_s = began_s + walltime_s - cluster.now_s
            left = f"{short_span(left_s)} left" if left_s > 0 else "past walltime"
        cores = amount(attributes, f"Resource_List.{cluster.counted}")
        lines.append(
            (
                (f" {safe(show_job(job_id)):<10} ", "bold"),
                *fit_line(((safe(user_of(attributes)), ""),), 12),
                (f"{cores:>6,}c  ", ""),
                *fit_line(_use(cluster, job_id), 26),
                (f"{left:<15}", ""),
                (safe(attributes.get("Job_Name", "")), "dim"),
            )
        )
    if len(jobs) > most > 0:
        lines[-1:] = [((f" and {len(jobs) - most + 1:,} more jobs: enter", "dim"),)]
    return lines


def _use(cluster: ClusterView, job_id: str) -> Line:
    """The shares of its cores and memory that a job uses, as far as they are known."""
    shares = cluster.shares(job_id)
    parts = [
        f"{name} {share:>4.0%}" for name, share in (("cpu", shares.cpu), ("mem", shares.memory)) if share is not None
    ]
    return ((f"{'  '.join(parts)}{'  idle' if shares.is_idle else ''}", "warn" if shares.is_idle else "dim"),)
