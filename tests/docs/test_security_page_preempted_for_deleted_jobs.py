"""The figures of docs/security.md on jobs that are deleted once others were preempted for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policy import Ledger, Run, Settings, decide
from policy.model.jobs_runs_vnodes_queues import Job
from policy.settings.site_settings import CheckpointSettings, QuotaSettings
from tests.policy.clusters import cluster, job, place_of, queue, started, victims, vnode

PAGE = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
HOUR_S, PASS_S = 3600.0, 15.0
UNCONFINED = {"max_preemptions": 3, "confine_unpreemptible": False}


def attack(settings: Settings) -> tuple[int, float]:
    """For ten hours alice, within quota, submits a job whenever bob's over quota runs, and deletes it once that was
    preempted for it: how often it was, and the hours of its work that are done then."""
    queues, vnodes = [queue("[u:alice=8],[u:PBS_GENERIC=0]")], [vnode("v1", 8)]
    ledger, bobs, now_s, count = Ledger(), job("1", "bob", "8", 20 * HOUR_S), 0.0, 0
    run: Run | None = Run("1", bobs, now_s, place_of("v1=8"), bobs.estimate_s)
    alices: list[Job] = []
    while now_s < 10 * HOUR_S:
        now_s += PASS_S
        if run is not None and not alices:
            alices = [job(str(now_s), "alice", "8", 60, now_s)]
        waiting = [*alices, bobs] if run is None else alices
        runs = [] if run is None else [run]
        plan = decide(cluster(vnodes, waiting, runs, queues=queues, now_s=now_s), ledger, settings)
        ledger = plan.ledger
        if run is not None and victims(plan):
            saved_s = now_s - run.start_s - settings.checkpoint.charge_s(8) if settings.checkpoint.saves else 0.0
            bobs, run, alices, count = bobs._replace(saved_s=bobs.saved_s + saved_s), None, [], count + 1
        elif "1" in started(plan):
            run = Run("1", bobs, now_s, place_of("v1=8"), now_s + bobs.left_s)
    return count, (bobs.saved_s + (0.0 if run is None else now_s - run.start_s)) / HOUR_S


@pytest.mark.parametrize(
    ("words", "quota"),
    [
        ("as installed", {}),
        ("`exempt_s = 1800`", {"exempt_s": 1800}),
        ("`exempt_s = 7200`", {"exempt_s": 7200}),
        ("`delay_s = 600`", {"delay_s": 600}),
        ("`max_preemptions = 3`", {"max_preemptions": 3}),
        ("`max_preemptions = 3`, `confine_unpreemptible = false`", UNCONFINED),
    ],
)
def test_the_page_has_what_is_left_of_a_run(words: str, quota: dict[str, Any]) -> None:
    found = [
        attack(Settings(quota=QuotaSettings(**quota), checkpoint=CheckpointSettings(saves=s))) for s in (False, True)
    ]
    (count, anew_h), (again, saving_h) = found
    assert count == again
    shown = [f"{hours:.1f} h" if hours > 0.05 else "nothing" for hours in (anew_h, saving_h)]
    assert f"| {words} | {count:,} | {' | '.join(shown)} |" in PAGE
