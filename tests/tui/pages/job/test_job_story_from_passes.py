"""The story of a job, from the journal of passes: one chapter for each thing that happened."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.tui.scripted_server import NOON_S
from tests.tui.written_journal_and_audit import a_pass, a_preemption, a_start
from tui.backends.pass_journal import Pass, Passes
from tui.pages.job.job_story_from_passes import story_lines, story_of
from tui.pages.plan.pass_page import moved_for, pass_lines, would_have
from tui.text.screen_line import plain


def passes(*entries: dict[str, Any]) -> list[Pass]:
    return [Pass(entry["time_s"], entry) for entry in entries]


def texts(*entries: dict[str, Any], job: str = "1.hpc1") -> list[str]:
    return [chapter.text for chapter in story_of(passes(*entries), job)]


def test_a_start_a_preemption_and_another_start_are_three_chapters() -> None:
    assert texts(
        a_pass(90, starts=[a_start("1.hpc1")], started=["1.hpc1"]),
        a_pass(60, preempts=[a_preemption("1.hpc1", "2.hpc1", "preempted for 2.hpc1: over quota")]),
        a_pass(45, requeued=["1.hpc1"]),
        a_pass(30, starts=[a_start("1.hpc1", "v2", backfilled=True)], started=["1.hpc1"]),
    ) == [
        "started on v1",
        "preempted for 2.hpc1: over quota",
        "requeued",
        "started by backfilling on v2",
    ]


def test_the_same_in_many_passes_is_one_chapter_with_their_number() -> None:
    observing = [a_pass(90 - n, starts=[a_start("1.hpc1")], acted=[]) for n in range(20)]
    (chapter,) = story_of(passes(*observing), "1.hpc1")
    assert (chapter.text, chapter.passes, chapter.last_s - chapter.first_s) == ("would have been started on v1", 20, 19)
    assert "(20 passes, last" in plain(story_lines([chapter], NOON_S)[0])


def test_a_start_that_did_not_come_to_pass_says_so() -> None:
    assert texts(a_pass(90, starts=[a_start("1.hpc1")])) == ["not started (put off, or refused) on v1"]


def test_the_beneficiary_is_told_of_its_victim() -> None:
    assert texts(a_pass(9, preempts=[a_preemption("2.hpc1", "1.hpc1")])) == ["preempted 2 for it"]


def test_a_preemption_counts_as_done_only_where_the_server_took_it() -> None:
    preempts = [a_preemption("2.hpc1", "1.hpc1", "preempted for 1.hpc1")]
    taken, refused = a_pass(9, preempts=preempts, preempted=["2.hpc1"]), a_pass(9, preempts=preempts, preempted=[])
    assert (texts(taken), texts(taken, job="2.hpc1")) == (["preempted 2 for it"], ["preempted for 1.hpc1"])
    assert texts(refused) == ["could not preempt yet: 2 for it"]
    assert texts(refused, job="2.hpc1") == ["not done (put off, or refused): preempted for 1.hpc1"]


def test_a_subjob_has_a_story_of_its_own() -> None:
    entry = a_pass(9, starts=[a_start("3[1].hpc1"), a_start("3[2].hpc1", "v2")], started=["3[1].hpc1", "3[2].hpc1"])
    assert texts(entry, job="3[2].hpc1") == ["started on v2"]


def test_an_array_has_the_preemptions_of_its_subjobs_those_with_one_outcome_together() -> None:
    subjobs = [a_preemption(f"3[{index}].hpc1", "4.hpc1", "preempted for 4") for index in range(10)]
    other = a_preemption("3[10].hpc1", "5.hpc1", "preempted for 5")
    entry = a_pass(9, preempts=[*subjobs, other, a_preemption("13[1].hpc1", "4.hpc1", "preempted for 4")])
    assert texts(entry, job="3[].hpc1") == [
        "subjobs [0], [1], [2], [3], [4], [5], [6], [7] and 2 more: preempted for 4",
        "subjob [10]: preempted for 5",
    ]


def test_a_pass_is_reported_with_reasons_and_what_was_carried_out() -> None:
    entry = a_pass(
        10,
        modes={"workq": "drive", "gpu": "observe"},
        starts=[a_start("1.hpc1", why="within quota"), a_start("2.hpc1") | {"queue": "gpu"}],
        started=["1.hpc1"],
        preempts=[a_preemption("4.hpc1", "5.hpc1", "preempted for 5.hpc1: over quota")],
        estimates=[{"job": "6.hpc1", "at_s": NOON_S + 60, "promised_s": NOON_S - 600}, {"job": "7.hpc1", "at_s": None}],
        waits=[{"jobs": 40, "example": "8.hpc1", "code": "too-few-idle", "sentence": "needs 8 cores"}],
        failures=["cannot start 9.hpc1"],
    )
    told = "\n".join(plain(line) for line in pass_lines(Pass(entry["time_s"], entry), NOON_S))
    for text in (
        "10 s ago: read 0.12 s",
        "gpu was in observe: nothing of this was carried out",
        "1 bob 8c on v1 · started within quota",
        "2 bob 8c on v1 · would have been started",
        "4 alice 4c for 5 · preempted for 5.hpc1: over quota",
        "6 at ",
        "first promised",
        "7 at no time that is known yet",
        "40 jobs, such as 8: needs 8 cores",
        "cannot start 9.hpc1",
    ):
        assert text in told


def test_what_observing_would_have_done_is_the_hooks_own_count() -> None:
    (entry,) = passes(a_pass(9, acted=[], would={"since_s": NOON_S - 86400, "starts": 300, "preempts": 12}))
    assert "300 jobs would have been started, 12 preempted" in plain(would_have(Passes((entry,))))


def test_nothing_is_counted_where_everything_is_carried_out() -> None:
    (entry,) = passes(a_pass(9, starts=[a_start("1.hpc1")], started=["1.hpc1"]))
    assert would_have(Passes((entry,))) == ()
    assert would_have(Passes()) == ()


@pytest.mark.parametrize(
    ("was_s", "at_s", "said"),
    [
        (NOON_S, NOON_S + 3600, r"at \d\d:\d\d, promised \d\d:\d\d before, for 9"),
        (NOON_S // 60 * 60 + 10, NOON_S // 60 * 60 + 40, r"at \d\d:\d\d:40, promised \d\d:\d\d:10 before, for 9"),
        (NOON_S, NOON_S + 0.2, r"at (\d\d:\d\d:\d\d), promised \1, less than a second before, for 9"),
    ],
)
def test_a_promise_that_moved_within_a_minute_is_reported_by_the_second(was_s: float, at_s: float, said: str) -> None:
    assert re.fullmatch(said, moved_for({"was_s": was_s, "at_s": at_s, "beneficiary": "9.hpc1"}, NOON_S))
