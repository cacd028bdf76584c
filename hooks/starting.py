"""A start of the plan, as PBS has to be asked for it: what the job must say before, and the whole ``exec_vnode``.

PBS checks nothing of a start that names its vnodes, and pbs_sched is not there to do what it does beside placing: give
a shrink-to-fit job its walltime, and name every vnode of a host that a job gets alone.
"""

from __future__ import annotations

from collections.abc import Collection

from hooks.ifl import Connection
from hooks.picture import Attributes, Picture
from hooks.queues import read_sizes
from hooks.resources import OWN_SELECT
from hooks.stripes import own_place
from policy.placement import Placement
from policy.plan import Start
from policy.striping import cut, total_pieces
from policy.units import SIZES
from policy.world import World


class Starter:
    """Starts jobs in the order of the plan. A job array is cut into pieces once for all its subjobs."""

    def __init__(self, connection: Connection, picture: Picture, world: World) -> None:
        self._connection = connection
        self._picture = picture
        self._world = world
        self._sizes = read_sizes(picture.resources)
        self._reshaped: set[str] = set()

    def start(self, start: Start) -> None:
        """Start the job exactly where the plan says. Raises :class:`hooks.ifl.IflError` for what the server refuses."""
        job_id = start.job.id
        texts = self._picture.jobs.get(job_id, {})
        chunks, walltime = find_new_chunks(start, texts, self._sizes), find_walltime(texts)
        if chunks and job_id not in self._reshaped:
            self._connection.set_chunks(job_id, chunks)
            self._reshaped.add(job_id)
        if walltime:
            self._connection.set_walltime(job_id, walltime)
        self._connection.start(start.id, find_exec_vnode(start, self._world, self._sizes))


def find_new_chunks(start: Start, texts: Attributes, sizes: Collection[str] = SIZES) -> dict[str, str]:
    """What to set of the job's chunks before the start: cut as they were for it, else the job's own again
    (docs/policies.md, P5). The job's own select is kept beside cut ones.

    Empty where the job asks for these chunks already; ``texts`` is what it asks for now.
    """
    request = start.job.request
    pieces = cut(request) if start.placement.chunks != total_pieces(request) else None
    own, select = (texts.get(f"Resource_List.{name}", "") for name in (OWN_SELECT, "select"))
    place = {"place": own_place(texts.get("Resource_List.place", ""))} if own else {}
    if pieces is None:
        return {"select": own, **place, OWN_SELECT: ""} if own else {}
    if pieces.show_select(sizes) == select:
        return {}
    return {"select": pieces.show_select(sizes), **place, OWN_SELECT: own or request.show_select(sizes)}


def find_walltime(texts: Attributes) -> str:
    """The walltime to set before the start: a shrink-to-fit job gets the longest it may have, which is what it was
    planned with. Empty where it has one, or may run without end."""
    return "" if "Resource_List.walltime" in texts else texts.get("Resource_List.max_walltime", "")


def find_exec_vnode(start: Start, world: World, sizes: Collection[str]) -> str:
    """The placement, and the other vnodes of hosts that the job gets alone: PBS closes those that are named, no others.

    They are named without any resource, as pbs_sched does it: ``(h[0]:ncpus=4)+(h[1])``.
    """
    capacity = world.capacity
    beside = capacity.sharing.beside(_vnodes_of(start.placement, world), start.job.request)
    return "+".join([start.placement.exec_vnode(sizes), *(f"({name})" for name in capacity.directory.named(beside))])


def _vnodes_of(placement: Placement, world: World) -> int:
    mask = 0
    for share in placement.shares(world.capacity.directory):
        mask |= share.mask
    return mask
