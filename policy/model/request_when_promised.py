"""What a job requested when it got a promise or an earmark (docs/policies.md, P3).

A promise stands while the job asks for the same or less, and lapses once it asks for more cores or other resources, for
other vnodes or another queue, or for more time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from policy.model.job_request import Amounts, Chunk, Grouping, Owner, Request
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job


class RequestWhenPromised(NamedTuple):
    """The queue, walltime, request and job-wide consumables (licences) of a job as its user gave them, before any
    striping."""

    queue: str
    estimate_s: float
    request: Request
    job_wide: Amounts = ()

    @classmethod
    def of(cls, job: Job) -> RequestWhenPromised:
        """What the job asks for now."""
        return cls(job.queue, job.estimate_s, job.request, job.job_wide)

    def is_unaltered(self, job: Job) -> bool:
        """Whether the job still asks for exactly this."""
        queue, estimate_s, request, job_wide = self
        return (
            estimate_s == job.estimate_s
            and (request is job.request or request == job.request)
            and queue == job.queue
            and job_wide == job.job_wide
        )

    def is_same(self, job: Job) -> bool:
        """Whether the job asks for this very request, and for no more of the rest. An earmark needs this, as its cores
        fit no other shape."""
        return self.covers(job) and job.request == self.request

    def covers(self, job: Job) -> bool:
        """Whether the job asks for this, or for less of it on vnodes of the same kinds."""
        if job.queue != self.queue or job.estimate_s > self.estimate_s or not _at_most(job.job_wide, self.job_wide):
            return False
        now, then = job.request, self.request
        if now is then or now == then:
            return True
        if (now.place, now.sharing, now.group) != (then.place, then.sharing, then.group):
            return False
        left = list(then.chunks)
        for chunk in now.chunks:
            larger = next((index for index, other in enumerate(left) if _is_part(chunk, other)), None)
            if larger is None:
                return False
            del left[larger]
        return True

    def to_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        request = self.request
        return {
            "queue": self.queue,
            "estimate_s": None if self.estimate_s == UNLIMITED_S else self.estimate_s,
            "job_wide": dict(self.job_wide),
            "place": [request.place, request.sharing, request.group and [list(request.group[0]), *request.group[1:]]],
            **({} if request.owner is None else {"owner": list(request.owner)}),
            "chunks": [
                [chunk.pieces, dict(chunk.amounts), list(map(list, chunk.wants)), chunk.mpiprocs, chunk.ompthreads]
                for chunk in request.chunks
            ],
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> RequestWhenPromised:
        """Read back what :meth:`to_data` gave. Raises TypeError, ValueError, KeyError, AttributeError or
        OverflowError for other data."""
        place, sharing, sets = data["place"]
        chunks = tuple(
            Chunk(
                int(pieces),
                _amounts(amounts),
                tuple((str(name), str(value)) for name, value in wants),
                *map(_rank, ranks),
            )
            for pieces, amounts, wants, *ranks in data["chunks"]
        )
        request = Request(chunks, str(place), str(sharing), None if sets is None else _grouping(sets), _owner(data))
        estimate_s = UNLIMITED_S if data["estimate_s"] is None else float(data["estimate_s"])
        return cls(str(data["queue"]), estimate_s, request, _amounts(data["job_wide"]))


def _is_part(chunk: Chunk, other: Chunk) -> bool:
    """Whether a chunk asks for no more pieces than the other, with no more in each, on vnodes of the same kind."""
    return chunk.pieces <= other.pieces and chunk.wants == other.wants and _at_most(chunk.amounts, other.amounts)


def _at_most(amounts: Amounts, others: Amounts) -> bool:
    there = dict(others)
    return all(amount <= there.get(name, 0) for name, amount in amounts)


def _grouping(data: Any) -> Grouping:
    if isinstance(data, str):
        # Ledgers of 0.1 have the resource of a job's own sets alone.
        return Grouping((data,))
    resources, has_rest, may_span = data
    return Grouping(tuple(map(str, resources)), bool(has_rest), bool(may_span))


def _owner(data: Mapping[str, Any]) -> Owner | None:
    if "owner" not in data:
        return None
    user, group = data["owner"]
    return str(user), str(group)


def _rank(count: Any) -> int | None:
    return None if count is None else int(count)


def _amounts(data: Mapping[str, Any]) -> Amounts:
    return tuple(sorted((str(name), int(amount)) for name, amount in data.items()))
