"""The sentence of a waiting job names the resource that it lacks where that is not cores; nothing where several do."""

from __future__ import annotations

import pytest

from policy import Ledger, Settings, Snapshot, decide
from policy.explain.job_explanation import explain
from policy.explain.queue_position import InLine
from policy.model.jobs_runs_vnodes_queues import Vnode
from tests.policy.clusters import cluster, job, run, vnode

SETTINGS = Settings()


def gpu_vnode(name: str, ngpus: int = 4) -> Vnode:
    return vnode(name, 8, has={"ngpus": ngpus, "mem": 64 << 20})


def sentence_of(snapshot: Snapshot, job_id: str) -> str:
    plan = decide(snapshot, Ledger(), SETTINGS)
    waits = {job.id: (job, wait.reason) for wait in plan.waits for job in wait.jobs}
    waiting, reason = waits[job_id]
    return reason.sentence(waiting, snapshot.time_s, InLine(plan, SETTINGS).numbers(job_id))


def busy(*jobs: tuple[str, str]) -> Snapshot:
    """Two vnodes with 4 GPUs each, of which runs leave 1 and 2; 14 of 16 cores are idle."""
    return cluster(
        [gpu_vnode("v1"), gpu_vnode("v2")],
        [job(name, "bob", select) for name, select in jobs],
        [run("1", "alice", "(v1:ncpus=1:ngpus=3)", 0, 500), run("2", "alice", "(v2:ncpus=1:ngpus=2)", 0, 500)],
    )


@pytest.mark.parametrize(
    ("select", "words"),
    [
        ("1:ncpus=2:ngpus=4", "too few of them where ngpus=4 is free for each chunk"),
        ("2:ncpus=1:ngpus=2", "too few of them where ngpus=2 is free for each chunk"),
        ("1:ncpus=2:ngpus=4:mem=1gb", "too few of them where ngpus=4 is free for each chunk"),
        ("1:ncpus=1+1:ncpus=2:ngpus=3", "too few of them where ngpus=3 is free for each chunk"),
        ("1:ncpus=1:ngpus=2+1:ncpus=2:ngpus=2", "too few of them where ngpus=2 is free for each chunk"),
    ],
)
def test_the_head_and_those_behind_it_name_what_they_lack(select: str, words: str) -> None:
    snapshot = busy(("8", select), ("9", select))
    for job_id in ("8", "9"):
        sentence = sentence_of(snapshot, job_id)
        assert words in sentence, sentence
        assert "14 cores are idle" in sentence or "14 are idle" in sentence
        explanation = explain(snapshot, decide(snapshot, Ledger(), SETTINGS), job_id, SETTINGS)
        assert any(words in line.text for line in explanation.lines)


def test_what_lacks_cores_names_no_other_resource() -> None:
    assert "where" not in sentence_of(busy(("9", "2:ncpus=8")), "9")


@pytest.mark.parametrize(
    ("select", "lack"),
    [
        ("1:ncpus=2:ngpus=5", "ngpus=5"),
        ("1:ncpus=2:arch=arm", "arch=arm"),
        ("1:ncpus=9", "ncpus=9"),
        ("1:ncpus=1:ngpus=5:mem=65gb", "ngpus=5 and mem=68157440kb"),
    ],
)
def test_what_could_never_fit_names_what_the_vnodes_lack(select: str, lack: str) -> None:
    sentence = sentence_of(busy(("9", select)), "9")
    assert "even if all were idle" in sentence
    assert all(f"{each}" in sentence for each in lack.split(" and ")), sentence
    assert "for lack of " in sentence


def test_what_only_together_does_not_fit_names_none() -> None:
    vnodes = [gpu_vnode("v1", 4), vnode("w1", 8, has={"mem": 640 << 20})]
    sentence = sentence_of(cluster(vnodes, [job("9", "bob", "1:ncpus=1:ngpus=4:mem=100gb")]), "9")
    assert "for lack of" not in sentence


def test_gpus_that_are_too_few_on_any_one_host_are_named() -> None:
    snapshot = cluster(
        [gpu_vnode("v1", 2), gpu_vnode("v2", 2)],
        [job("9", "bob", "2:ncpus=1:ngpus=1", place="pack")],
        [run("1", "alice", "(v1:ncpus=1:ngpus=1)"), run("2", "alice", "(v2:ncpus=1:ngpus=1)")],
    )
    assert "where ngpus=1 is free for each chunk" in sentence_of(snapshot, "9")
