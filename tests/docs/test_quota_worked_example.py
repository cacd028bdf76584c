"""The worked example of docs/policies.md: the sentences printed there are the ones that the decision gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy import Ledger, Plan, Queue, Run, Settings, Snapshot, Vnode, decide, parse_request
from policy.model.allocation import parse_exec_vnode
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.limit_attributes import parse_limits
from policy.settings.site_settings import QuotaSettings

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")
NOW_S = 36_000
MINUTE_S = 60

RUNNING = (  # job, user, vnode, cores, minutes it has run
    ("11", "alice", "v1", 4, 60),
    ("12", "alice", "v1", 4, 30),
    ("13", "alice", "v2", 2, 10),
    ("14", "dave", "v2", 4, 20),
)
WAITING = (("21", "bob", 6), ("22", "alice", 4), ("23", "carol", 8), ("24", "dave", 1))  # job, user, cores


def wait(job_id: str, user: str, cores: int, submit_s: float) -> Job:
    request = parse_request(f"{cores}:ncpus=1", "")
    return Job(job_id, user, request, "workq", submit_s, 120 * MINUTE_S, sequence=int(job_id))


def cluster() -> Snapshot:
    runs = []
    for job_id, user, vnode, cores, minutes in RUNNING:
        start_s = NOW_S - minutes * MINUTE_S
        job = wait(job_id, user, cores, start_s)
        place = parse_exec_vnode(f"({vnode}:ncpus={cores})")
        runs.append(Run(job_id, job, start_s, place, start_s + job.estimate_s))
    return Snapshot.build(
        NOW_S,
        vnodes=[Vnode(name, {"ncpus": 8}) for name in ("v1", "v2")],
        queues=[Queue("workq", quotas=parse_limits("[u:alice=4],[u:bob=8],[u:carol=8]", "the example"))],
        jobs=[wait(job_id, user, cores, NOW_S - 5 * MINUTE_S) for job_id, user, cores in WAITING],
        runs=runs,
    )


def decision_lines(plan: Plan) -> list[str]:
    """What the pass decided: a line for each preempted run and each reason, as the page prints it."""
    lines = {}
    for preempt in plan.preempts:
        lines[preempt.id] = [preempt.reason.sentence(preempt.run.job, NOW_S)]
    for job_id, (job, reason) in plan.reasons().items():
        lines[job_id] = [one.sentence(job, NOW_S) for one in (reason, *reason.tried)]
    users = {job_id: user for job_id, user, *_ in (*RUNNING, *WAITING)}
    return [f"{job_id} {users[job_id]:<6} {line}" for job_id in sorted(lines) for line in lines[job_id]]


def test_page_prints_the_pass() -> None:
    lines = decision_lines(decide(cluster(), Ledger(), Settings()))
    assert "\n".join(lines) in PAGE


@pytest.mark.parametrize(
    ("settings", "job_id"),
    [
        (QuotaSettings(exempt_s=45 * MINUTE_S), "11"),
        (QuotaSettings(exempt_s=120 * MINUTE_S), "21"),
        (QuotaSettings(delay_s=10 * MINUTE_S), "21"),
    ],
)
def test_page_prints_what_a_setting_changes(settings: QuotaSettings, job_id: str) -> None:
    lines = decision_lines(decide(cluster(), Ledger(), Settings(quota=settings)))
    about = [line for line in lines if line.startswith(job_id)]
    assert about
    assert "\n".join(about) in PAGE
