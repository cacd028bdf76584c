"""The ledger of the next pass: what it needs to know of this one.

A table that has not changed stays the same object, and so does a ledger of which no table has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from policy.model.jobs_runs_vnodes_queues import Job, Run
from policy.model.ledger_between_passes import Backfilled, Cut, Earmark, Ledger
from policy.model.pbs_units import array_of
from policy.plan.pass_context import Context
from policy.plan.plan_types import MovedPromise, Preempt
from policy.plan.promised_requests_and_promise_moves import moved_so_far, requests_when_promised
from policy.state.cluster_index import ClusterIndex


class NextEntries:
    """What a pass adds to its ledger. ``promises`` and ``earmarks`` replace those of before. ``backfilled``: its
    backfilled starts; ``in_turn``: its starts in queue order; ``moved``: the promises that it moved or withdrew."""

    __slots__ = (
        "backfilled", "earmarks", "first_behind", "in_turn", "moved", "now_s", "preempts", "promises", "tried_in_vain",
    )  # fmt: skip

    def __init__(
        self,
        now_s: float,
        promises: Mapping[str, float],
        earmarks: dict[str, Earmark],
        preempts: Sequence[Preempt],
        backfilled: Mapping[str, Backfilled],
        in_turn: Collection[str],
        moved: Mapping[str, MovedPromise],
        first_behind: int,
        tried_in_vain: int,
    ) -> None:
        self.now_s = now_s
        self.promises = promises
        self.earmarks = earmarks
        self.preempts = preempts
        self.backfilled = backfilled
        self.in_turn = in_turn
        self.moved = moved
        self.first_behind = first_behind
        self.tried_in_vain = tried_in_vain


def still_backfilled(ledger: Ledger, cluster: ClusterIndex) -> Mapping[str, Backfilled]:
    """The ledger's backfilled runs that have not ended."""
    before, runs = ledger.backfilled, cluster.runs
    if before.keys() <= runs.keys():
        return before
    return {run: backfilled for run, backfilled in before.items() if run in runs}


def next_ledger(context: Context, new: NextEntries) -> Ledger:
    """The ledger of before with the entries of this pass, without jobs and runs that are gone."""
    ledger, cluster = context.ledger, context.cluster
    backfilled = still_backfilled(ledger, cluster)
    if new.backfilled or new.in_turn:
        known = dict(backfilled)
        for run in new.in_turn:
            known.pop(run, None)
        known.update(new.backfilled)
        backfilled = known
    asked = requests_when_promised(ledger, new.promises, new.earmarks, cluster.jobs)
    if (
        new.promises is not ledger.promises
        or backfilled is not ledger.backfilled
        or asked is not ledger.asked
        or new.first_behind != ledger.first_behind
        or new.tried_in_vain != ledger.tried_in_vain
    ):
        ledger = Ledger(
            new.promises, ledger.earmarks, ledger.preemptions, backfilled, ledger.classes, ledger.history,
            ledger.learned, ledger.stripes, ledger.seen_s, ledger.cuts, ledger.cores, new.first_behind,
            new.tried_in_vain, asked, ledger.moved,
        )  # fmt: skip
    has_more = new.preempts or new.earmarks or new.moved or ledger.has_more_than_promises
    uses_more = context.classes is not None or context.used_placer is not None or context.used_core_book is not None
    return _with_the_rest(ledger, context, new) if has_more or uses_more else ledger


def _with_the_rest(ledger: Ledger, context: Context, new: NextEntries) -> Ledger:
    """The ledger with earmarks, preemptions, classes, moved promises, stripes and core lists as the pass leaves
    them."""
    runs, jobs = context.cluster.runs, context.cluster.jobs
    preemptions, cuts, cores, moved = ledger.preemptions, ledger.cuts, ledger.cores, ledger.moved
    if preemptions or cuts or new.preempts:
        preemptions = _preemptions_so_far(ledger, new.preempts, runs, jobs)
        cuts = _last_cuts(ledger, new, preemptions)
    classes = ledger.classes if context.classes is None else context.classes.of_runs
    if cores or context.used_core_book is not None:
        lists = {run: each for run, each in context.core_book.lists.items() if run in runs}
        cores = cores if lists == cores else lists
    if moved or new.moved:
        now_moved = moved_so_far(ledger, new.moved, jobs)
        moved = moved if now_moved == moved else now_moved
    placer = context.placer if ledger.stripes else context.used_placer
    stripes = ledger.stripes if placer is None else placer.stripes
    if (
        preemptions is ledger.preemptions
        and cuts is ledger.cuts
        and classes is ledger.classes
        and stripes is ledger.stripes
        and cores is ledger.cores
        and moved is ledger.moved
        and not (new.earmarks or ledger.earmarks)
    ):
        return ledger
    return ledger._replace(
        earmarks=new.earmarks, preemptions=preemptions, cuts=cuts, classes=classes, stripes=stripes, cores=cores,
        moved=moved,
    )  # fmt: skip


def _preemptions_so_far(
    ledger: Ledger, preempts: Sequence[Preempt], runs: Mapping[str, Run], jobs: Mapping[str, Job]
) -> Mapping[str, int]:
    """How often each job was preempted that runs or waits."""
    before = ledger.preemptions
    counts = {run: count for run, count in before.items() if run in runs or run in jobs or array_of(run) in jobs}
    for preempt in preempts:
        if not preempt.again:
            counts[preempt.id] = counts.get(preempt.id, 0) + 1
    return before if counts == before else counts


def _last_cuts(ledger: Ledger, new: NextEntries, preemptions: Mapping[str, int]) -> Mapping[str, Cut]:
    """The last preemption of each job that was preempted."""
    kept = {run: cut for run, cut in ledger.cuts.items() if run in preemptions}
    for preempt in new.preempts:
        if not preempt.again:
            kept[preempt.id] = Cut(new.now_s, preempt.reason.code, preempt.reason.numbers)
    return ledger.cuts if kept == ledger.cuts else kept
