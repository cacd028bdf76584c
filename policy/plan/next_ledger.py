"""The ledger of the next pass: what it needs to know of this one.

A table that has not changed stays the same object, and so does a ledger of which no table has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from policy.model.allocation import Cores
from policy.model.ledger_between_passes import Backfilled, Cut, Earmark, Ledger, Moved
from policy.model.pbs_units import array_of
from policy.plan.pass_context import Context
from policy.plan.plan_types import MovedPromise, Preempt
from policy.plan.promised_requests_and_promise_moves import moved_so_far, requests_when_promised


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


def next_ledger(context: Context, new: NextEntries) -> Ledger:
    """The ledger of before with the entries of this pass, without jobs and runs that are gone."""
    ledger, runs, jobs = context.ledger, context.cluster.runs, context.cluster.jobs
    preemptions: Mapping[str, int] = ledger.preemptions
    if preemptions or new.preempts:
        counts = {
            run: count for run, count in preemptions.items() if run in runs or run in jobs or array_of(run) in jobs
        }
        for preempt in new.preempts:
            if not preempt.again:
                counts[preempt.id] = counts.get(preempt.id, 0) + 1
        preemptions = preemptions if counts == preemptions else counts
    cuts: Mapping[str, Cut] = ledger.cuts
    if cuts or new.preempts:
        kept = {run: cut for run, cut in cuts.items() if run in preemptions}
        for preempt in new.preempts:
            if not preempt.again:
                kept[preempt.id] = Cut(new.now_s, preempt.reason.code, preempt.reason.numbers)
        cuts = cuts if kept == cuts else kept
    backfilled: Mapping[str, Backfilled] = ledger.backfilled
    gone = [run for run in backfilled if run not in runs]
    if gone or new.backfilled or new.in_turn:
        known = dict(backfilled)
        for run in (*gone, *new.in_turn):
            known.pop(run, None)
        known.update(new.backfilled)
        backfilled = known
    classes = ledger.classes if context.classes is None else context.classes.of_runs
    cores: Mapping[str, Cores] = ledger.cores
    if cores or context.used_core_book is not None:
        lists = {run: each for run, each in context.core_book.lists.items() if run in runs}
        cores = cores if lists == cores else lists
    moved: Mapping[str, Moved] = ledger.moved
    if moved or new.moved:
        moved = moved_so_far(ledger, new.moved, jobs)
    placer = context.placer if ledger.stripes else context.used_placer
    stripes = ledger.stripes if placer is None else placer.stripes
    asked = requests_when_promised(ledger, new.promises, new.earmarks, jobs)
    if (
        new.promises is ledger.promises
        and preemptions is ledger.preemptions
        and backfilled is ledger.backfilled
        and classes is ledger.classes
        and stripes is ledger.stripes
        and cuts is ledger.cuts
        and cores is ledger.cores
        and asked is ledger.asked
        and moved == ledger.moved
        and not new.earmarks
        and not ledger.earmarks
        and new.first_behind == ledger.first_behind
        and new.tried_in_vain == ledger.tried_in_vain
    ):
        return ledger
    return Ledger(
        new.promises, new.earmarks, preemptions, backfilled, classes, ledger.history, ledger.learned, stripes,
        ledger.seen_s, cuts, cores, new.first_behind, new.tried_in_vain, asked, moved,
    )  # fmt: skip
