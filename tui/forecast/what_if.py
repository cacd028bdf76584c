"""What a change would do over the next hours, on what the server shows now: with and without it side by side.

A change is an operation of the console, other settings, or a reservation. Both sides are run forward with the same
drawn run times, so that what differs comes from the change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from hooks.forecast.scale_forecast_to_cpu_time import Within, find_horizon_s, find_left_out
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.quota_plan.limits_ahead_by_quota_plan import in_effect, limits_ahead, planned_limits, set_now
from hooks.translate.queues import read_modes
from policy.fit.fits_idle_cluster import fits_idle_cluster
from policy.forecast.forecast import Bounds, Forecaster
from policy.forecast.simulate_forward import Draw, LimitsFrom
from policy.forecast.what_if_waits_before_and_after import Comparison, State, compare_ahead
from policy.model.jobs_runs_vnodes_queues import Vnode, Window
from policy.model.limit_attributes import Limits
from policy.quota_plan.planned_quotas import PlannedQuota
from policy.settings.site_settings import Settings
from policy.state.cluster_snapshot import Changes, Snapshot
from tui.backends.interface.commands_interface import ChangeError
from tui.forecast.past_runs_to_forecast_from import Learned
from tui.model.typed_attributes import MAY_START_STATES
from tui.state.cluster_view import ClusterView
from tui.state.snapshot_by_last_pass import translate_by_last_pass
from tui.state.wording_by_queue_mode import starts_in

SPAN_S = 86400.0
_LEAST_SPAN_S = 60.0
_MOST_NOTES = 4

OBSERVED = (
    "in observe PBS's scheduler starts the jobs: taken here as in order with backfilling, without preemption for quotas"
    " and priorities"
)


class HypotheticalChange(NamedTuple):
    """A change: what the server would show, the settings, and the vnodes as they would be, by name (for what the
    server's attributes do not say). ``title`` is for people, ``notes`` are sentences on how it is understood.
    ``quota_plan`` are the planned quotas, None for those that there are."""

    title: str
    status: ServerStatus
    settings: Settings
    vnodes: Callable[[Snapshot], Sequence[Vnode]] = lambda _: ()
    notes: tuple[str, ...] = ()
    quota_plan: Sequence[PlannedQuota] | None = None


def look_ahead(
    cluster: ClusterView, supposed: HypotheticalChange, learned: Learned, cpu_s: float, span_s: float = SPAN_S
) -> Iterator[Comparison]:
    """Better and better comparisons over the span, within so much processor time: after one pair of draws, two, four
    and so on. Where the time does not suffice for the whole span, the comparison is over a shorter one."""
    begun_s, now_s = time.process_time(), cluster.now_s
    modes = read_modes(cluster.server_status, cluster.settings), read_modes(supposed.status, supposed.settings)
    changed = {queue for queue in modes[0] if modes[0][queue] != modes[1].get(queue)}
    sides = []
    for number, (status, settings) in enumerate(
        ((cluster.server_status, cluster.settings), (supposed.status, supposed.settings))
    ):
        snapshot = translate_by_last_pass(status, settings, cluster.passes).snapshot
        observed = [queue for queue in changed if modes[number].get(queue) == "observe"]
        vnodes = supposed.vnodes(snapshot) if number else ()
        sides.append((_with(snapshot, vnodes, observed), settings))
    left_out = find_left_out(sides, cluster.ledger)
    sides = [(_without(snapshot, left_out), settings) for snapshot, settings in sides]
    within = Within(cpu_s=cpu_s, draws=cluster.settings.forecast.draws, horizon_s=span_s)
    longest = [
        find_horizon_s(snapshot, cluster.ledger, settings, within._replace(cpu_s=cpu_s / 2))
        for snapshot, settings in sides
    ]
    bounds = Bounds(draws=within.draws, horizon_s=max(_LEAST_SPAN_S, min(longest)), seed=within.seed)
    end_s = now_s + bounds.horizon_s
    planned = [
        _planned_limits(cluster, side, given, end_s)
        for side, given in zip(
            ((cluster.server_status, modes[0]), (supposed.status, modes[1])), (None, supposed.quota_plan)
        )
    ]
    makers = [
        Forecaster(snapshot, cluster.ledger, settings, learned.history, bounds=bounds, planned=limits)
        for (snapshot, settings), limits in zip(sides, planned)
    ]
    states = [_state(snapshot) for snapshot, _ in sides]
    pairs: list[tuple[Draw, Draw]] = []
    shown = 1
    while len(pairs) < bounds.draws and (not pairs or time.process_time() - begun_s < cpu_s):
        pairs.append((makers[0].draw(len(pairs)), makers[1].draw(len(pairs))))
        if len(pairs) == shown:
            shown *= 2
            yield compare_ahead(states[0], states[1], pairs, now_s, end_s, len(left_out))
    if 2 * len(pairs) != shown:
        yield compare_ahead(states[0], states[1], pairs, now_s, end_s, len(left_out))


def _planned_limits(
    cluster: ClusterView,
    side: tuple[ServerStatus, Mapping[str, str]],
    given: Sequence[PlannedQuota] | None,
    end_s: float,
) -> list[LimitsFrom]:
    """The limits that planned quotas bring on one side: those given, else those of the plan that there is."""
    status, modes = side
    there_is = cluster.passes.quota_plan
    if given is None:
        return planned_limits(status, modes, there_is, cluster.now_s, end_s)
    before = set_now(there_is)
    return limits_ahead(status, in_effect(given, modes, before, cluster.now_s), before, cluster.now_s, end_s)


def supposed_mode_notes(cluster: ClusterView, status: ServerStatus) -> tuple[str, ...]:
    """How a change of modes is understood, and in which queues with waiting jobs pbsteer does not start them."""
    before, after = read_modes(cluster.server_status, cluster.settings), read_modes(status, cluster.settings)
    changed = {queue for queue in before if before[queue] != after.get(queue)}
    observed = (OBSERVED,) if any("observe" in (before[queue], after.get(queue)) for queue in changed) else ()
    waiting = {texts.get("queue", "") for texts in status.jobs.values() if texts.get("job_state") in MAY_START_STATES}
    undone = {starts_in(cluster, queue).undone for queue in waiting.intersection(before) - changed} - {""}
    return (*observed, *(f"{why}; both sides are what pbsteer would do" for why in sorted(undone)[:_MOST_NOTES]))


def suppose_settings(cluster: ClusterView, given: Mapping[str, Mapping[str, object]], title: str) -> HypotheticalChange:
    """Other values of some settings, by table and key. Raises :class:`policy.SettingsError`."""
    data = cluster.settings.to_data()
    for table, values in given.items():
        data[table] = {**data.get(table, {}), **values}
    return HypotheticalChange(title, cluster.server_status, Settings.from_data(data, "what if"))


def suppose_reservation(
    cluster: ClusterView, names: Sequence[str], begin_s: float, length_s: float
) -> HypotheticalChange:
    """A reservation of whole vnodes. Raises :class:`ChangeError` for a vnode that is none."""
    unknown = [name for name in names if name not in cluster.server_status.vnodes]
    if unknown:
        raise ChangeError(f"vnode {unknown[0]!r} is not on the server")
    window = Window(begin_s, begin_s + length_s, "the supposed reservation")

    def closed(snapshot: Snapshot) -> list[Vnode]:
        vnodes = snapshot.cluster().vnodes
        return [replace(vnodes[name], closed=(*vnodes[name].closed, window)) for name in names if name in vnodes]

    title = f"a reservation of {len(names):,} vnode{'' if len(names) == 1 else 's'}"
    return HypotheticalChange(title, cluster.server_status, cluster.settings, closed)


def _with(snapshot: Snapshot, vnodes: Sequence[Vnode], observed: Sequence[str]) -> Snapshot:
    queues = [
        replace(queue, quotas=Limits(), other_quotas={}, priorities=Limits())
        for name, queue in snapshot.cluster().queues.items()
        if name in observed
    ]
    return snapshot.apply(Changes(snapshot.time_s, vnodes=vnodes, queues=queues)) if vnodes or queues else snapshot


def _without(snapshot: Snapshot, jobs: Sequence[str]) -> Snapshot:
    return snapshot.apply(Changes(snapshot.time_s, gone=jobs)) if jobs else snapshot


def _state(snapshot: Snapshot) -> State:
    cluster = snapshot.cluster()
    cores = sum(vnode.available.get("ncpus", 0) for vnode in cluster.vnodes.values() if vnode.usable)
    too_large = frozenset(
        job.id
        for job in cluster.jobs.values()
        if not fits_idle_cluster(cluster, job.request, cluster.vnodes_of(job.queue))
    )
    return State(dict(cluster.jobs), frozenset(cluster.runs), cores, too_large)
