"""P1's search for victims beyond the golden stories: what it must not touch, and what it must find."""

from __future__ import annotations

from policy import Changes, Ledger, Run
from policy.model.jobs_runs_vnodes_queues import Window
from policy.model.ledger_between_passes import PROMISE, Earmark
from policy.settings.site_settings import BackfillSettings, Settings
from tests.policy.clusters import (
    cluster,
    codes,
    job,
    place_of,
    plan_for,
    queue,
    quota_settings,
    run,
    started,
    victims,
    vnode,
)


def test_a_run_that_is_alone_on_its_vnode_frees_all_of_it() -> None:
    snapshot = cluster(
        [vnode("v1", 8)],
        [job("3", "bob", "8")],
        [run("1", "alice", "v1=1", place="excl")],
        queues=[queue("[u:alice=0],[u:bob=8]")],
    )
    assert victims(plan_for(snapshot)) == {"1": "3"}


def test_a_beneficiary_that_wants_its_vnode_alone_holds_it_alone() -> None:
    snapshot = cluster(
        [vnode("v1", 8)],
        [job("3", "bob", "1:ncpus=2", place="excl"), job("4", "carol", "2", 1000)],
        [run("1", "alice", "v1=4")],
        queues=[queue("[u:alice=0],[u:bob=8]")],
    )
    plan = plan_for(snapshot)
    assert victims(plan) == {"1": "3"}
    assert started(plan) == []


def test_runs_of_a_queue_that_is_not_managed_stay() -> None:
    snapshot = cluster(
        [vnode("v1")],
        [job("3", "bob", "4")],
        [run("1", "alice", "v1=4", queue_name="theirs")],
        queues=[queue("[u:bob=4]"), queue("[u:alice=0]", "theirs", managed=False)],
    )
    assert victims(plan_for(snapshot)) == {}


def test_exempt_runs_are_named_where_the_others_do_not_suffice() -> None:
    """alice may lose one of her two runs; with carol's, exempt until 80, it would do."""
    snapshot = cluster(
        [vnode("v1", 8)],
        [job("9", "bob", "4")],
        [run("1", "alice", "v1=2", 0), run("2", "alice", "v1=2", 0), run("3", "carol", "v1=4", 50)],
        queues=[queue("[u:alice=2],[u:bob=4],[u:carol=0]")],
        now_s=60,
    )
    (tried,) = plan_for(snapshot, quota_settings(exempt_s=30)).reasons()["9"][1].tried
    assert (tried.code, tried.number("at_s"), tried.number("enough_s")) == ("exempt-victims", 80, 80)


def test_exempt_runs_that_would_not_do_either_are_not_told_of() -> None:
    """alice's floor keeps one of her runs, exempt or not, and 4 cores never come together."""
    snapshot = cluster(
        [vnode("v1", 4)],
        [job("9", "bob", "4")],
        [run("1", "alice", "v1=2", 50), run("2", "alice", "v1=2", 50)],
        queues=[queue("[u:alice=2],[u:bob=4]")],
        now_s=60,
    )
    (tried,) = plan_for(snapshot, quota_settings(exempt_s=30)).reasons()["9"][1].tried
    assert tried.code == "no-victims"


def test_the_time_told_is_when_all_that_are_needed_have_run_long_enough() -> None:
    snapshot = cluster(
        [vnode("v1", 8)],
        [job("9", "bob", "8")],
        [run("1", "alice", "v1=4", 40), run("2", "alice", "v1=4", 50)],
        queues=[queue("[u:alice=0],[u:bob=8]")],
        now_s=60,
    )
    plan = plan_for(snapshot, quota_settings(exempt_s=30))
    (tried,) = plan.reasons()["9"][1].tried
    assert (tried.code, tried.number("at_s"), tried.number("enough_s")) == ("exempt-victims", 70, 80)
    assert plan.next_s == 70


def test_a_time_to_preempt_names_closures_that_are_not_in_the_way_yet() -> None:
    """bob's job would end before the reservation if it preempted now, and not once the run's exempt time or its own
    delay is over."""
    waiting = [job("9", "bob", "4", estimate_s=100, submit_s=50)]
    runs = [run("1", "alice", "v1=4", 0, 1000)]
    quota = [queue("[u:alice=0],[u:bob=4]")]
    for begin_s, closed_then in ((1300, False), (300, True)):
        closed = (Window(begin_s, 2000, "reservation R1"),)
        snapshot = cluster([vnode("v1", closed=closed)], waiting, runs, queues=quota, now_s=60)
        for settings in (quota_settings(exempt_s=200), quota_settings(delay_s=160)):
            (tried,) = plan_for(snapshot, settings).reasons()["9"][1].tried
            assert tried.code in ("exempt-victims", "preempt-delay")
            assert ("closed_then" in dict(tried.numbers)) is closed_then
            assert ("and no reservation or other closure" in tried.sentence(waiting[0], 60)) is closed_then


def test_a_delay_is_told_of_only_where_there_is_somebody_to_preempt() -> None:
    """bob's job waits for its delay, and finds out at once that alice's floor leaves it nothing; the pass comes again
    when the delay is over, as anything may have changed by then."""
    waiting = [job("9", "bob", "4", submit_s=50)]
    runs = [run("1", "alice", "v1=4", 0, 1000)]
    for quota, code in ((0, "preempt-delay"), (4, "no-victims")):
        snapshot = cluster([vnode("v1", 4)], waiting, runs, queues=[queue(f"[u:alice={quota}],[u:bob=4]")], now_s=60)
        plan = plan_for(snapshot, quota_settings(delay_s=30))
        (tried,) = plan.reasons()["9"][1].tried
        assert (tried.code, plan.next_s) == (code, 80)


def test_a_delay_is_told_of_alone_where_a_start_of_the_pass_would_have_to_go() -> None:
    """When bob's delay is over, carol's start is a run in its exempt time."""
    waiting = [
        job("8", "carol", "2", submit_s=40),
        job("9", "bob", "4", submit_s=50),
        job("10", "bob", "4", submit_s=50),
    ]
    runs = [run("1", "dave", "v1=2", 0, 1000)]
    snapshot = cluster([vnode("v1", 4)], waiting, runs, queues=[queue("[u:PBS_GENERIC=0],[u:bob=8]")], now_s=60)
    plan = plan_for(snapshot, quota_settings(delay_s=30, exempt_s=50))
    assert [*started(plan)] == ["8"]
    for job_id in ("9", "10"):
        (tried,) = plan.reasons()[job_id][1].tried
        assert (tried.code, dict(tried.numbers)) == ("preempt-delay", {"at_s": 80})


def test_the_cap_counts_each_subjob() -> None:
    array = job("2[]", "alice", "4", subjobs=(1,))
    one = Run("2[1]", array, 0, place_of("v1=4"), 100, False, 1)
    snapshot = cluster([vnode("v1")], [job("9", "bob", "4")], [one], queues=[queue("[u:alice=0],[u:bob=4]")])
    settings = quota_settings(max_preemptions=1)
    plan = plan_for(snapshot, settings)
    assert victims(plan) == {"2[1]": "9"}
    requeued = snapshot.apply(Changes(20, [array], gone=["2[1]"]))
    assert plan_for(requeued, settings, plan.ledger).ledger.preemptions == {"2[1]": 1}
    assert victims(plan_for(snapshot, settings, Ledger(preemptions={"2[1]": 1}))) == {}


def test_where_only_the_order_keeps_a_job_it_preempts_no_job() -> None:
    """carol, within quota too, cannot have the core of dave, who has none."""
    snapshot = cluster(
        [vnode("v1", 8)],
        [job("3", "carol", "8"), job("4", "bob", "1", 50)],
        [run("1", "alice", "v1=2"), run("2", "dave", "v1=2")],
        queues=[queue("[u:alice=0],[u:bob=4],[u:carol=8]")],
    )
    plan = plan_for(snapshot, Settings(BackfillSettings(kind="none")))
    assert victims(plan) == {}
    assert codes(plan)["4"] == "behind-head"


def test_nothing_is_preempted_where_that_is_switched_off() -> None:
    snapshot = cluster(
        [vnode("v1")], [job("3", "bob", "4")], [run("1", "alice", "v1=4")], queues=[queue("[u:alice=0],[u:bob=4]")]
    )
    plan = plan_for(snapshot, quota_settings(preempt=False))
    assert victims(plan) == {}
    assert plan.reasons()["3"][1].tried == ()


def test_a_preemption_that_frees_nothing_for_long_is_given_up() -> None:
    snapshot = cluster(
        [vnode("v1")], [job("3", "bob", "4")], [run("1", "alice", "v1=4")], queues=[queue("[u:alice=0],[u:bob=4]")]
    )
    settings = quota_settings(give_up_s=60, max_preemptions=1)
    first = plan_for(snapshot, settings)
    assert first.ledger.earmarks["3"].since_s == 10
    waiting = plan_for(snapshot.apply(Changes(69)), settings, first.ledger)
    assert (codes(waiting)["3"], [preempt.again for preempt in waiting.preempts]) == ("preempting", [True])
    given_up = plan_for(snapshot.apply(Changes(70)), settings, waiting.ledger)
    assert victims(given_up) == {}
    assert given_up.ledger.earmarks == {}


def test_a_hold_for_a_job_that_is_gone_is_forgotten() -> None:
    snapshot = cluster(
        [vnode("v1")], [job("3", "bob", "4")], [run("1", "alice", "v1=4")], queues=[queue("[u:alice=0],[u:bob=4]")]
    )
    ledger = plan_for(snapshot).ledger
    plan = plan_for(snapshot.apply(Changes(20, gone=["3"])), None, ledger)
    assert victims(plan) == {}
    assert plan.ledger.earmarks == {}


def test_a_run_still_exempt_is_told_of_where_others_would_delay_the_head() -> None:
    """The head, within quota, is to start on v1 and v3 at 100. bob may take neither v1 for 500 s nor, before 50, v2."""
    runs = [run("1", "alice", "v1=4", -200, 300), run("2", "alice", "v2=4", -50, 900), run("3", "zoe", "v3=4", 0, 100)]
    wide = "1:ncpus=4:vnode=v1+1:ncpus=4:vnode=v3"
    waiting = [job("8", "carol", wide, submit_s=-10), job("9", "bob", "1:ncpus=4", 500)]
    owned = [queue("[u:alice=0],[u:bob=4],[u:carol=8]")]
    vnodes = [vnode("v1"), vnode("v2"), vnode("v3")]
    plan = plan_for(cluster(vnodes, waiting, runs, queues=owned), quota_settings(exempt_s=100))
    assert [tried.code for tried in plan.reasons()["9"][1].tried] == ["exempt-victims"]
    assert plan.next_s == 50
    then = plan_for(plan.started.apply(Changes(50)), quota_settings(exempt_s=100), plan.ledger)
    assert victims(then) == {"2": "9"}


def test_a_start_that_puts_its_owner_over_quota_asks_for_another_pass() -> None:
    """bob needs a whole vnode and alice is at her quota: there is no victim until she starts on idle cores."""
    runs = [run("1", "alice", "v1=2", -200, 300), run("2", "alice", "v2=2", -50, 900)]
    waiting = [job("8", "bob", "1:ncpus=4", submit_s=-10), job("9", "alice", "1:ncpus=2", 5)]
    plan = plan_for(cluster([vnode("v1"), vnode("v2")], waiting, runs, queues=[queue("[u:alice=4],[u:bob=8]")]))
    assert (started(plan), victims(plan), plan.again) == (["9"], {}, True)
    then = plan_for(plan.started, None, plan.ledger)
    assert (victims(then), then.again) == ({"2": "8"}, False)


def test_a_beneficiary_that_starts_over_quota_asks_for_another_pass() -> None:
    """alice starts as she was promised, on cores cut for her. bob, within quota, preempts her in the next pass."""
    ledger = Ledger(earmarks={"2": Earmark(place_of("v1=4"), ("1",), 5, PROMISE)})
    waiting = [job("2", "alice", "4", submit_s=-10), job("3", "bob", "4", submit_s=-5)]
    plan = plan_for(cluster([vnode("v1")], waiting, queues=[queue("[u:alice=0],[u:bob=4]")]), None, ledger)
    assert (started(plan), victims(plan), plan.again) == (["2"], {}, True)
    then = plan_for(plan.started, None, plan.ledger)
    assert (victims(then), then.again) == ({"2": "3"}, False)


def test_subjobs_that_start_over_quota_are_looked_at_again_an_interval_later() -> None:
    """A subjob that starts is no victim at that moment, in whichever pass, but is from then on."""
    waiting = [job("2[]", "alice", "2", submit_s=-10, subjobs=(1, 2)), job("3", "bob", "4", submit_s=-5)]
    plan = plan_for(cluster([vnode("v1")], waiting, queues=[queue("[u:alice=0],[u:bob=4]")]))
    assert (started(plan), victims(plan), plan.again, plan.next_s) == (["2[1]", "2[2]"], {}, False, 25)
    at_once = plan_for(plan.started, None, plan.ledger)
    assert (victims(at_once), at_once.again, at_once.next_s) == ({}, False, 25)
    then = plan_for(plan.started.apply(Changes(25)), None, plan.ledger)
    assert victims(then) == {"2[1]": "3", "2[2]": "3"}


def test_a_start_that_uses_up_the_quota_of_the_head_asks_for_another_pass() -> None:
    """5 would delay carol's promised start. Her own 6 starts beside it and uses up her quota, so 5 comes first."""
    waiting = [
        job("4", "carol", "7", 1000, submit_s=-10),
        job("5", "bob", "2", 1000, submit_s=-5),
        job("6", "carol", "1", 50, submit_s=-4),
    ]
    runs = [run("1", "alice", "v1=4", 0, 100), run("2", "alice", "v1=3", 0, 2000)]
    owned = [queue("[u:alice=7],[u:bob=2],[u:carol=7]")]
    plan = plan_for(cluster([vnode("v1", 10)], waiting, runs, queues=owned), None, Ledger({"4": 100.0}))
    assert (started(plan), codes(plan)["5"], plan.again) == (["6"], "backfill-window", True)
    then = plan_for(plan.started, None, plan.ledger)
    assert (started(then), [moved.id for moved in then.moved], then.again) == (["5"], ["4"], False)


def test_a_job_does_not_wait_for_exempt_runs_where_it_would_exceed_its_quota() -> None:
    """2 is within its quota of 8 on v1, where no run has to end; on v2, once 1 is not exempt, it would keep 16."""
    vnodes = [vnode("v1", 4), vnode("v2", 16)]
    runs = [run("1", "bob", "v2=16"), run("3", "carol", "v1=4")]
    waiting = [job("2", "alice", "1", place="excl")]
    queues = [queue("[u:alice=8],[u:bob=0],[u:carol=4]")]
    settings = quota_settings(exempt_s=100)
    tried = [plan_for(cluster(vnodes, waiting, runs, queues=queues, now_s=now_s), settings) for now_s in (10, 100)]
    codes_tried = [[each.code for each in plan.reasons()["2"][1].tried] for plan in tried]
    assert codes_tried == [["no-victims"], ["over-quota"]]
