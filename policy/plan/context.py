"""What one pass is decided from, and the parts that answer questions about it.

A part (gates, quotas, classes, ...) is made when it is first asked for: most passes of a quiet cluster need few, and a
replay has a pass for every submission and every end.
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


class Scene:
    """The snapshot with its world, the ledger, the settings and the formulas of one pass.

    ``classes`` is None where no queue has priorities, ``preemption`` where neither rule A nor rule B is on.
    ``shrinks`` tells whether jobs are tested with shrunk estimates, ``plain`` whether the site lays out and ranks
    nothing by itself. ``windows`` is None where nothing is ever closed.
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
        self.world = world = snapshot.world()
        self.capacity = world.capacity
        self.windows: Windows | None = None
        if world.has_windows:
            slack_s = settings.schedule.interval_s + settings.checkpoint.grace_s
            self.windows = windows_of(world, self.now_s, slack_s)
        self.shrinks = settings.backfill.kind == "checkpoint"
        self.plain = settings.stripe.layout == "none" and settings.ranking.mode == "none"
        if not world.has_priorities:
            self.classes = None
            if not (settings.quota.preempt and world.has_quotas):
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


def _preemption(scene: Scene) -> Preemption | None:
    settings = scene.settings
    if not (scene.classes is not None and settings.priority.preempt) and not (
        settings.quota.preempt and scene.world.has_quotas
    ):
        return None
    return Preemption(scene.world, scene.ledger, scene.quotas, scene.classes, settings, scene.now_s)


def _confined(scene: Scene) -> Confined | None:
    """None where no job preempts, or where the site has it so."""
    if scene.preemption is None or not scene.settings.quota.confine_unpreemptible:
        return None
    return Confined(scene.ledger, scene.quotas, scene.classes, scene.settings.quota)


def _classes(scene: Scene) -> Classes:
    compare_queues = scene.settings.priority.compare_queues
    return Classes(scene.world, scene.ledger, scene.quotas, scene.now_s, compare_queues)


def _core_book(scene: Scene) -> CoreBook:
    """The core lists of the runs that are still under way."""
    runs = scene.world.runs
    return CoreBook(scene.world.vnodes, {run: cores for run, cores in scene.ledger.cores.items() if run in runs})


_PARTS: dict[str, Callable[[Scene], object]] = {
    "confined": _confined,
    "gates": lambda scene: Gates(scene.world, scene.now_s, scene.confined),
    "quotas": lambda scene: Quotas(scene.world, scene.settings.quota.counted),
    "claims": lambda scene: Claims(scene.quotas, scene.classes, scene.settings),
    "classes": _classes,
    "placer": lambda scene: Placer(scene.world, scene.settings, scene.ledger, scene.now_s, scene.formulas),
    "core_book": _core_book,
    "estimates": lambda scene: Estimates(scene.settings, scene.ledger, scene.now_s),
    "preemption": _preemption,
}
