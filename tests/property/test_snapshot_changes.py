"""A snapshot is a value: changes make another one, which is as good as one built anew, and leave it what it was."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from policy import Ledger, Settings, Snapshot, decide
from policy.settings.site_settings import QuotaSettings
from tests.property.oracles import plan_invariants
from tests.property.strategies.change_strategies import Turn, shuffles, turns
from tests.property.strategies.cluster_strategies import Parts, clusters, contended_clusters
from tests.property.strategies.request_shape_strategies import shaped_clusters
from tests.property.strategies.settings_strategies import all_settings, backfills, eager_settings

PARTS = st.one_of(clusters(), contended_clusters(ranked=True))
SETTINGS = st.one_of(eager_settings(), all_settings())


@given(PARTS.flatmap(lambda parts: st.tuples(st.just(parts), turns(parts))))
def test_changes_give_what_building_anew_gives(drawn: tuple[Parts, Turn]) -> None:
    parts, turn = drawn
    carried, anew = parts.snapshot().apply(turn.changes), turn.after.snapshot()
    assert carried == anew
    assert carried.idle_cores() == anew.idle_cores()


@given(PARTS.flatmap(lambda parts: st.tuples(st.just(parts), turns(parts))), SETTINGS)
def test_a_changed_snapshot_decides_as_one_built_anew(drawn: tuple[Parts, Turn], settings: Settings) -> None:
    parts, turn = drawn
    snapshot = parts.snapshot()
    decide(snapshot, Ledger(), settings)
    carried = plan_invariants.told(decide(snapshot.apply(turn.changes), Ledger(), settings))
    assert carried == plan_invariants.told(decide(turn.after.snapshot(), Ledger(), settings))


@given(PARTS.flatmap(lambda parts: st.tuples(st.just(parts), turns(parts), turns(parts))), SETTINGS)
def test_versions_do_not_disturb_each_other(drawn: tuple[Parts, Turn, Turn], settings: Settings) -> None:
    """Two futures of one snapshot, used in turn and each again."""
    parts, one, other = drawn
    first = parts.snapshot()
    versions: list[tuple[Snapshot, Parts]] = [
        (first, parts),
        (first.apply(one.changes), one.after),
        (first.apply(other.changes), other.after),
    ]
    for snapshot, truth in versions + versions[::-1]:
        assert snapshot == truth.snapshot()
        expected = plan_invariants.told(decide(truth.snapshot(), Ledger(), settings))
        assert plan_invariants.told(decide(snapshot, Ledger(), settings)) == expected


@given(PARTS.flatmap(lambda parts: st.tuples(st.just(parts), turns(parts), turns(parts))), SETTINGS)
def test_a_fork_and_what_it_was_made_of_do_not_disturb_each_other(
    drawn: tuple[Parts, Turn, Turn], settings: Settings
) -> None:
    """Each goes its own way, decisions in between, and both stay what they are; the fork of a later version too."""
    parts, one, other = drawn
    first = parts.snapshot()
    decide(first, Ledger(), settings)
    fork = first.fork()
    assert fork == first
    ways: list[tuple[Snapshot, Parts]] = [
        (first.apply(one.changes), one.after),
        (fork.apply(other.changes), other.after),
        (first.apply(other.changes).fork(), other.after),
        (fork, parts),
        (first, parts),
    ]
    for snapshot, truth in ways + ways[::-1]:
        expected = plan_invariants.told(decide(truth.snapshot(), Ledger(), settings))
        assert plan_invariants.told(decide(snapshot, Ledger(), settings)) == expected
        assert snapshot == truth.snapshot()


@given(PARTS, SETTINGS)
def test_the_cluster_after_the_starts_is_one_built_anew(parts: Parts, settings: Settings) -> None:
    _decides_as_built_anew_after_the_starts(parts, settings)


@given(
    st.one_of(clusters(plain=True), shaped_clusters()),
    st.builds(Settings, backfill=backfills("easy", "checkpoint"), quota=st.just(QuotaSettings(preempt=False))),
)
def test_what_lasts_after_a_pass_is_reported_with_the_numbers_that_its_starts_left(
    parts: Parts, settings: Settings
) -> None:
    _decides_as_built_anew_after_the_starts(parts, settings)


def _decides_as_built_anew_after_the_starts(parts: Parts, settings: Settings) -> None:
    plan = decide(parts.snapshot(), Ledger(), settings)
    after = plan.started
    anew = Snapshot.build(
        parts.time_s, parts.vnodes, parts.queues, after.jobs.values(), after.runs.values(), parts.server
    )
    assert after == anew
    assert after.idle_cores() == anew.idle_cores()
    assert plan_invariants.told(decide(after, plan.ledger, settings)) == plan_invariants.told(
        decide(anew, plan.ledger, settings)
    )


@given(PARTS.flatmap(turns), SETTINGS, shuffles())
def test_what_has_ended_and_what_was_reported_may_come_in_any_order(
    turn: Turn, settings: Settings, shuffle: Callable[[Parts], Parts]
) -> None:
    expected = plan_invariants.told(decide(turn.after.snapshot(), Ledger(), settings))
    assert plan_invariants.told(decide(shuffle(turn.after).snapshot(), Ledger(), settings)) == expected
