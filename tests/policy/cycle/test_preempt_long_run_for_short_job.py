"""The rescue of short jobs: which jobs are short and have waited, which runs may be cut, and that no promise is
broken for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policy import Changes, Job, Ledger, Run, Settings, Snapshot
from policy.backfill.shrunk_estimate_and_may_be_cut import Estimates
from policy.cycle.preempt_long_run_for_short_job import Rescue, waits_until_s
from policy.model.ledger_between_passes import Backfilled, Cut
from policy.plan.pass_context import Context
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, QuotaSettings, RescueSettings
from tests.policy.clusters import cluster, codes, job, plan_for, queue, quotas, run, started, victims, vnode

NOW_S = 10_000.0
ON = RescueSettings(enabled=True)


def settings(rescue: RescueSettings = ON, **quota: Any) -> Settings:
    return Settings(
        BackfillSettings("checkpoint", shrink_factor=0.2, order="shortest-first"),
        QuotaSettings(**quota),
        checkpoint=CheckpointSettings(saves=True),
        rescue=rescue,
    )


def long_run(
    run_id: str = "1", where: str = "v1=4", start_s: float = 0, estimate_s: float = 40_000, **more: Any
) -> Run:
    return run(run_id, "alice", where, start_s, estimate_s, **more)


def short_job(job_id: str = "3", select: str = "4", estimate_s: float = 600, submit_s: float = 5000) -> Job:
    return job(job_id, "bob", select, estimate_s, submit_s)


def of(jobs: list[Job], runs: list[Run], cores: int = 4) -> Snapshot:
    return cluster([vnode("v1", cores)], jobs, runs, now_s=NOW_S)


@pytest.mark.parametrize(
    ("short_s", "factor", "least_s", "until_s"), [(600, 2, 60, 1300), (20, 2, 60, 160), (20, 0, 0, 100)]
)
def test_when_a_short_job_has_waited_long_enough(short_s: float, factor: float, least_s: float, until_s: float) -> None:
    waiting = job("3", submit_s=100)
    assert waits_until_s(waiting, short_s, RescueSettings(wait_factor=factor, wait_least_s=least_s), {}) == until_s


@pytest.mark.parametrize(
    ("waiting", "until_s"),
    [
        (job("3", submit_s=100), 1300),
        (job("3", submit_s=100)._replace(not_before_s=500.0), 1700),
        (job("4", submit_s=100), 10_200),
        (job("5[]", submit_s=100)._replace(subjobs=(2, 3)), 7200),
        (job("5[]", submit_s=100)._replace(subjobs=(3,)), 1300),
    ],
)
def test_waiting_counts_from_when_the_job_last_could_run(waiting: Job, until_s: float) -> None:
    cuts = {"4": Cut(9000.0, "cut-for-promise", ()), "5[2]": Cut(6000.0, "cut-for-rescue", ())}
    assert waits_until_s(waiting, 600, RescueSettings(), cuts) == until_s


def chance(snapshot: Snapshot, ledger: Ledger | None = None, rescue: RescueSettings = ON) -> Rescue:
    known = ledger or Ledger()
    estimates = Estimates(settings(rescue), known, NOW_S)
    context = Context(snapshot, known, settings(rescue))
    return Rescue(snapshot.cluster(), rescue, estimates, known, context, NOW_S)


def may_go(snapshot: Snapshot, ledger: Ledger | None = None, rescue: RescueSettings = ON) -> list[str]:
    return [each.id for each in chance(snapshot, ledger, rescue).victims(())]


def test_the_shortest_first_and_only_the_short() -> None:
    waiting = [
        short_job("3", estimate_s=1800),
        short_job("4", estimate_s=1801),
        short_job("5", estimate_s=9000),
        short_job("6", estimate_s=9001),
        short_job("7", estimate_s=60),
    ]
    rescuing = chance(of([], []))
    assert [each.id for each in rescuing.shortest_first(rescuing.short(waiting))] == ["7", "3", "5"]


def test_the_time_when_the_next_has_waited_long_enough_is_noted() -> None:
    rescuing = chance(of([], []))
    assert rescuing.has_waited(short_job(submit_s=8800))
    assert not rescuing.has_waited(short_job(submit_s=8900))
    assert not rescuing.has_waited(short_job(submit_s=8850))
    assert rescuing.next_s == 10_050


@pytest.mark.parametrize(
    ("changed", "may"),
    [
        ({}, True),
        ({"start_s": 8200}, True),
        ({"start_s": 8201}, False),
        ({"estimate_s": 17_201}, True),
        ({"estimate_s": 17_200}, False),
        ({"rerunable": False}, False),
        ({"saves": False}, False),
        ({"exiting": True}, False),
    ],
)
def test_who_may_be_cut(changed: dict[str, Any], may: bool) -> None:
    assert may_go(of([], [long_run(**changed)])) == (["1"] if may else [])


@pytest.mark.parametrize(("count", "max_cuts", "may"), [(2, 3, True), (3, 5, True), (5, 5, False), (1, 1, False)])
def test_who_was_cut_too_often_stays(count: int, max_cuts: int, may: bool) -> None:
    rescue = RescueSettings(enabled=True, max_cuts=max_cuts)
    assert bool(may_go(of([], [long_run()]), Ledger(preemptions={"1": count}), rescue)) == may


def test_the_fewest_cores_first_then_who_has_most_to_go() -> None:
    runs = [long_run("1", "v1=4"), long_run("2", "v1=2"), long_run("4", "v1=2", estimate_s=50_000)]
    assert may_go(of([], runs, 8)) == ["4", "2", "1"]


def test_one_run_is_cut_and_its_cores_are_kept() -> None:
    plan = plan_for(of([short_job()], [long_run()]), settings())
    assert victims(plan) == {"1": "3"}
    assert plan.ledger.earmarks["3"].rule == "rescue"
    assert plan.ledger.preemptions == {"1": 1}


@pytest.mark.parametrize("ticks", range(40))
def test_a_pass_is_never_due_at_its_own_moment_for_a_run_whose_exempt_time_ends(ticks: int) -> None:
    """With fractions of seconds the sum of start and exempt time may be now while their difference is not yet."""
    start_s = 261_649.6 + ticks / 10 - 10 / 3
    now_s = start_s + ON.exempt_s
    waiting = short_job(submit_s=now_s - 5000)
    snapshot = cluster([vnode("v1", 4)], [waiting], [long_run(start_s=start_s, estimate_s=90_000)], now_s=now_s)
    plan = plan_for(snapshot, settings())
    assert victims(plan) == {"1": "3"}


@pytest.mark.parametrize(
    ("job_cut_for", "run_cut_for", "cut"), [("9", "9", {"1": "3"}), ("1", "9", {}), ("9", "3", {})]
)
def test_two_jobs_are_not_cut_for_each_other_in_turn(job_cut_for: str, run_cut_for: str, cut: dict[str, str]) -> None:
    cuts = {
        "3": Cut(5000.0, "cut-for-promise", (("beneficiary", job_cut_for),)),
        "1": Cut(4000.0, "cut-for-rescue", (("beneficiary", run_cut_for),)),
    }
    plan = plan_for(of([short_job()], [long_run()]), settings(), Ledger(cuts=cuts))
    assert victims(plan) == cut


@pytest.mark.parametrize(
    ("limits", "cut"),
    [
        ("[u:alice=4],[u:bob=0]", {}),
        ("[u:alice=4],[u:bob=4]", {"1": "3"}),
        ("[u:alice=0],[u:bob=0]", {"1": "3"}),
    ],
)
def test_a_run_within_quota_is_not_cut_for_a_job_beyond(limits: str, cut: dict[str, str]) -> None:
    """Else its owner could preempt the rescued job at once."""
    snapshot = cluster([vnode("v1", 4)], [short_job()], [long_run()], queues=[queue(limits)], now_s=NOW_S)
    assert victims(plan_for(snapshot, settings(delay_s=90_000))) == cut


@pytest.mark.parametrize(("alice", "bob", "cut"), [(2, 1, {}), (1, 2, {"1": "3"}), (1, 1, {"1": "3"})])
def test_a_run_of_a_higher_class_is_not_cut(alice: int, bob: int, cut: dict[str, str]) -> None:
    # Runs keep the class in which they started; rule B would take a lower one before any rescue, but for the delay.
    queues = [queue("[u:alice=4],[u:bob=4]", priorities=quotas(f"[u:alice={alice}],[u:bob={bob}]"))]
    snapshot = cluster([vnode("v1", 4)], [short_job()], [long_run()], queues=queues, now_s=NOW_S)
    ledger = Ledger(classes={"1": alice})
    assert victims(plan_for(snapshot, settings(preempt=False, delay_s=90_000), ledger)) == cut


def test_at_most_one_in_a_pass_and_the_next_in_the_next_second() -> None:
    snapshot = of([short_job("3"), short_job("4")], [long_run("1"), long_run("2")], 8)
    first = plan_for(snapshot, settings())
    assert len(victims(first)) == 1
    again = plan_for(first.started, settings(), first.ledger)
    assert set(victims(again).values()) == {"3"}
    assert again.next_s == NOW_S + 1
    second = plan_for(again.started.apply(Changes(NOW_S + 1)), settings(), again.ledger)
    assert sorted(set(victims(second).values())) == ["3", "4"]


def test_a_rescue_leaves_no_room_in_which_the_victim_of_the_same_second_starts_again() -> None:
    """1 was cut for 3, which runs by now; 2 is so large that 1 would start again on what 4 leaves of it."""
    waiting = [short_job("4", "2"), job("1", "alice", "4", 40_000)]
    snapshot = of(waiting, [run("3", "bob", "v1=4", NOW_S, 600), long_run("2", "v1=8")], 12)
    cut = Ledger(preemptions={"1": 1}, cuts={"1": Cut(NOW_S, "cut-for-rescue", ())})
    assert victims(plan_for(snapshot, settings(), cut)) == {}
    later = plan_for(snapshot.apply(Changes(NOW_S + 1)), settings(), cut)
    assert victims(later) == {"2": "4"}


def test_what_is_left_of_the_hole_goes_to_further_short_jobs() -> None:
    waiting = [short_job("3", "4"), short_job("4", "3", 900), short_job("5", "2", 1200), short_job("6", "1", 90_000)]
    plan = plan_for(of(waiting, [long_run(where="v1=8")], 8), settings())
    assert sorted(plan.ledger.earmarks) == ["3", "4"]
    assert all(hold.victims == ("1",) for hold in plan.ledger.earmarks.values())
    assert codes(plan)["5"] in ("reserved", "too-few-idle")


def test_the_hole_is_filled_once_the_victim_has_let_go_and_all_count_as_backfilled() -> None:
    waiting = [short_job("3", "4"), short_job("4", "3", 900)]
    plan = plan_for(of(waiting, [long_run(where="v1=8")], 8), settings())
    requeued = plan.started.apply(Changes(NOW_S, [plan.started.runs["1"].job]))
    after = plan_for(requeued, settings(), plan.ledger)
    assert sorted(started(after)) == ["3", "4"]
    assert after.ledger.backfilled == {"3": Backfilled(10_600), "4": Backfilled(10_900)}


def test_it_is_woken_when_a_job_has_waited_long_enough() -> None:
    plan = plan_for(of([short_job(submit_s=9000)], [long_run()]), settings())
    assert (victims(plan), plan.next_s) == ({}, 10_200)


@pytest.mark.parametrize(("cores", "cut"), [("4", {"1": "4"}), ("5", {})])
def test_no_promise_is_broken_for_it(cores: str, cut: dict[str, str]) -> None:
    """The head gets 8 of 12 cores at 10,200; a rescued job runs longer than that, beside it."""
    waiting = [job("3", "bob", "8", 36_000, 8000), short_job("4", cores, 900)]
    runs = [long_run("1"), long_run("2", estimate_s=10_200)]
    plan = plan_for(of(waiting, runs, 12), settings(), Ledger({"3": 10_200.0}))
    assert victims(plan) == cut
    assert [(each.id, each.at_s) for each in plan.estimates] == [("3", 10_200)]


def test_nothing_is_cut_where_it_is_off() -> None:
    assert victims(plan_for(of([short_job()], [long_run()]), settings(RescueSettings()))) == {}


def test_a_job_behind_a_gate_is_not_rescued() -> None:
    held = short_job()._replace(blocked="held by its user")
    assert victims(plan_for(of([held], [long_run()]), settings())) == {}


def test_a_job_that_was_just_cut_is_not_at_once_rescued() -> None:
    """Run 1 is cut for the promise of 3; it asks for 4,000 s more, short by a fifth of that, and run 2 stays."""
    long = settings()
    runs = [long_run("1", estimate_s=14_000), long_run("2", "v1=8", estimate_s=90_000)]
    ledger = Ledger({"3": float(NOW_S)}, backfilled={"1": Backfilled(4000.0, True)})
    first = plan_for(of([job("3", "bob", "4", 9000, 5)], runs, 12), long, ledger)
    assert victims(first) == {"1": "3"}
    saved = runs[0].job._replace(saved_s=NOW_S - 120.0)
    second = plan_for(first.started.apply(Changes(NOW_S, [saved])), long, first.ledger)
    assert (started(second), victims(second)) == (["3"], {})


def test_a_job_that_wants_its_vnode_alone_gets_it() -> None:
    """The victim had v1 alone; the rescued job wants it alone in turn, and another short job that would fit what it
    does not use gets none of that."""
    lone = job("3", "bob", "3", 300, 5000, place="pack:excl")
    waiting = [job("9", "bob", "16", 9000, 10), lone, short_job("4", "4", 600, 9990)]
    runs = [
        long_run(where="v1=8", place="free:excl", estimate_s=80_000),
        long_run("2", "v2=8", estimate_s=80_000, rerunable=False),
    ]
    first = plan_for(cluster([vnode("v1", 8), vnode("v2", 8)], waiting, runs, now_s=NOW_S), settings())
    assert (victims(first), list(first.ledger.earmarks)) == ({"1": "3"}, ["3"])
    second = plan_for(first.started.apply(Changes(NOW_S, [runs[0].job])), settings(), first.ledger)
    assert started(second) == ["3"]


def test_a_run_that_starts_in_this_pass_is_not_cut_in_it() -> None:
    plan = plan_for(of([job("1", "bob", "4", 80_000, 0), short_job(select="1")], []), settings(replace(ON, exempt_s=0)))
    assert (started(plan), victims(plan)) == (["1"], {})
