"""A change foreseen, as lines: which jobs it starts, preempts, spares or leaves waiting, now and later.

What a mode does not carry out is said as what would be, job by job, since each queue has a mode of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from policy.explain.preview import Effect, Preview
from tui.model.typed_attributes import array_of
from tui.state.cluster_view import World
from tui.state.mode_words import is_done, why_undone
from tui.text.lines import Line, safe

_ROLES = {
    "starts": "good",
    "spared": "good",
    "gets-cores": "good",
    "safe": "good",
    "preempted": "warn",
    "stays-queued": "warn",
    "loses-cores": "warn",
    "open": "warn",
}
_PREEMPTIONS = frozenset({"preempted", "spared", "safe", "open"})
_MOST = 5


def effect_lines(foreseen: Preview, world: World) -> list[Line]:
    """One line for each job that fares differently; one line where nobody does. ``world`` is the one as it is."""
    if not foreseen.effects and not foreseen.later:
        return [(("nothing would be decided differently, in the next pass or later", "dim"),)]
    return [
        *_part("in the next pass", foreseen.effects, world),
        *_part("from then on", foreseen.later, world),
        *_unacted(world, foreseen.effects),
    ]


def _unacted(world: World, effects: Sequence[Effect]) -> list[Line]:
    """For each queue concerned that is not driven, what its mode leaves undone, or the pause that does."""
    concerned = {queue for effect in effects for queue in [_queue_of(world, effect)] if queue}
    unacted = [why_undone(world, queue, preemption=False) for queue in sorted(concerned or world.modes)]
    return [((safe(why), "dim"),) for why in dict.fromkeys(unacted) if why]


def _queue_of(world: World, effect: Effect) -> str:
    jobs = world.picture.jobs
    return (jobs.get(effect.job) or jobs.get(array_of(effect.job)) or {}).get("queue", "")


def _sentence(world: World, effect: Effect) -> str:
    done = is_done(world, _queue_of(world, effect), preemption=effect.kind in _PREEMPTIONS)
    return effect.sentence if done else effect.would


def _part(title: str, effects: Sequence[Effect], world: World) -> list[Line]:
    lines: list[Line] = [((title, "title"),)]
    if not effects:
        return [*lines, (("  nobody fares differently", "dim"),)]
    lines += [((f"  {safe(_sentence(world, effect))}", _ROLES.get(effect.kind, "")),) for effect in effects[:_MOST]]
    more = len(effects) - _MOST
    return [*lines, ((f"  and {more:,} more", "dim"),)] if more > 0 else lines
