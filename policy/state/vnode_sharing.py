"""Which vnodes a job has to itself: by its own ``place``, or by the vnode's ``sharing``.

A vnode's ``sharing`` may be a default, which a job's own sharing overrides, or may be forced on every job; with the
``exclhost`` forms the job has the whole host (Administrator's Guide, "Configuring Vnodes").
"""

from __future__ import annotations

from collections.abc import Mapping

from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import Vnode
from policy.state.vnode_totals_hosts_and_matching import Inventory


class Sharing:
    """The vnodes of an inventory by how they share.

    ``has_lone_vnodes``: some vnode gives itself to one job alone though the job does not ask for that. ``gives_hosts``:
    some vnode gives its whole host.
    """

    __slots__ = ("_alone", "_by_host", "_forced", "_ignoring", "_inventory", "gives_hosts", "has_lone_vnodes")

    def __init__(self, vnodes: Mapping[str, Vnode], inventory: Inventory) -> None:
        self._inventory = inventory
        self._alone = self._forced = self._by_host = self._ignoring = 0
        for name, bit in inventory.directory.bits.items():
            sharing = vnodes[name].sharing
            self._alone |= bit if sharing in ("default_excl", "default_exclhost") else 0
            self._forced |= bit if sharing in ("force_excl", "force_exclhost") else 0
            self._by_host |= bit if sharing in ("default_exclhost", "force_exclhost") else 0
            self._ignoring |= bit if sharing == "ignore_excl" else 0
        self.has_lone_vnodes = bool(self._alone | self._forced)
        self.gives_hosts = bool(self._by_host)

    def held_alone(self, vnodes: int, request: Request) -> int:
        """The vnodes that a job with this request holds alone when it is on ``vnodes``, including those of whole
        hosts."""
        if not (request.exclusive or self.has_lone_vnodes):
            return 0
        held = vnodes & (~self._ignoring if request.exclusive else self._lone(request))
        by_host = held if request.sharing == "exclhost" else held & self._exclhost(request)
        return held | self._inventory.hosts_of(by_host) if by_host else held

    def shared_by(self, request: Request) -> int:
        """The vnodes that a job with this request would not hold alone."""
        return self._ignoring if request.exclusive else ~self._lone(request)

    def closed_beside(self, taken: int, request: Request) -> int:
        """The vnodes on which a job with this request would hold one of the ``taken`` vnodes alone: those of them that
        it does not share, and all of a host of which it would get the whole."""
        by_host = -1 if request.sharing == "exclhost" else self._exclhost(request)
        alone = taken & ~self.shared_by(request)
        return alone | (by_host & self._inventory.hosts_of(taken)) if by_host else alone

    def reach(self, vnodes: int, request: Request) -> int:
        """These vnodes, and the others on which no run may be left if a job with this request is to start here: those
        of the hosts that it gets whole."""
        by_host = vnodes if request.sharing == "exclhost" else vnodes & self._exclhost(request)
        return vnodes | self._inventory.hosts_of(by_host) if by_host else vnodes

    def whole(self, empty: int, request: Request) -> int:
        """Those of the empty vnodes that the job may hold alone. Where it gets the host, all of the host must be
        empty."""
        inventory = self._inventory
        by_host = -1 if request.sharing == "exclhost" else self._exclhost(request)
        if not by_host or inventory.one_vnode_per_host:
            return empty
        return empty & ~(by_host & inventory.hosts_of(~empty & inventory.everywhere))

    def beside(self, vnodes: int, request: Request) -> int:
        """The further vnodes that the job holds alone when it is on these: the rest of the hosts that it gets whole."""
        return self.held_alone(vnodes, request) & ~vnodes

    def _lone(self, request: Request) -> int:
        """The vnodes that give themselves to one job alone, if the job has this request."""
        return self._forced if request.sharing == "shared" else self._forced | self._alone

    def _exclhost(self, request: Request) -> int:
        """The vnodes that give a job with this request their whole host."""
        return self._by_host & (self._forced if request.sharing else -1)
