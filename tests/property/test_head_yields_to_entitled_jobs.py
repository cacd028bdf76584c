"""A head has no veto against entitled jobs (docs/policies.md, P1, "A head has no veto"), tried on random clusters.

Passes are made until nothing changes. No job within quota waits then beside a run that rule A may take for it, or a job
above the base class beside one that rule B may, where a single such run, or all of them, would make room; whatever is
head, but for a head with as good a claim. Such a head is never moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Changes, Job, Ledger, Plan, Queue, Request, Run, Settings, Snapshot, Vnode, decide
from policy.eligibility.soft_quotas import Quotas
from policy.fit.best_fit import fit, fits
from policy.model.allocation import Allocation, Spot
from policy.model.job_request import parse_request
from policy.model.jobs_runs_vnodes_queues import HardLimits, Server
from policy.model.limit_attributes import EntityKey, Limits
from policy.model.priority_class import BASE
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import VICTIM_ORDERS, PrioritySettings, QuotaSettings
from tests.property.oracles.priority_classes_by_hand import (
    class_of_express,
    class_of_victim,
    classes_of_jobs,
    classes_of_runs,
)
from tests.property.strategies.cluster_strategies import (
    NOW_S,
    Parts,
    clusters,
    contended_clusters,
    crowded_clusters,
    in_site_order,
    parts_of,
)
from tests.property.strategies.ledger_between_passes_strategies import ledgers
from tests.property.strategies.made_once import sampled_from
from tests.property.strategies.quota_class_and_head_strategies import WIDE, contested_sites
from tests.property.strategies.settings_strategies import backfills, checkpoints
from tests.property.strategies.situation_strategies import Situation

PASSES = 60

EXAMPLES = 300
"""So many are drawn of each law: tests/property/test_law_mutations.py shows that they are enough."""

MAY_START = frozenset({"reserved", "too-few-idle", "fragmented", "backfill-window", "behind-head", "preempting"})
"""The reasons that more idle cores would do away with."""


def sites(*caps: int | None) -> st.SearchStrategy[Settings]:
    """Rule A, rule B, or both, with nothing else that keeps a job from preempting but one of the caps, or none."""
    return st.builds(
        Settings,
        backfill=backfills(),
        quota=st.builds(
            QuotaSettings,
            preempt=st.sampled_from((True, True, False)),
            victim_order=st.sampled_from(VICTIM_ORDERS),
            max_preemptions=st.sampled_from(caps or (None, None, 1, 3)),
            max_victims_per_pass=st.just(1000),
        ),
        priority=st.builds(
            PrioritySettings, preempt=st.sampled_from((True, True, False)), compare_queues=st.booleans()
        ),
        checkpoint=checkpoints(),
        schedule=st.just(ScheduleSettings(max_starts=1000)),
    )


def situations() -> st.SearchStrategy[Situation]:
    """Contended clusters with heads of every kind: some of them promised a start by an earlier pass, their owners over
    quota, without an entry, within quota; wide and exclusive ones; of any class."""
    parts = st.one_of(
        contended_clusters(), contended_clusters(ranked=True), crowded_clusters(), clusters(), clusters(plain=True)
    )
    kinds = (contested_sites(), contested_sites(), contested_sites(), overrun_clusters(), parts)
    parts = st.sampled_from(kinds).flatmap(lambda drawn: drawn)
    parts = st.one_of(parts, parts.flatmap(in_site_order))
    pairs = st.tuples(parts.map(without_gates), sites())
    return pairs.flatmap(lambda pair: st.tuples(st.just(pair[0]), pasts(pair[0]), st.just(pair[1])))


def roomy_situations() -> st.SearchStrategy[Situation]:
    """The same at sites with idle cores, which jobs that may not be preempted would take beyond their quotas; some of
    those that wait were preempted before."""
    pairs = st.tuples(contested_sites(roomy=True).map(without_gates), sites(None, 3, 3))
    return pairs.flatmap(
        lambda pair: st.tuples(st.just(pair[0]), preempted_before(pair[0], pasts(pair[0])), st.just(pair[1]))
    )


@st.composite
def preempted_before(draw: st.DrawFn, parts: Parts, before: st.SearchStrategy[Ledger]) -> Ledger:
    """The ledger with preemptions of the jobs that wait; of an array its next subjob's."""
    ledger = draw(before)
    counts = {
        job.subjob_id(job.subjobs[0]) if job.subjobs else job.id: draw(sampled_from((0, 3))) for job in parts.jobs
    }
    return ledger._replace(preemptions={**ledger.preemptions, **counts})


def pasts(parts: Parts) -> st.SearchStrategy[Ledger]:
    """Any past without holds; where it waits, the wide job may have been promised a start."""
    free = ledgers(parts).map(lambda ledger: ledger._replace(earmarks={}))
    if not any(job.id == WIDE for job in parts.jobs):
        return free
    promises = st.sampled_from(({}, {WIDE: NOW_S + 100}, {WIDE: NOW_S + 2000}))
    return st.tuples(free, promises).map(lambda pair: pair[0]._replace(promises=pair[1]))


@st.composite
def overrun_clusters(draw: st.DrawFn) -> Parts:
    """Runs of users over quota, or without one, on nearly all cores; the job that waits longest is wide, or wants its
    vnodes alone, and is anybody's; those behind it run on for long, most of them of users within quota."""
    vnodes = tuple(Vnode(f"v{n}", {"ncpus": draw(sampled_from((4, 8)))}) for n in range(draw(st.integers(2, 4))))
    runs: list[Run] = []
    for vnode in vnodes:
        left = vnode.available["ncpus"] - draw(sampled_from((0, 0, 0, 2)))
        while left > 0:
            cores = min(left, draw(sampled_from((2, 4, 8))))
            left -= cores
            number, start_s = len(runs) + 1, NOW_S - draw(sampled_from((10, 500, 2000)))
            estimate_s = draw(sampled_from((2100.0, 4000.0, 9000.0)))
            user = draw(sampled_from(("alice", "alice", "alice", "bob", "bob", "erin")))
            its = Job(f"r{number}", user, Request.of_cores(cores), "workq", start_s, estimate_s, sequence=number)
            its = its._replace(rerunable=draw(sampled_from((True, True, True, False))))
            there = Allocation((Spot(vnode.name, (("ncpus", 1),), cores),))
            runs.append(Run(its.id, its, start_s, there, start_s + estimate_s))
    wide = draw(sampled_from(("1:ncpus=4", "2:ncpus=4", "2:ncpus=2", "8")))
    place = draw(sampled_from(("free", "free", "scatter", "excl")))
    head = Job(
        "9000",
        draw(sampled_from(("alice", "bob", "erin", "erin", "carol"))),
        parse_request(wide, place),
        "workq",
        0.0,
    )
    jobs = [head._replace(estimate_s=draw(sampled_from((50.0, 3000.0))), sequence=9000)]
    for number in range(9001, 9001 + draw(st.integers(1, 4))):
        user, cores = (
            draw(sampled_from(("carol", "dave", "carol", "dave", "alice"))),
            draw(sampled_from((1, 2, 4))),
        )
        jobs.append(Job(str(number), user, Request.of_cores(cores), "workq", number - 9000.0, 9000.0, sequence=number))
    small, large = st.sampled_from((0, 2, 4)), st.sampled_from((4, 8, 16, 16))
    own = {
        ("u", name): draw(small if name in ("alice", "bob") else large) for name in ("alice", "bob", "carol", "dave")
    }
    ranks: dict[EntityKey, int] = {key: draw(sampled_from((0, 1, 5, 9))) for key in own} if draw(st.booleans()) else {}
    queue = Queue("workq", quotas=Limits(own), priorities=Limits(ranks))
    return Parts(vnodes, (queue,), tuple(jobs), tuple(runs), NOW_S)


def without_gates(parts: Parts) -> Parts:
    """The same where no hard limit, no licence and no wish of a job's own keeps it from starting."""
    jobs = tuple(job._replace(layout=None, rank=None, blocked="", not_before_s=None) for job in parts.jobs)
    queues = tuple(replace(queue, hard=HardLimits()) for queue in parts.queues)
    return replace(parts, jobs=jobs, queues=queues, server=Server(quotas=parts.server.quotas))


def passes(situation: Situation) -> Iterator[tuple[Snapshot, Ledger, Plan]]:
    """The passes of one moment, until nothing changes; victims let go at once."""
    parts, ledger, settings = situation
    snapshot = parts.snapshot()
    for _ in range(PASSES):
        plan = decide(snapshot, ledger, settings)
        yield snapshot, ledger, plan
        ledger, snapshot = plan.ledger, plan.started
        if not plan.starts and not plan.preempts and not plan.again:
            return
        runs = [snapshot.runs[preempt.id] for preempt in plan.preempts]
        snapshot = snapshot.apply(Changes(snapshot.time_s, _queued(runs, snapshot), gone=[run.id for run in runs]))
    raise AssertionError(f"cores change hands after {PASSES} passes of one moment")


def _queued(runs: list[Run], snapshot: Snapshot) -> list[Job]:
    """The jobs of the runs as they wait again; subjobs go back into their arrays."""
    waiting: dict[str, Job] = {}
    for run in runs:
        job = waiting.get(run.job.id) or snapshot.jobs.get(run.job.id)
        subjobs = tuple(sorted({*(job.subjobs if job and job.subjobs else ()), run.subjob or 0}))
        waiting[run.job.id] = run.job if run.subjob is None else run.job._replace(subjobs=subjobs)
    return list(waiting.values())


class PreemptionRights:
    """By hand: what rules A and B would let a job take in the last pass, one run at a time."""

    def __init__(self, snapshot: Snapshot, plan: Plan, ledger: Ledger, settings: Settings) -> None:
        self.parts = parts_of(snapshot)
        self.settings = settings
        self.preemptions = ledger.preemptions
        self.quotas = Quotas(snapshot.cluster(), settings.quota.counted)
        self.has_classes = self.parts.snapshot().cluster().has_classes
        self.express = {queue.name for queue in self.parts.queues if class_of_express(queue) is not None}
        self.of_jobs = classes_of_jobs(self.parts) if self.has_classes else {}
        self.of_runs = classes_of_runs(self.parts, dict(ledger.classes)) if self.has_classes else {}
        self.managed = {queue.name for queue in self.parts.queues if queue.managed}

    def compare(self, queue: str, other: str) -> bool:
        """Whether the classes of two queues do."""
        return self.settings.priority.compare_queues or queue == other or not self.express.isdisjoint((queue, other))

    def is_within(self, job: Job) -> bool:
        return bool(self.quotas.bounds(job)) and self.quotas.exceeded_by(job) is None

    def takes(self, job: Job, run: Run, gone: frozenset[str] = frozenset()) -> bool:
        if not run.job.rerunable or run.exiting or run.job.queue not in self.managed:
            return False
        if run.subjob is not None and run.start_s == self.parts.time_s:
            # A start of the same second, which is not taken back as it is a subjob's: a victim from the next pass on.
            return False
        if self.preemptions.get(run.id, 0) >= self.settings.quota.cap:
            return False
        compare = self.compare(run.job.queue, job.queue)
        own, its = self.of_jobs.get(job.id, BASE), BASE
        if self.has_classes:
            its = class_of_victim(self.parts, self.of_runs, run, gone)
        if self.settings.priority.preempt and compare and its < own:
            return True
        if not self.settings.quota.preempt or run.job.user == job.user or (compare and its > own):
            return False
        return self.is_within(job) and self.quotas.surplus(run.job, run.allocation) is not None

    def outranks(self, job: Job, head: Job) -> bool:
        """Whether the head gives way to the job."""
        own, its = self.of_jobs.get(job.id, BASE), self.of_jobs.get(head.id, BASE)
        if self.compare(job.queue, head.queue):
            if own < its:
                return False
            if self.settings.priority.preempt and own > its:
                return True
        return self.settings.quota.preempt and self.is_within(job) and not self.is_within(head)

    def all_at_once(self, job: Job) -> list[Run]:
        """The runs that may all go together: those of lower classes and of owners who stay over quota without them."""
        taken: list[Run] = []
        for run in self.parts.runs:
            if self.takes(job, run, frozenset(each.id for each in self.parts.runs)):
                self.quotas.shift(run.job, -1, run.allocation)
                taken.append(run)
        for run in taken:
            self.quotas.shift(run.job, 1, run.allocation)
        # Where an owner could give some runs but not all, it depends on their order which: none of these count.
        given = Counter(self.quotas.owner(run.job, run.allocation) for run in taken)
        able = Counter(self.quotas.owner(run.job, run.allocation) for run in self.parts.runs if self.takes(job, run))
        return [run for run in taken if given[owner := self.quotas.owner(run.job, run.allocation)] == able[owner]]


def reserved_for(job: Job, snapshot: Snapshot, settings: Settings) -> int:
    """The vnodes of which some reservation begins before the job would be over, or is not over yet; as the job starts
    only when others have made room, it has to be over somewhat earlier."""
    late_s = settings.schedule.interval_s + settings.checkpoint.grace_s
    end_s = snapshot.time_s + late_s + job.left_s
    directory = snapshot.cluster().capacity.directory
    return sum(
        directory.bits[vnode.name]
        for vnode in snapshot.vnodes.values()
        if any(window.meets(snapshot.time_s, end_s) for window in vnode.closed)
    )


def heads_of(plan: Plan) -> set[str]:
    return {job_id for job_id, (_, reason) in plan.reasons().items() if reason.code == "reserved"}


@settings_of_law(max_examples=EXAMPLES)
@given(situations())
def test_no_entitled_job_waits_beside_runs_that_may_be_taken_for_it(situation: Situation) -> None:
    settings = situation[2]
    *_, (snapshot, ledger, plan) = passes(situation)
    rights = PreemptionRights(snapshot, plan, ledger, settings)
    heads = [snapshot.jobs[head] for head in heads_of(plan)]
    capacity = snapshot.cluster().capacity
    for job, reason in plan.reasons().values():
        if (
            reason.code not in MAY_START
            or job.pinned
            or (rights.of_jobs.get(job.id, BASE) == BASE and not rights.is_within(job))
        ):
            continue
        if any(head.id != job.id and not rights.outranks(job, head) for head in heads):
            continue
        allowed = snapshot.cluster().vnodes_of(job.queue) & ~reserved_for(job, snapshot, settings)
        single = [[run] for run in rights.parts.runs if rights.takes(job, run)]
        for runs in (*single, rights.all_at_once(job)):
            if not runs:
                continue
            free = capacity.copy()
            for run in runs:
                free.give(run.allocation.shares(free.directory), run.job.request)
            if job.request.exclusive and (there := fit(free, job.request, allowed)) is not None:
                # What it would keep shows only where it is.
                entitled = rights.of_jobs.get(job.id, BASE) != BASE or rights.quotas.exceeded_by(job, there) is None
                assert not entitled, (job.id, reason, [run.id for run in runs], heads_of(plan))
                continue
            assert not fits(free, job.request, allowed), (job.id, reason, [run.id for run in runs], heads_of(plan))


@given(situations())
def test_a_head_with_as_good_a_claim_is_never_moved(situation: Situation) -> None:
    """Judged as quotas and classes stand before the pass; a head that others of its owner put over quota in the pass
    may be moved in it."""
    for snapshot, ledger, plan in passes(situation):
        rights = PreemptionRights(snapshot, plan, ledger, situation[2])
        started_of = {(start.job.user, start.job.group, start.job.project) for start in plan.starts}
        for moved in plan.moved:
            head = snapshot.jobs[moved.id]
            others = {
                key for key in started_of if head.user == key[0] or head.group == key[1] or head.project == key[2]
            }
            beneficiary = snapshot.jobs.get(moved.beneficiary)
            if beneficiary is not None and not others:
                assert rights.outranks(beneficiary, head), (moved, rights.of_jobs)


@given(situations())
def test_a_promise_moves_only_as_it_is_reported(situation: Situation) -> None:
    for _, ledger, plan in passes(situation):
        moved = {each.id: each for each in plan.moved}
        started = {start.job.id for start in plan.starts}
        for job_id, was_s in ledger.promises.items():
            if job_id in moved:
                assert moved[job_id].was_s == was_s
                assert plan.ledger.promises.get(job_id) == moved[job_id].at_s
                assert plan.ledger.moved[job_id].beneficiary == moved[job_id].beneficiary
            elif job_id not in started and job_id in plan.ledger.promises:
                assert plan.ledger.promises[job_id] == was_s


def test_the_drawn_situations_are_worth_it() -> None:
    """Among those drawn promises move by each rule, and heads keep theirs, or these laws prove nothing."""
    seen: Counter[str] = Counter()

    @settings_of_law(max_examples=2 * EXAMPLES)
    @given(situations())
    def look(situation: Situation) -> None:
        for _, _, plan in passes(situation):
            seen.update("moved" for _ in plan.moved)
            seen.update(preempt.reason.code for preempt in plan.preempts)
            for _, reason in plan.reasons().values():
                seen.update(tried.code for tried in (reason, *reason.tried))

    look()
    for code in ("moved", "preempted-quota", "preempted-class", "promise-moved"):
        assert seen[code] >= 3, (code, seen)


@pytest.mark.parametrize("order", VICTIM_ORDERS)
def test_one_wide_job_of_a_user_over_quota_switches_nothing_off(order: str) -> None:
    """alice runs on all cores and queues a job for all of them; bob gets his quota all the same."""
    from tests.policy.clusters import cluster, job, plan_for, queue, quota_settings, run, victims, vnode

    vnodes = [vnode(f"v{number}", 8) for number in (1, 2, 3)]
    runs = [run(str(number), "alice", f"v{number}=8", 0, 1200) for number in (1, 2, 3)]
    waiting = [job("4", "alice", "3:ncpus=8", 1200), job("5", "bob", "8", 7200)]
    plan = plan_for(
        cluster(vnodes, waiting, runs, queues=[queue("[u:alice=8],[u:bob=16]")]), quota_settings(victim_order=order)
    )
    assert list(victims(plan).values()) == ["5"]
