"""A start of the plan, as PBS has to be asked for it: what the job must say before, and the whole ``exec_vnode``.

PBS checks nothing of a start that names its vnodes, and pbs_sched is not there to do what it does beside placing: give
a shrink-to-fit job its walltime, and name every vnode of a host that a job gets alone.

The server works on one request while the next is on its way: only every so manieth start is waited for, which bounds
what may still be under way when the time is up, and of the others it is read afterwards what became of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hooks.pbs.client import Connection
from hooks.pbs.planned_start import digest_of_plan
from hooks.pbs.resources import OWN_SELECT
from hooks.pbs.status import Attributes, Picture
from hooks.pbs.striped_select import own_place
from hooks.translate.queues import read_sizes
from policy.model.allocation import Placement
from policy.model.units import SIZES
from policy.plan.plan import Start
from policy.state.cluster_index import World
from policy.striping.striping import cut, total_pieces

_UNHEARD = 30
"""Starts in a row that are not waited for: some tenths of a second of a server that runs hooks for each."""

_WAITING = "QHW"
_REFUSED = "Not Running: PBS Error: "
"""What PBS's comment of a job begins with that a hook, or the job's host, did not let start."""


class Starter:
    """Starts jobs in the order of the plan. A job array is cut into pieces once for all its subjobs."""

    def __init__(self, connection: Connection, picture: Picture, world: World) -> None:
        self._connection = connection
        self._picture = picture
        self._world = world
        self._sizes = read_sizes(picture.resources)
        self._reshaped: set[str] = set()
        self._unheard: dict[str, str] = {}
        self._since_heard = 0

    def start(self, start: Start) -> None:
        """Start the job exactly where the plan says. Raises :class:`hooks.pbs.client.IflError` for what the server
        refuses and says so; :meth:`find_refused` tells the others."""
        job_id = start.job.id
        texts = self._picture.jobs.get(job_id, {})
        chunks, walltime = find_new_chunks(start, texts, self._sizes), find_walltime(texts)
        if chunks and job_id not in self._reshaped:
            self._connection.set_chunks(job_id, chunks)
            self._reshaped.add(job_id)
        if walltime:
            self._connection.set_walltime(job_id, walltime)
        exec_vnode = find_exec_vnode(start, self._world, self._sizes)
        if self._connection.hears_starts and self._since_heard >= _UNHEARD:
            self._since_heard = 0
            self._connection.start(start.id, exec_vnode)
            return
        self._since_heard += 1
        self._connection.start_unheard(start.id, exec_vnode)
        self._unheard[start.id] = exec_vnode

    def find_refused(self) -> dict[str, str]:
        """A sentence for each job among those not waited for that still waits. Raises
        :class:`hooks.pbs.client.IflError` where the server cannot be asked."""
        if not self._unheard:
            return {}
        refused = {}
        for job_id, texts in self._connection.read_these_jobs([*self._unheard], ("job_state", "comment")).items():
            if job_id in self._unheard and texts.get("job_state", "") in _WAITING:
                comment = texts.get("comment", "")
                why = comment[len(_REFUSED) :] if comment.startswith(_REFUSED) else "the server did not do it"
                refused[job_id] = f"cannot start {job_id} on {self._unheard[job_id]}: {why}"
        return refused


def digest_starts(starts: Collection[Start], picture: Picture, queues: Collection[str]) -> dict[str, str]:
    """By job: what the starts in these queues were decided on (:mod:`hooks.pbs.planned_start`). For a subjob it is that
    of its array, whose request is the one that an owner can alter."""
    sizes = read_sizes(picture.resources)
    found = {}
    for start in starts:
        texts = picture.jobs.get(start.job.id)
        if texts is not None and start.job.queue in queues:
            found[start.id] = digest_of_plan(texts, find_changes(start, texts, sizes))
    return found


def find_changes(start: Start, texts: Attributes, sizes: Collection[str] = SIZES) -> Mapping[str, str]:
    """All that is set of what the job asks for before it starts; an empty text unsets."""
    walltime = find_walltime(texts)
    return {**find_new_chunks(start, texts, sizes), **({"walltime": walltime} if walltime else {})}


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
