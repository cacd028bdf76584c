"""The lines of an explanation on shrunk estimates, cuts, the rescue and preemption."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policy import Changes, Ledger, Settings, Snapshot, decide
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from policy.model.ledger_between_passes import Backfilled, Cut, Earmark
from policy.model.pbs_units import show_walltime
from policy.settings.site_settings import (
    BackfillSettings,
    CheckpointSettings,
    PrioritySettings,
    QuotaSettings,
    RescueSettings,
)
from tests.policy.clusters import cluster, job, place_of, queue, run, vnode
from tests.policy.explain.explain_small_cluster import cluster_with_classes, explain_job, text_of, texts_of

SHRINKS = Settings(
    BackfillSettings("checkpoint", shrink_factor=0.5, shrink_threshold_s=60),
    QuotaSettings(max_preemptions=2),
    checkpoint=CheckpointSettings(saves=True),
)


def behind_a_head(estimate_s: float = 1000, **more: Any) -> Snapshot:
    """3 is reserved for 200; 4 waits behind it with one core, which is idle."""
    waiting = [job("3", "bob", "4"), job("4", "carol", "1", estimate_s, **more)]
    return cluster([vnode("v1")], waiting, [run("1", "alice", "v1=3", 0, 200)])


@pytest.mark.parametrize(
    ("snapshot", "text"),
    [
        (behind_a_head(), "8 min of 17 min: it may be cut when 3 is to start"),
        (behind_a_head(estimate_s=UNLIMITED_S), "all of a run without a walltime: it may be cut when 3 is to start"),
        (behind_a_head(rerunable=False), "all of 17 min: it may not be rerun, so it could not be cut"),
        (behind_a_head(saves=False), "all of 17 min: it cannot save its work, and would have too much to repeat"),
    ],
)
def test_with_what_estimate_it_was_tested(snapshot: Snapshot, text: str) -> None:
    assert text_of(explain_job("4", snapshot, settings=SHRINKS), "tested with") == text


def test_why_a_preempted_job_is_tested_in_full() -> None:
    explanation = explain_job("4", behind_a_head(), Ledger(preemptions={"4": 2}), SHRINKS)
    assert text_of(explanation, "tested with").endswith("it was preempted 2 times already, and may not be again")
    assert texts_of(explanation, "history")[1] == "it will not be again: quota.max_preemptions is 2"


def test_why_an_exempt_job_is_tested_in_full() -> None:
    settings = Settings(SHRINKS.backfill, QuotaSettings(exempt_s=500), checkpoint=SHRINKS.checkpoint)
    assert text_of(explain_job("4", behind_a_head(), settings=settings), "tested with").endswith(
        "it would still be exempt when the head is to start"
    )


def test_why_a_job_that_saves_is_tested_in_full_when_the_head_starts_within_the_grace() -> None:
    settings = replace(SHRINKS, checkpoint=CheckpointSettings(method="signal", saves=True, grace_s=250))
    assert text_of(explain_job("4", behind_a_head(), settings=settings), "tested with") == (
        "all of 17 min: the head is to start in 3 min, within the 4 min that saving may take"
    )


def walltimes_of(job_id: str, snapshot: Snapshot, settings: Settings) -> str:
    """The walltimes that would let the job start now, by the reason's sentence."""
    sentence = text_of(explain_job(job_id, snapshot, settings=settings), "waits for")
    assert " would let it start now: " in sentence, sentence
    return sentence.partition(" would let it start now: ")[0]


def starts_with(seconds: float, snapshot: Snapshot, settings: Settings) -> bool:
    changed = {**snapshot.jobs, "4": snapshot.jobs["4"]._replace(estimate_s=seconds)}
    again = cluster([*snapshot.vnodes.values()], [*changed.values()], [*snapshot.runs.values()])
    return "4" in {start.id for start in decide(again, Ledger(), settings).starts}


@pytest.mark.parametrize(
    ("threshold_s", "said", "right", "wrong"),
    [
        (60, "a walltime of at most 00:06:20", (1, 190, 380), (381,)),
        (
            300,
            "a walltime of at most 00:03:10 or of more than 00:05:00 and at most 00:06:20",
            (190, 301, 380),
            (191, 300, 381),
        ),
        (400, "a walltime of at most 00:03:10", (1, 190), (191, 400, 401)),
    ],
)
def test_where_estimates_are_shrunk_the_most_is_what_is_tested_as_no_more_than_the_window(
    threshold_s: int, said: str, right: tuple[int, ...], wrong: tuple[int, ...]
) -> None:
    settings = replace(SHRINKS, backfill=replace(SHRINKS.backfill, shrink_threshold_s=threshold_s))
    seen = behind_a_head()
    assert walltimes_of("4", seen, settings).partition(" or at most")[0] == said
    assert all(starts_with(seconds, seen, settings) for seconds in right)
    assert not any(starts_with(seconds, seen, settings) for seconds in wrong)


def test_a_walltime_that_counts_saved_work_says_so() -> None:
    assert walltimes_of("4", behind_a_head(saved_s=100.0), SHRINKS) == (
        "a walltime of at most 00:08:00, of which 100 s are saved,"
    )
    assert walltimes_of("4", behind_a_head(saved_s=100.0), Settings()) == ("a walltime of at most 00:03:10")


@pytest.mark.parametrize(("factor", "most_s"), [(0.5, 480), (None, 290)])
def test_the_longest_walltime_counts_saved_work_where_the_job_can_be_cut(factor: float | None, most_s: int) -> None:
    seen = behind_a_head(saved_s=100.0)
    settings = replace(SHRINKS, backfill=replace(SHRINKS.backfill, shrink_factor=factor))
    assert show_walltime(most_s) in walltimes_of("4", seen, settings)
    assert starts_with(most_s, seen, settings)
    assert not starts_with(most_s + 1, seen, settings)
    assert starts_with(190, seen, Settings())
    assert not starts_with(191, seen, Settings())


def test_saved_work_of_a_job_that_cannot_be_cut_does_not_count() -> None:
    explanation = explain_job("4", behind_a_head(saved_s=900.0, rerunable=False), settings=SHRINKS)
    assert text_of(explanation, "tested with") == "all of 17 min: it may not be rerun, so it could not be cut"
    assert "its whole estimate of 17 min (it could not be cut) passes" in text_of(explanation, "waits for")


def test_a_threshold_keeps_an_estimate_whole() -> None:
    settings = Settings(BackfillSettings("checkpoint", shrink_factor=0.5), checkpoint=SHRINKS.checkpoint)
    assert text_of(explain_job("4", behind_a_head(), settings=settings), "tested with").endswith(
        "up to 1 h 00 are not shrunk"
    )


def test_no_estimate_line_where_nothing_is_shrunk() -> None:
    assert texts_of(explain_job("4", behind_a_head()), "tested with") == []


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (Backfilled(70, True), "expected to end in 60 s; may be cut at the time promised to a head"),
        (Backfilled(UNLIMITED_S, True), "expected to end at an unknown time; may be cut"),
        (Backfilled(5, True), "has run longer than the estimate it was tested with; may be cut"),
        (Backfilled(100, False), "started ahead of the job first in line, which loses nothing by it: it is not cut"),
    ],
)
def test_a_backfilled_run(entry: Backfilled, text: str) -> None:
    explanation = explain_job("1", behind_a_head(), Ledger(backfilled={"1": entry}), SHRINKS)
    assert text_of(explanation, "backfilled").startswith(text)


def test_when_a_short_job_may_be_rescued() -> None:
    settings = Settings(rescue=RescueSettings(enabled=True))
    snapshot = cluster([vnode("v1")], [job("3", "bob", "4", 100)], [run("1", "alice", "v1=4", 0, 20_000)])
    assert text_of(explain_job("3", snapshot, settings=settings), "rescue") == (
        "short (100 s expected): one run may be cut for it in 3 min"
    )
    later = snapshot.apply(Changes(300))
    assert text_of(explain_job("3", later, settings=settings), "rescue").startswith(
        "short (100 s expected) and has waited long"
    )
    assert texts_of(explain_job("3", snapshot), "rescue") == []


# Preempted jobs


def test_for_whom_a_preempted_job_lost_its_cores_and_what_is_left_of_its_work() -> None:
    hold = Earmark(place_of("v1=4"), ("2", "9"), 5, "rescue")
    waiting = [job("2", "alice", "4", 500, saved_s=200), job("3", "bob", "4", blocked="")]
    snapshot = cluster([vnode("v1")], waiting, [run("9", "dave", "v1=4", 0, 50)])
    explanation = explain_job("2", snapshot, Ledger(earmarks={"3": hold}, preemptions={"2": 1}), SHRINKS)
    assert texts_of(explanation, "history")[0] == "preempted 1 time"
    assert text_of(explanation, "work") == "3 min of its run are saved, so 5 min are to run"


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"saved_s": -20.0}, "saving cost more than was done: 2 min are to run"),
        ({"saves": False}, "it does not save its work, so it runs again from its beginning: 100 s"),
        ({}, "nothing is known to be saved: all of 100 s is to run"),
    ],
)
def test_what_is_left_of_the_work_of_a_preempted_job(more: dict[str, Any], text: str) -> None:
    snapshot = cluster([vnode("v1")], [job("2", "alice", "4", **more)], [run("9", "dave", "v1=4", 0, 50)])
    assert text_of(explain_job("2", snapshot, Ledger(preemptions={"2": 1}), SHRINKS), "work") == text


def test_by_which_rule_it_was_preempted_and_when_even_after_the_beneficiary_has_started() -> None:
    cut = Cut(
        4, "preempted-quota", (("beneficiary", "3"), ("entity", "u:alice"), ("used", 8), ("limit", 4), ("queue", "q"))
    )
    snapshot = cluster([vnode("v1")], [job("2", "alice", "4")], [run("3", "bob", "v1=4", 5, 500)])
    ledger = Ledger(preemptions={"2": 1}, cuts={"2": cut})
    assert texts_of(explain_job("2", snapshot, ledger), "history") == [
        "preempted 1 time",
        "6 s ago preempted for 3: u:alice used 8 of a quota of 4 in queue q",
    ]
    unknown = Ledger(preemptions={"2": 1}, cuts={"2": Cut(4, "by-the-moon", ())})
    assert texts_of(explain_job("2", snapshot, unknown), "history") == ["preempted 1 time"]


def test_victim_that_still_runs() -> None:
    snapshot = cluster([vnode("v1")], [job("3", "bob", "4")], [run("2", "alice", "v1=4")], queues=[queue("[u:bob=4]")])
    hold = Earmark(place_of("v1=4"), ("2",), 5)
    explanation = explain_job("2", snapshot, Ledger(earmarks={"3": hold}, preemptions={"2": 1}))
    assert text_of(explanation, "preempted").endswith(", asked for again: it still runs")
    assert text_of(explanation, "history") == "preempted 1 time before"
    assert texts_of(explain_job("2.srv"), "history") == []


def test_running_job_says_what_may_preempt_it() -> None:
    assert text_of(explain_job("1.srv"), "can be preempted") == (
        "u:alice uses 8 of a quota of 4, and stays at or above it without this run: a job within quota"
        " may take its cores"
    )
    assert (
        texts_of(explain_job("1.srv", settings=Settings(quota=QuotaSettings(preempt=False))), "can be preempted") == []
    )
    assert (
        texts_of(
            explain_job("1", cluster_with_classes(), settings=Settings(priority=PrioritySettings(preempt=False))),
            "can be preempted",
        )
        == []
    )
