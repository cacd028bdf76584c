"""What changed while the console was open: counts of jobs, and single events of vnodes, queues and quotas.

After each poll two server statuses are compared, in the poller's thread. They do not show who made a change; the audit
file may (:func:`tui.pages.cluster.changes_since_opened.changed_lines` joins the two).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hooks.pbs.custom_resources import MODE_ATTRIBUTE
from hooks.pbs.job_attributes.job_ids_and_states import waits_again
from hooks.pbs.server_status_type_and_attributes import Objects, ServerStatus
from policy.model.limit_attributes import EntityKey, LimitError, Limits, parse_limits, show_entity
from tui.model.typed_attributes import RUNNING_STATES, Attributes, vnode_state
from tui.text.name_ranges import folded_names

_MOST_EVENTS = 200
_LIMITS = ("max_run_res_soft.", "max_run_res.", "max_run")
_SWITCHES = {
    "started": ("starts jobs again", "no longer starts jobs"),
    "enabled": ("takes jobs again", "takes no more jobs"),
}
_UNSEEN_STATES = {"job-busy": "free", "job-exclusive": "free"}
_SET_BY_COMMAND = {"offline"}
"""The part of a vnode's state that a command sets or removes; the server finds all others."""


class Asked(NamedTuple):
    """What the commands that made a change have asked for: ``what`` of each of ``names``, objects of one ``kind`` as
    the server's commands name it. ``what`` is ``create``, ``delete`` or an attribute, ``entry`` the entity whose entry
    of a limit it is."""

    kind: str
    names: tuple[str, ...]
    what: str
    entry: str = ""


class Event(NamedTuple):
    """One change. ``asked`` is None where no command makes such a change: a vnode goes down by itself."""

    time_s: float
    text: str
    asked: Asked | None
    bad: bool = False


@dataclass(frozen=True)
class ServerChanges:
    """Changes since ``since_s``, the newest event last. Immutable: :meth:`compared` returns the next value."""

    since_s: float
    submitted: int = 0
    started: int = 0
    ended: int = 0
    preempted: int = 0
    requeued: int = 0
    events: tuple[Event, ...] = ()

    def compared(
        self,
        before: ServerStatus,
        after: ServerStatus,
        preempted_before: Mapping[str, int],
        preempted: Mapping[str, int],
    ) -> ServerChanges:
        """With the changes from ``before`` to ``after``; the other two are the ledger's preemption counts at each."""
        submitted = started = 0
        back: list[str] = []
        old_jobs = before.jobs
        for job_id, job in after.jobs.items():
            old = old_jobs.get(job_id)
            if old is job:
                continue
            state = job.get("job_state")
            if old is not None and old.get("job_state") == state:
                continue
            runs = state in RUNNING_STATES
            if old is None:
                # A new subjob id is no submission: its array was submitted.
                submitted += "[" not in job_id or "[]" in job_id
                started += runs
            elif runs != (old.get("job_state") in RUNNING_STATES):
                started += runs
                if not runs:
                    back.append(job_id)
        gone = [
            job_id
            for job_id in old_jobs.keys() - after.jobs.keys()
            if old_jobs[job_id].get("job_state") in RUNNING_STATES
        ]
        waiting = [job_id for job_id in gone if waits_again(job_id, after.jobs)]
        back += waiting
        cut = sum(preempted.get(job_id, 0) > preempted_before.get(job_id, 0) for job_id in back)
        events = (*self.events, *_vnodes(before, after), *_queues(before, after), *_server(before, after))
        return ServerChanges(
            self.since_s,
            self.submitted + submitted,
            self.started + started,
            self.ended + len(gone) - len(waiting),
            self.preempted + cut,
            self.requeued + len(back) - cut,
            events[-_MOST_EVENTS:],
        )


def _vnodes(before: ServerStatus, after: ServerStatus) -> Iterator[Event]:
    """Vnodes that were added, changed state or are gone; those with the same change in one poll share an event."""
    moved: dict[tuple[str, bool, str], list[str]] = defaultdict(list)
    for name, vnode in after.vnodes.items():
        old = before.vnodes.get(name)
        if old is vnode:
            continue
        if old is None:
            moved["added", False, "create"].append(name)
        elif old.get("state") != vnode.get("state"):
            was, state = _settled(old), _settled(vnode)
            if was != state:
                what = "state" if _parts(was) ^ _parts(state) == _SET_BY_COMMAND else ""
                moved["back" if state == "free" else state, "down" in state, what].append(name)
    gone = [name for name in before.vnodes if name not in after.vnodes]
    if gone:
        moved["gone", True, "delete"] = gone
    for (words, bad, what), names in moved.items():
        asked = Asked("node", tuple(names), what) if what else None
        yield Event(after.time_s, f"{folded_names(names)} {words}", asked, bad)


def _settled(vnode: Attributes) -> str:
    """The state in words, where free and in use by jobs count as the same."""
    state = vnode_state(vnode)
    return _UNSEEN_STATES.get(state.words, state.words)


def _parts(state: str) -> set[str]:
    """The parts of a state, without those that say how full the vnode is."""
    return {part.strip() for part in state.split(",")} - {"free", *_UNSEEN_STATES}


def _queues(before: ServerStatus, after: ServerStatus) -> Iterator[Event]:
    for queue, texts in after.queues.items():
        old = before.queues.get(queue)
        if old is None:
            yield Event(after.time_s, f"queue {queue} created", Asked("queue", (queue,), "create"))
            continue
        if old == texts:
            continue
        for name, (on, off) in _SWITCHES.items():
            if old.get(name, "True") != texts.get(name, "True"):
                switched = on if texts.get(name) == "True" else off
                yield Event(after.time_s, f"{queue} {switched}", Asked("queue", (queue,), name))
        modes = tuple(each.get(MODE_ATTRIBUTE, "the settings' mode") for each in (old, texts))
        if modes[0] != modes[1]:
            asked = Asked("queue", (queue,), MODE_ATTRIBUTE)
            yield Event(after.time_s, f"{queue} went from {modes[0]} to {modes[1]}", asked)
        yield from _limits(after.time_s, queue, old, texts)
    for queue in _gone(before.queues, after.queues):
        yield Event(after.time_s, f"queue {queue} deleted", Asked("queue", (queue,), "delete"), bad=True)


def _gone(before: Objects, after: Objects) -> list[str]:
    return [name for name in before if name not in after]


def _limits(time_s: float, queue: str, old: Attributes, new: Attributes) -> Iterator[Event]:
    """One event for each entry of a limit that changed."""
    names = [name for name in {**old, **new} if name.startswith(_LIMITS) and old.get(name) != new.get(name)]
    for name in names:
        before, after = _entries(old.get(name, "")), _entries(new.get(name, ""))
        short = name.removeprefix("max_run_res_soft.") if "soft" in name else name
        for entity in {**before, **after}:
            was, now = before.get(entity), after.get(entity)
            if was != now:
                shown = show_entity(entity)
                change = f"{_number(was)} → {_number(now)}"
                asked = Asked("queue", (queue,), name, shown)
                yield Event(time_s, f"{shown} in {queue}: {short} {change}", asked)


def _entries(text: str) -> Mapping[EntityKey, int]:
    try:
        return parse_limits(text, "limit").entries
    except LimitError:
        return Limits().entries


def _number(number: int | None) -> str:
    return "none" if number is None else f"{number:,}"


def _server(before: ServerStatus, after: ServerStatus) -> Iterator[Event]:
    for name, scheduler in after.scheds.items():
        old = before.scheds.get(name, scheduler).get("scheduling")
        new = scheduler.get("scheduling")
        if old != new:
            asked = Asked("sched", (name,), "scheduling")
            yield Event(after.time_s, f"scheduler {name}: scheduling {old} → {new}", asked)
