"""The temperatures seen so far: the hottest of each ten minutes, for a day, of vnodes that are still there."""

from __future__ import annotations

import pytest

from hooks.pbs.custom_resources_on_hosts import READING
from hooks.record.day_of_activity import SLOT_S, SLOTS
from tui.state.temperatures_seen import Temperatures


def vnodes(**degrees: str) -> dict[str, dict[str, str]]:
    return {name: {f"resources_available.{READING}": f"t=1;idle=0.5;temp={text}"} for name, text in degrees.items()}


def test_each_slot_has_the_hottest_and_slots_without_readings_are_unknown() -> None:
    seen = Temperatures()
    seen.sample(vnodes(v1="40/95", v2="50"), 0.0)
    seen.sample(vnodes(v1="42/95", v2="49"), 60.0)
    seen.sample(vnodes(v1="60/95", v2="50"), 2 * SLOT_S)
    assert seen.of(["v1"], 4) == [None, 42, None, 60]
    assert seen.of(["v1", "v2", "v3"], 3) == [50, None, 60]


@pytest.mark.parametrize("later", [SLOTS, SLOTS + 5, -1])
def test_nothing_is_left_after_a_day_or_when_the_clock_goes_back(later: int) -> None:
    seen = Temperatures()
    seen.sample(vnodes(v1="40"), 10 * SLOT_S)
    seen.sample({"v1": {}}, (10 + later) * SLOT_S)
    assert set(seen.of(["v1"], SLOTS)) == {None}


def test_a_vnode_that_is_gone_is_forgotten() -> None:
    seen = Temperatures()
    seen.sample(vnodes(v1="40"), 0.0)
    seen.sample({}, 1.0)
    seen.sample({"v1": {}}, 2.0)
    assert seen.of(["v1"], 1) == [None]


@pytest.mark.parametrize("text", ["", "hot", "nan", "inf", "/95"])
def test_what_is_no_temperature_is_unknown(text: str) -> None:
    seen = Temperatures()
    seen.sample(vnodes(v1=text), 0.0)
    assert seen.of(["v1"], 1) == [None]


def test_temperatures_stay_within_a_byte() -> None:
    seen = Temperatures()
    seen.sample(vnodes(v1="-20", v2="9999"), 0.0)
    assert (seen.of(["v1"], 1), seen.of(["v2"], 1)) == ([0], [250])
