"""The table of states is walked: everything in it is reachable, ends, and nothing else is allowed."""

import pytest

from policy.migration.job_record_and_copy_updates import Record, advance, amend
from policy.migration.job_states_and_transitions import (
    DOWNLOADED,
    FINAL,
    REQUESTED,
    STATES,
    TRANSITIONS,
    NoSuchTransition,
    next_state,
    read_state,
)

PAPER = {"Waiting", "Uploading", "Making", "Submitted", "Downloading", "End", "Aborted", "Stopped"}
EVENTS = sorted({line.event for line in TRANSITIONS})


def reachable(start: str) -> set[str]:
    found, ahead = {start}, [start]
    while ahead:
        state = ahead.pop()
        for line in TRANSITIONS:
            if line.state == state and line.to not in found:
                found.add(line.to)
                ahead.append(line.to)
    return found


def test_each_state_and_event_has_one_line() -> None:
    pairs = [(line.state, line.event) for line in TRANSITIONS]
    assert len(pairs) == len(set(pairs))
    assert all(line.state in STATES and line.to in STATES and line.why for line in TRANSITIONS)


def test_the_states_are_those_of_the_paper_and_two_before_them() -> None:
    assert set(STATES) - PAPER == {"Requested", "Offered"}


def test_every_state_is_reached_from_a_request() -> None:
    assert reachable(REQUESTED) == set(STATES)


@pytest.mark.parametrize("state", sorted(set(STATES) - FINAL))
def test_every_state_that_is_not_final_can_end_in_each_way(state: str) -> None:
    assert reachable(state) >= FINAL


@pytest.mark.parametrize("state", sorted(set(STATES) - FINAL))
def test_every_state_that_is_not_final_can_be_stopped(state: str) -> None:
    stops = {line.event for line in TRANSITIONS if line.state == state} & {"stop", "discard"}
    assert stops


def test_a_job_that_has_run_never_goes_back() -> None:
    assert {line.state for line in TRANSITIONS if line.to == REQUESTED and line.event != "forgotten"} == {
        "Offered", "Waiting", "Uploading", "Submitted",
    }  # fmt: skip


def test_after_a_build_or_a_submission_a_failure_brings_the_logs_back_first() -> None:
    for state in ("Making", "Submitted"):
        assert next_state(state, "failed").to == "Downloading"


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("event", EVENTS)
def test_only_the_lines_of_the_table_change_a_record(state: str, event: str) -> None:
    record = Record(gid="a.1", state=state, since=5, rev=7)
    wanted = {(line.state, line.event): line.to for line in TRANSITIONS}.get((state, event))
    if wanted is None:
        with pytest.raises(NoSuchTransition, match=event):
            advance(record, event, 9)
    else:
        after = advance(record, event, 9, reason="r")
        assert (after.state, after.since, after.rev, after.reason) == (wanted, 9 if wanted != state else 5, 8, "r")


def test_a_download_ends_as_the_record_said() -> None:
    assert {next_state("Downloading", event).to for event in DOWNLOADED.values()} == set(DOWNLOADED)


def test_an_event_that_is_not_allowed_names_those_that_are() -> None:
    with pytest.raises(NoSuchTransition, match=r"state End: 'stop' is no event of it; allowed: nothing: it is final"):
        next_state("End", "stop")
    with pytest.raises(NoSuchTransition, match="allowed: abandoned, forgotten, given-back, stop, upload"):
        next_state("Waiting", "build")


def test_the_papers_spelling_is_read() -> None:
    assert read_state("Stoped") == "Stopped"
    with pytest.raises(ValueError, match="'Gone': must be one of Requested, Offered"):
        read_state("Gone")


def test_amend_keeps_the_state() -> None:
    record = amend(Record(state="Submitted", rev=3, since=1), localid="7")
    assert (record.state, record.rev, record.since, record.localid) == ("Submitted", 4, 1, "7")
    with pytest.raises(TypeError):
        amend(record, state="End")
