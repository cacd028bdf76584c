"""A job that requires something of its vnodes (P4) has runs preempted, cut or rescued from only where it may start
then."""

from __future__ import annotations

import pytest

from policy import Job, Ledger, Plan, Reading, Run, Settings, Vnode
from policy.model.job_preferences import RankPreference, Requirements
from policy.model.ledger_between_passes import Backfilled
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, RescueSettings
from tests.policy.clusters import cluster, codes, job, plan_for, queue, run, victims, vnode

GIB = 1 << 20
NOW_S = 20000
NEEDS_MEMORY = Requirements(memory_kib=48 * GIB)
GOOD, BAD = 60, 1
CUTS = Settings(
    BackfillSettings("checkpoint", shrink_factor=0.5, shrink_threshold_s=60),
    checkpoint=CheckpointSettings(saves=True),
)
RESCUES = Settings(checkpoint=CheckpointSettings(saves=True), rescue=RescueSettings(enabled=True))


def decided(
    needs: Requirements,
    settings: Settings | None = None,
    ledger: Ledger | None = None,
    *,
    n1: int = BAD,
    n2: int = GOOD,
    vnodes: tuple[Vnode, ...] = (vnode("n1"), vnode("n2")),
    select: str = "1:ncpus=4",
    quotas: str = "[u:alice=4],[u:dave=0]",
) -> Plan:
    """dave's 8 on n1 and 9 on n2 are full; the rules would rather take 9, the later one, or 8 for a cut."""
    readings = {
        name: Reading(NOW_S - 1, memory_kib=left * GIB, memory_all_kib=64 * GIB)
        for name, left in (("n1", n1), ("n2", n2))
    }
    runs: list[Run] = [run("8", "dave", "n1=4", 0, 50000), run("9", "dave", "n2=4", 5, 50000)]
    waiting: Job = job("1", "alice", select, 600, NOW_S - 5000, rank=RankPreference("memory", needs))
    snapshot = cluster(vnodes, [waiting], runs, queues=[queue(quotas)], now_s=NOW_S, readings=readings)
    return plan_for(snapshot, settings, ledger)


BY_RULE_A: tuple[Settings | None, Ledger | None, str] = (None, None, "[u:alice=4],[u:dave=0]")
FOR_A_PROMISE = (CUTS, Ledger({"1": NOW_S}, backfilled={key: Backfilled(NOW_S, True) for key in "89"}), "")
BY_RESCUE: tuple[Settings | None, Ledger | None, str] = (RESCUES, None, "")
rules = pytest.mark.parametrize(("settings", "ledger", "quotas"), [BY_RULE_A, FOR_A_PROMISE, BY_RESCUE])


@rules
@pytest.mark.parametrize(("n1", "n2", "victim"), [(GOOD, BAD, "8"), (BAD, GOOD, "9")])
def test_the_run_on_a_vnode_that_is_good_enough_goes(
    settings: Settings | None, ledger: Ledger | None, quotas: str, n1: int, n2: int, victim: str
) -> None:
    plan = decided(NEEDS_MEMORY, settings, ledger, quotas=quotas, n1=n1, n2=n2)
    assert victims(plan) == {victim: "1"}
    assert plan.ledger.earmarks["1"].allocation.vnodes == ("n1" if victim == "8" else "n2",)


@rules
def test_no_run_goes_where_no_vnode_is_good_enough(
    settings: Settings | None, ledger: Ledger | None, quotas: str
) -> None:
    plan = decided(NEEDS_MEMORY, settings, ledger, quotas=quotas, n1=BAD, n2=BAD)
    assert not plan.preempts
    assert codes(plan) == {"1": "reserved"}


def test_the_reason_says_that_no_vnode_is_good_enough() -> None:
    ((_, reason),) = decided(NEEDS_MEMORY, n1=BAD, n2=BAD).reasons().values()
    assert [tried.code for tried in reason.tried] == ["not-good-enough"]


def test_counted_compute_is_there_once_the_victims_have_ended() -> None:
    """A full vnode that reports no compute has 0 of it left; with its four cores given back it has four."""
    assert victims(decided(Requirements(compute=4), n1=BAD, n2=BAD)) == {"9": "1"}
    assert not victims(decided(Requirements(compute=5), n1=BAD, n2=BAD))
    assert not victims(decided(Requirements(compute=4, memory_kib=48 * GIB), n1=BAD, n2=BAD))
    fast = (vnode("n1"), vnode("n2", attributes={"speed": "2"}))
    assert victims(decided(Requirements(compute=8), vnodes=fast)) == {"9": "1"}
