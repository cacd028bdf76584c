"""A preview as lines: which jobs the change starts, preempts, spares or leaves waiting, in the next pass and later.

Effects that a queue's mode does not carry out are worded as "would", job by job, since modes are set per queue.
"""

from __future__ import annotations

from collections.abc import Sequence

from hooks.pbs.job_attributes.job_ids_and_states import parent_of
from policy.explain.change_preview import Effect, Preview
from policy.model.pbs_units import show_count
from tui.operations.operation_type_and_preview import UNAFFECTED
from tui.operations.work_lost_if_run_ends import cost_of
from tui.state.cluster_view import ClusterView
from tui.state.wording_by_queue_mode import preemptions_in, starts_in
from tui.text.screen_line import Line, safe

_ROLES = {
    "starts": "good",
    "spared": "good",
    "gets-cores": "good",
    "safe": "good",
    "preempted": "warn",
    "stays-queued": "warn",
    "loses-cores": "warn",
    "open": "warn",
    "delayed": "warn",
    "sooner": "good",
}
_AT_A_GLANCE = 5
_PREEMPTIONS = frozenset({"preempted", "spared", "safe", "open"})
_MOST = 500
"""More lines of one part would not be read; the rest is counted."""


def effect_lines(foreseen: Preview, cluster: ClusterView, unaffected: str = UNAFFECTED) -> list[Line]:
    """A line for each job that fares differently, or ``unaffected`` if none does. ``cluster`` is before the change."""
    if not foreseen.effects and not foreseen.later:
        return [((safe(unaffected), "dim"),)]
    return [
        *_part("in the next pass", foreseen.effects, cluster),
        *(_part("from then on", foreseen.later, cluster) if foreseen.later else ()),
        *_unacted(cluster, foreseen.effects),
    ]


def _unacted(cluster: ClusterView, effects: Sequence[Effect]) -> list[Line]:
    """For each affected queue that is not driven: what its mode, or a pause of pbsteer, leaves undone."""
    concerned = {queue for effect in effects for queue in [_queue_of(cluster, effect)] if queue}
    unacted = [starts_in(cluster, queue).undone for queue in sorted(concerned or cluster.modes)]
    return [((safe(why), "dim"),) for why in dict.fromkeys(unacted) if why]


def _queue_of(cluster: ClusterView, effect: Effect) -> str:
    jobs = cluster.server_status.jobs
    return (jobs.get(effect.job) or jobs.get(parent_of(effect.job)) or {}).get("queue", "")


def _sentence(cluster: ClusterView, effect: Effect) -> str:
    wording = preemptions_in if effect.kind in _PREEMPTIONS else starts_in
    return wording(cluster, _queue_of(cluster, effect)).choose(effect.sentence, effect.would)


def _part(title: str, effects: Sequence[Effect], cluster: ClusterView) -> list[Line]:
    sums = _sums(effects, cluster)
    lines: list[Line] = [((title, "title"), (f": {sums}" if sums else "", "dim"))]
    if not effects:
        return [*lines, (("  no start, preemption or reservation changes", "dim"),)]
    lines += [((f"  {safe(_sentence(cluster, effect))}", _ROLES.get(effect.kind, "")),) for effect in effects[:_MOST]]
    more = len(effects) - _MOST
    return [*lines, ((f"  and {more:,} more", "dim"),)] if more > 0 else lines


_COUNTED = (
    ("preempted", "preempted"),
    ("spared", "no longer preempted"),
    ("starts", "start"),
    ("stays-queued", "no longer start"),
    ("delayed", "wait longer"),
)


def _sums(effects: Sequence[Effect], cluster: ClusterView) -> str:
    """``3 preempted (96 cores, which ran 12.0 core-hours), 2 start``, where runs end or lines are too many to be
    counted at a glance."""
    kinds = [effect.kind for effect in effects]
    if len(kinds) <= _AT_A_GLANCE and "preempted" not in kinds:
        return ""
    costs = [cost_of(cluster, effect.job) for effect in effects if effect.kind == "preempted"]
    cores, hours = show_count(sum(cost.cores for cost in costs), "core"), sum(cost.core_s for cost in costs) / 3600
    about = {"preempted": f" ({cores}, which ran {hours:,.1f} core-hours)"}
    return ", ".join(f"{kinds.count(kind):,} {words}{about.get(kind, '')}" for kind, words in _COUNTED if kind in kinds)
