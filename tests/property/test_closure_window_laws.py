"""Laws of windows (docs/policies.md, "Closures"): no job runs into one, and every other law holds beside them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Ledger, Plan, Run, Settings, Snapshot, Vnode, decide
from tests.property.oracles import plan_invariants
from tests.property.oracles.cluster_over_many_passes import live
from tests.property.strategies.change_strategies import shuffles
from tests.property.strategies.closure_window_strategies import idle_hosts, windowed
from tests.property.strategies.cluster_strategies import Parts, clusters, contended_clusters, crowded_clusters, parts_of
from tests.property.strategies.settings_strategies import all_settings, cutting_settings, nobody_makes_room
from tests.property.test_laws_over_time import Lively, as_estimated, earlier, lives_of


def any_clusters() -> st.SearchStrategy[Parts]:
    return windowed(st.one_of(clusters(), clusters(plain=True), contended_clusters(), crowded_clusters(), idle_hosts()))


def window_lives() -> st.SearchStrategy[Lively]:
    return lives_of(any_clusters(), all_settings(), cutting_settings())


def broken_into(vnodes: Iterable[Vnode], runs: Iterable[Run]) -> list[str]:
    """The windows that the runs would run into by all that is left of their estimates: whole ones, and those that with
    the runs keep more than the vnode has."""
    there, by_name = list(runs), {vnode.name: vnode for vnode in vnodes}
    alone_on = {run.id: plan_invariants.alone_on(plan_invariants.of_run(run), by_name) for run in there}
    found = []
    for vnode in by_name.values():
        for window in vnode.closed:
            meet = [run for run in there if window.meets(run.start_s, run.end_s)]
            found += [
                f"{run.id} has {vnode.name} alone and runs into {window.name}"
                for run in meet
                if vnode.name in alone_on[run.id]
            ]
            inside = [run for run in meet if vnode.name in run.allocation.vnodes]
            if inside and window.amounts is None:
                found.append(f"{inside[0].id} on {vnode.name} runs into {window.name}")
            for resource, kept in window.amounts or ():
                held = [
                    spot.chunks * dict(spot.amounts).get(resource, 0)
                    for run in inside
                    for spot in run.allocation.spots
                    if spot.vnode == vnode.name
                ]
                if any(held) and sum(held) + kept > vnode.available.get(resource, 0):
                    found.append(f"{resource} of {window.name} on {vnode.name}: {held} beside {kept}")
    return found


@given(window_lives(), st.sampled_from((0, 20)))
def test_nobody_runs_into_a_window(lively: Lively, letting_go_s: float) -> None:
    """All that have started and still run together, other than those that ran before."""
    parts, coming, settings = lively
    before = {run.id for run in parts.runs}

    def watch(_snapshot: Snapshot, _ledger: Ledger, plan: Plan) -> None:
        runs = [run for run in plan.started.runs.values() if run.id not in before]
        assert broken_into(plan.started.vnodes.values(), runs) == []
        for start in plan.starts:
            closed = plan.started.queues[start.job.queue].closed
            end_s = plan.time_s + start.job.left_s
            assert not any(window.latest_end_s(plan.time_s) < end_s for window in closed)

    # Where runs end late or early is no matter here: by their estimates they keep clear.
    live(parts, settings, earlier, coming=coming, letting_go_s=letting_go_s, watch=watch)


@given(window_lives())
def test_no_vnode_is_given_more_than_it_has_beside_windows(lively: Lively) -> None:
    parts, coming, settings = lively

    def watch(snapshot: Snapshot, _ledger: Ledger, plan: Plan) -> None:
        now = parts_of(snapshot)
        assert plan_invariants.oversubscribed(now.vnodes, plan_invariants.residents(now, plan)) == []
        assert plan_invariants.wrongly_shared(now.vnodes, plan_invariants.residents(now, plan)) == []

    live(parts, settings, as_estimated, coming=coming, watch=watch)


@given(lives_of(any_clusters(), all_settings()), st.sampled_from(("none", "easy")))
def test_a_promise_is_kept_beside_windows(lively: Lively, kind: str) -> None:
    parts, coming, settings = lively
    settings = nobody_makes_room(settings, kind)
    assert live(parts, settings, as_estimated, coming=coming).late == {}


@given(lives_of(any_clusters(), cutting_settings()), st.booleans())
def test_a_promise_is_kept_by_cutting_beside_windows(lively: Lively, on_time: bool) -> None:
    parts, coming, settings = lively
    assert live(parts, settings, as_estimated if on_time else earlier, coming=coming).late == {}


@given(window_lives(), st.sampled_from((0, 20)))
def test_a_cluster_with_windows_comes_to_rest(lively: Lively, letting_go_s: float) -> None:
    """When all windows are over, no job waits for one any more."""
    parts, coming, settings = lively
    history = live(parts, settings, as_estimated, coming=coming, letting_go_s=letting_go_s)
    _, _, plan = history.passes[-1]
    last_s = max(window.end_s for vnode in parts.vnodes for window in vnode.closed)
    codes = {wait.reason.code for wait in plan.waits}
    if plan.time_s >= last_s:
        assert not codes & {"into-window", "queue-closed"}
    assert not codes & {"too-few-idle", "fragmented", "backfill-window", "reserved", "preempting"}, codes


@given(any_clusters(), all_settings(), shuffles())
def test_windows_read_in_any_order_give_the_same_plan(parts: Parts, settings: Settings, shuffle: object) -> None:
    assert callable(shuffle)
    other = shuffle(parts)
    other = replace(other, vnodes=tuple(replace(v, closed=tuple(reversed(v.closed))) for v in other.vnodes))
    plans = [decide(each.snapshot(), Ledger(), settings) for each in (parts, other)]
    assert plan_invariants.told(plans[0]) == plan_invariants.told(plans[1])


@given(window_lives(), st.floats(0.01, 0.99))
def test_a_snapshot_with_windows_carried_on_decides_as_one_built_anew(lively: Lively, _part: float) -> None:
    parts, coming, settings = lively

    def watch(snapshot: Snapshot, ledger: Ledger, plan: Plan) -> None:
        assert plan_invariants.told(decide(parts_of(snapshot).snapshot(), ledger, settings)) == plan_invariants.told(
            plan
        )

    live(parts, settings, earlier, coming=coming, watch=watch)


def test_the_drawn_windows_are_worth_it() -> None:
    """Among those drawn windows keep jobs waiting, heads are reserved beyond them, and queues are closed."""
    seen = dict.fromkeys(("into-window", "queue-closed", "over"), 0)

    @settings_of_law(max_examples=100)
    @given(window_lives())
    def look(lively: Lively) -> None:
        parts, coming, settings = lively
        history = live(parts, settings, as_estimated, coming=coming)
        reasons = [wait.reason for _, _, plan in history.passes for wait in plan.waits]
        for code in ("into-window", "queue-closed"):
            seen[code] += any(code in (reason.code, *(tried.code for tried in reason.tried)) for reason in reasons)
        seen["over"] += any("over" in dict(reason.numbers) for reason in reasons)

    look()
    assert min(seen.values()) >= 5, seen
