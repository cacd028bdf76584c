"""Two sides compared: waits until the start or the end of the span, means over the draws, by user and by queue."""

from __future__ import annotations

from policy import Finished, Ledger, Settings
from policy.forecast.forecast import Bounds, Forecaster
from policy.forecast.run_time_history import RunTimeHistory
from policy.forecast.simulate_forward import Draw, DrawnStart
from policy.forecast.what_if_waits_before_and_after import State, compare_ahead
from policy.model.allocation import Allocation
from policy.state.cluster_snapshot import Changes, Snapshot
from tests.policy.clusters import cluster, job, queue, quota_settings, run, vnode

NOWHERE = Allocation(())


def a_draw(used_core_s: float = 0.0, **starts_s: float) -> Draw:
    starts = {name[1:]: DrawnStart(at_s, NOWHERE, "") for name, at_s in starts_s.items()}
    return Draw(starts, 1000.0, 1, True, preemptions=1, repeated_core_s=50.0, used_core_s=used_core_s)


def state(*waiting: str, running: frozenset[str] = frozenset()) -> State:
    return State({name: job(name, user=f"u{name}", select="1") for name in waiting}, running, 8)


def test_waits_are_means_over_the_draws_and_end_with_the_span() -> None:
    pairs = [(a_draw(2000, j1=110, j2=400), a_draw(1000, j1=100)), (a_draw(4000, j1=130), a_draw(1000, j1=100))]
    found = compare_ahead(state("1", "2"), state("1", "2"), pairs, 100, 1100)
    assert found.draws == 2
    assert found.before.by_user["u1"].wait_s == 20
    assert found.before.by_user["u2"].wait_s == (300 + 1000) / 2
    assert found.after.by_user["u2"].wait_s == 1000
    assert (found.before.by_user["u2"].started, found.after.by_user["u2"].started) == (0.5, 0)
    assert found.before.all.wait_s == found.before.by_queue["workq"].wait_s == (20 + 650) / 2
    assert (found.before.idle_cores, found.after.idle_cores) == (8 - 3, 8 - 1)
    assert (found.before.preemptions, found.before.repeated_core_s) == (1, 50)


def test_a_job_that_is_gone_on_one_side_is_left_out_and_one_that_runs_there_has_not_waited() -> None:
    before, after = state("1", "2", "3"), state("1", running=frozenset(["3"]))
    found = compare_ahead(before, after, [(a_draw(j1=200), a_draw(j1=200))], 100, 1100)
    assert set(found.before.by_user) == {"u1", "u3"}
    assert found.before.by_user["u3"].wait_s == 1000
    assert found.after.by_user["u3"].wait_s == 0


def test_a_job_that_is_too_large_on_both_sides_is_left_out_and_one_that_becomes_so_waits_until_the_end() -> None:
    before, after = (state("1", "2", "3")._replace(too_large=frozenset(each)) for each in (["3"], ["2", "3"]))
    found = compare_ahead(before, after, [(a_draw(j1=200, j2=200), a_draw(j1=200))], 100, 1100)
    assert set(found.before.by_user) == {"u1", "u2"}
    assert (found.before.by_user["u2"].wait_s, found.after.by_user["u2"].wait_s) == (100, 1000)


def test_no_jobs_are_no_waits() -> None:
    found = compare_ahead(state(), state(), [(a_draw(), a_draw())], 0, 10)
    assert found.before.all == found.after.all == (0, 0.0, 0.0)


def waiting_behind_one() -> Snapshot:
    runs = [run("1", "bob", "v1=4", estimate_s=1000)]
    return cluster([vnode("v1")], [job("2", select="4"), job("3", select="4")], runs, now_s=0)


def test_a_draw_tells_what_it_has_used() -> None:
    snapshot = waiting_behind_one()
    made = Forecaster(snapshot, Ledger(), Settings(), RunTimeHistory(), bounds=Bounds(horizon_s=2000)).draw(0)
    # The run for 1,000 s, then both jobs for 100 s each, all on four cores.
    assert made.used_core_s == 4 * (1000 + 100 + 100)
    assert (made.preemptions, made.repeated_core_s) == (0, 0)
    short = Forecaster(snapshot, Ledger(), Settings(), RunTimeHistory(), bounds=Bounds(horizon_s=500)).draw(0)
    assert short.used_core_s == 4 * 500


def test_both_sides_draw_the_same_run_times_though_a_job_is_held_on_one() -> None:
    past = RunTimeHistory([Finished("0", "bob", "", 4, 0, took_s, 1000) for took_s in range(10, 1000, 7)])
    snapshot = waiting_behind_one()
    held = snapshot.cluster().jobs["2"]._replace(blocked="held")
    other = waiting_behind_one().apply(Changes(0, queued=[held]))
    sides = [Forecaster(each, Ledger(), Settings(), past) for each in (snapshot, other)]
    for number in range(10):
        one, two = (side.draw(number).starts for side in sides)
        assert two["3"].at_s == one["2"].at_s, "the run before them ends at the same moment"


def test_a_forecast_of_some_jobs_is_what_the_whole_one_says_of_them() -> None:
    snapshot = waiting_behind_one()
    whole = Forecaster(snapshot, Ledger(), Settings(), RunTimeHistory())
    some = Forecaster(snapshot, Ledger(), Settings(), RunTimeHistory(), wanted={"2"})
    while whole.step():
        pass
    while some.step():
        pass
    assert list(some.result().jobs) == ["2"]
    assert some.result().jobs["2"] == whole.result().jobs["2"]


def test_a_preempted_run_that_begins_anew_takes_as_long_as_was_drawn_for_it() -> None:
    # Most runs take 10 minutes, but bob's has run for an hour already.
    past = RunTimeHistory([Finished(str(n), "bob", "", 4, 0, 18_000 if n == 9 else 600, 36_000) for n in range(10)])
    runs = [run("1", "bob", "v1=4", start_s=-3600, estimate_s=36_000)]
    queues = [queue("[u:carol=4],[u:bob=0]")]
    alone, preempted = (
        Forecaster(cluster([vnode("v1")], jobs, runs, queues=queues, now_s=0), Ledger(), quota_settings(), past)
        for jobs in ([], [job("2", "carol", "4", estimate_s=600)])
    )
    for number in range(10):
        one, two = alone.draw(number), preempted.draw(number)
        assert (one.preemptions, two.preemptions) == (0, 1)
        carols_core_s = two.used_core_s - (one.used_core_s + 4 * 3600)
        assert 0 < carols_core_s <= 4 * 600
