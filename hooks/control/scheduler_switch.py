"""Who starts jobs: the scheduler object of each partition, switched off where pbsteer drives and on again where not.

A scheduler is switched off only when every queue that it serves is to be driven, and only a switch that was made here
is taken back. What was switched is on disk before it is, so that a pass that is killed leaves nothing switched off that
the next does not know of. Jobs are started only by a pass that has found the scheduler off and between two cycles.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from hooks.control.scheduler_errands import Errand, find_errands
from hooks.pbs.client import Connection, IflError
from hooks.pbs.pause import DEFAULT_SCHEDULER, is_stopped, tell_pause
from hooks.pbs.resources import MODE_ATTRIBUTE
from hooks.store.state_dir import SCHEDULERS, State

if TYPE_CHECKING:
    from hooks.pbs.status import Picture
from hooks.pbs.schedulers import _CYCLING, _find_of_partition, _state, find_scheduler, is_down, is_scheduling

_UNKNOWN_SCHEDULER = 15213
_BETWEEN_TURNS_S, _BETWEEN_URGENT_S = 60.0, 10.0
_TRIED_AGAIN_S = 120.0


class Turn(NamedTuple):
    """When a scheduler had its last turn at what only it does, in seconds since 1970, and the keys of what it had to do
    then that still waits."""

    time_s: float = 0.0
    served: frozenset[str] = frozenset()

    def is_due(self, errands: Sequence[Errand], now_s: float) -> bool:
        """Whether the scheduler gets another one: something new can be done, or was tried long ago, and the last turn
        is over for a while, a shorter one where something is urgent."""
        ago_s = now_s - self.time_s if self.time_s <= now_s else _TRIED_AGAIN_S
        tried = self.served if ago_s < _TRIED_AGAIN_S else frozenset()
        return any(
            errand.ready
            and errand.key not in tried
            and ago_s >= (_BETWEEN_URGENT_S if errand.is_urgent else _BETWEEN_TURNS_S)
            for errand in errands
        )


_NO_TURN = Turn()
_NO_TURNS: Mapping[str, Turn] = MappingProxyType({})


class Switched(NamedTuple):
    """The schedulers that pbsteer has switched off; ``lost`` where nothing can be read of what it had. ``turns`` are
    the last ones, by scheduler. ``unset`` says that the server's own ``scheduling`` was not False when the default
    scheduler was switched off or had its turn, or since: False there is an administrator's from then on
    (:mod:`hooks.pbs.pause`)."""

    names: frozenset[str] = frozenset()
    lost: bool = False
    turns: Mapping[str, Turn] = _NO_TURNS
    unset: bool = False

    @classmethod
    def read(cls, state: State) -> Switched:
        """What earlier passes have written down."""
        data = state.read_published(SCHEDULERS)
        try:
            turns = {
                str(name): Turn(float(turn["time_s"]), frozenset(map(str, turn["served"])))
                for name, turn in data.get("turns", {}).items()
            }
            return cls(frozenset(map(str, data["switched"])), turns=turns, unset=data.get("unset") is True)
        except (AttributeError, KeyError, TypeError, ValueError):
            return cls(lost=True)

    def write(self, state: State) -> None:
        """Put it on disk. Raises OSError where the disk does not take it."""
        turns = {name: {"time_s": turn.time_s, "served": sorted(turn.served)} for name, turn in self.turns.items()}
        data = {"switched": sorted(self.names), "turns": turns, "unset": self.unset}
        state.publish(SCHEDULERS, data, shared=False)


class Duties(NamedTuple):
    """Who starts what, for one pass. ``driven`` are the queues whose jobs this pass may start; ``off`` and ``on`` the
    schedulers to switch; ``switched`` what is to be remembered then; ``notes`` what an administrator should know,
    ``passing`` those of them that are over with a later pass. ``paused`` is the sentence on a pause, in which nothing
    is driven; ``kept_back`` are the queues that would be, but for it."""

    driven: frozenset[str]
    off: tuple[str, ...]
    on: tuple[str, ...]
    switched: Switched
    notes: tuple[str, ...]
    passing: tuple[str, ...] = ()
    paused: str = ""
    kept_back: frozenset[str] = frozenset()


def share_out(picture: Picture, modes: Mapping[str, str], refused: Collection[str], before: Switched) -> Duties:
    """Who starts the jobs of which queue, by the queues' modes. ``refused`` are those in ``drive`` that may not be.

    A scheduler that is off has a turn for one pass where a reservation, or a job to be resumed, of its partition needs
    it; it then starts other jobs of its partition too.
    Where it is not known what was switched, a scheduler that is off although all its queues are to be driven counts as
    one that pbsteer has switched off.
    """
    served: dict[str, list[str]] = {}
    for queue in modes:
        name = find_scheduler(picture, queue)
        if name is not None:
            served.setdefault(name, []).append(queue)
    is_others = any(modes[each] != "drive" for each in served.get(DEFAULT_SCHEDULER, []))
    stopped = set(modes.values()) != {"observe"} and _find_stop(picture, before, is_others)
    paused = tell_pause(picture, stopped=stopped)
    driven: set[str] = set()
    kept_back: set[str] = set()
    off: list[str] = []
    kept: set[str] = set()
    given: set[str] = set()
    notes: list[str] = []
    passing: list[str] = []
    errands = find_errands(picture)
    turns: dict[str, Turn] = {}
    for name, queues in sorted(served.items()):
        if any(modes[queue] != "drive" or queue in refused for queue in queues):
            continue
        jobs = f"the jobs of {', '.join(sorted(queues))}"
        own = [
            each for each in errands if each.partition is None or _find_of_partition(picture, each.partition) == name
        ]
        to_do = "; ".join(errand.what for errand in own if errand.ready)
        keys, turn = frozenset(errand.key for errand in own), before.turns.get(name, _NO_TURN)
        if turn != _NO_TURN:
            turns[name] = turn._replace(served=turn.served & keys)
        if is_scheduling(picture, name):
            off.append(name)
            kept.add(name)
            passing.append(f"scheduler {name} is being switched off; {jobs} start with a later pass")
            continue
        if name in before.names and not paused and turn.is_due(own, picture.time_s):
            turns[name] = Turn(picture.time_s, frozenset(errand.key for errand in own if errand.ready))
            given.add(name)
            passing.append(f"scheduler {name} has a turn: {to_do}")
            continue
        if name in before.names or before.lost:
            kept.add(name)
        elif to_do:
            notes.append(f"scheduler {name} was switched off by somebody else: {to_do}")
        if _state(picture, name) == _CYCLING:
            passing.append(f"scheduler {name} is ending its last cycle; {jobs} start after it")
        else:
            (kept_back if paused else driven).update(queues)
    if stopped:
        kept |= before.names | ({DEFAULT_SCHEDULER} if before.unset else set())
    on = tuple(sorted(before.names - kept))
    notes += _find_idlers(picture, modes, served, on)
    is_ours = DEFAULT_SCHEDULER in kept | given
    unset = is_ours and (before.unset or not is_stopped(picture))
    after = Switched(frozenset(kept), turns=turns, unset=unset)
    told = [paused] if paused else []
    all_notes = (*passing, *told, *notes)
    return Duties(frozenset(driven), tuple(off), on, after, all_notes, tuple(passing), paused, frozenset(kept_back))


def _find_stop(picture: Picture, before: Switched, is_others: bool) -> bool:
    """Whether an administrator has stopped PBS's scheduling on the server: since pbsteer switched the default scheduler
    off or gave it a turn, or while the jobs of that one, ``is_others``, are not pbsteer's to start. A scheduler that
    was off before its queues were driven was switched off for them."""
    if not is_stopped(picture) or before.lost:
        return False
    return before.unset or (is_others and DEFAULT_SCHEDULER not in before.names)


def switch(connection: Connection, duties: Duties, before: Switched, state: State) -> list[str]:
    """Switch the schedulers; returns sentences on what was refused.

    What is switched off is on disk before, and what is switched on is forgotten only after.
    """
    switched = duties.switched
    if duties.off or before.lost or (switched.turns, switched.unset) != (before.turns, before.unset):
        duties.switched._replace(names=duties.switched.names | before.names).write(state)
    refused = {name: _set(connection, name, scheduling=False) for name in duties.off}
    refused.update({name: _set(connection, name, scheduling=True) for name in duties.on})
    if duties.on:
        stubborn = {name for name in duties.on if _is_there(refused[name])}
        duties.switched._replace(names=duties.switched.names | stubborn).write(state)
    return [str(error) for error in refused.values() if error is not None]


def nudge(connection: Connection, picture: Picture, queues: Collection[str]) -> list[str]:
    """Have the schedulers of these queues begin a cycle now, where they are on; returns sentences on refusals."""
    names = sorted({find_scheduler(picture, queue) or "" for queue in queues} - {""})
    refused = [_set(connection, name, scheduling=True) for name in names if is_scheduling(picture, name)]
    return [str(error) for error in refused if error is not None]


def hand_back(pbs_ifl: Any, state: State, mode: str) -> list[str]:
    """Switch on again whatever pbsteer has switched off, whether or not anything else works; returns their names.

    Where the record cannot be read, that is every scheduler that is off and serves a queue in ``drive``; ``mode`` is
    that of queues that name none. Raises :class:`hooks.pbs.client.IflError` where the server does not do it.
    """
    switched = Switched.read(state)
    with Connection(pbs_ifl) as connection:
        service = connection.read_service(0.0)
        names = switched.names
        if switched.lost:
            driven = (name for name, texts in service.queues.items() if texts.get(MODE_ATTRIBUTE, mode) == "drive")
            names = frozenset(filter(None, (find_scheduler(service, queue) for queue in driven)))
        off = sorted(name for name in names if not is_scheduling(service, name))
        for name in off:
            connection.set_scheduling(name, scheduling=True)
    return off


def _find_idlers(
    picture: Picture, modes: Mapping[str, str], served: Mapping[str, list[str]], on: Collection[str]
) -> list[str]:
    """Queues whose jobs nobody starts, since their scheduler is off or does not run. One sentence each."""
    sentences = []
    for name, queues in sorted(served.items()):
        for queue in queues:
            if modes[queue] == "drive" or name in on:
                continue
            if not is_scheduling(picture, name):
                sentences.append(
                    f"queue {queue} is in {modes[queue]}, but scheduler {name} has scheduling = False: nobody starts"
                    " its jobs"
                )
            elif is_down(picture, name):
                sentences.append(
                    f"queue {queue} is in {modes[queue]}, but scheduler {name} does not run (state = down): nobody"
                    " starts its jobs"
                )
    return sentences


def _set(connection: Connection, name: str, *, scheduling: bool) -> IflError | None:
    try:
        connection.set_scheduling(name, scheduling=scheduling)
    except IflError as error:
        return error
    return None


def _is_there(error: IflError | None) -> bool:
    """Whether a scheduler that was not switched is one that can be: a deleted one has no queues to wait for it."""
    return error is not None and error.code != _UNKNOWN_SCHEDULER
