"""The bundled hooks at a reservation and its alteration: what is beyond the bounds is refused before all else."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.store.event_hook_summary import SUMMARY
from tests.hooks.entries.submission_alteration_settings import COSTLY, MODES, summary_of
from tests.hooks.run_bundled_hook import Hook

UNBOUNDED = dict.fromkeys(("select_length", "select_kinds", "text_length", "environment_length"), 0)
REQUESTS: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    "kinds": ({"select": COSTLY}, {}, "257 kinds of chunks, counting equal neighbours once; allowed are 256"),
    "length": ({"select": "+".join(["1:ncpus=1"] * 2000)}, {}, "its select has 19,999 characters; allowed are 16,384"),
    "text": ({"select": "1", "software": "x" * 9_000}, {}, "beside its select has 9,000 characters; allowed are 8,192"),
    "rule": (
        {"select": "1"},
        {"reserve_rrule": "FREQ=DAILY;COUNT=5" + ";" * 8_987, "reserve_timezone": "UTC"},
        "9,008 characters; allowed are 8,192",
    ),
    "users": ({"select": "1"}, {"Authorized_Users": "u" * 131_073}, "lists of users, groups and hosts have 131,073"),
}


def reserve(resources: dict[str, str], **attributes: Any) -> dict[str, Any]:
    """The event of a reservation of one hour by alice."""
    times = {"reserve_job": None, "reserve_start": None, "reserve_end": None, "reserve_duration": "3600"}
    return {"Resource_List": resources, "reservation": {"reserve_rrule": None, **times, **attributes}}


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_a_reservation_beyond_the_bounds_is_refused_whoever_asks(
    hook: Hook, mode: str, name: str
) -> None:
    """A manager's too, and where the site leaves reservations to PBS: it is the server that the bounds protect."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    resources, attributes, words = REQUESTS[name]
    asked = reserve(resources, **attributes)
    for events, settings in (([asked, {**asked, "requestor": "olga"}], {}), ([asked], {"reservations": "any"})):
        verdicts = hook.run("resvsub", events=events, settings={"submission": settings})["verdicts"]
        assert all(words in str(verdict) for verdict in verdicts), verdicts
    assert hook.run("resvsub", events=[asked], settings={"submission": UNBOUNDED})["verdicts"] == [None]


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_a_reservations_name_with_a_line_break_is_refused(hook: Hook, mode: str) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    events = [reserve({"select": "1"}, Reserve_Name=name) for name in ("good", "a\nb")]
    assert hook.run("resvsub", events=events)["verdicts"] == [None, "pbsteer: its name has a line break"]


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_other_texts_of_reservations_with_line_breaks_are_refused_too(hook: Hook, mode: str) -> None:
    """PBS writes them into its log and its accounting log as they are."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    for name in ("Account_Name", "Authorized_Users", "Mail_Users"):
        altered = {"Resource_List": {}, "reservation": {name: "a\nb"}, "job_o": {"Resource_List": {"select": "1"}}}
        for event, given in (("resvsub", reserve({"select": "1"}, **{name: "a\nb"})), ("modifyresv", altered)):
            assert hook.run(event, events=[given])["verdicts"] == [f"pbsteer: its {name} has a line break"]
    nested = hook.run("resvsub", events=[reserve({"select": "1", "software": "[" * 9 + "]" * 9})])["verdicts"]
    assert "its resource software has 9 brackets in each other" in str(nested[0])
    resource = hook.run("resvsub", events=[reserve({"select": "1", "software": "a\nb"})])["verdicts"]
    assert resource == ["pbsteer: its resource software has a line break"]


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_an_alteration_of_a_reservation_beyond_the_bounds_is_refused(hook: Hook, mode: str) -> None:
    """What stays of it counts as well: its users and its resources were within the bounds before."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    before = {"Resource_List": {"select": "1", "software": "x" * 8_000}, "Authorized_Users": "u" * 131_000}
    changes: tuple[tuple[dict[str, str], dict[str, str]], ...] = (
        ({"select": COSTLY}, {}),
        ({}, {"Reserve_Name": "n" * 230}),
        ({}, {"Mail_Users": "m" * 230}),
        ({}, {"Reserve_Name": "short"}),
    )
    words = ("257 kinds of chunks", "beside its select has 8,230", "lists of users, groups and hosts have 131,230")
    events = [
        {"Resource_List": resources, "reservation": attributes, "job_o": before} for resources, attributes in changes
    ]
    *refused, accepted = hook.run("modifyresv", events=events)["verdicts"]
    assert [said in str(verdict) for said, verdict in zip(words, refused)] == [True] * 3, refused
    assert accepted is None


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_a_reservations_mail_address_that_is_an_option_is_refused(hook: Hook, mode: str) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    option = {"Mail_Users": "bob,-X/etc/x"}
    altered = {"Resource_List": {}, "reservation": option, "job_o": {"Resource_List": {"select": "1"}}}
    for event, given in (("resvsub", reserve({"select": "1"}, **option)), ("modifyresv", altered)):
        verdicts = hook.run(event, events=[given, {**given, "requestor": "olga"}])["verdicts"]
        assert all("its mail address (-M) -X/etc/x begins with -" in str(verdict) for verdict in verdicts), verdicts
