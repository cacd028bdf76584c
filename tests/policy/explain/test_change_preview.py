"""What a change would do: the next pass with and without it, and which runs are safe or open to preemption from then
on."""

from __future__ import annotations

import pytest

from policy import Changes, Ledger, Queue, Settings
from policy.explain.change_preview import Preview, preview
from policy.settings.site_settings import PrioritySettings, QuotaSettings
from tests.policy.clusters import QUEUE, cluster, job, queue, quotas, run, vnode


def of_quotas(before: str, after: str) -> Preview:
    """alice runs 4 + 4 cores on 8; bob waits with 4."""
    runs = [run("1", "alice", "v1=4", 0, 500), run("2", "alice", "v1=4", 5, 500)]
    snapshot = cluster([vnode("v1", 8)], [job("3", "bob", "4")], runs, queues=[queue(before)])
    return preview(snapshot, Changes(99, queues=[queue(after)]), Ledger(), Settings())


def effects_of(previewed: Preview) -> set[tuple[str, str]]:
    return {(effect.kind, effect.job) for effect in (*previewed.effects, *previewed.later)}


def test_the_same_quotas_change_nothing() -> None:
    assert effects_of(of_quotas("[u:alice=4],[u:bob=4]", "[u:alice=4],[u:bob=4]")) == set()


@pytest.mark.parametrize(
    ("before", "after", "effects"),
    [
        (
            "[u:alice=8],[u:bob=4]",
            "[u:alice=4],[u:bob=4]",
            {("preempted", "2"), ("gets-cores", "3"), ("open", "alice")},
        ),
        ("[u:alice=4],[u:bob=4]", "[u:alice=8],[u:bob=4]", {("spared", "2"), ("reserved", "3"), ("safe", "alice")}),
        ("[u:alice=4],[u:bob=4]", "[u:alice=4],[u:bob=3]", {("spared", "2"), ("reserved", "3")}),
    ],
)
def test_who_gains_and_who_loses(before: str, after: str, effects: set[tuple[str, str]]) -> None:
    assert effects_of(of_quotas(before, after)) == effects


def test_the_time_is_that_of_the_snapshot() -> None:
    assert of_quotas("[u:alice=4]", "[u:alice=8]").after.time_s == 10


def test_the_snapshot_is_left_as_it_was() -> None:
    snapshot = cluster([vnode("v1")], [job("3")], queues=[queue("[u:alice=4]")])
    again = cluster([vnode("v1")], [job("3")], queues=[queue("[u:alice=4]")])
    preview(snapshot, Changes(10, queues=[queue("", started=False)]), Ledger(), Settings())
    assert snapshot == again


def test_stopping_a_queue_is_previewed_too() -> None:
    snapshot = cluster([vnode("v1")], [job("3")])
    previewed = preview(snapshot, Changes(10, queues=[queue("", started=False)]), Ledger(), Settings())
    (effect,) = previewed.effects
    assert (effect.kind, effect.job) == ("stays-queued", "3")
    assert "queue workq is stopped" in effect.sentence


def test_each_effect_says_who_and_what() -> None:
    previewed = of_quotas("[u:alice=8],[u:bob=4]", "[u:alice=4],[u:bob=4]")
    sentences = [effect.sentence for effect in previewed.effects]
    assert sentences[0].startswith("2 alice 4c is preempted for 3: u:alice used 8")
    assert previewed.as_json()["next_pass"][0]["kind"] == "preempted"
    assert previewed.later[0].sentence == "2 running jobs of alice's can be preempted"


def test_each_effect_also_says_what_would_be() -> None:
    previewed = of_quotas("[u:alice=8],[u:bob=4]", "[u:alice=4],[u:bob=4]")
    assert previewed.effects[0].would.startswith("2 alice 4c would be preempted for 3: u:alice used 8")
    assert previewed.later[0].would == "2 running jobs of alice's could be preempted"
    snapshot = cluster([vnode("v1")], [job("3")])
    stopped = preview(snapshot, Changes(10, queues=[queue("", started=False)]), Ledger(), Settings())
    assert "would no longer start, but wait: queue workq is stopped" in stopped.effects[0].would


def of_priorities(before: str, after: str, settings: Settings) -> Preview:
    """alice runs 4 cores on 4, in the class of her priority; bob waits with 4. Both have a quota of 4."""

    def with_priorities(priorities: str) -> Queue:
        return Queue(QUEUE, quotas=quotas("[u:alice=4],[u:bob=4]"), priorities=quotas(priorities))

    runs = [run("1", "alice", "v1=4", 0, 500)]
    snapshot = cluster([vnode("v1")], [job("3", "bob", "4")], runs, queues=[with_priorities(before)])
    return preview(snapshot, Changes(10, queues=[with_priorities(after)]), Ledger(classes={"1": 5}), settings)


@pytest.mark.parametrize(
    ("before", "after", "effects"),
    [
        ("[u:alice=5]", "[u:alice=5],[u:bob=5]", set()),
        ("[u:alice=5]", "[u:alice=5],[u:bob=6]", {("preempted", "1"), ("gets-cores", "3"), ("open", "alice")}),
        ("[u:bob=6]", "[u:bob=5]", {("spared", "1"), ("reserved", "3"), ("safe", "alice")}),
        ("[u:alice=5]", "[u:alice=1]", set()),
    ],
)
def test_a_priority_that_changes(before: str, after: str, effects: set[tuple[str, str]]) -> None:
    """The class that alice's run started in stays 5, whatever becomes of her priority."""
    assert effects_of(of_priorities(before, after, Settings(quota=QuotaSettings(preempt=False)))) == effects


def test_priorities_open_nobody_where_rule_b_is_off() -> None:
    off = Settings(priority=PrioritySettings(preempt=False))
    assert effects_of(of_priorities("[u:alice=5]", "[u:alice=5],[u:bob=6]", off)) == set()


def test_what_the_change_takes_away_is_neither_spared_nor_safe() -> None:
    runs = [run("1", "alice", "v1=4", 0, 500), run("2", "alice", "v1=4", 5, 500)]
    snapshot = cluster([vnode("v1", 8)], [job("3", "bob", "4")], runs, queues=[queue("[u:alice=4],[u:bob=4]")])
    previewed = preview(snapshot, Changes(99, gone=["2"]), Ledger(), Settings())
    assert effects_of(previewed) == {("starts", "3"), ("safe", "alice")}
    assert previewed.later[0].sentence == "1 running job of alice's can no longer be preempted"


def test_effects_of_a_kind_begin_with_the_most_cores() -> None:
    waiting = [job("3", "bob", "2"), job("20", "bob", "4"), job("100", "bob", "1")]
    snapshot = cluster([vnode("v1", 8)], waiting, queues=[queue("", started=False)])
    previewed = preview(snapshot, Changes(99, queues=[queue("")]), Ledger(), Settings())
    assert [effect.job for effect in previewed.effects] == ["20", "3", "100"]


def test_a_longer_run_delays_the_reservation_behind_it() -> None:
    snapshot = cluster([vnode("v1", 8)], [job("3", "bob", "8")], [run("1", "alice", "v1=8", 0, 500)])
    previewed = preview(snapshot, Changes(99, running=[run("1", "alice", "v1=8", 0, 5000)]), Ledger(), Settings())
    (effect,) = previewed.effects
    assert (effect.kind, effect.job) == ("delayed", "3")
    assert effect.sentence == "3 bob 8c waits longer: its reserved start is in 1 h 23, not in 8 min"
    back = preview(
        snapshot.apply(Changes(99, running=[run("1", "alice", "v1=8", 0, 5000)])),
        Changes(99, running=[run("1", "alice", "v1=8", 0, 500)]),
        Ledger(),
        Settings(),
    )
    assert effects_of(back) == {("sooner", "3")}
