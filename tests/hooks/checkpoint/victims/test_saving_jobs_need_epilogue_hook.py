"""Jobs that still save while the hooks are to go: the hooks stay until none does."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from hooks.checkpoint.on_job_host.decide_requeue_at_job_end import AWAY_S
from hooks.checkpoint.victims.saving_jobs_need_epilogue_hook import find_savers
from hooks.deploy.disk_space_and_busy_vnodes import describe_jobs_saving
from hooks.deploy.read_installed_server_state import Reply
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, show_marks
from tests.hooks.sample_server_statuses import job, running

NOW_S = 1010.0
ASKED = Mark("9.s", "signal", 1000, 1060)


@pytest.mark.parametrize(
    ("texts", "mark", "until_s"),
    [
        (running(stime="900"), ASKED, 1060 + AWAY_S),
        (running(stime="900"), ASKED._replace(how="checkpoint", held=True), 1060 + AWAY_S),
        (running(stime="900"), ASKED._replace(until_s=1010), 1010 + AWAY_S),
        (running(stime="900"), ASKED._replace(how="requeue"), None),
        (running(stime="900"), ASKED._replace(until_s=1010 - AWAY_S), None),
        (running(stime="1001"), ASKED, None),
        (job(), ASKED, None),
        (job("H"), ASKED, None),
    ],
)
def test_who_was_asked_in_the_run_it_is_in_and_has_time_left_still_saves(
    texts: dict[str, str], mark: Mark, until_s: int | None
) -> None:
    found = find_savers({"1.s": texts | {MARK_KEY: show_marks({None: mark})}, "2.s": running()}, NOW_S)
    assert found == ({} if until_s is None else {"1.s": until_s})


def test_subjobs_are_found_by_their_array() -> None:
    marks = {None: Mark(), 3: ASKED, 4: ASKED._replace(until_s=1000 - AWAY_S)}
    assert find_savers({"8[].s": job("B") | {MARK_KEY: show_marks(marks)}}, NOW_S) == {"8[3].s": 1060 + AWAY_S}


def describe_answer(answer: str) -> str:
    asked: list[Sequence[str]] = []

    def programs(argv: Sequence[str]) -> Reply:
        asked.append(argv)
        return Reply(0, answer, "")

    said = describe_jobs_saving(programs, "/opt/pbs")
    assert [(*argv[:2], *argv[3:]) for argv in asked] == [("pbs_python", "-I", "/opt/pbs", "saving")]
    return said


def test_who_still_saves_is_named_and_many_are_counted() -> None:
    said = describe_answer(json.dumps({"saving": {f"{number}.s": 1060 + number for number in range(7)}}))
    assert "0.s until " in said and "4.s until " in said and " and 2 more; set the queues to observe" in said
    assert "5.s" not in said


@pytest.mark.parametrize("answer", ['{"saving": {}}', '{"error": "cannot connect"}', ""])
def test_where_nobody_saves_or_nobody_can_tell_nothing_is_in_the_way(answer: str) -> None:
    assert describe_answer(answer) == ""
