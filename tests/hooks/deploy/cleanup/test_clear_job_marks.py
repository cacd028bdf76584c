"""Comments and marks that passes wrote on jobs, taken off: all of ours, nothing of anybody else's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from hooks.deploy.cleanup.clear_job_marks import clear_marked_jobs, find_marked_jobs
from hooks.deploy.cleanup.release_victims_and_restore_priorities import ask_to_clear_marked_jobs, list_marked_jobs
from hooks.deploy.read_installed_server_state import Reply
from hooks.pbs.client.pbs_ifl_client import Connection
from tests.hooks.sample_server_statuses import job, running, server_status
from tests.hooks.stand_in import pbs_ifl

OURS = "waits for 3 more cores\nto be given back (pbsteer 2026-11-21 10:00)"
OURS_OF_0_1 = "pbsteer 2026-11-21 10:00: waits for 3 more cores\nto be given back"
MARK = "pbsteer for=9.s asked=5 until=9 held"
JOBS = {
    "1.s": job(comment=OURS),
    "2.s": job(comment="Not Running: Insufficient amount of resource: ncpus"),
    "3.s": running() | {"estimated.site": MARK, "comment": "Job run at Sat Nov 21"},
    "4.s": job("H", comment=OURS) | {"estimated.site": "pbsteer nonsense"},
    "5.s": job(comment="pbsteer is what we use here") | {"estimated.site": "somebody's own"},
    "6.s": job() | {"estimated.start_time": "1795207300"},
    "7[].s": job("B", comment=OURS),
    "8.s": job(comment=OURS_OF_0_1),
    "9.s": job(comment="see pbsteer 2026-11-21 10:00: what it said (pbsteer 2026-11-21)"),
}


@pytest.fixture(autouse=True)
def fresh_server() -> Iterator[None]:
    pbs_ifl.WORLD.clear()
    pbs_ifl.WORLD.update(server_status(JOBS).to_data())
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.UNKNOWN_ATTRIBUTES, pbs_ifl.FREED):
        log.clear()
    yield


def altered() -> list[list[str]]:
    return [call[1:] for call in pbs_ifl.CALLS if call[0] == "alter"]


def test_only_what_passes_wrote_is_found_and_cleared() -> None:
    with Connection(pbs_ifl) as connection:
        assert list(find_marked_jobs(connection)) == ["1.s", "3.s", "4.s", "7[].s", "8.s"]
        assert altered() == []
        assert clear_marked_jobs(connection) == {"cleared": 5, "left": 0, "why": ""}
    assert altered() == [
        ["1.s", "comment", ""],
        ["3.s", "estimated.site", ""],
        ["4.s", "comment", ""],
        ["4.s", "estimated.site", ""],
        ["7[].s", "comment", ""],
        ["8.s", "comment", ""],
    ]


def test_a_job_that_refuses_is_counted_with_the_server_s_words_and_the_others_are_cleared() -> None:
    pbs_ifl.REFUSALS["3.s"] = "Request invalid for state of job"
    with Connection(pbs_ifl) as connection:
        told = clear_marked_jobs(connection)
    assert (told["cleared"], told["left"]) == (4, 1)
    assert "Request invalid for state of job" in told["why"]


def test_many_jobs_are_left_when_the_time_is_up_and_the_rest_is_counted() -> None:
    with Connection(pbs_ifl) as connection:
        told = clear_marked_jobs(connection, longest_s=-1)
    assert told == {"cleared": 0, "left": 5, "why": "there was no time for more within -1 s"}


@pytest.mark.parametrize(
    ("reply", "found", "said"),
    [
        (Reply(0, '{"jobs": ["1.s"], "cleared": 1, "left": 0, "why": ""}', ""), ("1.s",), "cleared 1 job"),
        (
            Reply(0, '{"jobs": ["1.s", "2.s"], "cleared": 1200, "left": 1, "why": "no"}', ""),
            ("1.s", "2.s"),
            "cleared 1,200 jobs; 1 job not: no",
        ),
        (Reply(0, '{"error": "cannot connect"}', ""), (), "comments and marks stay: cannot connect"),
        (Reply(127, "", "oh\nno such program"), (), "comments and marks stay: pbs_python"),
        (Reply(0, "[1", ""), (), "comments and marks stay: pbs_python"),
        (Reply(0, "[1]", ""), (), "comments and marks stay: pbs_python"),
    ],
)
def test_what_came_of_it_is_reported_and_never_stops_a_removal(reply: Reply, found: tuple[str, ...], said: str) -> None:
    asked: list[Sequence[str]] = []

    def programs(argv: Sequence[str]) -> Reply:
        asked.append(argv)
        return reply

    assert list_marked_jobs(programs, "/opt/pbs") == found
    assert ask_to_clear_marked_jobs(programs, "/opt/pbs").startswith(said)
    # Isolated: an administrator's own environment and home directory are no part of it.
    assert [(*argv[:2], *argv[3:]) for argv in asked] == [
        ("pbs_python", "-I", "/opt/pbs", "find"), ("pbs_python", "-I", "/opt/pbs", "clear"),
    ]  # fmt: skip
