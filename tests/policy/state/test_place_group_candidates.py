"""Groups that could hold a request if nothing else were on them: told by what vnodes have in all, and remembered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy import Ledger, Vnode, parse_request
from policy.fit.best_fit import fit, fits
from policy.model.job_preferences import RankPreference, Requirements
from policy.model.job_request import Grouping, Request
from policy.model.jobs_runs_vnodes_queues import Reading, Window
from policy.model.ledger_between_passes import PROMISE, Earmark
from policy.model.vnode_bitsets import each_bit
from policy.preemption.victim_search import Search
from policy.ranking.ranked_fit import fit_ranked
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.settings.site_settings import Settings
from policy.state import place_group_candidates as groups_module
from policy.state.closure_windows import Closed
from policy.state.place_group_candidates import Groups
from policy.state.vnode_totals_hosts_and_matching import Inventory
from policy.state.vnodes_by_idle_cores import Capacity
from tests.policy.clusters import cluster, codes, job, place_of, plan_for, run, show_cores, starts, vnode

PLACES = ("free", "pack", "scatter", "vscatter")
FIRST_OF_EACH, SECOND_OF_EACH = 0b0101, 0b1010


def racked(name: str, ncpus: int = 4, **more: Any) -> Vnode:
    """A vnode of the rack that its name begins with."""
    return vnode(name, ncpus, attributes={"rack": name[0]}, **more)


RACKS = tuple(racked(name) for name in ("a1", "a2", "b1", "b2"))
TWO = parse_request("2:ncpus=4", "group=rack")


def capacity_of(*vnodes: Vnode) -> Capacity:
    return Capacity.of({v.name: v for v in vnodes})


def able(select: str, place: str, *vnodes: Vnode, on: int = -1) -> list[int]:
    return [group.vnodes for group in capacity_of(*vnodes).groups.able(parse_request(select, place), on)]


# What a group could hold


def test_all_that_its_vnodes_have_counts_also_what_others_use() -> None:
    busy = [racked(v.name, elsewhere={"ncpus": 4}) for v in RACKS[:3]]
    assert able("2:ncpus=4", "group=rack", *busy) == [0b011]
    assert able("1:ncpus=4", "group=rack", *busy) == [0b100, 0b011], "the smaller one first"
    assert able("3:ncpus=4", "group=rack", *busy) == []


def test_only_the_vnodes_asked_about_count() -> None:
    assert able("2:ncpus=4", "group=rack", *RACKS, on=0b0111) == [0b0011]


def test_no_groups_without_a_resource_to_group_by() -> None:
    assert able("1", "free", *RACKS) == []


def test_vnodes_without_a_value_are_a_group_unless_the_site_wants_explicit_ones_only() -> None:
    assert able("1", "group=nothing", *RACKS) == [0b1111]
    assert able("1:ncpus=4", "group=rack", *RACKS[:2], vnode("c")) == [0b100, 0b011]
    explicit = parse_request("1:ncpus=4").in_sets(Grouping(("rack", "nothing"), has_rest=False))
    assert [group.vnodes for group in capacity_of(*RACKS[:2], vnode("c")).groups.able(explicit, -1)] == [0b011]


def test_sets_by_several_resources_are_all_tried_the_smallest_first() -> None:
    vnodes = [racked(name, has={"mem": 4}) for name in ("a1", "a2", "b1")]
    both = parse_request("1:ncpus=4").in_sets(Grouping(("row", "rack")))
    able_groups = capacity_of(*vnodes).groups.able(both, -1)
    assert [(group.vnodes, group.size) for group in able_groups] == [
        (0b100, (4, 4)),
        (0b011, (8, 8)),
        (0b111, (12, 12)),
    ]


def test_of_sets_of_one_size_the_one_with_the_least_left_comes_first() -> None:
    def where(*busy: Vnode) -> str:
        allocation = fit(capacity_of(*busy), parse_request("1:ncpus=1", "group=rack"), -1)
        assert allocation is not None
        return show_cores(allocation)

    assert where(racked("a1"), racked("b1", elsewhere={"ncpus": 1})) == "b1=1"
    left = {"ncpus": 1, "mem": 1}, {"ncpus": 1, "mem": 3}
    assert where(*(racked(name, has={"mem": 4}, elsewhere=each) for name, each in zip(("a1", "b1"), left))) == "b1=1"
    assert where(racked("a1", 8, elsewhere={"ncpus": 7}), racked("b1")) == "b1=1", "the smaller set, though emptier"


def test_a_job_that_no_set_holds_goes_nowhere_where_it_may_not_span_them() -> None:
    three = parse_request("3:ncpus=4").in_sets(Grouping(("rack",), may_span=False))
    capacity = capacity_of(*RACKS)
    assert fit(capacity, three, -1) is None
    assert fit_ranked(capacity, three, 0b1111, each_bit) is None
    waiting = job("1", select="3:ncpus=4")._replace(request=three)
    plan = plan_for(cluster(RACKS, [waiting]))
    assert codes(plan) == {"1": "never-arranged"}
    sentence = plan.reasons()["1"][1].sentence(waiting, plan.time_s)
    assert "no placement set (by rack)" in sentence and "(do_not_span_psets)" in sentence


def test_vnodes_that_take_no_jobs_make_no_set_able() -> None:
    down = [racked("a1"), racked("a2", usable=False), racked("b1")]
    allocation = fit(capacity_of(*down), TWO, -1)
    assert allocation is not None and sorted(allocation.vnodes) == ["a1", "b1"]


def test_a_vnode_with_several_values_is_in_several_groups() -> None:
    both = vnode("c", 4, attributes={"rack": "a,b"})
    assert able("3:ncpus=4", "group=rack", *RACKS, both) == [0b10011, 0b11100]


def test_what_chunks_want_has_to_be_in_the_group() -> None:
    fast = vnode("a1", attributes={"rack": "a", "fast": "True"})
    assert able("1:ncpus=4:fast=true", "group=rack", fast, *RACKS[1:]) == [0b0011]
    assert able("1:ncpus=4:fast=true+1:ncpus=4", "group=rack", fast, *RACKS[1:]) == [0b0011]
    assert able("2:ncpus=2:fast=true+1:ncpus=4", "pack:group=rack", fast, *RACKS[1:]) == []


VNODES = st.lists(
    st.builds(
        lambda cores, mem, host, rack, fast: (cores, mem, host, rack, fast),
        st.integers(0, 4),
        st.integers(0, 4),
        st.sampled_from(["", "h", "i"]),
        st.sampled_from(["a", "b", "a,b", ""]),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)
CHUNKS = st.builds(
    "{}:ncpus={}:mem={}kb{}".format,
    st.integers(1, 4),
    st.integers(0, 5),
    st.integers(0, 3),
    st.sampled_from(["", ":fast=true"]),
)


@given(VNODES, st.lists(CHUNKS, min_size=1, max_size=2), st.sampled_from(PLACES))
def test_who_fits_a_group_when_it_is_empty_is_held_by_it(
    drawn: list[tuple[int, int, str, str, bool]], select: list[str], place: str
) -> None:
    capacity = capacity_of(
        *(
            vnode(f"v{n}", cores, has={"mem": mem}, host=host, attributes={"rack": rack, "fast": str(fast)})
            for n, (cores, mem, host, rack, fast) in enumerate(drawn)
        )
    )
    grouped = parse_request("+".join(select), f"{place}:group=rack")
    held = [group.vnodes for group in capacity.groups.able(grouped, -1)]
    anywhere = Request(grouped.chunks, place)
    for group in capacity.inventory.grouped_by("rack", has_rest=True):
        there = fit(capacity, anywhere, group) is not None
        assert group in held or not there
        if len(select) == 1:
            assert there == (group in held), "with one kind of chunk it is exactly so"


# What is remembered


def test_an_answer_is_the_same_object_when_asked_again() -> None:
    capacity = capacity_of(*RACKS)
    first = capacity.groups.able(TWO, -1)
    assert capacity.copy().groups.able(parse_request("2:ncpus=4", "group=rack"), -1) is first
    assert capacity.inventory.grouped_by("rack") is capacity.inventory.grouped_by("rack")


def test_what_is_remembered_is_bounded_and_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    inventory = Inventory({v.name: v for v in RACKS})
    requests = [parse_request(f"{pieces}:ncpus={cores}", "group=rack") for pieces in range(1, 20) for cores in (1, 2)]
    unbounded = Groups(inventory)
    expected = [unbounded.able(request, -1) for request in requests]
    monkeypatch.setattr(groups_module, "MOST_REMEMBERED", 20)
    bounded = Groups(inventory)
    for _ in range(2):
        assert [bounded.able(request, -1) for request in requests] == expected
        assert len(bounded._able) <= 20
    assert any(expected) and not all(expected)


# Closed for a while


def test_who_could_be_held_by_a_group_waits_for_it_while_part_of_each_is_closed() -> None:
    capacity = capacity_of(*RACKS)
    for open_now in (FIRST_OF_EACH, SECOND_OF_EACH):
        assert fit(capacity, TWO, open_now, -1) is None
        assert not fits(capacity, TWO, open_now, -1)
        assert fit_ranked(capacity, TWO, open_now, each_bit, -1) is None
    allocation = fit(capacity, TWO, 0b1101, -1)
    assert allocation is not None and show_cores(allocation) == "b1=4 b2=4"


def test_whom_no_group_could_ever_hold_is_on_several_also_then() -> None:
    capacity, three = capacity_of(*RACKS), parse_request("3:ncpus=4", "group=rack")
    for allocation in (fit(capacity, three, 0b0111, -1), fit_ranked(capacity, three, 0b0111, each_bit, -1)):
        assert allocation is not None and sorted(allocation.vnodes) == ["a1", "a2", "b1"]


@pytest.mark.parametrize("promised_s", [None, 50.0])
def test_a_job_waits_for_its_group_until_windows_on_part_of_each_are_over(promised_s: float | None) -> None:
    closed = (Window(0, 500, "maintenance"),)
    racks = [racked(v.name, closed=closed if v.name[1] == "2" else ()) for v in RACKS]
    waiting = job("1", select="2:ncpus=4", place="group=rack")
    ledger = Ledger() if promised_s is None else Ledger(promises={"1": promised_s})
    plan = plan_for(cluster(racks, [waiting]), ledger=ledger)
    assert codes(plan) == {"1": "reserved"}
    assert plan.reasons()["1"][1].number("at_s") == 500
    several = plan_for(cluster(racks, [job("1", select="2:ncpus=4")]))
    assert starts(several) == {"1": "(a1:ncpus=4)+(b1:ncpus=4)"}
    spanning = job("1", select="3:ncpus=4", place="group=rack")
    one_closed = [racked(v.name, closed=closed if v.name == "a2" else ()) for v in RACKS]
    assert starts(plan_for(cluster(one_closed, [spanning]))) == {"1": "(a1:ncpus=4)+(b1:ncpus=4)+(b2:ncpus=4)"}


def test_nobody_is_let_in_on_the_group_that_the_head_waits_for_beside_a_window() -> None:
    """A window closes the second of each rack until 500; the head gets rack a then, as rack b is longer in use."""
    closed = (Window(0, 500, "maintenance"),)
    racks = [racked(v.name, closed=closed if v.name[1] == "2" else ()) for v in RACKS]
    head = job("1", select="2:ncpus=4", place="group=rack", submit_s=-10)
    runs = [run("9", "bob", "b1=4", estimate_s=2000)]
    late, early = (job(name, select="1:ncpus=4", estimate_s=length) for name, length in (("2", 1000), ("3", 100)))
    plan = plan_for(cluster(racks, [head, late, early], runs))
    assert plan.reasons()["1"][1].number("at_s") == 500
    assert starts(plan) == {"3": "(a1:ncpus=4)"}


def test_for_a_job_that_a_group_could_hold_nobody_is_let_go_on_part_of_each() -> None:
    runs = [run("7", "bob", "a1=4"), run("8", "bob", "b1=4")]
    snapshot = cluster(RACKS, [job("1", select="2:ncpus=4", place="group=rack")], runs)
    search = Search(snapshot.cluster(), snapshot.jobs["1"], 0b1111, None, Closed(SECOND_OF_EACH, (), (1, 0)))
    assert search.first_enough(runs) is None
    room = Search(snapshot.cluster(), snapshot.jobs["1"], 0b1111).first_enough(runs)
    assert room is not None and room.runs == (runs[0],)


def test_a_job_waits_for_its_group_while_part_of_each_is_not_what_it_wishes() -> None:
    readings = {v.name: Reading(10, temperature=90 if v.name[1] == "2" else 40) for v in RACKS}
    settings = Settings(ranking=RankingSettings(mode="compute"))
    wish = RankPreference("compute", Requirements(temperature=70))

    def plan(pieces: int, place: str) -> Any:
        waiting = job("1", select=f"{pieces}:ncpus=4", place=place, rank=wish)
        return plan_for(cluster(RACKS, [waiting], readings=readings), settings)

    assert codes(plan(2, "group=rack")) == {"1": "not-good-enough"}
    assert starts(plan(2, "free")) == {"1": "(a1:ncpus=4)+(b1:ncpus=4)"}
    assert starts(plan(1, "group=rack")) == {"1": "(a1:ncpus=4)"}


def test_who_waited_for_victims_does_not_start_on_part_of_each_group_either() -> None:
    closed = (Window(0, 500, "maintenance"),)
    racks = [racked(v.name, closed=closed if v.name[1] == "2" else ()) for v in RACKS]
    hold = Earmark(place_of("a1=4 a2=4"), ("9",), 0, PROMISE)
    for pieces, place, expected in ((2, "group=rack", {}), (2, "", {"1": "(a1:ncpus=4)+(b1:ncpus=4)"})):
        waiting = job("1", select=f"{pieces}:ncpus=4", place=place)
        assert starts(plan_for(cluster(racks, [waiting]), ledger=Ledger(earmarks={"1": hold}))) == expected
