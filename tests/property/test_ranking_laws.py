"""What always holds of ranked vnodes (docs/policies.md, P4), against its definition computed vnode by vnode."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from policy import Job, Ledger, Reading, Run, Settings, Snapshot, Vnode, decide, parse_request
from policy.fit.best_fit import fit
from policy.model.allocation import Allocation, Spot
from policy.model.job_preferences import RANK_MODES, RankPreference, Requirements
from policy.model.vnode_bitsets import count_vnodes
from policy.ranking.ranked_fit import fit_ranked
from policy.ranking.vnode_ranking_and_requirements import Ranking
from policy.settings.built_in_and_custom_vnode_formulas import FORMULAS
from policy.settings.ranking_and_stripe_settings import RankingSettings
from tests.property.strategies.cluster_strategies import Parts, contended_clusters, places, selects
from tests.property.strategies.settings_strategies import eager_settings

NOW_S = 1000
MEM_KIB = 64 << 20
SETTINGS = RankingSettings()
STALE_S = NOW_S - SETTINGS.interval_s * SETTINGS.stale_intervals - 1

_COARSE = st.sampled_from((0.0, 0.1, 0.25, 0.5, 0.9, 1.0))
"""Few values, so that ties and requirements that are just met are frequent."""


@dataclass(frozen=True)
class Ranked:
    """A cluster with readings and runs, in the order they were drawn."""

    vnodes: tuple[Vnode, ...]
    readings: tuple[tuple[str, Reading], ...]
    runs: tuple[Run, ...]

    def snapshot(self) -> Snapshot:
        return Snapshot.build(NOW_S, self.vnodes, runs=self.runs, readings=dict(self.readings))

    def ranking(self) -> Ranking:
        return Ranking(self.snapshot().cluster(), SETTINGS, NOW_S)


@st.composite
def readings(draw: st.DrawFn, *, whole: bool = False) -> Reading:
    """What is left in parts of what there is; whole ones are recent and lack nothing."""

    def part(most: float) -> float | None:
        return None if not whole and draw(st.integers(0, 7)) == 0 else draw(_COARSE) * most

    at_s = NOW_S if whole else draw(st.sampled_from((NOW_S, NOW_S - 20, NOW_S - 100, STALE_S)))
    return Reading(at_s, part(32.0), 32.0, part(MEM_KIB), MEM_KIB, part(100.0), 100.0, part(100.0), 90.0)


def needs() -> st.SearchStrategy[Requirements]:
    def some(most: float) -> st.SearchStrategy[float | None]:
        return st.one_of(st.none(), _COARSE.map(lambda part: part * most))

    return st.builds(Requirements, some(MEM_KIB), some(32.0), some(100.0), some(100.0))


def preferences() -> st.SearchStrategy[RankPreference]:
    return st.builds(RankPreference, st.sampled_from(RANK_MODES), needs())


@st.composite
def runs_on(draw: st.DrawFn, vnodes: tuple[Vnode, ...], number: int) -> Run:
    preference = draw(st.one_of(st.none(), preferences()))
    spots = []
    for vnode in draw(st.lists(st.sampled_from(vnodes), min_size=1, max_size=3, unique_by=lambda vnode: vnode.name)):
        amounts = (("mem", draw(st.integers(1, 8)) << 20), ("ncpus", draw(st.integers(1, 4))))
        spots.append(Spot(vnode.name, amounts, 1))
    job = Job(f"r{number}", "alice", parse_request("1"), "workq", 0, rank=preference)
    start_s = draw(st.sampled_from((NOW_S, NOW_S - 10, NOW_S - 50, 0)))
    return Run(job.id, job, start_s, Allocation(tuple(spots)), NOW_S + 100)


@st.composite
def clusters(draw: st.DrawFn) -> Ranked:
    vnodes = tuple(
        Vnode(f"v{number:02}", {"ncpus": draw(st.integers(0, 16)), "mem": MEM_KIB})
        for number in range(draw(st.integers(1, 12)))
    )
    reported = [(vnode.name, draw(readings())) for vnode in vnodes if draw(st.integers(0, 5))]
    runs = tuple(draw(runs_on(vnodes, number)) for number in range(draw(st.integers(0, 6))))
    return Ranked(vnodes, tuple(reported), runs)


def names(ranking: Ranking, preference: RankPreference, cluster: Ranked, vnodes: int = -1) -> list[str]:
    ordered = sorted(vnode.name for vnode in cluster.vnodes)
    return [ordered[bit.bit_length() - 1] for bit in ranking.ordered(preference, vnodes)]


# The definition, vnode by vnode


def left_by_definition(cluster: Ranked, name: str) -> dict[str, float | None]:
    """A, B, C and D of one vnode; None where it is not known."""
    vnode = next(vnode for vnode in cluster.vnodes if vnode.name == name)
    reading = dict(cluster.readings).get(name)
    fresh = reading if reading is not None and reading.at_s > STALE_S else None
    cores = vnode.available["ncpus"]
    idle, left = cores, {"compute": None, "memory": None, "network": None, "temperature": None}
    since: list[tuple[float, float, Requirements]] = []
    for run in cluster.runs:
        for spot in run.allocation.spots:
            if spot.vnode == name:
                held = dict(spot.amounts)
                idle -= held["ncpus"]
                if fresh is not None and run.start_s >= fresh.at_s:
                    since.append((held["ncpus"], held["mem"], run.job.rank.needs if run.job.rank else Requirements()))
    result: dict[str, float | None] = dict(left)
    if fresh is not None:
        each = (fresh.compute_all or 0) / cores if cores else 0
        for quantity, start, used in (
            ("compute", fresh.compute, [max(held * each, of.compute or 0) for held, _, of in since]),
            ("memory", fresh.memory_kib, [max(held, of.memory_kib or 0) for _, held, of in since]),
            ("network", fresh.network, [of.network or 0 for _, _, of in since]),
            ("temperature", fresh.temperature, []),
        ):
            result[quantity] = None if start is None else max(0.0, start - math.fsum(used))
    if reading is None or reading.compute is None:
        result["compute"] = float(max(0, idle))
    return result


def requirements(preference: RankPreference) -> dict[str, float]:
    of = preference.needs
    given_ones = {"compute": of.compute, "memory": of.memory_kib, "network": of.network, "temperature": of.temperature}
    return {quantity: need for quantity, need in given_ones.items() if need is not None}


def meets(left: dict[str, float | None], preference: RankPreference) -> bool:
    """Whether a vnode has all that is required, without any ratio."""
    for quantity, need in requirements(preference).items():
        has = left[quantity]
        if has is None or (has > need if quantity == "temperature" else has < need):
            return False
    return True


def compliance_by_definition(left: dict[str, float | None], preference: RankPreference) -> float | None:
    ratios = []
    for quantity, need in requirements(preference).items():
        has = left[quantity]
        if has is None:
            return None
        over, under = (need, has) if quantity == "temperature" else (has, need)
        ratios.append(over / under if under else 10.0)
    return min(10.0, *ratios) if ratios else 1.0


# The laws


@given(clusters(), preferences())
def test_compliant_are_those_that_have_all_that_is_required(cluster: Ranked, preference: RankPreference) -> None:
    ranking = cluster.ranking()
    expected = [vnode.name for vnode in cluster.vnodes if meets(left_by_definition(cluster, vnode.name), preference)]
    assert sorted(names(ranking, preference, cluster)) == sorted(expected)
    assert count_vnodes(ranking.compliant(preference)) == len(expected)


@given(clusters(), preferences())
def test_compliance_is_the_smallest_ratio_of_what_was_given(cluster: Ranked, preference: RankPreference) -> None:
    ranking = cluster.ranking()
    for vnode in cluster.vnodes:
        expected = compliance_by_definition(left_by_definition(cluster, vnode.name), preference)
        assert ranking.standing(preference, vnode.name).compliance == expected


@given(clusters(), preferences())
def test_the_order_is_by_priority_times_compliance_then_by_name_and_the_unknown_last(
    cluster: Ranked, preference: RankPreference
) -> None:
    ranking = cluster.ranking()
    scores = {name: ranking.standing(preference, name).dispatch_score for name in names(ranking, preference, cluster)}
    for name, score in scores.items():
        standing = ranking.standing(preference, name)
        assert score is None or score == (standing.score or 0) * (standing.compliance or 0)
    expected = sorted(scores, key=lambda name: (-(-1 if scores[name] is None else scores[name] or 0), name))
    assert names(ranking, preference, cluster) == expected


@given(clusters(), preferences())
def test_a_vnode_is_unknown_exactly_where_its_mode_needs_what_nobody_knows(
    cluster: Ranked, preference: RankPreference
) -> None:
    """One that reports is ranked by what it knows of that, if it knows anything."""
    ranking = cluster.ranking()
    for vnode in cluster.vnodes:
        left = left_by_definition(cluster, vnode.name)
        # Only compute may have nothing of in all: on a vnode without cores.
        nothing = left["compute"] == 0 and not vnode.available["ncpus"]
        reading = dict(cluster.readings).get(vnode.name)
        nothing = nothing and (reading is None or reading.compute is None)
        known = [left[q] is not None and not (q == "compute" and nothing) for q in FORMULAS[preference.mode].uses]
        reports = reading is not None and reading.at_s > STALE_S
        expected = any(known) if reports else all(known)
        assert (ranking.standing(preference, vnode.name).score is not None) == expected


def _not_worse(reading: Reading, better: Reading, preference: RankPreference) -> None:
    """With nothing else between them, the better vnode complies if the other one does, and ranks no lower."""
    vnodes = (Vnode("a", {"ncpus": 8}), Vnode("b", {"ncpus": 8}))
    ranking = Ranked(vnodes, (("a", reading), ("b", better)), ()).ranking()
    worse, other = ranking.standing(preference, "a").dispatch_score, ranking.standing(preference, "b").dispatch_score
    if worse is not None:
        assert other is not None
        assert other >= worse


@given(readings(whole=True), _COARSE, preferences())
def test_more_compute_left_never_ranks_lower(reading: Reading, part: float, preference: RankPreference) -> None:
    _not_worse(reading, reading._replace(compute=max(reading.compute or 0, part * 32)), preference)


@given(readings(whole=True), _COARSE, preferences())
def test_more_memory_left_never_ranks_lower(reading: Reading, part: float, preference: RankPreference) -> None:
    _not_worse(reading, reading._replace(memory_kib=max(reading.memory_kib or 0, part * MEM_KIB)), preference)


@given(readings(whole=True), _COARSE, preferences())
def test_more_network_left_never_ranks_lower(reading: Reading, part: float, preference: RankPreference) -> None:
    _not_worse(reading, reading._replace(network=max(reading.network or 0, part * 100)), preference)


@given(readings(whole=True), _COARSE, preferences())
def test_a_cooler_vnode_never_ranks_lower(reading: Reading, part: float, preference: RankPreference) -> None:
    _not_worse(reading, reading._replace(temperature=min(reading.temperature or 0, part * 100)), preference)


@given(clusters(), preferences(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(cluster: Ranked, preference: RankPreference, random: object) -> None:
    shuffled = []
    for part in (cluster.vnodes, cluster.readings, cluster.runs):
        items = list(part)
        random.shuffle(items)  # type: ignore[attr-defined]
        shuffled.append(tuple(items))
    other = Ranked(*shuffled)  # type: ignore[arg-type]
    ours, theirs = cluster.ranking(), other.ranking()
    assert names(ours, preference, cluster) == names(theirs, preference, cluster)
    assert [ours.standing(preference, v.name) for v in cluster.vnodes] == [
        theirs.standing(preference, v.name) for v in cluster.vnodes
    ]


@given(clusters(), st.lists(preferences(), min_size=1, max_size=3), st.data())
def test_a_list_repaired_after_starts_is_the_list_built_anew(
    cluster: Ranked, asked: list[RankPreference], data: st.DataObject
) -> None:
    index = cluster.snapshot().cluster()
    ranking = Ranking(index, SETTINGS, NOW_S)
    begun: list[Run] = []
    for number in range(data.draw(st.integers(0, 6))):
        for preference in asked[: data.draw(st.integers(0, len(asked)))]:
            names(ranking, preference, cluster)
        backwards = data.draw(st.booleans())
        if begun and backwards:
            run = begun.pop(data.draw(st.integers(0, len(begun) - 1)))
            index.set_run(run.id, None)
            ranking.taken_back(run.job, run.allocation)
        else:
            run = data.draw(runs_on(cluster.vnodes, 100 + number))._replace(start_s=NOW_S)
            index.set_run(run.id, run)
            ranking.started(run.job, run.allocation)
            begun.append(run)
    anew = Ranking(index, SETTINGS, NOW_S)
    for preference in asked:
        assert names(ranking, preference, cluster) == names(anew, preference, cluster)
        assert ranking.missing(preference, -1) == anew.missing(preference, -1)
        for vnode in cluster.vnodes:
            assert ranking.standing(preference, vnode.name) == anew.standing(preference, vnode.name)


@given(clusters(), preferences(), st.integers(0, 2**12 - 1))
def test_the_order_of_some_is_the_order_of_all_without_the_others(
    cluster: Ranked, preference: RankPreference, some: int
) -> None:
    ranking = cluster.ranking()
    ordered = sorted(vnode.name for vnode in cluster.vnodes)
    among = [name for name in names(ranking, preference, cluster) if some >> ordered.index(name) & 1]
    assert names(ranking, preference, cluster, some) == among


@given(clusters(), preferences())
def test_what_is_missing_is_told_of_the_nearest_vnode(cluster: Ranked, preference: RankPreference) -> None:
    reason = cluster.ranking().missing(preference, -1)
    numbers = dict(reason.numbers)
    left = {vnode.name: left_by_definition(cluster, vnode.name) for vnode in cluster.vnodes}
    failing = {name: compliance_by_definition(of, preference) for name, of in left.items() if not meets(of, preference)}
    judged = {name: compliance for name, compliance in failing.items() if compliance is not None}
    if not judged:
        assert "nearest" not in numbers
        return
    nearest = min(judged, key=lambda name: (-judged[name], name))
    quantity = str(numbers["quantity"])
    assert numbers["nearest"] == nearest
    assert numbers["has"] == left[nearest][quantity]
    assert numbers["needs"] == requirements(preference)[quantity]
    missed_alone = RankPreference(
        preference.mode, Requirements(**{_FIELD[quantity]: requirements(preference)[quantity]})
    )
    assert compliance_by_definition(left[nearest], missed_alone) == judged[nearest]


_FIELD = {"compute": "compute", "memory": "memory_kib", "network": "network", "temperature": "temperature"}


@given(clusters(), preferences())
def test_everybody_open_is_counted_once_as_good_as_failing_or_as_silent(
    cluster: Ranked, preference: RankPreference
) -> None:
    numbers = dict(cluster.ranking().missing(preference, -1).numbers)
    left = [left_by_definition(cluster, vnode.name) for vnode in cluster.vnodes]
    assert numbers["open"] == len(left)
    assert numbers["meeting"] == sum(meets(of, preference) for of in left)
    assert numbers.get("silent", 0) == sum(any(of[q] is None for q in requirements(preference)) for of in left)


@given(clusters(), preferences(), selects(), places())
def test_a_ranked_placement_holds_the_request_within_what_is_free(
    cluster: Ranked, preference: RankPreference, select: str, place: str
) -> None:
    index = Ranked(cluster.vnodes, cluster.readings, ()).snapshot().cluster()
    ranking, capacity = Ranking(index, SETTINGS, NOW_S), index.capacity
    request = parse_request(select, place)
    allocation = fit_ranked(capacity, request, ranking.compliant(preference), partial(ranking.ordered, preference))
    if allocation is None:
        return
    assert set(allocation.vnodes) <= set(names(ranking, preference, cluster))
    for resource, amount in request.totals:
        assert allocation.total(resource) == amount
    capacity.take(allocation.shares(capacity.directory), request)
    for bit in index.capacity.directory.bits.values():
        assert capacity.free_on(bit, "ncpus") >= 0
        assert capacity.free_on(bit, "mem") >= 0


@given(clusters(), preferences(), selects(), places())
def test_what_fits_unranked_fits_ranked(cluster: Ranked, preference: RankPreference, select: str, place: str) -> None:
    index = Ranked(cluster.vnodes, cluster.readings, ()).snapshot().cluster()
    ranking, request = Ranking(index, SETTINGS, NOW_S), parse_request(select, place)
    good = ranking.compliant(preference)
    if fit(index.capacity, request, good) is not None:
        assert fit_ranked(index.capacity, request, good, partial(ranking.ordered, preference)) is not None


@given(clusters(), preferences(), st.integers(1, 40))
def test_single_cores_fill_the_vnodes_in_the_order_of_their_rank(
    cluster: Ranked, preference: RankPreference, cores: int
) -> None:
    index = Ranked(cluster.vnodes, cluster.readings, ()).snapshot().cluster()
    ranking = Ranking(index, SETTINGS, NOW_S)
    order = [name for name in names(ranking, preference, cluster) if index.vnodes[name].available["ncpus"]]
    allocation = fit_ranked(
        index.capacity, parse_request(str(cores)), ranking.compliant(preference), partial(ranking.ordered, preference)
    )
    sizes = [index.vnodes[name].available["ncpus"] for name in order]
    if allocation is None:
        assert sum(sizes) < cores
        return
    used = len(allocation.vnodes)
    assert list(allocation.vnodes) == order[:used]
    assert [spot.chunks for spot in allocation.spots[:-1]] == sizes[: used - 1]


@given(contended_clusters(), eager_settings(), st.data())
def test_runs_are_preempted_only_on_vnodes_that_are_good_enough(
    parts: Parts, settings: Settings, data: st.DataObject
) -> None:
    left = {vnode.name: data.draw(st.sampled_from((8, 64))) << 20 for vnode in parts.vnodes}
    wish = RankPreference("memory", Requirements(memory_kib=32 << 20))
    waiting = tuple(job._replace(rank=wish) for job in parts.jobs)
    read = {name: Reading(parts.time_s, memory_kib=there, memory_all_kib=64 << 20) for name, there in left.items()}
    plan = decide(replace(parts, jobs=waiting, readings=read).snapshot(), Ledger(), settings)
    taken = {job_id: earmark.allocation for job_id, earmark in plan.ledger.earmarks.items()}
    taken.update({start.id: start.allocation for start in plan.starts})
    for job_id, allocation in taken.items():
        assert all(left[name] >= 32 << 20 for name in allocation.vnodes), (job_id, allocation)
