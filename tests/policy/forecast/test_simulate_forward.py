"""One draw: the cluster run forward with given run times, on clusters that are told in a line each."""

from __future__ import annotations

from policy import Ledger, Settings
from policy.forecast.simulate_forward import Draw, Forward, LimitsFrom
from policy.model.jobs_runs_vnodes_queues import Job, Server, Window
from policy.settings.site_settings import BackfillSettings, CheckpointSettings
from policy.state.cluster_snapshot import Snapshot
from tests.policy.clusters import cluster, job, queue, quota_settings, quotas, run, show_cores, vnode

FAR_S = 1e9


def draw(
    snapshot: Snapshot,
    times_s: dict[str, float],
    settings: Settings | None = None,
    horizon_s: float = FAR_S,
    passes: int = 1000,
    arrivals: tuple[Job, ...] = (),
) -> Draw:
    ends_s = {each.id: max(10, each.start_s + times_s[each.id]) for each in snapshot.runs.values()}
    forward = Forward(snapshot, Ledger(), settings or Settings(), snapshot.jobs)
    return forward.draw(ends_s, lambda each: times_s[each.id], horizon_s, passes, arrivals)


def starts_as_text(drawn: Draw) -> dict[str, str]:
    return {
        job_id: f"{start.at_s:g} {show_cores(start.allocation)} after {start.after or '-'}"
        for job_id, start in drawn.starts.items()
    }


def test_a_job_starts_when_the_drawn_run_before_it_ends_not_when_it_said() -> None:
    snapshot = cluster([vnode("v1")], [job("2", select="4")], [run("1", "bob", "v1=4", estimate_s=100)])
    assert starts_as_text(draw(snapshot, {"1": 30, "2": 5})) == {"2": "30 v1=4 after 1"}


def test_jobs_start_after_jobs_that_the_draw_itself_started() -> None:
    snapshot = cluster([vnode("v1")], [job("2", select="4"), job("3", select="4")], [run("1", "bob", "v1=4")])
    assert starts_as_text(draw(snapshot, {"1": 30, "2": 5, "3": 1})) == {"2": "30 v1=4 after 1", "3": "35 v1=4 after 2"}


def test_a_job_that_could_start_now_starts_now() -> None:
    assert starts_as_text(draw(cluster([vnode("v1")], [job("2")]), {"2": 5})) == {"2": "10 v1=1 after -"}


def test_the_base_snapshot_is_unaffected() -> None:
    snapshot = cluster([vnode("v1")], [job("2", select="4")], [run("1", "bob", "v1=4")])
    draw(snapshot, {"1": 30, "2": 5})
    assert (set(snapshot.jobs), set(snapshot.runs), snapshot.time_s) == ({"2"}, {"1"}, 10)


def planned_draw(*planned: LimitsFrom, server: str = "", end_s: float = 1000) -> Draw:
    """Alice runs on all four cores with a quota of 4, and bob with none waits for two of them."""
    queues = [queue("[u:alice=4],[u:bob=0]")]
    runs = [run("1", "alice", "v1=2"), run("2", "alice", "v1=2")]
    on_server = Server(quotas={"ncpus": quotas(server)}) if server else Server()
    snapshot = cluster([vnode("v1")], [job("3", "bob", select="2")], runs, queues=queues, server=on_server)
    forward = Forward(snapshot, Ledger(), quota_settings(), snapshot.jobs, planned=planned)
    return forward.draw({"1": end_s, "2": end_s}, lambda _: 5.0, 2000.0, 1000)


def test_limits_that_change_later_hold_from_then_on() -> None:
    later = LimitsFrom(300, [queue("[u:alice=2],[u:bob=2]")])
    drawn = planned_draw(later)
    assert {job_id: start.at_s for job_id, start in drawn.starts.items()} == {"3": 300}
    assert drawn.preemptions == 1
    assert {job_id: start.at_s for job_id, start in planned_draw().starts.items()} == {"3": 1000}
    back = LimitsFrom(300, [queue("[u:alice=4],[u:bob=0]")])
    assert planned_draw(LimitsFrom(200, later.queues), back).starts["3"].at_s == 200
    assert planned_draw(LimitsFrom(1500, later.queues)).starts["3"].at_s == 1000


def test_limits_of_the_server_change_with_its_queues_or_alone() -> None:
    bobs = LimitsFrom(200, [queue("[u:alice=2],[u:bob=2]")])
    none_for_bob = "[u:bob=0]"
    assert planned_draw(bobs, server=none_for_bob).starts["3"].at_s == 1000
    assert (
        planned_draw(bobs, LimitsFrom(400, server={"ncpus": quotas("[u:bob=2]")}), server=none_for_bob).starts["3"].at_s
        == 400
    )


def test_runs_give_back_what_the_server_has() -> None:
    # server: 4 cores | 1 (2) and 2 (2) | 3 (4) | 4 (1)
    snapshot = cluster(
        [vnode("v1", 9)], [job("2", select="2"), job("3", select="4"), job("4")], [run("1", "bob", "v1=2")],
        server=Server(shared={"ncpus": 4}),
    )  # fmt: skip
    drawn = draw(snapshot, {"1": 30, "2": 40, "3": 5, "4": 1})
    assert starts_as_text(drawn) == {"2": "10 v1=2 after -", "3": "50 v1=4 after 2", "4": "30 v1=1 after 1"}


def test_the_end_of_a_window_starts_a_job() -> None:
    closed = (Window(0, 500, "reservation R1"),)
    snapshot = cluster([vnode("v1", closed=closed)], [job("2")])
    assert starts_as_text(draw(snapshot, {"2": 5})) == {"2": "500 v1=1 after -"}


def test_arrivals_are_decided_with_but_are_not_awaited() -> None:
    coming = job("9", select="4", submit_s=20)
    snapshot = cluster([vnode("v1")], [job("2", select="4", not_before_s=25)], [run("1", "bob", "v1=4")])
    drawn = draw(snapshot, {"1": 30, "2": 5, "9": 40}, arrivals=(coming,))
    assert starts_as_text(drawn) == {"2": "70 v1=4 after 9"}


def test_a_preempted_run_goes_on_and_repeats_its_work() -> None:
    # v1: bob's 1 (over quota) | carol's 2 at once, 20 s | bob's 1 again, 50 s | 3
    settings = quota_settings()
    snapshot = cluster(
        [vnode("v1")],
        [job("2", "carol", "4", 20), job("3", "dave", "4", not_before_s=20)],
        [run("1", "bob", "v1=4")],
        queues=[queue("[u:carol=4],[u:bob=0]")],
    )
    assert starts_as_text(draw(snapshot, {"1": 50, "2": 20, "3": 1}, settings)) == {
        "2": "10 v1=4 after -",
        "3": "80 v1=4 after 1",
    }


def test_a_preempted_run_that_saves_goes_on_where_it_was() -> None:
    settings = quota_settings()
    settings = Settings(quota=settings.quota, checkpoint=CheckpointSettings(saves=True, cost_s=5))
    snapshot = cluster(
        [vnode("v1")],
        [job("2", "carol", "4", 20), job("3", "dave", "4", not_before_s=20)],
        [run("1", "bob", "v1=4")],
        queues=[queue("[u:carol=4],[u:bob=0]")],
    )
    assert starts_as_text(draw(snapshot, {"1": 50, "2": 20, "3": 1}, settings))["3"] == "75 v1=4 after 1"


def test_each_subjob_of_an_array_takes_its_own_run_time_and_the_first_counts() -> None:
    array = job("2[].s", select="4", subjobs=(1, 2))
    snapshot = cluster([vnode("v1")], [array, job("3", select="4")], [run("1", "bob", "v1=4")])
    assert starts_as_text(draw(snapshot, {"1": 30, "2[].s": 5, "3": 1})) == {
        "2[].s": "30 v1=4 after 1",
        "3": "40 v1=4 after 2[2].s",
    }


def test_a_job_beyond_the_horizon_has_no_start() -> None:
    snapshot = cluster([vnode("v1")], [job("2", select="4")], [run("1", "bob", "v1=4")])
    drawn = draw(snapshot, {"1": 90, "2": 5}, horizon_s=50)
    assert (starts_as_text(drawn), drawn.until_s, drawn.complete) == ({}, 50, True)


def test_a_draw_whose_passes_are_used_up_says_so() -> None:
    snapshot = cluster([vnode("v1")], [job("2", select="4"), job("3", select="4")], [run("1", "bob", "v1=4")])
    drawn = draw(snapshot, {"1": 30, "2": 5, "3": 1}, passes=2)
    assert (starts_as_text(drawn), drawn.passes, drawn.complete) == ({"2": "30 v1=4 after 1"}, 2, False)


def test_a_draw_ends_where_nothing_more_would_happen() -> None:
    drawn = draw(cluster([vnode("v1")], [job("2", select="9")]), {"2": 5})
    assert (starts_as_text(drawn), drawn.complete) == ({}, True)


def test_the_scheduler_sees_asked_times_only() -> None:
    # 3 asks for 200 s: behind the head 2, which is reserved for second 100, it is not backfilled, though it runs 1 s.
    settings = Settings(backfill=BackfillSettings(kind="easy"))
    jobs = [job("2", select="4"), job("3", select="2", estimate_s=200)]
    snapshot = cluster([vnode("v1")], jobs, [run("1", "bob", "v1=2")])
    assert starts_as_text(draw(snapshot, {"1": 60, "2": 5, "3": 1}, settings)) == {
        "2": "60 v1=4 after 1",
        "3": "65 v1=2 after 2",
    }


def draw_to_horizon(snapshot: Snapshot, times_s: dict[str, float], horizon_s: float, passes: int = 1000) -> Draw:
    ends_s = {each.id: each.start_s + times_s[each.id] for each in snapshot.runs.values()}
    forward = Forward(snapshot, Ledger(), quota_settings(), snapshot.jobs)
    return forward.draw(ends_s, lambda each: times_s[each.id], horizon_s, passes, to_horizon=True)


def test_to_the_horizon_the_further_subjobs_of_an_array_are_used_time_too() -> None:
    # v1: 2[1] 30 s | 2[2] 30 s | 2[3] 30 s | idle
    snapshot = cluster([vnode("v1")], [job("2[].s", select="4", subjobs=(1, 2, 3))], now_s=0)
    assert draw_to_horizon(snapshot, {"2[].s": 30}, 60).used_core_s == 4 * 60
    drawn = draw_to_horizon(snapshot, {"2[].s": 30}, 1000)
    assert (drawn.used_core_s, drawn.complete) == (4 * 90, True)
    assert starts_as_text(drawn) == {"2[].s": "0 v1=4 after -"}


def test_to_the_horizon_a_preempted_job_runs_again_and_may_be_preempted_again() -> None:
    # v1: bob's 1 (over quota) | carol's 2, 20 s | bob's 1 | carol's 3 from second 50 on, 20 s | bob's 1, 50 s
    snapshot = cluster(
        [vnode("v1")],
        [job("2", "carol", "4", 20), job("3", "carol", "4", 20, not_before_s=50)],
        [run("1", "bob", "v1=4")],
        queues=[queue("[u:carol=4],[u:bob=0]")],
    )
    drawn = draw_to_horizon(snapshot, {"1": 50, "2": 20, "3": 20}, 1000)
    assert {job_id: start.at_s for job_id, start in drawn.starts.items()} == {"2": 10, "3": 50}
    assert (drawn.preemptions, drawn.repeated_core_s) == (2, 4 * (10 + 20))
    assert drawn.used_core_s == 4 * (20 + 20 + 20 + 50)


def test_what_runs_hold_on_vnodes_that_take_no_jobs_is_not_used() -> None:
    vnodes = [vnode("v1"), vnode("v2", usable=False)]
    snapshot = cluster(vnodes, [job("3", select="1")], [run("1", "bob", "v1=2 v2=4"), run("2", "bob", "v2=2")], now_s=0)
    drawn = draw_to_horizon(snapshot, {"1": 50, "2": 100, "3": 10}, 1000)
    assert drawn.used_core_s == 2 * 50 + 1 * 10


def test_to_the_horizon_a_draw_whose_passes_are_used_up_says_so() -> None:
    snapshot = cluster([vnode("v1")], [job("2[].s", select="4", subjobs=(1, 2, 3))], now_s=0)
    drawn = draw_to_horizon(snapshot, {"2[].s": 30}, 1000, passes=2)
    assert (drawn.until_s, drawn.passes, drawn.complete) == (30, 2, False)
