"""The explanation of one job: every state a job can be in, by its full id or without the server's name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policy import Changes, Ledger, Reading, Run, Settings, Snapshot, decide
from policy.explain.job_explanation import explain
from policy.model.job_preferences import Layout, RankPreference, Requirements
from policy.model.jobs_runs_vnodes_queues import Server
from policy.settings.ranking_and_stripe_settings import RankingSettings, StripeSettings
from tests.policy.clusters import cluster, job, place_of, queue, quotas, run, vnode
from tests.policy.explain.explain_small_cluster import SETTINGS, cluster_with_classes, explain_job, text_of, texts_of


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
    explanation = explain_job(job_id)
    assert explanation.state == state
    assert explanation.lines
    assert explain_job(job_id.split(".", maxsplit=1)[0]).state == state
    json.dumps(explanation.as_json(), allow_nan=False)


def test_the_standing_of_the_user() -> None:
    assert text_of(explain_job("3.srv"), "job") == "bob · workq · 4 cores, 100 s"
    assert text_of(explain_job("3.srv"), "quota") == "u:bob uses 0 of a quota of 4"
    assert text_of(explain_job("4.srv"), "quota") == "no quota counts it"


def test_what_was_tried() -> None:
    explanation = explain_job("4.srv")
    assert text_of(explanation, "tried preempt, quota").startswith("preempts no job: no quota of carol in queue workq")
    assert explanation.reason is not None
    assert explanation.reason.code == "reserved"


def test_the_victims_of_a_beneficiary_and_the_beneficiary_of_a_victim() -> None:
    assert text_of(explain_job("3.srv"), "victim").startswith("2 alice: preempted for 3:")
    assert "u:alice used 8 of a quota of 4" in text_of(explain_job("2.srv"), "preempted")


def test_where_it_starts() -> None:
    assert text_of(explain_job("6.srv"), "starts").startswith("6 in this pass on w1")


def test_how_often_it_was_preempted() -> None:
    assert text_of(explain_job("4.srv", ledger=Ledger(preemptions={"4.srv": 1})), "history") == "preempted 1 time"


def test_a_run_without_walltime_has_no_end() -> None:
    assert all(line.label != "ends" for line in explain_job("2.srv").lines)
    assert text_of(explain_job("1.srv"), "ends") == "in 8 min at the latest, by its walltime"


def test_an_array_that_starts_in_part() -> None:
    array = job("9[].srv", "bob", "2", subjobs=(1, 2, 3))
    snapshot = cluster([vnode("v1", 4)], [array])
    explanation = explain_job("9[]", snapshot)
    assert explanation.state == "waiting"
    assert [line.text for line in explanation.lines if line.label == "starts"] == [
        "9[1] in this pass on v1",
        "9[2] in this pass on v1",
    ]


def test_a_running_subjob() -> None:
    array = job("9[].srv", "bob", "2", subjobs=(2,))
    one = Run("9[1].srv", array, 0, place_of("v1=2"), 100, False, 1)
    assert explain_job("9[1]", cluster([vnode("v1", 2)], [array], [one])).state == "running"


def test_waiting_subjob_is_explained_as_its_array() -> None:
    array = job("9[].srv", "bob", "2", subjobs=(2,))
    one = Run("9[1].srv", array, 0, place_of("v1=2"), 100, False, 1)
    explanation = explain_job("9[2]", cluster([vnode("v1", 2)], [array], [one]))
    assert (explanation.job_id, explanation.state) == ("9[].srv", "waiting")


def test_user_text_is_left_as_it_is() -> None:
    hostile = "[/red]\x1b[31m"
    snapshot = cluster([vnode("v1")], [job("3", hostile, "8")], queues=[queue("")])
    assert hostile in text_of(explain_job("3", snapshot), "job")


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
    assert text_of(explain_job(job_id, cluster_with_classes()), "class") == text


def test_what_lifts_a_job_out_of_the_base_class_counts_runs_and_jobs_before_it() -> None:
    """u2's run holds 4 and job 3 takes 2 before job 4, which needs 6: 12 in all, of a quota of 8."""
    sentence = text_of(explain_job("4", cluster_with_classes()), "tried preempt, class")
    assert sentence.endswith(": a quota of at least 12 lifts it, or 4 of the 4 in use given back")


def test_a_priority_quota_of_the_server_is_named_as_such() -> None:
    of_server = cluster_with_classes("[u:u2=100]", Server(quotas={"ncpus": quotas("[u:u2=8]")}))
    explanation = explain_job("4", of_server)
    assert text_of(explanation, "class").endswith("the priority quota of 8 on the whole cluster after the jobs in line")
    assert "priority quota of 8 of u:u2 on the whole cluster after" in text_of(explanation, "tried preempt, class")


def test_no_class_line_without_priorities() -> None:
    assert texts_of(explain_job("3.srv"), "class") == []


def test_running_job_shows_the_class_of_its_start() -> None:
    assert text_of(explain_job("1", cluster_with_classes(), Ledger(classes={"1": 7})), "class") == "7, since its start"


def test_why_a_class_preempts_no_job() -> None:
    assert "below its own, 10" in text_of(explain_job("3", cluster_with_classes()), "tried preempt, class")
    assert "2 are left" in text_of(explain_job("4", cluster_with_classes()), "tried preempt, class")


# Placement


def test_why_a_packed_job_is_where_it_is() -> None:
    assert text_of(explain_job("6.srv"), "placement").startswith("the fewest vnodes that hold it")
    assert text_of(explain_job("1.srv"), "placement") == "any vnodes: only what it asks for decided"
    waiting = [job("3", select="2:ncpus=1", place="scatter"), job("4", select="2:ncpus=1", place="pack")]
    snapshot = cluster([vnode("v1"), vnode("v2")], waiting)
    assert text_of(explain_job("3", snapshot), "placement").startswith("one chunk on each host")
    assert text_of(explain_job("4", snapshot), "placement").startswith("all on one host")


def ranked(**more: Any) -> Snapshot:
    """v2 has most memory left, v1 half of it, v3 tells nothing."""
    readings = {name: Reading(10, memory_kib=left, memory_all_kib=100.0) for name, left in (("v1", 40.0), ("v2", 80.0))}
    waiting = [job("3", select="1:ncpus=4", **more)]
    return cluster([vnode("v1"), vnode("v2"), vnode("v3")], waiting, readings=readings)


def test_why_a_ranked_job_is_where_it_is() -> None:
    explanation = explain_job("3", ranked(rank=RankPreference("memory", Requirements(memory_kib=40))))
    assert text_of(explanation, "placement") == (
        "v2: by memory S = 0.8 x U 2 = 1.6, number 1 of those that meet its requirements now"
    )


def test_ranking_mode_of_the_site_and_a_vnode_without_reading() -> None:
    settings = Settings(ranking=RankingSettings("memory"))
    snapshot = ranked().apply(Changes(10, running=[run("8", "a", "v3=4")]))
    assert text_of(explain_job("3", snapshot, settings=settings), "placement").startswith("v2: by memory S = 0.8 x U 1")
    assert text_of(explain_job("8", snapshot, settings=settings), "placement") == (
        "v3: by memory, without a recent reading, number 3 of those that meet its requirements now"
    )


STRIPED = "striped over 2 nodes with at most 2 pieces on each, where 1 would hold it"


def test_why_a_striped_job_is_where_it_is() -> None:
    snapshot = cluster([vnode("v1"), vnode("v2")], [job("3", select="4:ncpus=1", layout=Layout("stripe"))])
    assert text_of(explain_job("3", snapshot), "placement") == f"{STRIPED}: the job asks for it"
    plan = decide(snapshot, Ledger(), SETTINGS)
    explanation = explain(plan.started, decide(plan.started, plan.ledger, SETTINGS), "3", SETTINGS)
    assert text_of(explanation, "placement") == "a stripe over 2 vnodes started there with it"


def test_layout_of_the_site_and_layouts_tried_before() -> None:
    """Two of four nodes are taken: a stripe over all four finds no room, one over the two that are left does."""
    settings = Settings(stripe=StripeSettings("stripe", width_factor=4))
    runs = [run("1", "a", "v1=4"), run("2", "a", "v2=4")]
    nodes = [vnode(f"v{number}") for number in range(1, 5)]
    explanation = explain_job("3", cluster(nodes, [job("3", select="4:ncpus=1")], runs), settings=settings)
    assert texts_of(explanation, "placement") == [
        f"{STRIPED}: stripe.layout is stripe",
        "tried over 4 nodes: not so many have room now for their share of at most 1 piece",
    ]
