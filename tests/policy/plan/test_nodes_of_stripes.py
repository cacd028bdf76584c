"""The nodes on which the placer puts a stripe: idle, shared, or better ranked ones."""

from __future__ import annotations

import pytest

from policy import Ledger, Run, Settings, Snapshot
from policy.model.allocation import Allocation
from policy.model.job_preferences import Layout, RankPreference, Requirements
from policy.model.jobs_runs_vnodes_queues import Reading
from policy.plan.job_placer import Placer
from policy.reasons.reason import Reason
from policy.settings.ranking_and_stripe_settings import StripeSettings
from tests.policy.clusters import job, queue, run, vnode
from tests.policy.plan.placer_on_small_cluster import FOUR, NOW_S, Pass, job_with_layout


def test_idle_nodes_first_then_those_that_stripes_share() -> None:
    busy = [run("8", "bob", "n1=4"), run("9", "bob", "n2=4")]
    a_pass = Pass(runs=busy, ledger=Ledger(stripes={"n2": 0.0}), layout="stripe")
    assert a_pass.start(job("1", select="1:ncpus=16:mpiprocs=16")) == "n3=8 n4=8"
    assert a_pass.start(job_with_layout("2", "9", "stripe", 3)) == "n2=3 n3=3 n4=3"


def meeting(*shared: str, prefer: str = "shared") -> Pass:
    """Stripes of wrf on these nodes, some time ago; the others are idle."""
    busy = [run(str(80 + at), "bob", f"{name}=4", application="wrf") for at, name in enumerate(shared)]
    return Pass(runs=busy, ledger=Ledger(stripes=dict.fromkeys(shared, 0.0)), layout="stripe", prefer=prefer)


def test_where_stripes_are_to_meet_they_go_to_nodes_with_stripes_of_other_applications_and_leave_idle_ones() -> None:
    other = job("1", select="8", application="md", layout=Layout("stripe", 2))
    assert meeting("n3", "n4", prefer="idle").where(other) == "n1=4 n2=4"
    assert meeting("n3", "n4").where(other) == "n3=4 n4=4"
    assert meeting("n4").where(other) == "n1=4 n4=4"


def test_stripes_of_one_application_do_not_meet_while_there_are_idle_nodes() -> None:
    same = job("1", select="8", application="wrf", layout=Layout("stripe", 2))
    assert meeting("n3", "n4").where(same) == "n1=4 n2=4"
    assert meeting("n1", "n2", "n3").where(same) == "n1=4 n4=4"


def test_a_queue_has_a_layout_of_its_own() -> None:
    queues = (("big", "stripe"), ("small", "pack"))
    small = job("1", select="32", queue_name="small")
    a_pass = Pass(queues=queues)
    assert a_pass.where(small) == "n1=32"
    assert "stripe.queues.small is pack" in a_pass.why(small)
    wide, other = job("1", select="64", queue_name="big"), job("2", select="64")
    a_pass = Pass(queues=queues)
    assert a_pass.where(wide) == "n1=16 n2=16 n3=16 n4=16"
    assert "stripe.queues.big is stripe" in a_pass.why(wide)
    assert a_pass.where(other) == "n1=32 n2=32"
    assert a_pass.why(other) == ""


def test_an_application_has_a_layout_of_its_own_before_its_queue() -> None:
    a_pass = Pass(queues=(("big", "stripe"),), applications=(("md", "pack"), ("wrf", "stripe")))
    packed = job("1", select="64", queue_name="big", application="md")
    assert a_pass.where(packed) == "n1=32 n2=32"
    assert "stripe.applications.md is pack" in a_pass.why(packed)
    assert a_pass.where(job("2", select="64", application="wrf")) == "n1=16 n2=16 n3=16 n4=16"
    assert a_pass.where(job("3", select="64", application="other", queue_name="big")) == "n1=16 n2=16 n3=16 n4=16"
    assert a_pass.why(job("4", select="64", application="other")) == ""


@pytest.mark.parametrize("layout", ["learn", "auto"])
def test_a_chunk_that_no_node_holds_is_packed_in_pieces_where_the_policy_chooses(layout: str) -> None:
    """Nothing is learned of it, and the nodes are not idle enough to spread it."""
    busy = [run("9", "bob", "n1=1 n2=1 n3=1 n4=1")]
    wide = job("1", select="1:ncpus=64:mpiprocs=64")
    assert Pass(runs=busy, layout=layout).where(wide) is not None
    assert Pass(runs=busy, layout="pack").where(wide) is None


def test_auto_decides_once_for_the_jobs_that_wait() -> None:
    """Not by what each start of the pass leaves idle."""
    jobs = [job(str(number), select="33") for number in (1, 2, 3)]
    vnodes = [vnode(f"n{number}", 32) for number in range(1, 9)]
    snapshot = Snapshot.build(NOW_S, vnodes, [queue()], jobs, [])
    placer = Placer(snapshot.cluster(), Settings(stripe=StripeSettings(layout="auto")), Ledger(), NOW_S)
    for each in jobs:
        found = placer.place(each, (1 << 8) - 1)
        assert isinstance(found, Allocation)
        assert len(found.vnodes) == 4
        snapshot.cluster().set_job(each.id, None)
        snapshot.cluster().set_run(each.id, Run(each.id, each, NOW_S, found, NOW_S + each.estimate_s))
        placer.started(each, found)


def test_nodes_that_will_soon_be_idle_come_before_those_that_stay_busy() -> None:
    busy = [run("7", "bob", "n1=4", 0, 9000), run("8", "bob", "n2=4", 0, NOW_S + 50), run("9", "bob", "n3=4", 0, 9000)]
    nodes = (*FOUR[:3], vnode("n4", 32, elsewhere={"ncpus": 1}))
    stripe = job_with_layout("1", "8", "stripe", 2)
    assert Pass(nodes, busy).where(stripe) == "n1=4 n2=4"
    assert Pass(nodes, busy, idle_within_s=60).where(job_with_layout("1", "4", "stripe", 1)) == "n2=4"
    assert Pass(nodes, busy, idle_within_s=49).where(job_with_layout("1", "4", "stripe", 1)) == "n1=4"


def test_idle_nodes_come_before_those_that_soon_will_be() -> None:
    busy = [run("8", "bob", "n1=4", 0, NOW_S + 50)]
    assert Pass(runs=busy, idle_within_s=60).where(job_with_layout("1", "4", "stripe", 1)) == "n2=4"


def test_a_node_that_gets_a_job_in_this_pass_is_not_soon_idle() -> None:
    busy = [run("8", "bob", "n1=4", 0, 9000), run("9", "bob", "n2=4", 0, NOW_S + 50)]
    a_pass = Pass(FOUR[:2], busy, idle_within_s=60)
    assert a_pass.where(job_with_layout("1", "4", "stripe", 1)) == "n2=4"
    a_pass.start(job_with_layout("2", "4", "pack"), allowed=0b10)
    assert a_pass.where(job_with_layout("1", "4", "stripe", 1)) == "n1=4"


def test_unlike_jobs_share_rather_than_like_ones() -> None:
    a_pass = Pass(layout="stripe")
    assert a_pass.start(job("1", select="32", application="cfd")) == "n1=16 n2=16"
    assert a_pass.start(job("2", select="32", application="md")) == "n3=16 n4=16"
    assert a_pass.start(job("3", select="32", application="cfd")) == "n3=16 n4=16"
    assert a_pass.start(job("4", select="32", application="md")) == "n1=16 n2=16"


def test_a_vnode_that_is_full_down_or_of_another_kind_gets_nothing() -> None:
    nodes = [
        vnode("n1", 32), vnode("n2", 32, usable=False), vnode("n3", 32, attributes={"arch": "linux"}),
        vnode("n4", 32, attributes={"arch": "linux"}),
    ]  # fmt: skip
    assert Pass(nodes).where(job_with_layout("1", "6", "stripe", 4)) == "n1=2 n3=2 n4=2"
    assert Pass(nodes).where(job_with_layout("1", "6:ncpus=1:arch=linux", "stripe", 4)) == "n3=3 n4=3"
    full = [run("9", "bob", "n1=32")]
    assert Pass(nodes, full).where(job_with_layout("1", "6", "stripe", 2)) == "n3=3 n4=3"


# Ranked


def readings(**left: float) -> dict[str, Reading]:
    return {name: Reading(NOW_S, network=amount, network_all=100) for name, amount in left.items()}


def test_stripes_go_to_the_better_ranked_of_equally_idle_nodes() -> None:
    ranked = readings(n1=10, n2=90, n3=80, n4=70)
    each = job_with_layout("1", "8", "stripe", 2, rank=RankPreference("network"))
    assert Pass(readings=ranked).where(each) == "n2=4 n3=4"
    assert Pass(readings=ranked, runs=[run("9", "bob", "n2=4")]).where(each) == "n3=4 n4=4"


def test_no_stripe_on_nodes_that_are_not_good_enough() -> None:
    ranked = readings(n1=10, n2=90, n3=80, n4=70)
    needs = RankPreference("network", Requirements(network=75))
    assert Pass(readings=ranked).where(job_with_layout("1", "8", "stripe", 4, rank=needs)) == "n2=4 n3=4"
    found = Pass(readings=ranked).place(
        job_with_layout("1", "8", "stripe", 4, rank=RankPreference("network", Requirements(network=95)))
    )
    assert isinstance(found, Reason)
    assert found.code == "not-good-enough"
