"""The bundled hooks at a reservation that recurs, and at its alteration: users stay within the bounds in every mode,
managers need not."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.store.event_hook_summary import SUMMARY
from tests.hooks.entries.submission_alteration_settings import MODES, summary_of
from tests.hooks.run_bundled_hook import Hook


def reserve(**attributes: Any) -> dict[str, Any]:
    times = {"reserve_job": None, "reserve_start": 1800000000, "reserve_end": None, "reserve_duration": "3600"}
    recurs = {"reserve_rrule": "FREQ=DAILY;COUNT=5", "reserve_standing": 1, "reserve_timezone": "Europe/Berlin"}
    return {"Resource_List": {"select": "1"}, "reservation": {**times, **recurs, **attributes}}


def alter(**attributes: Any) -> dict[str, Any]:
    return {"Resource_List": {}, "reservation": attributes, "job_o": {"Resource_List": {"select": "1"}}}


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_a_users_reservation_recurs_within_the_bounds(hook: Hook, mode: str) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    for rule in ("FREQ=SECONDLY;COUNT=20000000", "FREQ=MINUTELY;COUNT=3", "FREQ=DAILY;COUNT=401"):
        costly = reserve(reserve_rrule=rule)
        refused, let_through = hook.run("resvsub", events=[costly, {**costly, "requestor": "olga"}])["verdicts"]
        assert "allowed are 400 occurrences" in str(refused)
        assert let_through is None
    assert hook.run("resvsub", events=[reserve(), reserve(reserve_rrule=None)])["verdicts"] == [None, None]


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_a_users_reservation_recurs_in_a_time_zone(hook: Hook, mode: str) -> None:
    """In none, PBS would confirm it over and over, and each time take the cores once more."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    for zone in (None, ""):
        (verdict,) = hook.run("resvsub", events=[reserve(reserve_timezone=zone)])["verdicts"]
        assert "its reserve_rrule needs a reserve_timezone" in str(verdict)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["reserve_count", "reserve_index", "reserve_execvnodes", "reserve_retry"])
def test_in_every_mode_users_do_not_set_what_pbs_counts(hook: Hook, mode: str, name: str) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    for event, given in (("resvsub", reserve(**{name: 0})), ("modifyresv", alter(**{name: 0}))):
        refused, let_through = hook.run(event, events=[given, {**given, "requestor": "olga"}])["verdicts"]
        assert f"its {name} " in str(refused)
        assert let_through is None


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_users_leave_alone_how_a_reservation_recurs(hook: Hook, mode: str) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    for name in ("reserve_rrule", "reserve_standing", "reserve_timezone"):
        (verdict,) = hook.run("modifyresv", events=[alter(**{name: "1"})])["verdicts"]
        assert verdict == f"pbsteer: its {name} can not be altered: make a new reservation"
    moved = alter(reserve_start=1900000000, reserve_end=1900003600, Reserve_Name="later")
    assert hook.run("modifyresv", events=[moved])["verdicts"] == [None]
