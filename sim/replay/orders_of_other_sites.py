"""The orders that sites run today, for a replay: fair share, a formula, WFP, and Slurm's multifactor priority.

Each is an order of PBS's scheduler as :mod:`policy.order` has it, with EASY backfilling below; :class:`SimulatedOrder`
charges what users have used, which no server counts here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from policy.order.fair_share_tree import FairShareTree, Group
from policy.order.job_sort_formula import ELIGIBLE_TIME, OF_SHARE, FormulaError, JobSortFormula, read_formula
from policy.order.site_order_settings import TOGETHER, FairShare, SiteOrder
from sim.workload.workload import Cluster, TraceJob, Workload

CHARGED_EVERY_S = 300
_NEEDS = ("ncpus", "walltime")
_NAMES = frozenset({*_NEEDS, ELIGIBLE_TIME, *OF_SHARE})
_USAGE = read_formula("ncpus * walltime", _NEEDS)

_DAY_S = 86400.0
WFP = "(eligible_time / walltime) ** 3 * ncpus"
"""The priority of jobs on Argonne's Blue Gene/P (W. Tang, Z. Lan, N. Desai, D. Buettner, "Fault-aware, utility-based
job scheduling on Blue Gene/P systems", IEEE Cluster 2009)."""
MULTIFACTOR = "1000 * min(1, eligible_time / 1209600) + 10000 * fairshare_factor + 1000 * ncpus / {cores}"
"""Slurm's priority/multifactor with the weights of the sample configuration in its documentation: age up to 14 days,
fair share, and job size, the larger the higher."""
_MULTIFACTOR_DECAY = (3600.0, 0.5 ** (1 / (14 * 24)))
"""A half-life of 14 days, as in the same sample: how often usage decays, and by what factor."""
_PBS_DECAY = (_DAY_S, 0.5)
"""The defaults of PBS's ``fairshare_decay_time`` and ``fairshare_decay_factor``."""


class SimulatedOrder:
    """One order with the usage of one replay. ``site_order`` is what the queue is ordered by; its tree is charged
    here."""

    def __init__(
        self, users: Iterable[str], formula: JobSortFormula | None, *, shares: bool, decay: tuple[float, float]
    ) -> None:
        self._decay = decay
        self._tree = FairShareTree([Group(entity_of(user), "root", 1) for user in sorted(set(users))], 0, {})
        self._running: dict[str, int] = {}
        """Cores of each user's runs."""
        self._counted_s: dict[str, float] = {}
        self._uncharged: dict[str, float] = {}
        self._charged_s = 0.0
        self._uses_shares = shares or (formula is not None and not OF_SHARE.isdisjoint(formula.uses))
        self.site_order = SiteOrder(
            taken=TOGETHER,
            formula=formula,
            fair_share=FairShare(self._tree, _USAGE, True, *decay) if shares else None,
            tree=self._tree,
            needs=_NEEDS,
        )

    @staticmethod
    def values_of(job: TraceJob) -> tuple[float, ...]:
        """The numbers that the order needs of a job, in the order of ``site_order.needs``."""
        return (job.cores, job.estimate_s)

    def started(self, job: TraceJob, now_s: float) -> None:
        """A run begins."""
        self._run(job, job.cores, now_s)

    def stopped(self, job: TraceJob, now_s: float) -> None:
        """A run ends, or is preempted."""
        self._run(job, -job.cores, now_s)

    def _run(self, job: TraceJob, cores: int, now_s: float) -> None:
        if self._uses_shares:
            self._count(job.user, now_s)
            self._running[job.user] = self._running.get(job.user, 0) + cores

    def _count(self, user: str, now_s: float) -> None:
        """Add up what a user's runs have used since the last time."""
        used_s = now_s - self._counted_s.get(user, now_s)
        self._uncharged[user] = self._uncharged.get(user, 0.0) + self._running.get(user, 0) * used_s
        self._counted_s[user] = now_s

    def before_pass(self, now_s: float) -> None:
        """Charge what was used, if five minutes are over."""
        if not self._uses_shares or now_s - self._charged_s < CHARGED_EVERY_S:
            return
        self._charged_s = now_s
        for user, cores in self._running.items():
            if cores:
                self._count(user, now_s)
        for user, core_s in self._uncharged.items():
            self._tree.charge(entity_of(user), core_s)
        self._uncharged.clear()
        self._tree.decay_until(int(now_s), *self._decay)
        self._tree.weigh()


BuildOrder = Callable[[Workload, Cluster], SimulatedOrder]


def entity_of(user: str) -> str:
    """The fair share entity of a user. No user's name is one that the tree has for itself."""
    return f"user:{user}"


def fair_share(workload: Workload, _cluster: Cluster) -> SimulatedOrder:
    """PBS's fair share with equal shares: the user who has used least comes next; usage halves every 24 h."""
    return SimulatedOrder(_users(workload), None, shares=True, decay=_PBS_DECAY)


def wfp(workload: Workload, _cluster: Cluster) -> SimulatedOrder:
    """:data:`WFP`: the longer a job has waited for its walltime, and the more cores it asks for, the higher."""
    return SimulatedOrder(_users(workload), _read(WFP), shares=False, decay=_PBS_DECAY)


def multifactor(workload: Workload, cluster: Cluster) -> SimulatedOrder:
    """:data:`MULTIFACTOR`, with the cluster's cores."""
    formula = _read(MULTIFACTOR.format(cores=cluster.cores))
    return SimulatedOrder(_users(workload), formula, shares=False, decay=_MULTIFACTOR_DECAY)


def by_formula(text: str) -> BuildOrder:
    """A site's ``job_sort_formula``, of `ncpus`, `walltime` (seconds), `eligible_time` (seconds in the queue) and PBS's
    keywords of fair share. Raises :class:`~policy.order.job_sort_formula.FormulaError`.
    """
    formula = _read(text)
    return lambda workload, _cluster: SimulatedOrder(_users(workload), formula, shares=False, decay=_PBS_DECAY)


def _read(text: str) -> JobSortFormula:
    if not text.strip():
        raise FormulaError("is empty")
    return read_formula(text, _NAMES)


def _users(workload: Workload) -> Iterable[str]:
    return (job.user for job in workload.jobs)
