"""No cut without need, over whole lives: none that could have been left out, none of too much work, none whose victim
starts again in the same second (docs/policies.md, P3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Job, Ledger, Plan, Preempt, Queue, Run, Settings, Snapshot, Vnode, decide
from policy.model.allocation import Allocation, Spot
from policy.model.job_request import Chunk, Request, parse_request
from policy.model.ledger_between_passes import Backfilled
from tests.property.oracles import plan_invariants
from tests.property.oracles.cluster_over_many_passes import History, live
from tests.property.strategies.backfilled_strategies import backfilling_clusters
from tests.property.strategies.change_strategies import arrivals
from tests.property.strategies.cluster_strategies import NOW_S, USERS, Parts, clusters, crowded_clusters, parts_of
from tests.property.strategies.settings_strategies import cutting_settings, lively
from tests.property.test_laws_over_time import Lively, as_estimated, earlier

CUTS = ("cut-for-promise", "cut-for-rescue")


def lives(*, plain: bool = False, saves: bool = True) -> st.SearchStrategy[Lively]:
    """Clusters where P3 cuts and perhaps rescues; plain ones are a matter of counting cores. Without saving, no job of
    them saves, and a little work may be repeated."""
    counted = st.one_of(backfilling_clusters(), clusters(plain=True), crowded_clusters(), backfilling_clusters())
    parts = counted if plain else st.one_of(counted, clusters(), alone_on_vnodes(), counted)
    settings = lively(cutting_settings())
    if not saves:
        parts, settings = parts.map(_saving_nothing), settings.flatmap(_repeating_little)
    pairs = st.tuples(parts, settings)
    return pairs.flatmap(lambda pair: st.tuples(st.just(pair[0]), arrivals(pair[0]), st.just(pair[1])))


def _saving_nothing(parts: Parts) -> Parts:
    return replace(
        parts,
        jobs=tuple(job._replace(saves=False) for job in parts.jobs),
        runs=tuple(run._replace(job=run.job._replace(saves=False)) for run in parts.runs),
    )


def _repeating_little(settings: Settings) -> st.SearchStrategy[Settings]:
    return st.sampled_from((60, 30, 1000)).map(
        lambda most_s: replace(settings, checkpoint=replace(settings.checkpoint, repeat_at_most_s=most_s))
    )


@st.composite
def alone_on_vnodes(draw: st.DrawFn) -> Parts:
    """One long run on each vnode, and short and long jobs that wait; many of them want their vnodes alone."""
    vnodes = tuple(Vnode(f"v{number}", {"ncpus": draw(st.integers(3, 6))}) for number in range(draw(st.integers(2, 4))))
    sharing, least = st.sampled_from(("excl", "excl", "")), 3

    def job(number: int, cores: int, estimate_s: float, submit_s: float) -> Job:
        request = Request((Chunk(1, (("ncpus", cores),)),), "free", draw(sharing))
        return Job(f"{number}.s", draw(st.sampled_from(USERS)), request, "workq", submit_s, estimate_s, sequence=number)

    seconds, ago = st.sampled_from((10, 20, 50, 300)), st.sampled_from((5.0, 60.0, 100.0))
    runs = []
    for number, vnode in enumerate(vnodes, 1):
        asked = job(
            number, draw(st.integers(least, vnode.available["ncpus"])), draw(st.sampled_from((200, 400))), 800.0
        )
        place = Allocation((Spot(vnode.name, (("ncpus", asked.cores),), 1),))
        runs.append(Run(asked.id, asked, NOW_S - 100, place, NOW_S - 100 + asked.estimate_s))
    numbers = range(10, 10 + draw(st.integers(2, 5)))
    waiting = tuple(job(n, draw(st.integers(1, least)), draw(seconds), NOW_S - draw(ago)) for n in numbers)
    return Parts(vnodes, (Queue("workq"),), waiting, tuple(runs))


def cut_in(plan: Plan, *codes: str) -> Iterator[Preempt]:
    """The runs that this plan is the first to cut."""
    return (preempt for preempt in plan.preempts if preempt.reason.code in (codes or CUTS) and not preempt.again)


@st.composite
def due_for_several(draw: st.DrawFn) -> tuple[Parts, Ledger, Settings]:
    """Several jobs were promised about this time, beside others that were promised nothing, and most runs give way."""
    parts = draw(crowded_clusters())
    cores, times = st.sampled_from((1, 2, 2, 3, 5)), st.sampled_from((0, 0, 0, -10, 10, None))
    waiting = [job._replace(request=parse_request(str(draw(cores))), subjobs=None, blocked="") for job in parts.jobs]
    more = [waiting[0]._replace(id=f"{n}.s", sequence=n, request=parse_request(str(draw(cores)))) for n in (200, 201)]
    parts = replace(parts, jobs=(*waiting, *more))
    drawn = {job.id: draw(times) for job in parts.jobs}
    backfilled = {run.id: Backfilled(NOW_S + draw(st.sampled_from((-20.0, 10.0))), True) for run in parts.runs}
    promises = {job_id: float(NOW_S + at_s) for job_id, at_s in drawn.items() if at_s is not None}
    return parts, Ledger(promises, backfilled=backfilled), draw(cutting_settings(rescue=False))


@given(due_for_several())
def test_no_pass_cuts_a_run_that_could_have_been_left_out(situation: tuple[Parts, Ledger, Settings]) -> None:
    """Whichever victim is left out, its beneficiary finds no room beside what is kept for those before it."""
    parts, ledger, settings = situation
    _demand_all_needed(parts, decide(parts.snapshot(), ledger, settings))


@given(lives())
def test_no_pass_of_a_life_cuts_a_run_that_could_have_been_left_out(lively: Lively) -> None:
    parts, coming, settings = lively

    def watch(snapshot: Snapshot, _ledger: Ledger, plan: Plan) -> None:
        _demand_all_needed(parts_of(snapshot), plan)

    live(parts, settings, earlier, coming=coming, watch=watch)


def _demand_all_needed(parts: Parts, plan: Plan) -> None:
    """Each with those gone, and what is kept, that were decided before it: a later head's cut may leave over more."""
    waiting = {job.id: job for job in parts.jobs}
    served: list[str] = []
    for preempt in plan.preempts:
        if preempt.beneficiary not in served:
            served.append(preempt.beneficiary)
        job = waiting[preempt.beneficiary]
        if preempt.again or preempt.reason.code not in CUTS or not plan_invariants.simple(job.request):
            continue
        then = plan._replace(
            preempts=tuple(each for each in plan.preempts if each.beneficiary in served),
            ledger=plan.ledger._replace(earmarks={i: h for i, h in plan.ledger.earmarks.items() if i in served}),
        )
        assert not plan_invariants.fits_without(parts, then, job, preempt.id), (preempt.id, job.id)


@given(lives(saves=False))
def test_what_does_not_save_is_not_cut_once_it_is_dear_to_repeat(lively: Lively) -> None:
    parts, coming, settings = lively
    checkpoint = settings.checkpoint

    def watch(snapshot: Snapshot, ledger: Ledger, plan: Plan) -> None:
        for preempt in cut_in(plan, "cut-for-promise"):
            job = preempt.run.job
            if not (checkpoint.saves if job.saves is None else job.saves):
                assert snapshot.time_s - preempt.run.start_s <= checkpoint.repeat_at_most_s, preempt.id

    live(parts, settings, earlier, coming=coming, watch=watch)


@given(lives())
def test_a_job_that_is_rescued_starts_on_the_cores_of_the_run_that_was_cut_for_it(lively: Lively) -> None:
    """In the next pass, as all victims let go at once."""
    parts, coming, settings = lively
    history = live(parts, settings, earlier, coming=coming)
    for (_, _, plan), (_, _, then) in zip(history.passes, history.passes[1:]):
        rescued = {preempt.beneficiary for preempt in cut_in(plan, "cut-for-rescue")}
        assert rescued <= {start.job.id for start in then.starts}


@settings_of_law(max_examples=400)
@given(lives(plain=True))
def test_no_run_is_cut_and_starts_again_in_the_same_second(lively: Lively) -> None:
    """Where counting cores tells. (Where it matters on which vnodes they are, a victim may find others.)"""
    parts, coming, settings = lively
    counted = [job for job in coming if job.request.only_cores]
    assert list(_restarted(live(parts, settings, earlier, coming=counted))) == []


def _restarted(history: History) -> Iterator[tuple[str, float]]:
    """Victims that start in the second in which they were cut, without those in which another run came to its end."""
    ends_s = {history.segments[run_id][-1][1] for run_id in history.ended}
    cut: set[tuple[str, float]] = set()
    for snapshot, _, plan in history.passes:
        now_s = snapshot.time_s
        yield from ((start.id, now_s) for start in plan.starts if (start.id, now_s) in cut and now_s not in ends_s)
        cut |= {(preempt.id, now_s) for preempt in cut_in(plan)}


def test_the_drawn_situations_are_worth_it() -> None:
    """Among those drawn several heads are cut for at once, and runs that do not save are cut."""
    seen: Counter[str] = Counter()

    @settings_of_law(max_examples=150)
    @given(due_for_several())
    def look(situation: tuple[Parts, Ledger, Settings]) -> None:
        plan = decide(situation[0].snapshot(), *situation[1:])
        heads = {preempt.beneficiary for preempt in cut_in(plan)}
        seen.update({"several": len(heads) > 1, "one": len(heads) == 1})

    look()
    assert min(seen["several"], seen["one"]) >= 5, seen


def test_the_drawn_lives_are_worth_it() -> None:
    seen: Counter[str] = Counter()

    @settings_of_law(max_examples=100)
    @given(lives())
    def look(lively: Lively) -> None:
        parts, coming, settings = lively
        history = live(parts, settings, as_estimated, coming=coming)
        codes = {preempt.reason.code for _, _, plan in history.passes for preempt in cut_in(plan)}
        seen.update({code: code in codes for code in CUTS})

    look()
    assert min(seen.values()) >= 5, seen
