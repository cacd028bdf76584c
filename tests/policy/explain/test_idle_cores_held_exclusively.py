"""A sentence that counts idle cores says which more are idle on vnodes that other jobs have to themselves."""

from __future__ import annotations

import pytest

from policy import Ledger, Settings, Snapshot, decide
from policy.explain.job_explanation import explain
from tests.policy.clusters import cluster, job, run, vnode

SETTINGS = Settings()
HELD = "(and 14 on vnodes that jobs hold exclusively)"


def sentence_of(snapshot: Snapshot, job_id: str) -> str:
    explanation = explain(snapshot, decide(snapshot, Ledger(), SETTINGS), job_id, SETTINGS)
    return next(line.text for line in explanation.lines if line.label == "waits for")


def held_alone(place: str = "excl") -> Snapshot:
    """On v1 14 cores are idle beside a run of two; v2 is full."""
    waiting = [job("8", select="1:ncpus=16"), job("9", select="1:ncpus=2", place="excl")]
    runs = [run("1", "bob", "v1=2", place=place), run("2", "bob", "v2=4")]
    return cluster([vnode("v1", 16), vnode("v2", 4)], waiting, runs)


@pytest.mark.parametrize("job_id", ["8", "9"])
def test_the_head_and_those_behind_it_say_that_idle_cores_are_held_exclusively(job_id: str) -> None:
    assert f"0 are idle {HELD}" in sentence_of(held_alone(), job_id)


def test_idle_cores_beside_a_job_that_shares_its_vnode_are_idle() -> None:
    sentence = sentence_of(held_alone(place="free"), "8")
    assert "14 are idle" in sentence
    assert "exclusively" not in sentence


def test_a_head_that_asks_for_vnodes_to_itself_says_that_these_have_other_jobs() -> None:
    shared = cluster([vnode("v1", 16)], [job("8", select="1:ncpus=2", place="excl")], [run("1", "bob", "v1=2")])
    assert "14 are idle, but not on vnodes without other jobs (it asks for exclusive ones)" in sentence_of(shared, "8")
