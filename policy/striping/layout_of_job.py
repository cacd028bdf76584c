"""The layout that a job gets: its own, its queue's, the one learned, or the one that suits the batch of waiting jobs
(docs/policies.md, P5).

What is costly to know of a pass is asked for only where the layout depends on it.
"""

from __future__ import annotations

from typing import Callable, NamedTuple

from policy.model.job_preferences import AUTO, Layout
from policy.model.jobs_runs_vnodes_queues import Job
from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.striping.batch_of_waiting_jobs import Batch, Extent, factor_for_batch
from policy.striping.layout_learning import Learned, choose, choose_if_counted, stripe_factors, why_packed_in_turn
from policy.striping.spread_ranks import policy_width


class Surroundings(NamedTuple):
    """What a pass, or its summary, knows: the number of current runs that the job is compared with, over how many nodes
    it can be spread, and the batch that it is one of."""

    running: Callable[[Job], int]
    extent: Callable[[Job], Extent]
    batch: Callable[[Job], Batch]


class ChosenLayout(NamedTuple):
    """A layout (None: as select and place say) and why. ``settled``: not one of several that alternate. ``factor`` is
    the width of a stripe as a multiple of the fewest nodes, ``most`` its highest number of nodes. ``open``: the job may
    be placed in any other way where this one finds no room."""

    layout: Layout | None
    why: str = ""
    settled: bool = True
    factor: float = 1.0
    most: int | None = None
    open: bool = False

    def width(self, fewest: int) -> int:
        """The number of nodes to stripe over; ``fewest`` hold the job."""
        if self.layout is not None and self.layout.width is not None:
            return self.layout.width
        width = policy_width(fewest, self.factor)
        return width if self.most is None else min(width, self.most)


def layout_of(job: Job, learned: Learned, settings: StripeSettings, around: Surroundings) -> ChosenLayout:
    """The job's own preference, else the layout of its application, its queue or the site, or what this leads to."""
    usual = settings.width_factor
    if job.layout is not None:
        if job.layout.kind == AUTO:
            return _auto(job, learned, settings, around)
        return ChosenLayout(job.layout, "the job asks for it", factor=usual)
    layout, where = settings.layout_of(job.queue, job.application)
    if layout == AUTO:
        return _auto(job, learned, settings, around)
    if layout == "learn":
        most_factor = around.extent(job).factor if job.application else 0.0
        choice = choose(learned, job, settings, around.running(job), most_factor)
        return ChosenLayout(Layout(choice.layout), choice.why, choice.settled, choice.factor, open=True)
    if layout == "none":
        return ChosenLayout(None)
    return ChosenLayout(Layout(layout), f"{where} is {layout}", factor=usual)


def _auto(job: Job, learned: Learned, settings: StripeSettings, around: Surroundings) -> ChosenLayout:
    """The better layout if enough runs were counted, else the one for the batch, in turn with packing so that there
    will be some to compare. The width is at most the job's own."""
    most, span = (None, 1) if job.layout is None else (job.layout.width, job.layout.nodes_per_stripe)
    choice = choose_if_counted(learned, job, settings)
    if choice is not None:
        factor, why = choice.factor, f"auto: {choice.why}"
    else:
        extent = around.extent(job)
        factor, why = factor_for_batch(job.request, extent, around.batch(job), stripe_factors(settings))
        in_turn = why_packed_in_turn(learned, job, settings, around.running(job)) if factor else ""
        if in_turn:
            return ChosenLayout(Layout("pack"), f"auto: {in_turn}", settled=False, factor=factor, most=most, open=True)
    layout = Layout("stripe", None, span) if factor else Layout("pack")
    return ChosenLayout(layout, why, factor=factor, most=most, open=True)
