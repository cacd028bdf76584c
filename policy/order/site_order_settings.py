"""How one scheduler of PBS orders its jobs: what its attributes and its ``sched_config`` say, as a value.

PBS's scheduler (``sort.cpp``, ``fifo.cpp``) compares two jobs by the level of an express queue, then by the formula,
then by fair share, then by the sort keys, then by the time they entered the queue; and it takes its queues together,
one after the other, or in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from policy.order.fair_share_tree import FairShareTree
from policy.order.job_sort_formula import JobSortFormula
from policy.values.frozen_value import FrozenValue

NO_THRESHOLD = -2147483648.0
"""What PBS's scheduler compares a formula with if ``job_sort_formula_threshold`` is not set."""
TOGETHER, BY_QUEUE, ROUND_ROBIN = "together", "by-queue", "round-robin"
RANK = "queue_rank"
"""The job's place in its queue as the server has it; ``qorder`` exchanges that of two jobs."""


class SortKey(NamedTuple):
    """A ``job_sort_key``: a resource, or ``job_priority`` or ``fair_share_perc``; ``descending`` is PBS's ``HIGH``."""

    name: str
    descending: bool


@dataclass(frozen=True)
class FairShare(FrozenValue):
    """A scheduler's fair share: the tree, what counts as usage (``fairshare_usage_res``), whether jobs of entities
    without a share are kept from running (``fairshare_enforce_no_shares``), and how usage decays."""

    tree: FairShareTree
    usage: JobSortFormula
    enforced: bool = True
    decay_s: float = 86400.0
    decay_factor: float = 0.5


@dataclass(frozen=True)
class SiteOrder(FrozenValue):
    """The order of one scheduler.

    ``queues``: its queues as the server lists them; ``taken``: how it takes them. ``express_from``: the queue priority
    from which on jobs come before all others, and preempt these; None if there are no express queues. ``tree``: where
    formula and keys find shares, also without fair share. ``needs``: the names of each job's ``order_values``, in that
    order.
    """

    scheduler: str = "default"
    queues: tuple[str, ...] = ()
    taken: str = BY_QUEUE
    express_from: int | None = None
    formula: JobSortFormula | None = None
    threshold: float = NO_THRESHOLD
    fair_share: FairShare | None = None
    keys: tuple[SortKey, ...] = ()
    tree: FairShareTree | None = None
    needs: tuple[str, ...] = ()

    @property
    def is_explicit(self) -> bool:
        """Whether the site says by what jobs of a queue are ordered, beside their age."""
        return self.formula is not None or self.fair_share is not None or bool(self.keys)
