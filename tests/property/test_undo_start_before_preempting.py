"""No run is preempted where taking back a start of the same pass is enough (docs/policies.md, P1, 11 and 14).

The law is for jobs of single cores anywhere and for rule A alone, where cores and the owner's own quota decide.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Job, Ledger, Plan, Queue, Run, Vnode, decide
from policy.model.allocation import Allocation, Spot
from policy.model.job_request import Request
from policy.model.limit_attributes import Limits
from policy.plan.plan_types import Start
from tests.property.oracles import plan_invariants
from tests.property.strategies.cluster_strategies import NOW_S, Parts
from tests.property.strategies.settings_strategies import by_quota_settings
from tests.property.strategies.situation_strategies import Situation

EXAMPLES = 5 * settings_of_law().max_examples


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Runs of users over quota and idle cores; their jobs come first in the order, those of users within quota last."""
    vnodes = tuple(Vnode(f"v{n}", {"ncpus": draw(st.integers(2, 8))}) for n in range(draw(st.integers(1, 3))))
    runs: list[Run] = []
    for vnode in vnodes:
        left = vnode.available["ncpus"]
        for part in draw(st.lists(st.integers(1, 4), max_size=3)):
            if part <= left:
                left -= part
                number, start_s = len(runs) + 1, NOW_S - draw(st.sampled_from((10, 60, 60)))
                job = _job(number, draw(st.sampled_from(OVER)), part)
                allocation = Allocation((Spot(vnode.name, (("ncpus", 1),), part),))
                runs.append(Run(job.id, job, start_s, allocation, start_s + job.left_s))
    sizes = st.lists(st.integers(1, 4), min_size=1, max_size=3)
    waiting = [_job(100 + n, draw(st.sampled_from(OVER)), cores) for n, cores in enumerate(draw(sizes))]
    waiting += [_job(200 + n, draw(st.sampled_from(WITHIN)), cores) for n, cores in enumerate(draw(sizes))]
    own = {("u", user): draw(st.sampled_from((0, 1, 2))) for user in OVER}
    queue = Queue("workq", quotas=Limits({**own, **{("u", user): 8 for user in WITHIN}}))
    settings = draw(by_quota_settings())
    exempt = replace(settings, quota=replace(settings.quota, exempt_s=draw(st.sampled_from((0, 0, 50)))))
    return Parts(vnodes, (queue,), tuple(waiting), tuple(runs)), Ledger(), exempt


OVER, WITHIN = ("alice", "bob"), ("carol", "dave")


def _job(number: int, user: str, cores: int) -> Job:
    return Job(f"{number}.s", user, Request.of_cores(cores), "workq", number, 1000.0, sequence=number)


def takeable(situation: Situation, plan: Plan) -> list[Start]:
    """The starts that rule A could still take back at the end of the pass, leaving their owners at quota."""
    parts, ledger, _ = situation
    queues = {queue.name: queue for queue in parts.queues}
    found = []
    for start in plan.starts:
        job = start.job
        use = plan_invariants.use(parts, job.queue, "ncpus")
        for preempt in plan.preempts:
            if preempt.run.job.queue == job.queue:
                plan_invariants.add_use(use, parts, plan_invariants.of_run(preempt.run), job.queue, "ncpus", -1)
        for each in plan.starts:
            plan_invariants.add_use(use, parts, each, job.queue, "ncpus", 1)
        bounds = list(queues[job.queue].quotas.bounds(job.user, job.group, job.project))
        stays = all(entity[0] == "u" and use[entity] - job.cores >= limit for entity, limit in bounds)
        if bounds and stays and job.id not in ledger.promises:
            found.append(start)
    return found


@settings_of_law(max_examples=EXAMPLES)
@given(situations())
def test_no_run_is_preempted_where_a_start_of_the_pass_is_enough(situation: Situation) -> None:
    parts, ledger, settings = situation
    plan = decide(parts.snapshot(), ledger, settings)
    if len(plan.ledger.earmarks) != 1 or plan.estimates or not any(not preempt.again for preempt in plan.preempts):
        return
    (beneficiary,) = (job for job in parts.jobs if job.id in plan.ledger.earmarks)
    held = sum(run.allocation.cores for run in parts.runs) + sum(start.allocation.cores for start in plan.starts)
    lacking = beneficiary.cores - (sum(vnode.available["ncpus"] for vnode in parts.vnodes) - held)
    for start in takeable(situation, plan):
        if start.job.user != beneficiary.user:
            assert start.job.cores < lacking, (start.id, beneficiary.id, plan.preempts)


def test_the_drawn_situations_are_worth_it() -> None:
    """Among those drawn starts are taken back, some of them while runs are preempted as well or are exempt."""
    seen: Counter[str] = Counter()

    @settings_of_law(max_examples=EXAMPLES)
    @given(situations())
    def look(situation: Situation) -> None:
        plan = decide(*(situation[0].snapshot(), *situation[1:]))
        passed_over = any(reason.code == "passed-over" for _, reason in plan.reasons().values())
        seen["taken back"] += passed_over
        seen["while others are preempted"] += passed_over and bool(plan.preempts)
        seen["while runs are exempt"] += passed_over and situation[2].quota.exempt_s > 0
        seen["preempted beside starts"] += bool(plan.preempts and plan.starts)

    look()
    assert min(seen.values()) >= 5, seen
