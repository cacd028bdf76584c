"""What the cells of the grid show: how full vnodes are, whose and which jobs they run, what is free, hot or ends soon.

A shade is a glyph, a few characters and a role for its colour; the colour repeats what the characters say. Amounts are
a ramp of five steps, names have a letter and one of eight colours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from policy.model.pbs_units import show_job
from tui.model.typed_attributes import RUNNING_STATES, amount, moment, seconds, user_of, vnodes_of
from tui.state.cluster_view import ClusterView
from tui.tables.columns_by_view.vnode_columns import reading_of
from tui.tables.vnode_grid.user_letters import Occupants, occupants
from tui.text.text_bars import heights

COLOURS = ("fill", "user", "queue", "job", "gpus", "temperature", "walltime")
STEPS, HUES = 5, 8
COOL, HOT = 30.0, 90.0
LONG_S = 24 * 3600.0
"""The temperatures between which the ramp is, and the time that is its end."""
_DAY_S = 86400.0
_MEANT = {
    "fill": "cores in use",
    "gpus": "free GPUs",
    "temperature": "degrees of the hottest",
    "walltime": "until the last job there has to end",
}


class Shade(NamedTuple):
    """A cell's glyph, its value in at most three characters, and its role."""

    glyph: str
    value: str
    role: str


class Colours(NamedTuple):
    """The shades for one choice of :data:`COLOURS`: of any vnodes, and what the cells mean in so many characters.
    ``who`` is given where the cells are names: users, queues or jobs."""

    name: str
    shade: Callable[[Sequence[str]], Shade]
    who: Occupants | None = None

    def meaning(self, cells: int) -> str:
        """What the values are, in at most so many characters."""
        if self.who is None:
            return _MEANT[self.name]
        about = self._about
        return about + (self.who.legend(cells - len(about)) or ("…" if self.who.letters else f"no {self.name}"))

    def rest_of_meaning(self, cells: int) -> str:
        """The letters that :meth:`meaning` leaves out in so many characters; empty if it has all."""
        return self.who.legend_rest(cells - len(self._about)) if self.who is not None else ""

    @property
    def _about(self) -> str:
        return f"{self.name} with most cores: "


def colours_by(cluster: ClusterView, name: str) -> Colours:
    """The shades for ``name``, one of :data:`COLOURS`."""
    if name in _WHOSE:
        who = occupants(cluster, _WHOSE[name])
        return Colours(name, lambda vnodes: _by_name(who, vnodes), who)
    if name == "walltime":
        ends = _last_ends(cluster)
        return Colours(name, lambda vnodes: _until(ends, vnodes, cluster.now_s))
    shade = {"fill": _fill, "gpus": _gpus, "temperature": _heat}[name]
    return Colours(name, lambda vnodes: shade(cluster, vnodes))


_WHOSE: Mapping[str, Callable[[str, Mapping[str, str]], str]] = {
    "user": lambda _, attributes: user_of(attributes),
    "queue": lambda _, attributes: attributes.get("queue", ""),
    "job": lambda job_id, _: show_job(job_id),
}
_NOTHING = Shade("·", "", "dim")


def step_of(share: float) -> str:
    """The role of a share from 0 to 1."""
    return f"heat{max(1, min(STEPS, 1 + int(share * STEPS)))}"


def _fill(cluster: ClusterView, names: Sequence[str]) -> Shade:
    vnodes = [cluster.server_status.vnodes[name] for name in names]
    total = sum(amount(vnode, f"resources_available.{cluster.counted}") for vnode in vnodes)
    used = sum(amount(vnode, f"resources_assigned.{cluster.counted}") for vnode in vnodes)
    if not used:
        return Shade("·", "0", "dim")
    return Shade(heights([used], total), _short(used), step_of(used / total if total else 1.0))


def _gpus(cluster: ClusterView, names: Sequence[str]) -> Shade:
    vnodes = [cluster.server_status.vnodes[name] for name in names]
    total = sum(amount(vnode, "resources_available.ngpus") for vnode in vnodes)
    if not total:
        return _NOTHING
    free = total - sum(amount(vnode, "resources_assigned.ngpus") for vnode in vnodes)
    return Shade(str(free) if free < 10 else "+", _short(free), step_of(free / total) if free else "dim")


def _heat(cluster: ClusterView, names: Sequence[str]) -> Shade:
    readings = [reading_of(cluster.server_status.vnodes[name]) for name in names]
    degrees = [reading.heat.now for reading in readings if reading is not None and reading.heat is not None]
    if not degrees:
        return _NOTHING
    share = min(1.0, max(0.0, (max(degrees) - COOL) / (HOT - COOL)))
    return Shade(str(min(9, int(share * 10))), f"{max(degrees):.0f}", step_of(share))


def _by_name(who: Occupants, names: Sequence[str]) -> Shade:
    letter, name = who.letter(names), who.most(names)
    if not letter:
        return _NOTHING
    return Shade(letter, name[-3:] if who.letters.get(name) is None else letter, f"hue{who.rank(name) % HUES + 1}")


def _last_ends(cluster: ClusterView) -> Mapping[str, float]:
    """When the last job on each vnode has to end by its walltime."""
    ends: dict[str, float] = defaultdict(float)
    for attributes in cluster.server_status.jobs.values():
        where = attributes.get("exec_vnode", "")
        if not where or attributes.get("job_state") not in RUNNING_STATES:
            continue
        began_s, walltime_s = moment(attributes, "stime"), seconds(attributes, "Resource_List.walltime")
        end_s = float("inf") if began_s is None or walltime_s is None else began_s + walltime_s
        for name in vnodes_of(where):
            ends[name] = max(ends[name], end_s)
    return ends


def _until(ends: Mapping[str, float], names: Sequence[str], now_s: float) -> Shade:
    last_s = max((ends[name] for name in names if name in ends), default=0.0)
    if not last_s:
        return _NOTHING
    left_s = max(0.0, last_s - now_s)
    if left_s == float("inf"):
        return Shade("∞", "any", f"heat{STEPS}")
    hours = int(left_s // 3600)
    value = f"{int(left_s // _DAY_S)}d" if hours >= 100 else f"{hours}h" if hours else f"{int(left_s // 60)}m"
    return Shade(str(min(9, hours)), value, step_of(left_s / LONG_S))


def _short(number: int) -> str:
    return str(number) if number < 1000 else f"{number // 1000}k"
