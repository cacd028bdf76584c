"""What a change would do: the next pass with and without it, and who is safe or open from then on."""

from __future__ import annotations

import pytest

from policy import Changes, Ledger, Settings
from policy.preview import Preview, preview
from tests.policy.clusters import cluster, job, queue, run, vnode


def of_quotas(before: str, after: str) -> Preview:
    """alice runs 4 + 4 cores on 8; bob waits with 4."""
    runs = [run("1", "alice", "v1=4", 0, 500), run("2", "alice", "v1=4", 5, 500)]
    snapshot = cluster([vnode("v1", 8)], [job("3", "bob", "4")], runs, queues=[queue(before)])
    return preview(snapshot, Changes(99, queues=[queue(after)]), Ledger(), Settings())


def told(previewed: Preview) -> set[tuple[str, str]]:
    return {(effect.kind, effect.job) for effect in (*previewed.effects, *previewed.later)}


def test_the_same_quotas_change_nothing() -> None:
    assert told(of_quotas("[u:alice=4],[u:bob=4]", "[u:alice=4],[u:bob=4]")) == set()


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
    assert told(of_quotas(before, after)) == effects


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
    assert sentences[0].startswith("2 alice 4c is preempted for 3: u:alice held 8")
    assert previewed.as_json()["next_pass"][0]["kind"] == "preempted"
    assert previewed.later[0].sentence == "2 running jobs of alice's can be preempted"
