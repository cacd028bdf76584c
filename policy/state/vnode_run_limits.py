"""Run limits of vnodes: how many jobs run on each vnode that limits them, and which vnodes are full for whom.

PBS's scheduler starts no job on a vnode with ``max_running`` jobs, or with ``max_user_run`` jobs of its user or
``max_group_run`` of its group (its function ``is_vnode_eligible``; Administrator's Guide, "Limits on Vnodes").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from policy.model.allocation import Directory, Share
from policy.model.job_request import Owner
from policy.model.jobs_runs_vnodes_queues import Vnode
from policy.model.limit_attributes import ALL, EntityKey

_NAMES = {"o": "max_running", "u": "max_user_run", "g": "max_group_run"}


class RunCounts:
    """The jobs of each owner on the vnodes with run limits. Counting a job and taking it back are exact inverses."""

    __slots__ = ("_limited", "_limits", "_running")

    def __init__(self, limits: Mapping[str, Mapping[int, int]]) -> None:
        """``limits``: by kind of entity (``o``, ``u`` or ``g``), the vnodes that have each limit."""
        self._limits = limits
        self._limited = 0
        for of_kind in limits.values():
            for vnodes in of_kind.values():
                self._limited |= vnodes
        # By entity: at index n the vnodes on which more than n of its jobs run.
        self._running: dict[EntityKey, tuple[int, ...]] = {}

    def copy(self) -> RunCounts:
        """An independent copy."""
        twin = RunCounts(self._limits)
        twin._running = dict(self._running)
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RunCounts):
            return NotImplemented
        return (self._limits, self._running) == (other._limits, other._running)

    __hash__ = None  # type: ignore[assignment]  # the counts change

    def count(self, shares: Iterable[Share], owner: Owner | None, sign: int) -> None:
        """Count a job of this owner on the vnodes of its shares, once on each; with ``sign`` -1, take it back. A part
        of a job has no owner, and does not count."""
        if owner is None:
            return
        here = 0
        for share in shares:
            here |= share.mask
        here &= self._limited
        if here:
            for entity in _entities(owner):
                running = (
                    _more(self._running.get(entity, ()), here) if sign > 0 else _fewer(self._running[entity], here)
                )
                if running:
                    self._running[entity] = running
                else:
                    del self._running[entity]

    def closed_to(self, owner: Owner) -> int:
        """The vnodes on which as many jobs run as may beside another one of this owner."""
        closed = 0
        for entity in _entities(owner):
            closed |= self._full(entity)
        return closed

    def in_the_way(self, owner: Owner, vnodes: int) -> Sequence[str]:
        """The names of the limits that close some of these vnodes to another job of this owner."""
        return [_NAMES[entity[0]] for entity in _entities(owner) if self._full(entity) & vnodes]

    def _full(self, entity: EntityKey) -> int:
        running = self._running.get(entity, ())
        full = 0
        for limit, vnodes in self._limits.get(entity[0], {}).items():
            if limit <= 0:
                full |= vnodes
            elif limit <= len(running):
                full |= vnodes & running[limit - 1]
        return full


def count_runs(vnodes: Mapping[str, Vnode], directory: Directory) -> RunCounts | None:
    """The counts of an idle cluster; None if no vnode has a run limit."""
    limits: dict[str, dict[int, int]] = {}
    for name, vnode in vnodes.items():
        if vnode.run_limits is not None:
            for kind, limit in zip("oug", vnode.run_limits):
                if limit is not None:
                    of_kind = limits.setdefault(kind, {})
                    of_kind[limit] = of_kind.get(limit, 0) | directory.bits[name]
    return RunCounts(limits) if limits else None


def _entities(owner: Owner) -> tuple[EntityKey, EntityKey, EntityKey]:
    user, group = owner
    return (ALL, ("u", user), ("g", group))


def _more(running: Sequence[int], vnodes: int) -> tuple[int, ...]:
    """The counts with one more on each of these vnodes."""
    counts: list[int] = []
    for there in running:
        counts.append(there | vnodes)
        vnodes &= there
    return (*counts, vnodes) if vnodes else tuple(counts)


def _fewer(running: Sequence[int], vnodes: int) -> tuple[int, ...]:
    """The counts with one fewer on each of these vnodes, which all have one."""
    counts: list[int] = []
    for there in reversed(running):
        counts.append(there & ~vnodes)
        vnodes &= ~there
    while counts and not counts[0]:
        del counts[0]
    return tuple(reversed(counts))
