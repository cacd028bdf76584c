"""Explains one job of a small cluster, and picks lines of the explanation by their label."""

from __future__ import annotations

from policy import Ledger, Settings, Snapshot, decide
from policy.explain.job_explanation import Explanation, explain
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Server
from tests.policy.clusters import cluster, job, queue, quotas, run, vnode

SETTINGS = Settings()


def small_cluster() -> Snapshot:
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


def explain_job(
    job_id: str, snapshot: Snapshot | None = None, ledger: Ledger | None = None, settings: Settings = SETTINGS
) -> Explanation:
    snapshot = snapshot or small_cluster()
    return explain(snapshot, decide(snapshot, ledger or Ledger(), settings), job_id, settings)


def text_of(explanation: Explanation, label: str) -> str:
    return next(line.text for line in explanation.lines if line.label == label)


def texts_of(explanation: Explanation, label: str) -> list[str]:
    return [line.text for line in explanation.lines if line.label == label]


# Classes


def cluster_with_classes(quota: str = "[u:u2=8]", server: Server = Server()) -> Snapshot:  # noqa: B008 - a value
    """u2 (priority 10, quota 8) runs 4 in its class and waits with 2 and with 6; dave has no priority."""
    priorities = quotas("[u:u2=10]")
    return cluster(
        [vnode("v1", 8)],
        [job("3", "u2", "2"), job("4", "u2", "6"), job("5", "dave", "1")],
        [run("1", "u2", "v1=4"), run("2", "dave", "v1=4", 0, 500, rerunable=False)],
        queues=[queue(quota, priorities=priorities)],
        server=server,
    )
