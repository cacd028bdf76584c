"""Where a job goes: packed, striped or ranked, by its own preference or by the site's settings (docs/policies.md, P4
and P5).

A stripe that finds no room is tried narrower, then the job is packed; the reason of the layout is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from policy.fit.best_fit import fit, fits
from policy.fit.split_chunk_within_host import may_span
from policy.model.allocation import Allocation
from policy.model.job_preferences import Layout, RankPreference, Requirements
from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.ledger_between_passes import Ledger
from policy.model.vnode_bitsets import each_bit
from policy.ranking.ranked_fit import Order, fit_ranked
from policy.ranking.vnode_ranking_and_requirements import Ranking
from policy.reasons.reason import Reason
from policy.reasons.reason_names import Numbers
from policy.settings.site_settings import Settings
from policy.state.cluster_index import ClusterIndex
from policy.striping.batch_of_waiting_jobs import Batch, Extent, describe_batch
from policy.striping.idle_and_shared_nodes import StripeNodes
from policy.striping.layout_learning import application_key
from policy.striping.layout_of_job import ChosenLayout, Surroundings, layout_of
from policy.striping.spread_ranks import Domains, cut, stripe, stripe_over_domains, total_pieces, widths
from policy.striping.vnodes_of_applications import VnodesOfApplications, touched

_NO_NEEDS = Requirements()


def _requires(job: Job) -> bool:
    """Whether the job requires something of its vnodes."""
    return job.rank is not None and job.rank.needs != _NO_NEEDS


class _Laid(NamedTuple):
    """The last result of :meth:`Placer.place` for a job, whether it is a stripe, and why it is laid out so."""

    allocation: Allocation | None
    striped: bool
    why: Reason


class Placer:
    """Places the jobs of one pass. Each start must be reported to it, so that its tables of the vnodes stay right."""

    __slots__ = (
        "_applications",
        "_around",
        "_batches",
        "_begun",
        "_capacity",
        "_cluster",
        "_laid",
        "_ledger",
        "_made",
        "_nodes",
        "_now_s",
        "_plain",
        "_ranking_settings",
        "_running",
        "_settings",
    )  # fmt: skip

    def __init__(self, cluster: ClusterIndex, settings: Settings, ledger: Ledger, now_s: float) -> None:
        self._cluster = cluster
        self._capacity = cluster.capacity
        self._settings = settings.stripe
        self._ledger = ledger
        self._now_s = now_s
        self._ranking_settings = settings.ranking
        self._made: Ranking | None = None
        self._plain = not settings.stripe.lays_out and settings.ranking.mode == "none"
        self._nodes: StripeNodes | None = None
        self._applications = VnodesOfApplications(cluster)
        self._running: dict[str, int] | None = None
        self._laid: dict[str, _Laid] = {}
        self._begun: list[tuple[Job, Allocation]] = []
        self._batches: dict[int, Batch] = {}
        self._around = Surroundings(self._running_of, self._extent_of, self._batch_of)

    @property
    def _ranking(self) -> Ranking:
        """The rankings of the pass, made on first use."""
        if self._made is None:
            self._made = Ranking(self._cluster, self._ranking_settings, self._now_s)
        return self._made

    def place(self, job: Job, allowed: int) -> Allocation | Reason | None:
        """Where the job can start now, on the allowed vnodes only.

        A Reason if it would fit but must not start yet; such a job blocks no other. None if it does not fit what is
        free.
        """
        if self._plain and job.layout is None and job.rank is None:
            return fit(self._capacity, job.request, allowed, self._cluster.vnodes_of(job.queue))
        preference = self._ranking.preference_of(job)
        if preference is None:
            return self._lay_out(job, allowed, None)
        good, ever = allowed & self._ranking.compliant(preference), self._cluster.vnodes_of(job.queue)
        allocation = self._lay_out(job, good, preference)
        if allocation is None and good != allowed and fits(self._capacity, job.request, allowed, ever):
            return self._ranking.missing(preference, allowed)
        return allocation

    def worth_clearing(self, job: Job, allowed: int) -> int:
        """Those of the vnodes on which runs may be preempted for the job: all where it requires nothing of its
        vnodes."""
        if job.rank is None or not _requires(job):
            return allowed
        request = job.request
        is_split = any(may_span(self._capacity, chunk, request.place) for chunk in request.chunks)
        cores = 0 if is_split else min(chunk.cores for chunk in request.chunks)
        return allowed & self._ranking.worth_clearing(job.rank, cores)

    def why_not_good_enough(self, preference: RankPreference, allowed: int) -> Reason:
        """Why none of the vnodes is good enough for the job with this preference."""
        return self._ranking.missing(preference, allowed)

    def is_good_enough(self, job: Job, vnodes: int) -> bool:
        """Whether all of these vnodes meet what the job requires of them now."""
        return job.rank is None or not _requires(job) or not vnodes & ~self._ranking.compliant(job.rank)

    def started(self, job: Job, allocation: Allocation) -> None:
        """Note a start of this pass; the cluster index must show it already."""
        if self._made is not None:
            self._made.started(job, allocation)
        if self._running is not None and job.application:
            key = application_key(job.user, job.application, self._settings)
            self._running[key] = self._running.get(key, 0) + 1
        if job.application:
            self._applications.note(job.application, allocation)
        laid = self._laid.get(job.id)
        striped = laid is not None and laid.striped and laid.allocation is allocation
        if self._nodes is not None:
            self._nodes.note_start(job, allocation, striped)
        if striped:
            self._begun.append((job, allocation))

    def taken_back(self, job: Job, allocation: Allocation) -> None:
        """Note that a start of this pass is cancelled."""
        if self._made is not None:
            self._made.taken_back(job, allocation)
        if self._running is not None and job.application:
            self._running[application_key(job.user, job.application, self._settings)] -= 1
        if job.application:
            self._applications.forget(job.application)
        # The table of nodes is made anew on its next use, without this start.
        self._nodes = None
        self._begun = [begun for begun in self._begun if begun[1] is not allocation]

    def earmarked(self, job: Job, allocation: Allocation) -> None:
        """Note that a beneficiary will run there."""
        if self._made is not None or _requires(job):
            self._ranking.earmarked(job, allocation)

    @property
    def stripes(self) -> Mapping[str, float]:
        """The next ledger's table: vnode to the last start of a stripe on it, as long as that matters."""
        if self._nodes is None and not self._ledger.stripes:
            return self._ledger.stripes
        return self._stripe_nodes().starts()

    def why_layout(self, job: Job) -> Reason | None:
        """Why :meth:`place` laid out the job as it did last, with what was tried before; None if its select and place
        alone decided."""
        laid = self._laid.get(job.id)
        return None if laid is None else laid.why

    # The layout

    def _lay_out(self, job: Job, allowed: int, preference: RankPreference | None) -> Allocation | Reason | None:
        chosen = layout_of(job, self._ledger.learned, self._settings, self._around)
        layout = chosen.layout
        if layout is not None and layout.kind == "stripe":
            return self._stripe(job, layout, chosen, allowed, preference)
        allocation = self._pack(job, chosen.why, allowed, preference, in_pieces=chosen.open)
        if chosen.settled or allocation is None or not self._is_scattered(job, allocation, allowed):
            return allocation
        why = "it was to be packed this time, but there is no room on the fewest nodes"
        return self._stripe(job, Layout("stripe"), chosen._replace(why=why), allowed, preference)

    def _is_scattered(self, job: Job, allocation: Allocation, allowed: int) -> bool:
        """Whether a packed job is on more than the fewest nodes, as no fewer had room."""
        nodes = self._stripe_nodes()
        request = cut(job.request)
        used = nodes.count(touched(allocation, self._capacity.directory))
        return request is not None and used > nodes.fewest(request, allowed)

    def _running_of(self, job: Job) -> int:
        """How many current runs, starts of this pass included, are of the application that the job is compared by."""
        if self._running is None:
            self._running = {}
            for run in self._cluster.runs.values():
                if run.job.application:
                    key = application_key(run.job.user, run.job.application, self._settings)
                    self._running[key] = self._running.get(key, 0) + 1
        return self._running.get(application_key(job.user, job.application, self._settings), 0)

    def _extent_of(self, job: Job) -> Extent:
        """Over how many of its queue's nodes a job can be spread."""
        request = cut(job.request)
        if request is None:
            return Extent()
        nodes, here = self._stripe_nodes(), self._cluster.vnodes_of(job.queue)
        return Extent(nodes.fewest(request, here), min(nodes.most(request, here), total_pieces(request)))

    def _batch_of(self, job: Job) -> Batch:
        """The batch of a job's queue, as it was when the first of its jobs was placed in this pass."""
        here = self._cluster.vnodes_of(job.queue)
        batch = self._batches.get(here)
        if batch is None:
            batch = self._batches[here] = describe_batch(self._cluster, here, self._now_s)
        return batch

    # Packed

    def _pack(
        self,
        job: Job,
        why: str,
        allowed: int,
        preference: RankPreference | None,
        tried: tuple[Reason, ...] = (),
        *,
        in_pieces: bool = False,
    ) -> Allocation | None:
        """Packed as it asks for; ``in_pieces``, or after stripes were tried, also in pieces on any nodes."""
        ever = self._cluster.vnodes_of(job.queue)
        allocation = self._fit(job.request, allowed, ever, preference)
        if allocation is None and (tried or in_pieces):
            allocation = self._fit(cut(job.request) or job.request, allowed, ever, preference)
        if why:
            self._laid[job.id] = _Laid(allocation, False, Reason("packed", (("why", why),), tried))
        return allocation

    def _fit(self, request: Request, allowed: int, ever: int, preference: RankPreference | None) -> Allocation | None:
        if preference is None:
            return fit(self._capacity, request, allowed, ever)
        return fit_ranked(self._capacity, request, allowed, self._ranked(preference), ever)

    def _ranked(self, preference: RankPreference) -> Order:
        return partial(self._ranking.ordered, preference)

    # Striped

    def _stripe(
        self, job: Job, layout: Layout, chosen: ChosenLayout, allowed: int, preference: RankPreference | None
    ) -> Allocation | Reason | None:
        request = cut(job.request)
        if request is None:
            why = f"it asks for place={_place(job.request)}, which is kept as it was asked for"
            return self._pack(job, why, allowed, preference)
        nodes, pieces = self._stripe_nodes(), total_pieces(request)
        fewest, most = nodes.fewest(request, allowed), min(nodes.most(request, allowed), pieces)
        asked_for = chosen.width(fewest)
        if not fewest or (layout.width is None and min(asked_for, most) <= fewest):
            why = f"it has no room to spread beyond the fewest nodes, {fewest}"
            return self._pack(job, why, allowed, preference, in_pieces=chosen.open)
        open_to = allowed & self._capacity.open_to(request)
        tried: list[Reason] = []
        for width in widths(asked_for, fewest, most, layout.nodes_per_stripe):
            span = min(layout.nodes_per_stripe, width)
            size: Numbers = (("width", width), ("pieces", -(-pieces // width)))
            allocation = self._spread(job, request, open_to & ~nodes.cooling, width, span, preference)
            late = None
            # A promised start is not delayed for the stagger time: the job gets another layout instead.
            if allocation is None and open_to & nodes.cooling and job.id not in self._ledger.promises:
                late = self._spread(job, request, open_to, width, span, preference)
            if allocation is not None or late is not None:
                striped = Reason("striped", (*size, ("fewest", fewest), ("by", chosen.why)), tuple(tried))
                self._laid[job.id] = _Laid(allocation, True, striped)
                return allocation if late is None else self._staggered(touched(late, self._capacity.directory))
            tried.append(Reason("stripe-unplaced", size))
        return self._pack(job, "no stripe finds room now", allowed, preference, tuple(tried))

    def _spread(
        self, job: Job, request: Request, allowed: int, width: int, span: int, preference: RankPreference | None
    ) -> Allocation | None:
        nodes, capacity, application = self._stripe_nodes(), self._capacity, job.application
        ranked: Order = each_bit if preference is None else self._ranked(preference)
        if nodes.single:
            by_name = preference is None
            pick = partial(nodes.pick, application) if by_name else partial(nodes.pick_ranked, application, ranked)
            return stripe(capacity, request, allowed, width, span, pick)
        domains = Domains(partial(nodes.ordered, application, ranked), nodes.node_of, nodes.largest)
        return stripe_over_domains(capacity, request, allowed, width, span, domains)

    def _staggered(self, vnodes: int) -> Reason:
        """Why a stripe on these vnodes must not start yet."""
        nodes = self._stripe_nodes()
        first, at_s = nodes.last_to_cool(vnodes)
        return Reason("staggered", (("at_s", at_s), ("vnode", first), ("stagger_s", self._settings.stagger_s)))

    def _stripe_nodes(self) -> StripeNodes:
        if self._nodes is None:
            self._nodes = StripeNodes(
                self._cluster, self._ledger.stripes, self._settings, self._now_s, self._applications
            )
            for job, allocation in self._begun:
                self._nodes.note_start(job, allocation, True)
        return self._nodes


def _place(request: Request) -> str:
    """The request's ``place`` in PBS's notation; placement sets of the site look like the job's own."""
    group = f"group={','.join(request.group.resources)}" if request.group is not None else ""
    return ":".join(filter(None, (request.place, request.sharing, group)))
