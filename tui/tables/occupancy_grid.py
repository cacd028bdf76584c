"""The occupancy grid: one cell for each vnode, or for each group of vnodes if there are too many.

A cell's height is the share of cores in use; on request it shows instead the letter of the user with the most cores.
A vnode in another state than up shows the state's letter. So does a group whose vnodes share such a letter, or of which
none is up. The states of a mixed group are shown in words under the cursor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from policy.model.pbs_units import show_job
from tui.model.typed_attributes import amount, moment, vnode_state
from tui.state.cluster_view import ClusterView
from tui.tables.user_letters import Occupants
from tui.tables.vnode_columns import jobs_on, reading_of
from tui.tables.vnode_ranks import Ranks, readings_in_words
from tui.text.name_ranges import folded_names, natural
from tui.text.screen_line import Span, fit, safe
from tui.text.screen_line import width as cell_width
from tui.text.text_bars import heights
from tui.text.times_and_durations import day_and_time
from tui.text.truncate_names import cut, find_tail

_LEAST_LABEL, _MOST_LABEL = 12, 32
_LABEL_SHARE = 4
"""Row labels take at most one part in so many of the line."""
_GIB = 1 << 20


@dataclass(frozen=True)
class Cell:
    """One cell: its vnodes, and what it shows."""

    vnodes: tuple[str, ...]
    span: Span


@dataclass(frozen=True)
class Grid:
    """Cells in rows of ``columns``, behind labels of ``label_cells`` cells; each cell has ``group`` vnodes."""

    cells: tuple[Cell, ...]
    columns: int
    group: int
    label_cells: int = _LEAST_LABEL

    def rows(self) -> int:
        """The number of rows."""
        return -(-len(self.cells) // self.columns)


def lay_out(cluster: ClusterView, width: int, height: int, who: Occupants | None = None) -> Grid:
    """The grid for this room, in natural order of names, with the smallest groups that fit; ``who``: by users."""
    names = sorted(cluster.server_status.vnodes, key=natural)
    label_cells = max(_LEAST_LABEL, min(max(map(cell_width, names), default=0), _MOST_LABEL, width // _LABEL_SHARE))
    columns = max(1, width - label_cells - 1)
    room = columns * max(1, height)
    group = max(1, -(-len(names) // room))
    cells = tuple(_cell(cluster, names[start : start + group], who) for start in range(0, len(names), group))
    return Grid(cells, columns, group, label_cells)


def _cell(cluster: ClusterView, names: Sequence[str], who: Occupants | None) -> Cell:
    vnodes = [cluster.server_status.vnodes[name] for name in names]
    states = [vnode_state(vnode) for vnode in vnodes]
    letters = Counter(state.letter for state in states)
    if "" not in letters and (len(letters) == 1 or not any(state.up for state in states)):
        letter = next(letter for letter in "d?oxr" if letter in letters)
        return Cell(tuple(names), (letter, "bad" if letter in "d?" else "warn"))
    total = sum(amount(vnode, f"resources_available.{cluster.counted}") for vnode in vnodes)
    used = sum(amount(vnode, f"resources_assigned.{cluster.counted}") for vnode in vnodes)
    if not used:
        return Cell(tuple(names), ("·", "dim"))
    shown = who.letter(names) if who is not None else ""
    return Cell(tuple(names), (shown or heights([used], total), "bar"))


def row_labels(grid: Grid) -> list[str]:
    """The first vnode of each row; names that are too long are cut where they stay distinct."""
    names = [safe(cell.vnodes[0]) for cell in grid.cells[:: grid.columns]]
    tail = find_tail(names, grid.label_cells)
    return [fit(cut(name, grid.label_cells, tail), grid.label_cells) for name in names]


def describe_cell(cluster: ClusterView, cell: Cell) -> str:
    """One cell in words: names, states, free cores, memory and GPUs, and jobs."""
    vnodes = [cluster.server_status.vnodes[name] for name in cell.vnodes if name in cluster.server_status.vnodes]
    if not vnodes:
        return f"{safe(cell.vnodes[0])} is no longer there"
    states = Counter(vnode_state(vnode).words for vnode in vnodes)
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


def legend(grid: Grid, cells: int, who: Occupants | None = None) -> str:
    """What the cells mean, by users if ``who`` is given, in as many words as fit."""
    if who is not None:
        about = "user with most cores: " if grid.group == 1 else f"user with most cores of {grid.group} vnodes: "
        return about + (who.legend(cells - len(about)) or ("…" if who.letters else "no user"))
    each = "each cell a vnode" if grid.group == 1 else f"each cell {grid.group} vnodes"
    letters = "o offline · d down · x exclusive · r reserved · ? unknown"
    ways = (f"{each}, its height the cores in use · {letters}", f"{each} · {letters}", letters)
    return next((words for words in ways if len(words) <= cells), each)
