"""Where the placer puts jobs: striped as they ask or as the site has it, else packed; and what it says of it."""

from __future__ import annotations

import pytest

from policy import Ledger, Run, Settings
from policy.fit.best_fit import fit
from policy.model.allocation import Allocation
from policy.model.ledger_between_passes import Tally
from policy.settings.ranking_and_stripe_settings import StripeSettings
from tests.policy.clusters import cluster, codes, job, plan_for, run, starts, vnode
from tests.policy.plan.placer_on_small_cluster import FOUR, NOW_S, Pass, job_with_layout, shown

# Nothing asked for


def test_without_a_wish_it_is_plain_packing() -> None:
    a_pass = Pass()
    for each in (job("1", select="64"), job("2", select="2:ncpus=3", place="scatter"), job("3", select="200")):
        assert a_pass.place(each) == fit(a_pass.cluster.capacity, each.request, a_pass.all)
        assert a_pass.placer.why_layout(each) is None
    stripes = {"n1": 900.0}
    assert Pass(ledger=Ledger(stripes=stripes), runs=[run("9", "bob", "n1=4")]).placer.stripes == stripes


# How wide


def test_twice_the_fewest_where_the_site_stripes() -> None:
    a_pass = Pass(layout="stripe")
    assert a_pass.where(job("1", select="64")) == "n1=16 n2=16 n3=16 n4=16"
    assert a_pass.why(job("1", select="64")) == (
        "striped over 4 nodes with at most 16 pieces on each, where 2 would hold it: stripe.layout is stripe"
    )
    assert Pass(layout="stripe", width_factor=1.5).where(job("1", select="64")) == "n1=22 n2=21 n3=21"


def test_as_wide_as_the_job_wishes_within_what_there_is() -> None:
    a_pass = Pass()
    assert a_pass.where(job_with_layout("1", "30", "stripe", 3)) == "n1=10 n2=10 n3=10"
    assert a_pass.where(job_with_layout("1", "30", "stripe", 99)) == "n1=8 n2=8 n3=7 n4=7"
    assert a_pass.where(job_with_layout("1", "3", "stripe", 99)) == "n1=1 n2=1 n3=1"
    assert a_pass.where(job_with_layout("1", "48", "stripe", 1)) == "n1=24 n2=24"
    assert a_pass.where(job_with_layout("1", "64", "stripe")) == "n1=16 n2=16 n3=16 n4=16"
    assert a_pass.where(job_with_layout("1", "30", "stripe", 3), allowed=0b0110) == "n2=15 n3=15"


def test_one_that_cannot_be_spread_is_packed() -> None:
    a_pass = Pass(layout="stripe")
    assert a_pass.where(job("1", select="1")) == "n1=1"
    assert a_pass.where(job("2", select="2:ncpus=32:mpiprocs=32")) == "n1=1 n2=1"
    assert "no room to spread beyond the fewest nodes, 2" in a_pass.why(job("2"))
    assert a_pass.where(job("3", select="1:ncpus=4")) == "n1=1"


def test_a_wish_to_be_packed_beats_the_site() -> None:
    a_pass = Pass(layout="stripe")
    assert a_pass.where(job_with_layout("1", "64", "pack")) == "n1=32 n2=32"
    assert a_pass.why(job("1")) == "packed on as few nodes as have room: the job asks for it"
    assert Pass(layout="pack").where(job_with_layout("1", "64")) == "n1=16 n2=16 n3=16 n4=16"


@pytest.mark.parametrize("place", ["scatter", "excl", "pack", "group=rack", "vscatter:shared"])
def test_a_place_of_its_own_is_kept(place: str) -> None:
    racks = [vnode(f"n{number}", 32, attributes={"rack": "r"}) for number in range(1, 5)]
    each = job_with_layout("1", "8", "stripe", 4, place=place)
    a_pass = Pass(racks)
    assert a_pass.place(each) == fit(a_pass.cluster.capacity, each.request, a_pass.all)
    kept = place if ":" in place or place in ("scatter", "pack") else f"free:{place}"
    assert f"place={kept}, which is kept" in a_pass.why(each)


# Within a node


def test_ranks_and_gpus_are_even_over_the_domains_of_a_node() -> None:
    domains = [vnode(f"{h}[{d}]", 16, host=h, has={"ngpus": 2}) for h in ("a", "b") for d in (0, 1)]
    a_pass = Pass(domains)
    assert a_pass.where(job_with_layout("1", "20", "stripe", 2)) == "a[0]=5 a[1]=5 b[0]=5 b[1]=5"
    assert a_pass.where(job_with_layout("1", "4:ncpus=4:ngpus=1", "stripe", 1)) == "a[0]=2 a[1]=2"
    assert a_pass.where(job_with_layout("1", "8:ncpus=4:ngpus=1", "stripe", 2)) == "a[0]=2 a[1]=2 b[0]=2 b[1]=2"
    half = [run("9", "bob", "a[0]=14")]
    assert Pass(domains, half).where(job_with_layout("1", "20", "stripe", 2)) == "a[0]=2 a[1]=8 b[0]=5 b[1]=5"


def test_the_chunks_of_one_select_are_spread_together() -> None:
    nodes = [vnode(f"n{number}", 8, has={"mem": 100}) for number in range(1, 5)]
    found = Pass(nodes).place(job_with_layout("1", "1:ncpus=4:mem=50kb+7:ncpus=1:mem=10kb", "stripe", 4))
    assert isinstance(found, Allocation)
    assert shown(found) == "n1=2 n2=2 n3=2 n4=2"
    assert (found.total("ncpus"), found.total("mem")) == (11, 120)


# Staggered


def test_two_stripes_on_one_node_start_apart() -> None:
    a_pass = Pass(layout="stripe", stagger_s=60)
    a_pass.start(job("1", select="64"))
    second = job("2", select="64")
    assert a_pass.where(second) == (
        "would fit now, but a stripe started on n1 less than 60 s ago: jobs that share nodes start one after the"
        " other; it may start in 60 s"
    )
    first = a_pass.cluster.runs["1"]
    ledger = Ledger(stripes=a_pass.placer.stripes)
    assert Pass(runs=[first], ledger=ledger, now_s=NOW_S + 59, layout="stripe", stagger_s=60).where(second) is not None
    later = Pass(runs=[first], ledger=ledger, now_s=NOW_S + 60, layout="stripe", stagger_s=60)
    assert later.where(second) == "n1=16 n2=16 n3=16 n4=16"


def test_nodes_where_no_stripe_started_just_now_are_taken_instead() -> None:
    a_pass = Pass(ledger=Ledger(stripes={"n1": NOW_S - 10.0}), stagger_s=60)
    assert a_pass.where(job_with_layout("1", "6", "stripe", 3)) == "n2=2 n3=2 n4=2"
    assert "it may start in 50 s" in str(a_pass.where(job_with_layout("1", "8", "stripe", 4)))


def test_packed_jobs_are_not_held_up() -> None:
    a_pass = Pass(ledger=Ledger(stripes={f"n{n}": NOW_S - 10.0 for n in range(1, 5)}), layout="stripe", stagger_s=60)
    assert a_pass.where(job("1", select="64")) != a_pass.start(job_with_layout("2", "64", "pack")) == "n1=32 n2=32"


def test_a_job_that_was_promised_a_start_is_laid_out_otherwise_rather_than_held_up() -> None:
    just_now = {"n1": NOW_S - 10.0, "n2": NOW_S - 10.0}
    ledger = Ledger(promises={"1": NOW_S + 100.0}, stripes=just_now)
    a_pass = Pass(ledger=ledger, stagger_s=60)
    assert a_pass.where(job_with_layout("1", "8", "stripe", 4)) == "n3=4 n4=4"
    assert a_pass.tried(job("1")) == [4]
    assert "it may start in 50 s" in str(a_pass.where(job_with_layout("2", "8", "stripe", 4)))


def test_last_starts_are_kept_while_they_matter() -> None:
    stripes = {"n1": 0.0, "n2": 0.0, "n3": NOW_S - 10.0, "gone": NOW_S - 10.0}
    a_pass = Pass(runs=[run("9", "bob", "n1=4")], ledger=Ledger(stripes=stripes), stagger_s=60)
    assert a_pass.placer.stripes == {"n1": 0.0, "n3": NOW_S - 10.0}
    a_pass.start(job_with_layout("1", "4", "stripe", 2))
    assert a_pass.placer.stripes == {"n1": 0.0, "n2": NOW_S, "n3": NOW_S - 10.0, "n4": NOW_S}


def test_a_job_that_starts_elsewhere_than_its_stripe_is_none() -> None:
    """As on the nodes of victims, which the engine chose."""
    a_pass = Pass()
    each = job_with_layout("1", "8", "stripe", 2)
    assert a_pass.where(each) == "n1=4 n2=4"
    elsewhere = fit(a_pass.cluster.capacity, each.request, 0b1000)
    assert elsewhere is not None
    a_pass.cluster.set_run("1", Run("1", each, NOW_S, elsewhere, NOW_S + 100))
    a_pass.placer.started(each, elsewhere)
    assert a_pass.placer.stripes == {}


# Narrower


def test_half_as_wide_where_the_stripe_finds_no_room() -> None:
    nodes = [vnode(f"n{number}", 8) for number in range(1, 9)]
    full = [run(str(number), "bob", f"n{number}=8") for number in range(1, 5)]
    each = job_with_layout("99", "8", "stripe", 8)
    a_pass = Pass(nodes, full)
    assert a_pass.where(each) == "n5=2 n6=2 n7=2 n8=2"
    assert a_pass.tried(each) == [8]
    reason = a_pass.placer.why_layout(each)
    assert reason is not None
    assert reason.tried[0].sentence(each, NOW_S) == (
        "tried over 8 nodes: not so many have room now for their share of at most 1 piece"
    )


def test_packed_where_no_stripe_finds_room() -> None:
    nodes = [vnode(f"n{number}", 8) for number in range(1, 9)]
    full = [run(str(number), "bob", f"n{number}=8") for number in range(1, 8)]
    each = job_with_layout("99", "8", "stripe", 8)
    a_pass = Pass(nodes, full)
    assert a_pass.where(each) == "n8=8"
    assert a_pass.tried(each) == [8, 4, 2]
    assert a_pass.why(each) == "packed on as few nodes as have room: no stripe finds room now"
    assert a_pass.where(job_with_layout("98", "9", "stripe", 8)) is None


def test_a_chunk_larger_than_any_node_runs_in_pieces() -> None:
    full = [run(str(number), "bob", f"n{number}=20") for number in range(1, 3)]
    each = job_with_layout("99", "1:ncpus=64:mpiprocs=64", "stripe", 4)
    assert Pass(runs=full).where(each) == "n3=32 n4=32"
    assert Pass().where(each) == "n1=16 n2=16 n3=16 n4=16"


# Learned


def learned(pack: float, striped: float) -> Ledger:
    return Ledger(learned={"u:alice:cfd": {"pack": Tally(5, (pack,) * 5), "stripe": Tally(5, (striped,) * 5)}})


def test_what_was_learned_decides() -> None:
    each = job("1", select="64", application="cfd")
    assert Pass(ledger=learned(0.5, 0.8), layout="learn").where(each) == "n1=16 n2=16 n3=16 n4=16"
    a_pass = Pass(ledger=learned(0.8, 0.5), layout="learn")
    assert a_pass.where(each) == "n1=32 n2=32"
    assert "cfd of alice reached a median of 0.5 in 5 striped runs and of 0.8 in 5 packed ones" in a_pass.why(each)


def test_the_layouts_take_turns_by_start_until_enough_is_known() -> None:
    a_pass = Pass([vnode(f"n{number}", 32) for number in range(1, 9)], layout="learn")
    assert a_pass.start(job("1", select="32", application="cfd")) == "n1=32"
    assert a_pass.start(job("2", select="32", application="cfd")) == "n2=16 n3=16"
    assert a_pass.start(job("3", select="32", application="cfd")) == "n4=32"
    assert a_pass.start(job("4", select="32", application="md")) == "n5=32"


def test_a_turn_to_pack_that_would_be_scattered_is_striped() -> None:
    halves = [run(str(number), "bob", f"n{number}=16") for number in range(1, 5)]
    each = job("99", select="32", application="cfd")
    a_pass = Pass(runs=halves, layout="learn")
    assert a_pass.where(each) == "n1=16 n2=16"
    assert "it was to be packed this time, but there is no room" in a_pass.why(each)


def test_the_ledger_of_a_pass_is_the_next_ones() -> None:
    """Through the whole engine: decided, remembered, and held apart in the next pass."""
    settings = Settings(stripe=StripeSettings(layout="stripe", stagger_s=60))
    jobs = [job("1", select="64", estimate_s=500), job("2", select="64", estimate_s=500)]
    plan = plan_for(cluster(FOUR, jobs), settings)
    assert list(starts(plan)) == ["1"]
    assert set(plan.ledger.stripes) == {"n1", "n2", "n3", "n4"}
    assert codes(plan) == {"2": "staggered"}
