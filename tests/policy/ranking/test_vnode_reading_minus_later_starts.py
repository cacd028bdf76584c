"""What is left of a vnode now: its reading, less what started since; idle cores where it reports no compute."""

from __future__ import annotations

import math

from policy import Job, Reading, Run, Snapshot, Vnode
from policy.model.job_preferences import RankPreference, Requirements
from policy.ranking.vnode_reading_minus_later_starts import Remaining
from policy.settings.built_in_and_custom_vnode_formulas import VnodeHeadroom
from policy.settings.ranking_and_stripe_settings import RankingSettings
from tests.policy.clusters import job, place_of, vnode

NOW_S = 1000
GIB = 1 << 20
FULL = Reading(950, 24, 32, 60 * GIB, 64 * GIB, 80, 100, 40, 90)


def left(
    *runs: Run, reading: Reading | None = FULL, of: Vnode | None = None, stale_intervals: float = 3
) -> VnodeHeadroom:
    of = of or vnode("a", 16)
    readings = {} if reading is None else {"a": reading}
    cluster = Snapshot.build(NOW_S, [of], runs=runs, readings=readings).cluster()
    return Remaining(cluster, RankingSettings(stale_intervals=stale_intervals), NOW_S).rows[0]


def run(start_s: float, where: str = "a=4", needs: Requirements | None = None) -> Run:
    of: Job = job(f"{start_s}", rank=None if needs is None else RankPreference("compute", needs))
    return Run(of.id, of, start_s, place_of(where), start_s + 100)


def test_a_recent_reading_is_what_is_left() -> None:
    assert left() == VnodeHeadroom(24, 32, 60 * GIB, 64 * GIB, 80, 100, 40, 90)


def test_what_started_before_the_reading_is_in_it() -> None:
    assert left(run(949)) == left()


def test_what_started_since_takes_its_cores_part_of_the_compute() -> None:
    # 4 of 16 cores, of 32 in all: 8 each time.
    assert left(run(950)).compute == 24 - 8
    assert left(run(950), run(960), run(970)).compute == 0
    assert left(run(950), run(960), run(970), run(980)).compute == 0


def test_what_started_since_takes_the_memory_that_it_asked_for_on_the_vnode() -> None:
    assert left(run(960, "(a:ncpus=1:mem=4194304kb)+(b:mem=1048576kb)+(a:mem=1048576kb)")).memory_kib == 55 * GIB


def test_what_started_since_takes_its_requirement_where_that_is_more() -> None:
    after = left(
        run(960, "(a:ncpus=1:mem=1048576kb)", Requirements(memory_kib=8 * GIB, compute=10, network=30, temperature=50))
    )
    assert (after.compute, after.memory_kib, after.network, after.temperature) == (14, 52 * GIB, 50, 40)


def test_the_order_of_the_runs_changes_no_digit() -> None:
    first, second, third = 0.1, 0.2, 0.3
    needs = [Requirements(network=part) for part in (first, second, third)]
    runs = [run(951 + number, needs=of) for number, of in enumerate(needs)]
    few = FULL._replace(network=1)
    assert first + second + third != third + second + first
    assert left(*runs, reading=few) == left(*reversed(runs), reading=few)


def test_a_start_of_this_pass_counts_even_if_the_reading_claims_to_be_newer() -> None:
    assert left(run(NOW_S), reading=FULL._replace(at_s=NOW_S + 30)).compute == 16


def test_giving_back_undoes_noting() -> None:
    cluster = Snapshot.build(NOW_S, [vnode("a", 16)], readings={"a": FULL}).cluster()
    remaining = Remaining(cluster, RankingSettings(), NOW_S)
    started = run(NOW_S)
    assert remaining.note(started.job, started.allocation, NOW_S, NOW_S) == 1
    remaining.refresh(0)
    assert remaining.rows[0].compute == 16
    assert remaining.give_back(started.job, started.allocation) == 1
    remaining.refresh(0)
    assert remaining.rows[0] == left()


def test_without_a_compute_sensor_it_is_idle_cores_times_speed() -> None:
    fast = vnode("a", 16, attributes={"speed": "2.5"})
    blind = FULL._replace(compute=None, compute_all=None)
    for reading in (None, blind):
        after = left(run(900), run(960), reading=reading, of=fast)
        assert (after.compute, after.compute_all) == (8 * 2.5, 16 * 2.5)


def test_a_vnode_held_alone_has_no_idle_cores() -> None:
    of = job("1", place="excl")
    held = Run("1", of, 900, place_of("a=4"), 2000)
    assert left(held, reading=None).compute == 0


def test_an_overcommitted_vnode_has_no_idle_cores() -> None:
    assert left(run(900, "a=20"), reading=None).compute == 0


def test_a_speed_that_is_no_number_above_zero_counts_as_one() -> None:
    for speed in ("fast", "0", "-1", "inf", "nan"):
        assert left(reading=None, of=vnode("a", 16, attributes={"speed": speed})).compute == 16


def test_a_stale_reading_is_no_reading_and_its_compute_is_not_guessed_from_cores() -> None:
    assert left(stale_intervals=50 / 60).memory_kib == 60 * GIB
    old = left(reading=FULL._replace(at_s=819))
    assert all(math.isnan(number) for number in old)
    assert left(reading=FULL._replace(at_s=820)).compute == 24
    assert math.isnan(left(reading=FULL._replace(at_s=math.nan)).compute)


def test_numbers_that_are_none_count_as_missing() -> None:
    odd = left(reading=FULL._replace(memory_kib=math.nan, network=math.inf))
    assert math.isnan(odd.memory_kib)
    assert math.isnan(odd.network)


def test_memory_in_all_is_the_vnodes_own_where_the_reading_has_none() -> None:
    reading = FULL._replace(memory_all_kib=None)
    assert left(reading=reading, of=vnode("a", 16, has={"mem": 128 * GIB})).memory_all_kib == 128 * GIB
    assert math.isnan(left(reading=reading).memory_all_kib)


def test_known_is_what_is_left_and_rated_also_what_there_is_in_all() -> None:
    vnodes = [vnode("a", 4), vnode("b", 4), vnode("c", 0)]
    readings = {"a": FULL, "b": FULL._replace(network_all=None), "c": Reading(950, network=5, network_all=0)}
    remaining = Remaining(Snapshot.build(NOW_S, vnodes, readings=readings).cluster(), RankingSettings(), NOW_S)
    assert (remaining.known["network"], remaining.rated["network"]) == (0b111, 0b001)
    assert (remaining.known["compute"], remaining.rated["compute"]) == (0b111, 0b011)
    assert (remaining.known["memory"], remaining.stale) == (0b011, 0)
