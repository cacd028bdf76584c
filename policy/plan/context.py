"""What one pass is decided from, and the parts that are computed from it.

A part (gates, quotas, classes, ...) is made on first use: most passes of a quiet cluster need few, and a replay has a
pass for every submission and every end.
"""

from __future__ import annotations

from typing import Any, Callable

from policy.backfill.runtime_estimates import Estimates
from policy.eligibility.gates import Gates
from policy.eligibility.priority_classes import Classes
from policy.eligibility.quotas import Quotas
from policy.eligibility.unpreemptible import Confined
from policy.fit.core_binding import CoreBook
from policy.model.ledger import Ledger
from policy.plan.placer import Placer
from policy.preemption.precedence import Claims
from policy.preemption.preemptor import Preemption
from policy.ranking.score_formulas import FORMULAS, Formulas
from policy.settings.site_settings import Settings
from policy.state.snapshot import Snapshot
from policy.state.windows import Windows, windows_of


class Context:
    """The snapshot with its cluster index, the ledger, the settings and the formulas of one pass.

    ``classes`` is None if no queue has priorities, ``preemption`` if neither rule A nor rule B is on, ``windows`` if
    nothing is ever closed. ``shrinks``: jobs are tested with shrunk estimates. ``plain``: the site's settings neither
    lay out jobs nor rank vnodes.
    """

    gates: Gates
    confined: Confined | None
    quotas: Quotas
    classes: Classes | None
    claims: Claims
    placer: Placer
    core_book: CoreBook
    estimates: Estimates
    preemption: Preemption | None

    def __init__(self, snapshot: Snapshot, ledger: Ledger, settings: Settings, formulas: Formulas = FORMULAS) -> None:
        self.snapshot = snapshot
        self.ledger = ledger
        self.settings = settings
        self.formulas = formulas
        self.now_s = snapshot.time_s
        self.cluster = cluster = snapshot.cluster()
        self.capacity = cluster.capacity
        self.windows: Windows | None = None
        if cluster.has_windows:
            slack_s = settings.schedule.interval_s + settings.checkpoint.grace_s
            self.windows = windows_of(cluster, self.now_s, slack_s)
        self.shrinks = settings.backfill.kind == "checkpoint"
        self.plain = settings.stripe.layout == "none" and settings.ranking.mode == "none"
        if not cluster.has_priorities:
            self.classes = None
            if not (settings.quota.preempt and cluster.has_quotas):
                self.preemption = None
                self.confined = None

    def __getattr__(self, name: str) -> Any:
        make = _PARTS.get(name)
        if make is None:
            raise AttributeError(name)
        part = make(self)
        setattr(self, name, part)
        return part

    def has(self, name: str) -> bool:
        """Whether a part was made already."""
        return name in self.__dict__


def _preemption(context: Context) -> Preemption | None:
    settings = context.settings
    if not (context.classes is not None and settings.priority.preempt) and not (
        settings.quota.preempt and context.cluster.has_quotas
    ):
        return None
    return Preemption(context.cluster, context.ledger, context.quotas, context.classes, settings, context.now_s)


def _confined(context: Context) -> Confined | None:
    """None if no job preempts, or if the setting is off."""
    if context.preemption is None or not context.settings.quota.confine_unpreemptible:
        return None
    return Confined(context.ledger, context.quotas, context.classes, context.settings.quota)


def _classes(context: Context) -> Classes:
    compare_queues = context.settings.priority.compare_queues
    return Classes(context.cluster, context.ledger, context.quotas, context.now_s, compare_queues)


def _core_book(context: Context) -> CoreBook:
    """The core lists of the runs that have not ended."""
    runs = context.cluster.runs
    return CoreBook(context.cluster.vnodes, {run: cores for run, cores in context.ledger.cores.items() if run in runs})


_PARTS: dict[str, Callable[[Context], object]] = {
    "confined": _confined,
    "gates": lambda context: Gates(context.cluster, context.now_s, context.confined),
    "quotas": lambda context: Quotas(context.cluster, context.settings.quota.counted),
    "claims": lambda context: Claims(context.quotas, context.classes, context.settings),
    "classes": _classes,
    "placer": lambda context: Placer(
        context.cluster, context.settings, context.ledger, context.now_s, context.formulas
    ),
    "core_book": _core_book,
    "estimates": lambda context: Estimates(context.settings, context.ledger, context.now_s),
    "preemption": _preemption,
}
