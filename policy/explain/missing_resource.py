"""Which resource a waiting job lacks, where its cores would fit; none is named where only several together keep it
waiting.

A pass has one reason for many jobs, so the resource is not in the reason: it is found from the plan on demand, once for
equal requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Callable

from policy.fit.best_fit import fits
from policy.fit.split_chunk_within_host import count_pieces, ever_holds
from policy.model.job_request import Amounts, Chunk, Request
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.pbs_units import show_resource
from policy.reasons.reason_names import MoreNumbers, ReasonCode
from policy.state.cluster_index import ClusterIndex

_NOW = frozenset({"fragmented", "reserved", "topjob-ineligible"})
_EVER = "never-fits"


class Missing:
    """The missing resources of the jobs that a cluster leaves waiting."""

    def __init__(self, cluster: ClusterIndex) -> None:
        self._cluster = cluster
        self._found: dict[tuple[Request, str, bool], str] = {}

    def numbers(self, job: Job, code: ReasonCode) -> MoreNumbers:
        """The number for :meth:`policy.reasons.reason.Reason.sentence`: ``missing`` (``ngpus=4``), for a job that waits
        for this reason; empty if no single resource keeps it waiting."""
        if code not in _NOW and code != _EVER:
            return {}
        key = (job.request, job.queue, code == _EVER)
        if key not in self._found:
            self._found[key] = self._find(*key)
        found = self._found[key]
        return {"missing": found} if found else {}

    def _find(self, request: Request, queue: str, ever: bool) -> str:
        cluster = self._cluster
        capacity, allowed = cluster.capacity, cluster.vnodes_of(queue)
        if ever:
            usable = allowed & capacity.usable

            def count(chunk: Chunk) -> int:
                return ever_holds(capacity, chunk, usable, request.place)

        else:
            open_now = allowed & capacity.open_to(request)

            def count(chunk: Chunk) -> int:
                return count_pieces(capacity, chunk, open_now & capacity.inventory.matching(chunk), chunk.pieces)

        sizes = cluster.server.sizes
        found = [text for chunk in request.chunks for text in _lacking(chunk, count, sizes, cores_too=ever)]
        if not found and not ever:
            found = [text for name in _beside_cores(request) for text in self._only(name, request, open_now)]
        return " and ".join(dict.fromkeys(found))

    def _only(self, name: str, request: Request, vnodes: int) -> list[str]:
        """What the chunks ask for of a resource, if the whole request would fit without it."""
        if not fits(self._cluster.capacity, _without(request, name), vnodes):
            return []
        sizes = self._cluster.server.sizes
        return [show_resource(*each, sizes) for chunk in request.chunks for each in chunk.amounts if each[0] == name]


def _beside_cores(request: Request) -> list[str]:
    return [name for name, _ in request.totals if name != "ncpus"]


def _without(request: Request, name: str) -> Request:
    chunks = [
        chunk._replace(amounts=tuple(each for each in chunk.amounts if each[0] != name)) for chunk in request.chunks
    ]
    return Request(tuple(chunks), request.place, request.sharing, request.group, request.owner)


def _lacking(chunk: Chunk, count: Callable[[Chunk], int], sizes: frozenset[str], *, cores_too: bool) -> Iterator[str]:
    """The resources of the chunk that are too scarce beside its cores: values that it wants of its vnode, and amounts.
    With ``cores_too`` the cores, where they are."""
    cores: Amounts = tuple(each for each in chunk.amounts if each[0] == "ncpus")
    if count(chunk._replace(amounts=cores, wants=())) < chunk.pieces:
        if cores and cores_too:
            yield show_resource(*cores[0], sizes)
        return
    for name, value in chunk.wants:
        if count(chunk._replace(amounts=cores, wants=((name, value),))) < chunk.pieces:
            yield f"{name}={value}"
    for each in chunk.amounts:
        if each[0] != "ncpus" and count(chunk._replace(amounts=tuple(sorted((*cores, each))), wants=())) < chunk.pieces:
            yield show_resource(*each, sizes)
