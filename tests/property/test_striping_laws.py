"""The laws of striping, on random clusters of random nodes: one law a test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from random import Random

from hypothesis import event, given
from hypothesis import strategies as st

from policy import Job, Ledger, Queue, Run, Settings, Snapshot, Vnode, parse_request
from policy.model.allocation import Allocation, Spot
from policy.model.job_preferences import Layout
from policy.model.job_request import Amounts, Chunk
from policy.plan.job_placer import Placer
from policy.reasons.reason import Reason
from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.striping.spread_ranks import cut
from tests.property.strategies.cluster_strategies import NOW_S, places, run_lists, selects, vnode_lists

STAGGER_S = 60


@dataclass(frozen=True)
class Context:
    """Vnodes, some of several to a host, with runs on them, and jobs that are placed one after the other."""

    vnodes: tuple[Vnode, ...]
    runs: tuple[Run, ...]
    jobs: tuple[Job, ...]
    settings: StripeSettings
    ledger: Ledger = Ledger()  # noqa: RUF009 - a frozen value


def layouts() -> st.SearchStrategy[Layout | None]:
    stripes = st.builds(Layout, st.just("stripe"), st.none() | st.integers(1, 9), st.integers(1, 3))
    autos = st.builds(Layout, st.just("auto"), st.none() | st.integers(1, 9), st.integers(1, 3))
    return st.one_of(stripes, stripes, st.none(), st.just(Layout("pack")), autos)


def many_ranks() -> st.SearchStrategy[str]:
    """A chunk given once, for many processes."""
    ranks = st.sampled_from((2, 4, 6, 8, 12))
    return ranks.map(lambda n: f"1:ncpus={n}:mpiprocs={n}") | ranks.map(
        lambda n: f"1:ncpus={2 * n}:mpiprocs={n}:mem=4gb"
    )


@st.composite
def scenes(draw: st.DrawFn, *, simple: bool = False) -> Context:
    """Simple ones have one vnode a host and jobs of single cores only."""
    vnodes = draw(vnode_lists(plain=True, most=9) if simple else vnode_lists(most=9))
    runs = draw(st.one_of(st.just(()), run_lists(vnodes, (Queue("workq"),), simple)))
    jobs = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        single = st.integers(1, 24).map(str)
        select = draw(single if simple else st.one_of(selects(), single, many_ranks()))
        anywhere = simple or draw(st.integers(0, 4)) > 0
        request = parse_request(select, "" if anywhere else draw(places()))
        wish = draw(layouts())
        application = draw(st.sampled_from(("", "cfd", "md")))
        jobs.append(
            Job(
                f"new{number}", "alice", request, "workq", 0, 500, application=application, layout=wish, sequence=number
            )
        )
    settings = StripeSettings(
        layout=draw(st.sampled_from(("stripe", "stripe", "learn", "auto", "none"))),
        width_factor=draw(st.sampled_from((1, 1.5, 2, 4))),
        stagger_s=draw(st.sampled_from((0, STAGGER_S))),
        idle_within_s=draw(st.sampled_from((0, 100))),
        prefer=draw(st.sampled_from(("idle", "shared"))),
        queues=draw(st.sampled_from(((), (("workq", "stripe"),), (("workq", "learn"),), (("workq", "auto"),)))),
    )
    striped = draw(st.lists(st.sampled_from(vnodes), unique_by=lambda vnode: vnode.name))
    promises = {job.id: NOW_S for job in jobs if draw(st.integers(0, 3)) == 0}
    ledger = Ledger(
        promises=promises, stripes={vnode.name: NOW_S - draw(st.sampled_from((10.0, 60.0, 500.0))) for vnode in striped}
    )
    return Context(vnodes, runs, tuple(jobs), settings, ledger)


@st.composite
def idle_scenes(draw: st.DrawFn) -> Context:
    """Idle nodes that are alike, and jobs that no node holds alone and that leave their layout to the policy."""
    cores = draw(st.sampled_from((4, 2, 8)))
    vnodes = tuple(Vnode(f"v{number:02}", {"ncpus": cores}) for number in range(draw(st.integers(4, 12))))
    wishes = st.none() | st.builds(Layout, st.just("auto"), st.none() | st.integers(1, 9), st.integers(1, 3))
    jobs = tuple(
        Job(f"new{number}", "alice", parse_request(str(asked)), "workq", 0, 500, layout=draw(wishes), sequence=number)
        for number, asked in enumerate(draw(st.lists(st.integers(cores + 1, 3 * cores), min_size=1, max_size=3)))
    )
    factors = st.sampled_from((1, 1.5, 2)), st.sampled_from((4.0, 1.0, 3.0))
    settings = StripeSettings("auto", width_factor=draw(factors[0]), widest_factor=draw(factors[1]))
    return Context(vnodes, (), jobs, settings, Ledger())


@dataclass(frozen=True)
class Outcome:
    """What became of one job: where it went, or why not; and what its layout was."""

    job: Job
    found: Allocation | Reason | None
    why: Reason | None

    @property
    def stripe(self) -> Allocation | None:
        """The placement where it is a stripe."""
        striped = self.why is not None and self.why.code == "striped"
        return self.found if striped and isinstance(self.found, Allocation) else None


def play(context: Context) -> tuple[list[Outcome], Snapshot, Placer]:
    """Place the jobs in turn, each on what the ones before it left."""
    snapshot = Snapshot.build(NOW_S, context.vnodes, [], [], context.runs)
    cluster = snapshot.cluster()
    placer = Placer(cluster, Settings(stripe=context.settings), context.ledger, NOW_S)
    outcomes = []
    for job in context.jobs:
        found = placer.place(job, (1 << len(context.vnodes)) - 1)
        outcomes.append(Outcome(job, found, placer.why_layout(job)))
        if isinstance(found, Allocation):
            cluster.set_run(job.id, Run(job.id, job, NOW_S, found, NOW_S + job.estimate_s))
            placer.started(job, found)
    return outcomes, snapshot, placer


def host_of(context: Context) -> dict[str, str]:
    return {vnode.name: vnode.host or vnode.name for vnode in context.vnodes}


def pieces_by(spots: tuple[Spot, ...], places: dict[str, str]) -> dict[str, int]:
    """Pieces by place: by host, or by vnode."""
    pieces: dict[str, int] = {}
    for spot in spots:
        pieces[places[spot.vnode]] = pieces.get(places[spot.vnode], 0) + spot.chunks
    return pieces


@given(scenes())
def test_the_nodes_of_a_stripe_get_the_same_number_of_pieces_or_one_more(context: Context) -> None:
    for outcome in play(context)[0]:
        if outcome.stripe is not None and outcome.why is not None:
            pieces = pieces_by(outcome.stripe.spots, host_of(context))
            event("striped")
            assert max(pieces.values()) - min(pieces.values()) <= 1
            assert len(pieces) == outcome.why.number("width")
            assert max(pieces.values()) == outcome.why.number("pieces")


@given(scenes())
def test_a_job_gets_exactly_what_it_asked_for(context: Context) -> None:
    for outcome in play(context)[0]:
        if isinstance(outcome.found, Allocation):
            asked = outcome.job.request
            assert {name: outcome.found.total(name) for name, _ in asked.totals} == dict(asked.totals)
            kinds = [sorted(_pieces(request.chunks)) for request in (asked, cut(asked) or asked)]
            assert sorted(_given_out(outcome.found)) in kinds


def _given_out(allocation: Allocation) -> list[Amounts]:
    """The amounts of each piece; those of a chunk that is on several vnodes of a host together."""
    pieces: list[Amounts] = []
    for spot in allocation.spots:
        if spot.joined:
            parts = (dict(pieces.pop()), dict(spot.amounts))
            pieces.append(
                tuple((name, sum(part.get(name, 0) for part in parts)) for name in sorted({*parts[0], *parts[1]}))
            )
        else:
            pieces += [spot.amounts] * spot.chunks
    return pieces


def _pieces(chunks: tuple[Chunk, ...]) -> list[Amounts]:
    return [chunk.amounts for chunk in chunks for _ in range(chunk.pieces)]


@given(scenes())
def test_every_piece_is_on_a_vnode_that_is_what_it_wants(context: Context) -> None:
    vnodes = {vnode.name: vnode for vnode in context.vnodes}
    for outcome in play(context)[0]:
        if outcome.stripe is not None:
            wants = {chunk.amounts: dict(chunk.wants) for chunk in outcome.job.request.chunks}
            for spot in outcome.stripe.spots:
                assert vnodes[spot.vnode].usable
                arch = wants.get(spot.amounts, {}).get("arch")
                same = [chunk for chunk in outcome.job.request.chunks if chunk.amounts == spot.amounts]
                assert len(same) != 1 or arch is None or vnodes[spot.vnode].attributes.get("arch") == arch


@given(scenes())
def test_no_vnode_is_given_more_than_it_has(context: Context) -> None:
    outcomes, _, _ = play(context)
    left = {vnode.name: dict(vnode.available) for vnode in context.vnodes}
    allocations = [run.allocation for run in context.runs]
    for allocation in [*allocations, *(each.found for each in outcomes if isinstance(each.found, Allocation))]:
        for spot in allocation.spots:
            for resource, amount in spot.amounts:
                left[spot.vnode][resource] -= amount * spot.chunks
    assert min(amount for amounts in left.values() for amount in amounts.values()) >= 0


@given(scenes(), st.randoms(use_true_random=False))
def test_the_order_of_vnodes_and_runs_does_not_matter(context: Context, random: Random) -> None:
    vnodes, runs = list(context.vnodes), list(context.runs)
    random.shuffle(vnodes)
    random.shuffle(runs)
    stripes = dict(sorted(context.ledger.stripes.items(), reverse=True))
    shuffled = replace(context, vnodes=tuple(vnodes), runs=tuple(runs), ledger=context.ledger._replace(stripes=stripes))
    assert play(context)[0] == play(shuffled)[0]


@given(scenes(simple=True))
def test_a_stripe_is_as_wide_as_it_can_be_of_the_widths_to_try(context: Context) -> None:
    """Every wider one that was tried has too few nodes with room for its share (or, for a promised job, which does not
    wait, ones on which another stripe has just started)."""
    free = {vnode.name: vnode.available["ncpus"] for vnode in context.vnodes}
    for run in context.runs:
        for spot in run.allocation.spots:
            free[spot.vnode] -= spot.chunks
    for outcome in play(context)[0]:
        avoids = context.settings.stagger_s and outcome.job.id in context.ledger.promises
        if outcome.why is not None and not avoids:
            for tried in outcome.why.tried:
                event("narrower")
                width = int(tried.number("width"))
                each, more = divmod(outcome.job.cores, width)
                room = sorted(free.values(), reverse=True)
                assert width > len(room) or room[width - 1] < each or (more and room[more - 1] < each + 1)
        if isinstance(outcome.found, Allocation):
            for spot in outcome.found.spots:
                free[spot.vnode] -= spot.chunks


@given(scenes(simple=True), st.sampled_from((Layout("stripe"), Layout("auto"), None)))
def test_what_packing_can_place_no_other_layout_loses(context: Context, layout: Layout | None) -> None:
    """A stripe may wait for another to get going; it does not wait for room."""
    packed = replace(context, jobs=tuple(job._replace(layout=Layout("pack")) for job in context.jobs[:1]))
    striped = replace(context, jobs=tuple(job._replace(layout=layout) for job in context.jobs[:1]))
    there, here = play(packed)[0][0].found, play(striped)[0][0].found
    assert (there is None) == (here is None)
    assert not isinstance(here, Reason) or (here.code == "staggered" and context.settings.stagger_s)


@given(scenes())
def test_two_stripes_never_start_on_one_node_within_the_stagger(context: Context) -> None:
    outcomes, _, _ = play(replace(context, settings=replace(context.settings, stagger_s=STAGGER_S)))
    hosts = host_of(context)
    last: dict[str, float] = {}
    for name, at_s in context.ledger.stripes.items():
        last[hosts[name]] = max(at_s, last.get(hosts[name], at_s))
    for outcome in outcomes:
        if outcome.stripe is not None:
            for host in {hosts[vnode] for vnode in outcome.stripe.vnodes}:
                assert NOW_S - last.get(host, -STAGGER_S) >= STAGGER_S
                last[host] = NOW_S
        elif isinstance(outcome.found, Reason):
            event("staggered")
            assert NOW_S < float(outcome.found.number("at_s")) <= NOW_S + STAGGER_S


@given(scenes())
def test_every_stripe_is_in_the_next_ledger_on_all_its_vnodes(context: Context) -> None:
    outcomes, _, placer = play(context)
    for outcome in outcomes:
        if outcome.stripe is not None:
            assert {placer.stripes.get(vnode) for vnode in outcome.stripe.vnodes} == {NOW_S}


@given(idle_scenes())
def test_auto_is_never_wider_than_the_job_and_the_site_allow(context: Context) -> None:
    """But for a whole number of stripes, and never less than the fewest nodes."""
    settings = context.settings
    for outcome in play(context)[0]:
        if outcome.stripe is None or outcome.why is None:
            continue
        event("striped")
        layout, width, fewest = outcome.job.layout, int(outcome.why.number("width")), int(outcome.why.number("fewest"))
        span = layout.nodes_per_stripe if layout is not None else 1
        of_site = ceil(fewest * max(settings.width_factor, settings.widest_factor))
        of_job = of_site if layout is None or layout.width is None else max(layout.width, fewest)
        assert width <= ceil(min(of_site, of_job) / span) * span
