"""Starts the plan's jobs: sets what the resource list must have first, then names the whole ``exec_vnode``.

PBS checks nothing of a start that names its vnodes, so what pbs_sched does beside placing is done here. The server
works on one request while the next is on its way, so only one start in so many waits for its reply, which bounds how
many may be under way when the time is up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hooks.pbs.client.pbs_ifl_client import Connection, IflError
from hooks.pbs.custom_resources import OWN_SELECT
from hooks.pbs.job_attributes.job_altered_since_plan import ALTERED, DIGESTED, HELD, HELD_STATES, digest_of_plan
from hooks.pbs.job_attributes.job_comment_format import refusal_in
from hooks.pbs.job_attributes.select_before_striping import own_place
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from hooks.translate.queues import read_sizes
from policy.model.allocation import Allocation
from policy.model.pbs_units import SIZES
from policy.plan.plan_types import Start
from policy.state.cluster_index import ClusterIndex
from policy.striping.spread_ranks import cut, total_pieces

CHECKED_TOGETHER = 30
"""So many jobs are read again with one request, just before they start."""
_WAITING = "QHW"


class Starter:
    """Starts jobs in the order of the plan. A job array's resource list is cut into pieces once for all its subjobs.
    ``digests`` has what each start was decided on, for those to be compared just before."""

    def __init__(
        self, connection: Connection, server_status: ServerStatus, cluster: ClusterIndex, digests: Mapping[str, str]
    ) -> None:
        self._connection = connection
        self._digests = digests
        self._server_status = server_status
        self._cluster = cluster
        self._sizes = read_sizes(server_status.resources)
        self._reshaped: set[str] = set()
        self._without_reply: dict[str, str] = {}
        self._since_reply = 0

    def find_altered(self, starts: Sequence[Start]) -> dict[str, str]:
        """A sentence for each of these starts whose digest is known and whose job was altered or held since the plan,
        or cannot be read again; a job that is gone is left to the server."""
        compared = [start for start in starts if start.id in self._digests]
        if not compared:
            return {}
        try:
            ids = [*dict.fromkeys(each.job.id for each in compared)]
            found = self._connection.read_these_jobs(ids, (*DIGESTED, "job_state"))
        except IflError as error:
            return {start.id: str(error) for start in compared}
        altered = {}
        for start in compared:
            before, now = self._server_status.jobs.get(start.job.id, {}), found.get(start.job.id)
            changes = find_changes(start, before, self._sizes)
            if now is None:
                continue
            if now.get("job_state", "") in HELD_STATES:
                altered[start.id] = f"cannot start {start.id}: {HELD}"
            elif digest_of_plan(now, changes) != self._digests[start.id]:
                altered[start.id] = f"cannot start {start.id}: {ALTERED}"
        return altered

    def start(self, start: Start) -> None:
        """Start the job exactly where the plan says. Raises :class:`hooks.pbs.client.pbs_ifl_client.IflError` if the
        server's reply is a refusal; :meth:`find_refused` has the refusals of starts that did not wait for a reply."""
        job_id = start.job.id
        texts = self._server_status.jobs.get(job_id, {})
        chunks, walltime = find_new_chunks(start, texts, self._sizes), find_walltime(texts)
        if chunks and job_id not in self._reshaped:
            self._connection.set_chunks(job_id, chunks)
            self._reshaped.add(job_id)
        if walltime:
            self._connection.set_walltime(job_id, walltime)
        exec_vnode = find_exec_vnode(start, self._cluster, self._sizes)
        if self._connection.confirms_starts and self._since_reply >= self._connection.most_starts_without_reply:
            self._since_reply = 0
            self._connection.start(start.id, exec_vnode)
            return
        self._since_reply += 1
        self._connection.start_without_reply(start.id, exec_vnode)
        self._without_reply[start.id] = exec_vnode

    def find_refused(self) -> dict[str, str]:
        """A sentence for each job that still waits, of those started without waiting for a reply. Raises
        :class:`hooks.pbs.client.pbs_ifl_client.IflError` if the server cannot be reached."""
        if not self._without_reply:
            return {}
        refused = {}
        for job_id, texts in self._connection.read_these_jobs([*self._without_reply], ("job_state", "comment")).items():
            if job_id in self._without_reply and texts.get("job_state", "") in _WAITING:
                why = refusal_in(texts.get("comment", "")) or "the server did not do it"
                refused[job_id] = f"cannot start {job_id} on {self._without_reply[job_id]}: {why}"
        return refused


def digest_starts(starts: Collection[Start], server_status: ServerStatus, queues: Collection[str]) -> dict[str, str]:
    """By job, a digest of what the starts in these queues were decided on
    (:mod:`hooks.pbs.job_attributes.job_altered_since_plan`). A subjob has that of its array, whose resource list is the
    one that an owner can alter."""
    sizes = read_sizes(server_status.resources)
    found = {}
    for start in starts:
        texts = server_status.jobs.get(start.job.id)
        if texts is not None and start.job.queue in queues:
            found[start.id] = digest_of_plan(texts, find_changes(start, texts, sizes))
    return found


def find_changes(start: Start, texts: Attributes, sizes: Collection[str] = SIZES) -> Mapping[str, str]:
    """All changes to the resource list before the start; an empty text unsets."""
    walltime = find_walltime(texts)
    return {**find_new_chunks(start, texts, sizes), **({"walltime": walltime} if walltime else {})}


def find_new_chunks(start: Start, texts: Attributes, sizes: Collection[str] = SIZES) -> dict[str, str]:
    """The changes to the job's chunks before the start: cut as the plan has them, else the job's own again
    (docs/policies.md, P5). The job's own select is stored beside a cut one.

    Empty if the job has these chunks already; ``texts`` are its present attributes.
    """
    request = start.job.request
    pieces = cut(request) if start.allocation.chunks != total_pieces(request) else None
    own, select = (texts.get(f"Resource_List.{name}", "") for name in (OWN_SELECT, "select"))
    place = {"place": own_place(texts.get("Resource_List.place", ""))} if own else {}
    if pieces is None:
        return {"select": own, **place, OWN_SELECT: ""} if own else {}
    if pieces.show_select(sizes) == select:
        return {}
    return {"select": pieces.show_select(sizes), **place, OWN_SELECT: own or request.show_select(sizes)}


def find_walltime(texts: Attributes) -> str:
    """The walltime to set before the start: a shrink-to-fit job gets the longest that it may have, with which it was
    planned. Empty if it has a walltime, or may run without end."""
    return "" if "Resource_List.walltime" in texts else texts.get("Resource_List.max_walltime", "")


def find_exec_vnode(start: Start, cluster: ClusterIndex, sizes: Collection[str]) -> str:
    """The allocation, and the other vnodes of hosts that the job gets alone: PBS closes only vnodes that are named.

    They are named without resources, as pbs_sched does: ``(h[0]:ncpus=4)+(h[1])``.
    """
    capacity = cluster.capacity
    beside = capacity.sharing.beside(_vnodes_of(start.allocation, cluster), start.job.request)
    return "+".join([start.allocation.exec_vnode(sizes), *(f"({name})" for name in capacity.directory.named(beside))])


def _vnodes_of(allocation: Allocation, cluster: ClusterIndex) -> int:
    mask = 0
    for share in allocation.shares(cluster.capacity.directory):
        mask |= share.mask
    return mask
