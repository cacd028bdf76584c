"""Which sockets and cores of its vnodes a run gets: the emptiest socket first, all of it before a part of the next, and
never a core on another run's list.

The lists of present runs are given, not derived from their allocations: a list derived anew from the runs that are left
would move runs that have not moved (docs/policies.md, P4).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from policy.model.allocation import Allocation, Cores
from policy.model.jobs_runs_vnodes_queues import Vnode


class CoreBook:
    """The core lists of all runs, by run: those of present runs, and those of starts as they are chosen one after the
    other."""

    def __init__(self, vnodes: Mapping[str, Vnode], lists: Mapping[str, Cores] = MappingProxyType({})) -> None:
        self._vnodes = vnodes
        self._taken: dict[str, set[int]] = {}
        self.lists: dict[str, Cores] = {}
        for run, cores in lists.items():
            self._note(run, cores)

    def give(self, run: str, allocation: Allocation) -> Cores:
        """Choose and remember the cores of a start, vnode by vnode in the order of its chunks.

        A vnode with too few cores off all lists is left out: which of its cores are free is unknown.
        """
        chosen = {
            name: choose_cores(self._vnodes[name], self._taken.get(name, ()), held.get("ncpus", 0))
            for name, held in allocation.by_vnode().items()
            if name in self._vnodes
        }
        cores = {name: numbers for name, numbers in chosen.items() if numbers}
        self._note(run, cores)
        return cores

    def take_back(self, run: str) -> None:
        """Forget a run that has ended or does not start after all."""
        for name, cores in self.lists.pop(run, {}).items():
            self._taken[name].difference_update(cores)

    def _note(self, run: str, cores: Cores) -> None:
        self.lists[run] = cores
        for name, numbers in cores.items():
            self._taken.setdefault(name, set()).update(numbers)


def choose_cores(vnode: Vnode, taken: Collection[int], count: int) -> tuple[int, ...]:
    """``count`` cores of a vnode that are not taken: the emptiest socket first (ties: the lowest number), all of it
    before a part of the next. Empty where fewer are left."""
    free = [[core for core in socket if core not in taken] for socket in sockets(vnode)]
    emptiest_first = sorted(free, key=len, reverse=True)
    cores = [core for socket in emptiest_first for core in socket][:count]
    return tuple(cores) if len(cores) == count else ()


def sockets(vnode: Vnode) -> list[range]:
    """The cores of each socket, by the vnode's ``sockets`` or ``cores_per_socket`` (the latter decides where both are
    set). One socket with all cores where it has neither, or they make no sense."""
    cores = vnode.available.get("ncpus", 0)
    each = _positive(vnode, "cores_per_socket") or -(-cores // (_positive(vnode, "sockets") or 1))
    return [range(first, min(first + each, cores)) for first in range(0, cores, each)] if each else []


def sockets_of(vnode: Vnode, cores: Collection[int]) -> tuple[int, ...]:
    """The numbers of the sockets that these cores are on."""
    return tuple(number for number, socket in enumerate(sockets(vnode)) if any(core in socket for core in cores))


def _positive(vnode: Vnode, attribute: str) -> int:
    text = vnode.attributes.get(attribute, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
