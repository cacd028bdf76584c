"""One job told whole: every state a job can be in, by its full id or without the server's name."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from policy import Changes, Ledger, Reading, Run, Settings, Snapshot, decide
from policy.explain.job_explanation import Explanation, explain
from policy.model.job_preferences import Layout, RankPreference, Requirements
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from policy.model.ledger_between_passes import Backfilled, Cut, Earmark
from policy.settings.ranking_and_stripe_settings import RankingSettings, StripeSettings
from policy.settings.site_settings import (
    BackfillSettings,
    CheckpointSettings,
    PrioritySettings,
    QuotaSettings,
    RescueSettings,
)
from tests.policy.clusters import cluster, job, place_of, queue, quotas, run, vnode

SETTINGS = Settings()


def picture() -> Snapshot:
    """alice is over quota with 1 and 2; bob's 3 preempts, 4 is reserved, 5 is held, 6 starts on the small vnode."""
    return cluster(
        [vnode("v1", 8), vnode("w1", 1)],
        [
            job("3.srv", "bob", "1:ncpus=4"),
            job("4.srv", "carol", "8:ncpus=1:vnode=v1"),
            job("5.srv", "bob", "1", blocked="held by its user"),
            job("6.srv", "carol", "1", 20, submit_s=5),
        ],
        [run("1.srv", "alice", "v1=4", 0, 500), run("2.srv", "alice", "v1=4", 5, UNLIMITED_S)],
        queues=[queue("[u:alice=4],[u:bob=4]")],
    )


def of(
    job_id: str, snapshot: Snapshot | None = None, ledger: Ledger | None = None, settings: Settings = SETTINGS
) -> Explanation:
    snapshot = snapshot or picture()
    return explain(snapshot, decide(snapshot, ledger or Ledger(), settings), job_id, settings)


@pytest.mark.parametrize(
    ("job_id", "state"),
    [
        ("1.srv", "running"),
        ("2.srv", "preempted"),
        ("3.srv", "preempting"),
        ("4.srv", "waiting"),
        ("5.srv", "waiting"),
        ("6.srv", "starting"),
        ("7.srv", "unknown"),
    ],
)
def test_every_state(job_id: str, state: str) -> None:
    explanation = of(job_id)
    assert explanation.state == state
    assert explanation.lines
    assert of(job_id.split(".", maxsplit=1)[0]).state == state
    json.dumps(explanation.as_json(), allow_nan=False)


def text_of(explanation: Explanation, label: str) -> str:
    return next(line.text for line in explanation.lines if line.label == label)


def test_the_standing_of_the_user() -> None:
    assert text_of(of("3.srv"), "job") == "bob · workq · 4 cores, 100 s"
    assert text_of(of("3.srv"), "quota") == "u:bob holds 0 of a quota of 4"
    assert text_of(of("4.srv"), "quota") == "no quota counts it"


def test_what_was_tried() -> None:
    explanation = of("4.srv")
    assert text_of(explanation, "tried preempt, quota").startswith("preempts no job: no quota of carol in queue workq")
    assert explanation.reason is not None
    assert explanation.reason.code == "reserved"


def test_the_victims_of_a_beneficiary_and_the_beneficiary_of_a_victim() -> None:
    assert text_of(of("3.srv"), "victim").startswith("2 alice: preempted for 3:")
    assert "u:alice used 8 of a quota of 4" in text_of(of("2.srv"), "preempted")


def test_where_it_starts() -> None:
    assert text_of(of("6.srv"), "starts").startswith("6 in this pass on w1")


def test_how_often_it_was_preempted() -> None:
    assert text_of(of("4.srv", ledger=Ledger(preemptions={"4.srv": 1})), "history") == "preempted 1 time"


def test_a_run_without_walltime_has_no_end() -> None:
    assert all(line.label != "ends" for line in of("2.srv").lines)
    assert text_of(of("1.srv"), "ends") == "in 8 min at the latest, by its walltime"


def test_an_array_that_starts_in_part() -> None:
    array = job("9[].srv", "bob", "2", subjobs=(1, 2, 3))
    snapshot = cluster([vnode("v1", 4)], [array])
    explanation = of("9[]", snapshot)
    assert explanation.state == "waiting"
    assert [line.text for line in explanation.lines if line.label == "starts"] == [
        "9[1] in this pass on v1",
        "9[2] in this pass on v1",
    ]


def test_a_running_subjob() -> None:
    array = job("9[].srv", "bob", "2", subjobs=(2,))
    one = Run("9[1].srv", array, 0, place_of("v1=2"), 100, False, 1)
    assert of("9[1]", cluster([vnode("v1", 2)], [array], [one])).state == "running"


def test_a_subjob_that_waits_is_told_as_its_array() -> None:
    array = job("9[].srv", "bob", "2", subjobs=(2,))
    one = Run("9[1].srv", array, 0, place_of("v1=2"), 100, False, 1)
    explanation = of("9[2]", cluster([vnode("v1", 2)], [array], [one]))
    assert (explanation.job_id, explanation.state) == ("9[].srv", "waiting")


def test_user_text_is_left_as_it_is() -> None:
    hostile = "[/red]\x1b[31m"
    snapshot = cluster([vnode("v1")], [job("3", hostile, "8")], queues=[queue("")])
    assert hostile in text_of(of("3", snapshot), "job")


def texts_of(explanation: Explanation, label: str) -> list[str]:
    return [line.text for line in explanation.lines if line.label == label]


# Classes


def classes_picture() -> Snapshot:
    """u2 (priority 10, quota 8) runs 4 in its class and waits with 2 and with 6; dave has no priority."""
    priorities = quotas("[u:u2=10]")
    return cluster(
        [vnode("v1", 8)],
        [job("3", "u2", "2"), job("4", "u2", "6"), job("5", "dave", "1")],
        [run("1", "u2", "v1=4"), run("2", "dave", "v1=4", 0, 500, rerunable=False)],
        queues=[queue("[u:u2=8]", priorities=priorities)],
    )


@pytest.mark.parametrize(
    ("job_id", "text"),
    [
        ("1", "10, since its start"),
        ("2", "base, since its start"),
        ("3", "10: u:u2 has 2 left of the priority quota of 8 after the jobs in line"),
        ("4", "base: u:u2 has 2 left of the priority quota of 8 after the jobs in line"),
        ("5", "base: dave has no priority in queue workq"),
    ],
)
def test_the_class_and_what_is_left_of_the_priority_quota(job_id: str, text: str) -> None:
    assert text_of(of(job_id, classes_picture()), "class") == text


def test_what_lifts_a_job_out_of_the_base_class_counts_runs_and_jobs_before_it() -> None:
    """u2's run holds 4 and job 3 takes 2 before job 4, which needs 6: 12 in all, of a quota of 8."""
    sentence = text_of(of("4", classes_picture()), "tried preempt, class")
    assert sentence.endswith(": a quota of at least 12 lifts it, or 4 of the 4 in use given back")


def test_no_class_is_told_where_nobody_has_a_priority() -> None:
    assert texts_of(of("3.srv"), "class") == []


def test_a_run_is_told_with_the_class_it_started_in() -> None:
    assert text_of(of("1", classes_picture(), Ledger(classes={"1": 7})), "class") == "7, since its start"


def test_why_a_class_preempts_nobody() -> None:
    assert "below its own, 10" in text_of(of("3", classes_picture()), "tried preempt, class")
    assert "2 are left" in text_of(of("4", classes_picture()), "tried preempt, class")


# Shrunk estimates, cuts and the rescue

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
    assert text_of(of("4", snapshot, settings=SHRINKS), "tested with") == text


def test_why_a_preempted_job_is_tested_in_full() -> None:
    explanation = of("4", behind_a_head(), Ledger(preemptions={"4": 2}), SHRINKS)
    assert text_of(explanation, "tested with").endswith("it was preempted 2 times already, and may not be again")
    assert texts_of(explanation, "history")[1] == "it will not be again: quota.max_preemptions is 2"


def test_why_an_exempt_job_is_tested_in_full() -> None:
    settings = Settings(SHRINKS.backfill, QuotaSettings(exempt_s=500), checkpoint=SHRINKS.checkpoint)
    assert text_of(of("4", behind_a_head(), settings=settings), "tested with").endswith(
        "it would still be exempt when the head is to start"
    )


def test_why_a_job_that_saves_is_tested_in_full_when_the_head_starts_within_the_grace() -> None:
    settings = replace(SHRINKS, checkpoint=CheckpointSettings(method="signal", saves=True, grace_s=250))
    assert text_of(of("4", behind_a_head(), settings=settings), "tested with") == (
        "all of 17 min: the head is to start in 3 min, within the 4 min that saving may take"
    )


def walltimes_of(job_id: str, snapshot: Snapshot, settings: Settings) -> str:
    """What is said that would let the job start now."""
    sentence = text_of(of(job_id, snapshot, settings=settings), "waits for")
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
    assert walltimes_of("4", behind_a_head(saved_s=100.0), Settings()) == (
        "a walltime of at most 00:04:50, of which 100 s are saved,"
    )


def test_a_threshold_keeps_an_estimate_whole() -> None:
    settings = Settings(BackfillSettings("checkpoint", shrink_factor=0.5), checkpoint=SHRINKS.checkpoint)
    assert text_of(of("4", behind_a_head(), settings=settings), "tested with").endswith("up to 1 h 00 are not shrunk")


def test_nothing_is_said_of_a_test_where_nothing_is_shrunk() -> None:
    assert texts_of(of("4", behind_a_head()), "tested with") == []


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
    explanation = of("1", behind_a_head(), Ledger(backfilled={"1": entry}), SHRINKS)
    assert text_of(explanation, "backfilled").startswith(text)


def test_when_a_short_job_may_be_rescued() -> None:
    settings = Settings(rescue=RescueSettings(enabled=True))
    snapshot = cluster([vnode("v1")], [job("3", "bob", "4", 100)], [run("1", "alice", "v1=4", 0, 20_000)])
    assert text_of(of("3", snapshot, settings=settings), "rescue") == (
        "short (100 s expected): one run may be cut for it in 3 min"
    )
    later = snapshot.apply(Changes(300))
    assert text_of(of("3", later, settings=settings), "rescue").startswith("short (100 s expected) and has waited long")
    assert texts_of(of("3", snapshot), "rescue") == []


# Why it was preempted


def test_for_whom_a_preempted_job_lost_its_cores_and_what_is_left_of_its_work() -> None:
    hold = Earmark(place_of("v1=4"), ("2", "9"), 5, "rescue")
    waiting = [job("2", "alice", "4", 500, saved_s=200), job("3", "bob", "4", blocked="")]
    snapshot = cluster([vnode("v1")], waiting, [run("9", "dave", "v1=4", 0, 50)])
    explanation = of("2", snapshot, Ledger(earmarks={"3": hold}, preemptions={"2": 1}), SHRINKS)
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
    assert text_of(of("2", snapshot, Ledger(preemptions={"2": 1}), SHRINKS), "work") == text


def test_by_which_rule_it_was_preempted_and_when_even_after_the_beneficiary_has_started() -> None:
    cut = Cut(
        4, "preempted-quota", (("beneficiary", "3"), ("entity", "u:alice"), ("used", 8), ("limit", 4), ("queue", "q"))
    )
    snapshot = cluster([vnode("v1")], [job("2", "alice", "4")], [run("3", "bob", "v1=4", 5, 500)])
    ledger = Ledger(preemptions={"2": 1}, cuts={"2": cut})
    assert texts_of(of("2", snapshot, ledger), "history") == [
        "preempted 1 time",
        "6 s ago preempted for 3: u:alice used 8 of a quota of 4 in queue q",
    ]
    unknown = Ledger(preemptions={"2": 1}, cuts={"2": Cut(4, "by-the-moon", ())})
    assert texts_of(of("2", snapshot, unknown), "history") == ["preempted 1 time"]


def test_a_victim_that_lingers() -> None:
    snapshot = cluster([vnode("v1")], [job("3", "bob", "4")], [run("2", "alice", "v1=4")], queues=[queue("[u:bob=4]")])
    hold = Earmark(place_of("v1=4"), ("2",), 5)
    explanation = of("2", snapshot, Ledger(earmarks={"3": hold}, preemptions={"2": 1}))
    assert text_of(explanation, "preempted").endswith(", asked for again: it still runs")
    assert text_of(explanation, "history") == "preempted 1 time before"
    assert texts_of(of("2.srv"), "history") == []


def test_a_run_that_may_go_says_by_what() -> None:
    assert text_of(of("1.srv"), "can be preempted") == (
        "u:alice uses 8 of a quota of 4, and stays at or above it without this run: a job within quota"
        " may take its cores"
    )
    assert texts_of(of("1.srv", settings=Settings(quota=QuotaSettings(preempt=False))), "can be preempted") == []
    assert (
        texts_of(
            of("1", classes_picture(), settings=Settings(priority=PrioritySettings(preempt=False))), "can be preempted"
        )
        == []
    )


# Why there


def test_why_a_packed_job_is_where_it_is() -> None:
    assert text_of(of("6.srv"), "placement").startswith("the fewest vnodes that hold it")
    assert text_of(of("1.srv"), "placement") == "any vnodes: only what it asks for decided"
    waiting = [job("3", select="2:ncpus=1", place="scatter"), job("4", select="2:ncpus=1", place="pack")]
    snapshot = cluster([vnode("v1"), vnode("v2")], waiting)
    assert text_of(of("3", snapshot), "placement").startswith("one chunk on each host")
    assert text_of(of("4", snapshot), "placement").startswith("all on one host")


def ranked(**more: Any) -> Snapshot:
    """v2 has most memory left, v1 half of it, v3 tells nothing."""
    readings = {name: Reading(10, memory_kib=left, memory_all_kib=100.0) for name, left in (("v1", 40.0), ("v2", 80.0))}
    waiting = [job("3", select="1:ncpus=4", **more)]
    return cluster([vnode("v1"), vnode("v2"), vnode("v3")], waiting, readings=readings)


def test_why_a_ranked_job_is_where_it_is() -> None:
    explanation = of("3", ranked(rank=RankPreference("memory", Requirements(memory_kib=40))))
    assert text_of(explanation, "placement") == (
        "v2: by memory S = 0.8 x U 2 = 1.6, number 1 of those that meet its requirements now"
    )


def test_a_site_may_rank_by_itself_and_a_vnode_may_tell_nothing() -> None:
    settings = Settings(ranking=RankingSettings("memory"))
    snapshot = ranked().apply(Changes(10, running=[run("8", "a", "v3=4")]))
    assert text_of(of("3", snapshot, settings=settings), "placement").startswith("v2: by memory S = 0.8 x U 1")
    assert text_of(of("8", snapshot, settings=settings), "placement") == (
        "v3: by memory, without a recent reading, number 3 of those that meet its requirements now"
    )


STRIPED = "striped over 2 nodes with at most 2 pieces on each, where 1 would hold it"


def test_why_a_striped_job_is_where_it_is() -> None:
    snapshot = cluster([vnode("v1"), vnode("v2")], [job("3", select="4:ncpus=1", layout=Layout("stripe"))])
    assert text_of(of("3", snapshot), "placement") == f"{STRIPED}: the job asks for it"
    plan = decide(snapshot, Ledger(), SETTINGS)
    explanation = explain(plan.started, decide(plan.started, plan.ledger, SETTINGS), "3", SETTINGS)
    assert text_of(explanation, "placement") == "a stripe over 2 vnodes started there with it"


def test_a_site_may_stripe_by_itself_and_what_was_tried_is_told() -> None:
    """Two of four nodes are taken: a stripe over all four finds no room, one over the two that are left does."""
    settings = Settings(stripe=StripeSettings("stripe", width_factor=4))
    runs = [run("1", "a", "v1=4"), run("2", "a", "v2=4")]
    nodes = [vnode(f"v{number}") for number in range(1, 5)]
    explanation = of("3", cluster(nodes, [job("3", select="4:ncpus=1")], runs), settings=settings)
    assert texts_of(explanation, "placement") == [
        f"{STRIPED}: stripe.layout is stripe",
        "tried over 4 nodes: not so many have room now for their share of at most 1 piece",
    ]
