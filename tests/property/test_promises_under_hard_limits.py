"""Promises where PBS's hard limits bind as well: of queues and of the server, on cores and on the number of jobs.

A user's other jobs fill the limit that the promised job needs, others' jobs a limit on all: whatever starts, the head
starts no later than promised. In every life checked, no limit is exceeded either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Job, Ledger, Plan, Queue, Run, Settings, Snapshot, Vnode
from policy.model.allocation import Allocation, Spot
from policy.model.job_request import parse_request
from policy.model.jobs_runs_vnodes_queues import HardLimits, Server
from policy.model.limit_attributes import ALL, GENERIC, EntityKey, Limits
from tests.property.oracles.cluster_over_many_passes import live
from tests.property.strategies.cluster_strategies import NOW_S, Parts, parts_of
from tests.property.strategies.settings_strategies import (
    backfills,
    by_class_settings,
    by_quota_settings,
    cutting_settings,
    lively,
    nobody_makes_room,
)
from tests.property.test_laws_over_time import as_estimated, earlier

Limited = tuple[Parts, tuple[Job, ...], Settings]


_SECONDS = st.sampled_from((10, 20, 50, 100, 300))
_OWNERS = st.sampled_from(("carol", "carol", "dave"))


@st.composite
def limited(draw: st.DrawFn, settings: st.SearchStrategy[Settings]) -> Limited:
    """Runs that leave few cores idle, a wide job that has to wait for them, small ones of its owner and of another user
    behind it and to come, and limits that admit each of them alone, and seldom many together."""
    cores = [draw(st.integers(3, 6)) for _ in range(draw(st.sampled_from((1, 1, 2))))]
    vnodes = tuple(Vnode(f"v{number}", {"ncpus": each}) for number, each in enumerate(cores))
    two = draw(st.sampled_from((False, False, True)))
    names = ("workq", "express") if two else ("workq",)
    runs: list[Run] = []
    for vnode, each in zip(vnodes, cores):
        job = _job(len(runs) + 1, "alice", each - draw(st.integers(1, 2)), "workq", draw(_SECONDS), NOW_S - 5)
        place = Allocation((Spot(vnode.name, (("ncpus", 1),), job.cores),))
        runs.append(Run(job.id, job, NOW_S - 5, place, NOW_S - 5 + job.left_s))
    wide = _job(10, "carol", draw(st.integers(max(2, sum(cores) - 2), sum(cores))), "workq", draw(_SECONDS), NOW_S - 3)
    sizes = st.sampled_from((1, 1, 2, 3))
    numbers = range(11, 11 + draw(st.integers(1, 7)))
    small = [
        _job(
            number, draw(_OWNERS), draw(sizes), draw(st.sampled_from(names)), draw(_SECONDS),
            NOW_S + draw(st.sampled_from((-2, -2, -1, 1, 12, 30))),
        )
        for number in numbers
    ]  # fmt: skip
    hard = _hard(wide.cores)
    queues = tuple(Queue(name, hard=draw(hard)) for name in names)
    shared = st.fixed_dictionaries({"ncpus": st.integers(wide.cores, wide.cores + 3)})
    server = Server(
        hard=draw(st.one_of(st.just(HardLimits()), hard)), shared=draw(st.one_of(st.just({}), st.just({}), shared))
    )
    waiting = tuple(job for job in (wide, *small) if job.submit_s <= NOW_S)
    coming = tuple(job for job in small if job.submit_s > NOW_S)
    return Parts(vnodes, queues, waiting, tuple(runs), NOW_S, server), coming, draw(lively(settings))


def _job(number: int, user: str, cores: int, queue: str, estimate_s: float, submit_s: float) -> Job:
    request = parse_request(str(cores))
    return Job(f"{number}.s", user, request, queue, submit_s, estimate_s, group="chem", sequence=number)


def _hard(widest: int) -> st.SearchStrategy[HardLimits]:
    key: st.SearchStrategy[EntityKey] = st.sampled_from((("u", GENERIC), ("u", "carol"), ("g", "chem"), ALL))
    cores = st.dictionaries(key, st.sampled_from((widest, widest, widest + 1, widest + 2)), min_size=1, max_size=2)
    runs = st.dictionaries(key, st.integers(1, 3), max_size=1)
    return st.builds(lambda run, res: HardLimits(Limits(run), {"ncpus": Limits(res)}), runs, cores)


def without_cuts() -> st.SearchStrategy[Settings]:
    """EASY, or no backfilling, and no job preempts."""
    kinds = st.tuples(st.builds(Settings, backfill=backfills()), st.sampled_from(("easy", "easy", "none")))
    return kinds.map(lambda pair: nobody_makes_room(*pair))


@st.composite
def contested(draw: st.DrawFn) -> Limited:
    """carol's wide job is promised the end of alice's run, and her small one fills her limit until it ends. dave's jobs
    and arrays, within quota or of a higher class, come meanwhile: the wide job gives way to them."""
    settings = replace(draw(st.one_of(by_quota_settings(), by_class_settings())), backfill=draw(backfills("easy")))
    wide, held = draw(st.integers(7, 8)), draw(st.integers(2, 4))
    runs_s = draw(st.sampled_from((100, 200)))
    job = _job(1, "alice", held, "workq", runs_s, NOW_S - 5)
    run = Run(job.id, job, NOW_S - 5, Allocation((Spot("v0", (("ncpus", 1),), held),)), NOW_S - 5 + job.left_s)
    waiting = (
        _job(10, "carol", wide, "workq", draw(_SECONDS), NOW_S - 3),
        _job(11, "carol", draw(st.integers(1, 2)), "workq", draw(st.sampled_from((20, 50, 80))), NOW_S - 2),
    )
    coming: list[Job] = []
    for number in range(12, 12 + draw(st.integers(1, 3))):
        at_s = NOW_S + draw(st.sampled_from((1, 5, 12, 30)))
        each = _job(number, "dave", draw(st.integers(2, 3)), "workq", draw(st.sampled_from((100, 300, 300))), at_s)
        coming.append(each._replace(id=f"{number}[].s", subjobs=(1, 2)) if draw(st.booleans()) else each)
    quotas = Limits({("u", "alice"): 8, ("u", "carol"): 0, ("u", "dave"): draw(st.integers(2, 8))})
    priorities = Limits({("u", "dave"): 5} if draw(st.booleans()) else {})
    hard = HardLimits(max_run_res={"ncpus": Limits({("u", "carol"): wide})})
    queue = Queue("workq", quotas=quotas, priorities=priorities, hard=hard)
    parts = Parts((Vnode("v0", {"ncpus": 8}),), (queue,), waiting, (run,), NOW_S, Server())
    return parts, tuple(coming), draw(lively(st.just(settings)))


def demand_promises_and_limits(drawn: Limited, run_s: Callable[[Job], float]) -> None:
    parts, coming, settings = drawn

    def watch(snapshot: Snapshot, _ledger: Ledger, plan: Plan) -> None:
        before, after = _used(parts_of(snapshot)), _used(parts_of(plan.started))
        for what, (used, limit) in after.items():
            assert used <= max(limit, before[what][0]), what

    assert live(parts, settings, run_s, coming=coming, watch=watch).late == {}


def _used(parts: Parts) -> dict[tuple[str, str, EntityKey], tuple[int, int]]:
    """What counts against each limit, and the limit, by plain counting."""
    counts: dict[tuple[str, str, EntityKey], tuple[int, int]] = {
        ("what the server has", resource, ALL): (sum(run.job.amount(resource) for run in parts.runs), shared)
        for resource, shared in parts.server.shared.items()
    }
    scopes = [("", parts.server.hard), *((queue.name, queue.hard) for queue in parts.queues)]
    for scope, hard in scopes:
        for resource, limits in hard.by_resource().items():
            counts |= {(scope, resource, key): (0, limit) for key, limit in limits.entries.items() if key[1] != GENERIC}
            for run in parts.runs:
                job = run.job
                for bound in limits.bounds(job.user, job.group, job.project) if scope in ("", job.queue) else ():
                    key = (scope, resource, bound.entity)
                    amount = job.amount(resource) if resource else 1
                    counts[key] = (counts.get(key, (0, 0))[0] + amount, bound.limit)
    return _WithZero(counts)


class _WithZero(dict[tuple[str, str, EntityKey], tuple[int, int]]):
    def __missing__(self, key: tuple[str, str, EntityKey]) -> tuple[int, int]:
        return 0, 0


@given(limited(without_cuts()), st.sampled_from((as_estimated, earlier)))
def test_a_promise_is_kept_while_jobs_of_the_owner_fill_a_limit(drawn: Limited, run_s: Callable[[Job], float]) -> None:
    demand_promises_and_limits(drawn, run_s)


@given(limited(cutting_settings(rescue=False)), st.sampled_from((as_estimated, earlier)))
def test_a_promise_is_kept_by_cutting_under_limits(drawn: Limited, run_s: Callable[[Job], float]) -> None:
    demand_promises_and_limits(drawn, run_s)


@given(limited(cutting_settings(rescue=True)), st.sampled_from((as_estimated, earlier)))
def test_a_promise_is_kept_while_short_jobs_are_rescued_under_limits(
    drawn: Limited, run_s: Callable[[Job], float]
) -> None:
    demand_promises_and_limits(drawn, run_s)


@given(contested(), st.sampled_from((as_estimated, earlier)))
def test_a_promise_under_limits_is_kept_or_moves_for_a_better_claim(
    drawn: Limited, run_s: Callable[[Job], float]
) -> None:
    demand_promises_and_limits(drawn, run_s)


def test_the_drawn_lives_are_worth_it() -> None:
    """In some of them a promised job meets a limit that is full, and starts in time all the same."""
    seen: Counter[str] = Counter()

    @settings_of_law(max_examples=150)
    @given(limited(without_cuts()))
    def look(drawn: Limited) -> None:
        parts, coming, settings = drawn
        history = live(parts, settings, as_estimated, coming=coming)
        full = {
            estimate.id
            for _, ledger, plan in history.passes
            for estimate in plan.estimates
            if estimate.id in ledger.promises
            for tried in (plan.reason_of(estimate.id) or plan.waits[0].reason).tried
            if tried.code in ("hard-limit", "server-resource")
        }
        seen.update({"a limit is full": bool(full), "promised": any(plan.estimates for _, _, plan in history.passes)})

    look()
    assert min(seen["a limit is full"], seen["promised"]) >= 5, seen
