"""Why a job does not fit even with all runs of the snapshot ended, where it would fit without what others hold.

These are jobs that the snapshot does not have, and suspended jobs that keep a part of what they had
(``restrict_res_to_release_on_suspend``): nothing says when they give it back, but what they hold is not lacking for
ever.
"""

from __future__ import annotations

from policy.fit.best_fit import fits
from policy.model.allocation import Share
from policy.model.job_request import Amounts, Request
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.pbs_units import show_resource
from policy.plan.pass_context import Context
from policy.plan.rejection_cache import why_pinned
from policy.reasons.reason import Reason


class HeldOutside:
    """Why jobs of one pass do not fit for what others hold, looked for once for equal requests."""

    __slots__ = ("_context", "_found")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._found: dict[tuple[Request, int], Reason | None] = {}

    def why(self, job: Job, allowed: int) -> Reason | None:
        """The reason, with the first of the vnodes and what is held there of what the job asks for; None if the job
        would not fit either if nothing were held."""
        key = (job.request, allowed)
        if key not in self._found:
            self._found[key] = self._find(job.request, allowed)
        found = self._found[key]
        return why_pinned(job) if found is not None and job.pinned else found

    def _find(self, request: Request, allowed: int) -> Reason | None:
        cluster, capacity = self._context.cluster, self._context.capacity
        bits, open_to = capacity.directory.bits, allowed & capacity.usable
        asked = {name for name, _ in request.totals}
        shown: dict[str, str] = {}
        masks: dict[Amounts, int] = {}
        for name, vnode in cluster.vnodes.items():
            amounts = tuple(sorted(each for each in vnode.elsewhere.items() if each[0] in asked))
            if amounts and bits[name] & open_to:
                shown[name] = " and ".join(show_resource(*each, cluster.server.sizes) for each in amounts)
                masks[amounts] = masks.get(amounts, 0) | bits[name]
        if not shown:
            return None
        without = cluster.idle_capacity.copy()
        without.check_time = capacity.check_time
        without.take_amounts([Share(mask, amounts, 1) for amounts, mask in masks.items()], -1)
        if not fits(without, request, allowed):
            return None
        first = min(shown)
        return Reason("held-elsewhere", (("what", shown[first]), ("vnode", first), ("others", len(shown) - 1)))
