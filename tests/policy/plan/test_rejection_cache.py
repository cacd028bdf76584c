"""Jobs that need more than is idle and may preempt no job share one reason, as long as it holds."""

from __future__ import annotations

import pytest

from policy import Job, Plan, Run, Settings, Vnode
from policy.model.jobs_runs_vnodes_queues import RunLimits, Window
from policy.reasons.reason import Reason
from policy.settings.site_settings import QuotaSettings
from tests.policy.clusters import cluster, codes, job, plan_for, queue, run, victims, vnode, with_owners


def waits(plan: Plan) -> dict[str, list[str]]:
    """The jobs of each list, by the first of them."""
    return {wait.jobs[0].id: [each.id for each in wait.jobs] for wait in plan.waits}


def reason(plan: Plan, job_id: str) -> Reason:
    return plan.reasons()[job_id][1]


def test_without_preemption_all_share_one_list() -> None:
    waiting = [job(str(number), f"u{number}", "4") for number in range(2, 9)]
    plan = plan_for(cluster([vnode("v1")], waiting, [run("1", "a", "v1=2")]))
    assert waits(plan) == {"2": ["2"], "3": [str(number) for number in range(3, 9)]}


def test_who_is_refused_for_another_reason_has_a_list_of_its_own() -> None:
    """bob is over his quota, carol has none; each has two jobs behind the head."""
    waiting = [job("2", "dave", "4")]
    waiting += [job(str(number), user, "4") for number, user in enumerate(("bob", "carol", "bob", "carol"), start=3)]
    runs = [run("1", "bob", "v1=4")]
    plan = plan_for(cluster([vnode("v1")], waiting, runs, queues=[queue("[u:bob=4]")]))
    assert waits(plan) == {"2": ["2"], "3": ["3", "5"], "4": ["4", "6"]}
    assert [tried.code for tried in reason(plan, "3").tried] == ["over-quota"]
    assert [tried.code for tried in reason(plan, "4").tried] == ["no-quota"]


def test_what_they_need_of_the_quota_counts() -> None:
    """Within the quota with 2, beyond it with 3: not the same refusal."""
    waiting = [job("2", "dave", "8"), job("3", "bob", "3", 500), job("4", "bob", "2", 500)]
    runs = [run("1", "alice", "v1=4"), run("5", "zoe", "v2=4")]
    quotas = [queue("[u:bob=2],[u:alice=0],[u:dave=8]")]
    plan = plan_for(cluster([vnode("v1"), vnode("v2")], waiting, runs, queues=quotas))
    assert victims(plan) == {}
    assert [tried.code for tried in reason(plan, "3").tried] == ["over-quota"]
    assert [tried.code for tried in reason(plan, "4").tried] == ["preempt-delays-head"]


def test_all_are_told_what_the_pass_has_left_idle() -> None:
    """carol's 4 starts between bob's two jobs, of which the first had its turn when 4 cores were idle."""
    waiting = [job("2", "zoe", "8"), job("3", "bob", "5"), job("4", "carol", "2", 10), job("5", "bob", "5")]
    snapshot = cluster([vnode("v1", 8)], waiting, [run("1", "a", "v1=4", 0, 100)], queues=[queue("[u:zoe=1]")])
    plan = plan_for(snapshot)
    assert [reason(plan, each).number("idle") for each in ("3", "5")] == [2, 2]


def test_what_is_too_little_by_the_end_of_a_pass_is_not_called_fragmented() -> None:
    """3 has its turn while 4 cores are idle, two on each vnode; 4 takes two of them."""
    waiting = [job("2", "zoe", "16"), job("3", "bob", "1:ncpus=3"), job("4", "carol", "1:ncpus=2", 10)]
    runs = [run("1", "a", "v1=6", 0, 100), run("5", "a", "v2=6", 0, 100)]
    plan = plan_for(cluster([vnode("v1", 8), vnode("v2", 8)], waiting, runs))
    assert (reason(plan, "3").code, reason(plan, "3").number("idle")) == ("too-few-idle", 2)


def test_a_job_that_waits_for_its_delay_is_told_its_own_time() -> None:
    waiting = [job("2", "dave", "4"), job("3", "bob", "2", 50, 1), job("4", "bob", "2", 50, 2)]
    snapshot = cluster([vnode("v1")], waiting, [run("1", "alice", "v1=4")], queues=[queue("[u:bob=2],[u:alice=0]")])
    plan = plan_for(snapshot, Settings(quota=QuotaSettings(delay_s=60)))
    assert [reason(plan, each).tried[0].number("at_s") for each in ("3", "4")] == [61, 62]


def test_one_that_could_never_fit_says_so() -> None:
    waiting = [job("2", "dave", "4"), job("3", "bob", "5"), job("4", "bob", "1:ncpus=4:mem=1gb")]
    assert codes(plan_for(cluster([vnode("v1")], waiting, [run("1", "a", "v1=4")]))) == {
        "2": "reserved", "3": "never-fits", "4": "never-fits",
    }  # fmt: skip


def test_jobs_that_keep_whole_vnodes_of_their_own_each_tell_what_they_ask_of_the_quota() -> None:
    """Vnodes that give themselves whole: behind the head 3 asks for what it keeps, 4 for less of as much."""
    vnodes = [vnode("v1", sharing="force_excl"), vnode("v2", sharing="force_excl")]
    waiting = [job("2", "dave", "8"), job("3", "bob", "4", 900), job("4", "bob", "2", 900)]
    runs = [run("1", "alice", "v1=4"), run("5", "alice", "v2=1")]
    plan = plan_for(cluster(vnodes, waiting, runs, queues=[queue("[u:bob=2],[u:alice=9],[u:dave=9]")]))
    for each in waiting[1:]:
        told = next(tried for tried in reason(plan, each.id).tried if tried.code == "over-quota")
        assert "u:bob would use 0 + 4 of a quota of 2" in told.sentence(each, plan.time_s)


# Run limits of vnodes

ONE_IN_ALL, ONE_OF_EACH = RunLimits(in_all=1), RunLimits(of_user=1)


def _limited(vnodes: list[Vnode], waiting: list[Job], runs: list[Run], quotas: str = "") -> Plan:
    waiting = with_owners(waiting, vnodes)
    runs = [each._replace(job=of) for each in runs for of in with_owners([each.job], vnodes)]
    return plan_for(cluster(vnodes, waiting, runs, queues=[queue(quotas), queue(name="other")]))


@pytest.mark.parametrize("quotas", ["", "[u:bob=0],[u:zoe=100]"])
def test_each_shape_names_the_limits_that_are_in_its_own_way(quotas: str) -> None:
    vnodes = [vnode(name, 8, run_limits=ONE_IN_ALL, attributes={"k": "v"}) for name in ("v1", "v2")]
    vnodes += [vnode("w1", 8, run_limits=ONE_OF_EACH, attributes={"k": "w"}), vnode("x", 8, attributes={"k": "x"})]
    runs = [run("9", "zoe", "v1=1 v2=1 x=1", estimate_s=1000), run("8", "bob", "w1=1", estimate_s=1000)]
    waiting = [job("1", "bob", "1:ncpus=8:k=x")]
    waiting += [job(str(n), "bob", f"1:ncpus=2:k={'vw'[n % 2]}", submit_s=n) for n in range(2, 6)]
    plan = _limited(vnodes, waiting, runs, quotas)
    named = {each: (reason(plan, each).number("vnodes"), reason(plan, each).number("what")) for each in "2345"}
    assert named == {each: (2, "max_running") if each in "24" else (1, "max_user_run") for each in "2345"}


def test_no_limit_is_named_where_a_reservation_is_in_the_way() -> None:
    """A vnode of another queue has a limit; v1 is kept by a reservation, or has a limit that is not reached."""
    window = Window(50, 500, "reservation R1")
    for limits in (None, ONE_IN_ALL):
        vnodes = [vnode("v1", closed=(window,), run_limits=limits), vnode("z", queue="other", run_limits=ONE_IN_ALL)]
        plan = _limited(vnodes, [job("1", select="4")], [])
        assert [tried.code for tried in reason(plan, "1").tried] == ["into-window"]
    full = [vnode("v1", closed=(window,)), vnode("v2", run_limits=ONE_IN_ALL)]
    plan = _limited(full, [job("1", select="3")], [run("9", "zoe", "v2=1", estimate_s=1000)])
    assert [tried.code for tried in reason(plan, "1").tried] == ["into-window", "vnode-run-limit"]
