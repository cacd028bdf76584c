"""Which scheduler starts jobs: a partition's scheduler object is off where pbsteer drives all its queues, and on
elsewhere; only pbsteer's own switches are reversed.

A switch is recorded on disk before it is made, so a killed pass leaves no scheduler off without a record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from hooks.control.pbs_scheduler.work_only_pbs_scheduler_can_do import PendingWork, find_pending_work
from hooks.pbs.client.pbs_ifl_client import Connection, IflError
from hooks.pbs.client.requests_within_time_budget import attempt
from hooks.pbs.custom_resources import MODE_ATTRIBUTE
from hooks.pbs.own_switch_values import START_HOOK
from hooks.pbs.pause_in_server_attributes import describe_pause, is_stopped, name_pause
from hooks.pbs.scheduler_object_of_queue import (
    find_scheduler,
    find_scheduler_of_partition,
    is_down,
    is_in_cycle,
    is_scheduling,
)
from hooks.pbs.server_status_type_and_attributes import DEFAULT_SCHEDULER, ServerStatus
from hooks.store.event_hook_summary import LONGEST_CYCLE_S
from hooks.store.state_files import SCHEDULERS, State
from policy.model.pbs_units import show_duration
from policy.settings.settings_of_server_and_passes import NEEDED, ServerSettings

_UNKNOWN_SCHEDULER = 15213
_BETWEEN_TURNS_S, _BETWEEN_URGENT_S = 60.0, 10.0
_TRIED_AGAIN_S = 120.0
_LONG_CYCLE_S = 60.0
"""A cycle that lasts longer is no passing matter: no job is started meanwhile."""


class LastCycle(NamedTuple):
    """The last cycle that a switched-off scheduler was given for its pending work: its time, in seconds since 1970, the
    keys of that work that still waits, whether a pass has found the scheduler off and idle since, and whether the cycle
    ended before the scheduler looked at jobs."""

    time_s: float = 0.0
    served: frozenset[str] = frozenset()
    is_over: bool = False
    is_short: bool = False

    def next(self, pending_work: Sequence[PendingWork], now_s: float) -> LastCycle:
        """The cycle that is given now. One that may confirm a reservation counts as serving no job; a reservation that
        the last cycle did not confirm leaves this one to the jobs."""
        tried = self._tried(now_s)
        ready = [work for work in pending_work if work.ready]
        is_short = any(work.ends_cycle and work.key not in tried for work in ready)
        served = frozenset(work.key for work in ready if work.ends_cycle or not is_short)
        return LastCycle(now_s, served, is_short=is_short)

    def is_due(self, pending_work: Sequence[PendingWork], now_s: float) -> bool:
        """Whether the scheduler gets another cycle: some work is ready that is new or was tried long ago, and the last
        cycle is some time ago (less if the work is urgent)."""
        ago_s, tried = self._age_s(now_s), self._tried(now_s)
        return any(
            work.ready
            and work.key not in tried
            and ago_s >= (_BETWEEN_URGENT_S if work.is_urgent or self.is_short else _BETWEEN_TURNS_S)
            for work in pending_work
        )

    def _age_s(self, now_s: float) -> float:
        return now_s - self.time_s if self.time_s <= now_s else _TRIED_AGAIN_S

    def _tried(self, now_s: float) -> frozenset[str]:
        return self.served if self._age_s(now_s) < _TRIED_AGAIN_S else frozenset()


_NO_CYCLE = LastCycle()
_NO_CYCLES: Mapping[str, LastCycle] = MappingProxyType({})


class Switched(NamedTuple):
    """The schedulers that pbsteer has switched off. ``lost``: the record cannot be read. ``cycles``: the last cycle
    given to each scheduler. ``unset``: the server's own ``scheduling`` was not False when the default scheduler was
    switched off or given a cycle, or later; a False there is an administrator's from then on
    (:mod:`hooks.pbs.pause_in_server_attributes`)."""

    names: frozenset[str] = frozenset()
    lost: bool = False
    cycles: Mapping[str, LastCycle] = _NO_CYCLES
    unset: bool = False

    @classmethod
    def read(cls, state: State) -> Switched:
        """The record that earlier passes have written."""
        data = state.read_published(SCHEDULERS)
        try:
            cycles = {
                str(name): LastCycle(
                    float(cycle["time_s"]),
                    frozenset(map(str, cycle["served"])),
                    cycle.get("over") is True,
                    cycle.get("short") is True,
                )
                for name, cycle in data.get("turns", {}).items()
            }
            return cls(frozenset(map(str, data["switched"])), cycles=cycles, unset=data.get("unset") is True)
        except (AttributeError, KeyError, TypeError, ValueError):
            return cls(lost=True)

    def write(self, state: State) -> None:
        """Write the record to disk. Raises OSError if the disk does not take it."""
        cycles = {
            name: {
                "time_s": cycle.time_s,
                "served": sorted(cycle.served),
                "over": cycle.is_over,
                "short": cycle.is_short,
            }
            for name, cycle in self.cycles.items()
        }
        data = {"switched": sorted(self.names), "turns": cycles, "unset": self.unset}
        state.publish(SCHEDULERS, data, shared=False)


class Assignment(NamedTuple):
    """Which queues pbsteer drives in one pass, and which schedulers are on.

    ``driven``: the queues whose jobs this pass may start; ``off``, ``on``: the schedulers to switch; ``switched``: the
    record afterwards; ``notes``: sentences for the administrator, ``passing``: those of them that a later pass ends;
    ``paused``: the sentence on a pause, in which nothing is driven; ``stopped``: whether the server's ``scheduling`` is
    one, beside another or alone; ``kept_back``: the queues that would be driven without it; ``in_cycle``: the queues in
    ``drive`` whose scheduler has a cycle for its pending work alone, so that it may start none of their other jobs.
    """

    driven: frozenset[str]
    off: tuple[str, ...]
    on: tuple[str, ...]
    switched: Switched
    notes: tuple[str, ...]
    passing: tuple[str, ...] = ()
    paused: str = ""
    kept_back: frozenset[str] = frozenset()
    in_cycle: frozenset[str] = frozenset()
    stopped: bool = False


def assign_schedulers(
    server_status: ServerStatus, modes: Mapping[str, str], refused: Collection[str], before: Switched
) -> Assignment:
    """Assign each queue to pbsteer or to its scheduler by the queues' modes. ``refused``: queues in ``drive`` that may
    not be driven.

    A switched-off scheduler is re-enabled for one pass when a reservation or a resume in its partition needs it; the
    runjob hook refuses what else it starts there. If the record is lost, a scheduler that is off while all its queues
    are to be driven counts as switched off by pbsteer.
    """
    served = _find_served(server_status, modes)
    is_others = any(modes[each] != "drive" for each in served.get(DEFAULT_SCHEDULER, []))
    # A scheduler that we have switched off stays off in a stop also when all queues have left ``drive`` meanwhile.
    may_stop = before.unset or set(modes.values()) != {"observe"}
    stopped = may_stop and _find_stop(server_status, before, is_others)
    paused = describe_pause(server_status, stopped=stopped)
    driven: set[str] = set()
    kept_back: set[str] = set()
    off: list[str] = []
    kept: set[str] = set()
    given: set[str] = set()
    in_cycle: set[str] = set()
    notes: list[str] = []
    passing: list[str] = []
    pending_work = find_pending_work(server_status)
    cycles: dict[str, LastCycle] = {}
    for name, queues in sorted(served.items()):
        if any(modes[queue] != "drive" or queue in refused for queue in queues):
            continue
        jobs = f"the jobs of {', '.join(sorted(queues))}"
        own = _find_work_of(name, pending_work, server_status)
        to_do = "; ".join(work.what for work in own if work.ready)
        keys, cycle = frozenset(work.key for work in own), before.cycles.get(name, _NO_CYCLE)
        is_cycling = is_scheduling(server_status, name) or is_in_cycle(server_status, name)
        if cycle != _NO_CYCLE:
            cycles[name] = cycle._replace(served=cycle.served & keys, is_over=cycle.is_over or not is_cycling)
        # Once that cycle is over, a scheduler that is on was switched on by somebody else.
        if is_cycling and not cycle.is_over and 0 <= server_status.time_s - cycle.time_s < LONGEST_CYCLE_S:
            in_cycle.update(queues)
        if is_scheduling(server_status, name):
            off.append(name)
            kept.add(name)
            passing.append(f"scheduler {name} is being switched off; {jobs} start with a later pass")
            continue
        if to_do and is_down(server_status, name):
            notes.append(f"scheduler {name} does not run, and only it can do this: {to_do}")
        elif name in before.names and not paused and cycle.is_due(own, server_status.time_s):
            cycles[name] = cycle.next(own, server_status.time_s)
            given.add(name)
            in_cycle.update(queues)
            passing.append(f"scheduler {name} gets a cycle: {to_do}")
            continue
        if name in before.names or before.lost:
            kept.add(name)
        elif to_do:
            notes.append(f"scheduler {name} was switched off, but not by pbsteer: {to_do}")
        if is_in_cycle(server_status, name):
            ago_s = server_status.time_s - cycle.time_s
            if cycle.time_s and not cycle.is_over and ago_s > _LONG_CYCLE_S:
                notes.append(
                    f"scheduler {name} is in the cycle that it was given {show_duration(ago_s)} ago"
                    f" ({to_do or 'nothing waits for it any more'}); {jobs} start after it, and a restart of"
                    " pbs_sched ends it"
                )
            else:
                passing.append(f"scheduler {name} is ending its last cycle; {jobs} start after it")
        else:
            (kept_back if paused else driven).update(queues)
    if stopped:
        kept |= before.names | ({DEFAULT_SCHEDULER} if before.unset else set())
    elif is_stopped(server_status) and DEFAULT_SCHEDULER in (kept & before.names).difference(off) and not paused:
        off.append(DEFAULT_SCHEDULER)  # 0.1.0 set False: unset, so that a False of an administrator's can be told
    on = tuple(sorted(before.names - kept))
    notes += _find_idlers(server_status, modes, served, on)
    is_ours = DEFAULT_SCHEDULER in kept | given
    unset = is_ours and (before.unset or not is_stopped(server_status))
    after = Switched(frozenset(kept), cycles=cycles, unset=unset)
    pause = [paused] if paused else []
    all_notes = (*passing, *pause, *notes)
    return Assignment(
        frozenset(driven), tuple(off), on, after, all_notes, tuple(passing), paused, frozenset(kept_back),
        frozenset(in_cycle), stopped,
    )  # fmt: skip


def _find_served(server_status: ServerStatus, queues: Iterable[str]) -> Mapping[str, list[str]]:
    """The queues that each scheduler serves."""
    served: dict[str, list[str]] = {}
    for queue in queues:
        name = find_scheduler(server_status, queue)
        if name is not None:
            served.setdefault(name, []).append(queue)
    return served


def _find_work_of(
    scheduler: str, pending_work: Iterable[PendingWork], server_status: ServerStatus
) -> Sequence[PendingWork]:
    """The pending work in the scheduler's partitions, and what is in none."""
    return [
        work
        for work in pending_work
        if work.partition is None or find_scheduler_of_partition(server_status, work.partition) == scheduler
    ]


def _find_stop(server_status: ServerStatus, before: Switched, is_others: bool) -> bool:
    """Whether an administrator has stopped PBS's scheduling on the server: since pbsteer switched the default scheduler
    off or gave it a cycle, or while another starts jobs of that scheduler (``is_others``). A scheduler that was off
    before its queues were driven was switched off for them."""
    if not is_stopped(server_status) or before.lost:
        return False
    return before.unset or (is_others and DEFAULT_SCHEDULER not in before.names)


def switch(
    connection: Connection, server_status: ServerStatus, assignment: Assignment, before: Switched, state: State
) -> list[str]:
    """Switch the schedulers as assigned by ``server_status``; returns a sentence for each refusal.

    A scheduler is in the record before it is switched off, and leaves it only after it is switched on.
    """
    switched = assignment.switched
    if assignment.off or before.lost or (switched.cycles, switched.unset) != (before.cycles, before.unset):
        assignment.switched._replace(names=assignment.switched.names | before.names).write(state)
    refused = {name: _set(connection, server_status, name, scheduling=False) for name in assignment.off}
    refused.update({name: _set(connection, server_status, name, scheduling=True) for name in assignment.on})
    unset = switched.unset or (DEFAULT_SCHEDULER in assignment.off and refused[DEFAULT_SCHEDULER] is None)
    if assignment.on or unset != switched.unset:
        stubborn = {name for name in assignment.on if _is_there(refused[name])}
        switched._replace(names=switched.names | stubborn, unset=unset).write(state)
    return [str(error) for error in refused.values() if error is not None]


def trigger_cycle(connection: Connection, server_status: ServerStatus, queues: Collection[str]) -> list[str]:
    """Trigger a cycle of the schedulers of these queues, where they are on; returns a sentence for each refusal."""
    names = sorted({find_scheduler(server_status, queue) or "" for queue in queues} - {""})
    on = [name for name in names if is_scheduling(server_status, name)]
    refused = [_set(connection, server_status, name, scheduling=True) for name in on]
    return [str(error) for error in refused if error is not None]


def hand_back(pbs_ifl: Any, state: State, settings: ServerSettings) -> list[str]:
    """Switch on again every scheduler that pbsteer has switched off, whatever else fails; returns their names. The hook
    of starts is switched on before, where passes switch it, if the server does that.

    If the record cannot be read, that is every scheduler that is off and serves a queue in ``drive``. Raises
    :class:`hooks.pbs.client.pbs_ifl_client.IflError` if the server does not do it.
    """
    switched = Switched.read(state)
    with Connection(pbs_ifl) as connection:
        service = connection.read_service(0.0)
        names = switched.names
        if switched.lost:
            modes = {name: texts.get(MODE_ATTRIBUTE, settings.mode) for name, texts in service.queues.items()}
            driven = (name for name, mode in modes.items() if mode == "drive")
            names = frozenset(filter(None, (find_scheduler(service, queue) for queue in driven)))
        off = sorted(name for name in names if not is_scheduling(service, name))
        if off and settings.guard_starts == NEEDED:
            attempt(partial(connection.switch_hook, START_HOOK, enabled=True))
        for name in off:
            connection.set_scheduling(name, scheduling=True)
    return off


def is_paused(pbs_ifl: Any, state: State) -> bool:
    """Whether pbsteer is paused now, by name or by an administrator's ``scheduling = False`` of the server. Raises
    :class:`hooks.pbs.client.pbs_ifl_client.IflError` if the server does not say."""
    with Connection(pbs_ifl) as connection:
        server_status = ServerStatus(0.0, connection.read_server(), {}, {}, {}, {}, {})
    stopped = _find_stop(server_status, Switched.read(state), is_others=False)
    return bool(name_pause(server_status, stopped=stopped))


def _find_idlers(
    server_status: ServerStatus, modes: Mapping[str, str], served: Mapping[str, list[str]], on: Collection[str]
) -> list[str]:
    """A sentence for each queue whose jobs are not started because its scheduler is off or does not run."""
    sentences = []
    for name, queues in sorted(served.items()):
        for queue in queues:
            if modes[queue] == "drive" or name in on:
                continue
            if not is_scheduling(server_status, name):
                sentences.append(
                    f"queue {queue} is in {modes[queue]}, but scheduler {name} has scheduling = False: its jobs"
                    " are not started"
                )
            elif is_down(server_status, name):
                sentences.append(
                    f"queue {queue} is in {modes[queue]}, but scheduler {name} does not run (state = down): its jobs"
                    " are not started"
                )
    return sentences


def _set(connection: Connection, server_status: ServerStatus, name: str, *, scheduling: bool) -> IflError | None:
    """Switch a scheduler, unless the server's scheduling was stopped since ``server_status``: either switch of the
    default scheduler would undo that stop. Later passes see it."""

    def request() -> None:
        is_new_stop = name == DEFAULT_SCHEDULER and not is_stopped(server_status)
        if not (is_new_stop and is_stopped(replace(server_status, server=connection.read_server()))):
            connection.set_scheduling(name, scheduling=scheduling)

    return attempt(request)


def _is_there(error: IflError | None) -> bool:
    """Whether the scheduler of a refused switch still exists: a deleted one has no queues that wait for it."""
    return error is not None and error.code != _UNKNOWN_SCHEDULER
