"""The file of reasons has each waiting job of the queues that passes act in, once, in words that stay true."""

from __future__ import annotations

from functools import partial

import pytest

from hooks.pbs.job_attributes.job_comment_format import show_moment
from hooks.record import job_reasons
from hooks.record.job_reasons import describe_reasons
from hooks.translate.snapshot import translate
from policy.cycle.engine import decide
from policy.model.ledger_between_passes import Ledger
from policy.plan.plan_types import Plan
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, QuotaSettings, Settings
from tests.bench.test_pass_seconds_by_cluster_size import busy_cluster
from tests.hooks.sample_server_statuses import job, queue, server_status
from tests.policy import clusters

FULL = {
    "1.s": job(cores=99),
    "2.s": job("H", Hold_Types="u"),
    "3.s": job("H", Hold_Types="u", user="bob"),
    "4.s": job("H", Hold_Types="u", queue="other"),
}


def plan_of(modes: dict[str, str]) -> Plan:
    cluster = server_status(FULL, queues={name: queue(mode) for name, mode in modes.items()})
    return decide(translate(cluster, Settings()).snapshot, Ledger(), Settings())


def test_jobs_with_the_same_text_share_one_entry() -> None:
    modes = {"workq": "drive", "other": "advise"}
    lines = describe_reasons(plan_of(modes), modes)
    (held,) = [entry for entry in lines if entry["code"] == "blocked"]
    assert held["jobs"] == ["2.s", "3.s", "4.s"]
    assert "its owner" in held["text"]


def test_jobs_of_queues_that_are_only_observed_are_left_out() -> None:
    modes = {"workq": "drive", "other": "observe"}
    lines = describe_reasons(plan_of(modes), modes)
    assert sorted(job for entry in lines for job in entry["jobs"]) == ["1.s", "2.s", "3.s"]


def test_beyond_the_bound_only_codes_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_reasons, "MOST_TEXTS", 1)
    modes = {"workq": "drive", "other": "drive"}
    lines = describe_reasons(plan_of(modes), modes)
    assert sorted(bool(entry["text"]) for entry in lines) == [False, True]
    assert sum(len(entry["jobs"]) for entry in lines) == 4


def test_each_job_has_the_sentence_that_its_own_reason_gives() -> None:
    """Sentences are written once for jobs of one kind: nothing that differs between them may be in it."""
    plan = decide(busy_cluster(20, 400), Ledger(), Settings())
    reasons, moment = plan.reasons(), partial(show_moment, now_s=plan.time_s)
    lines = describe_reasons(plan, {"workq": "drive"})
    written = {job_id: (entry["code"], entry["text"]) for entry in lines for job_id in entry["jobs"]}
    assert written == {
        job_id: (reason.code, reason.sentence(job, plan.time_s, moment=moment)[: job_reasons.LONGEST_TEXT])
        for job_id, (job, reason) in reasons.items()
    }


def test_no_text_names_a_walltime_that_would_do_only_at_the_moment_of_the_pass() -> None:
    """Where estimates are shrunk, the longest such walltime depends on the job as well: the console tells it, by its
    own plan."""
    settings = Settings(
        backfill=BackfillSettings(kind="checkpoint", shrink_factor=0.5, shrink_threshold_s=60),
        checkpoint=CheckpointSettings(saves=True),
        quota=QuotaSettings(exempt_s=0),
    )
    plan = decide(
        clusters.cluster(
            [clusters.vnode("v1", 8)],
            [clusters.job("3", "bob", "4"), clusters.job("4", "carol", "2", 900)],
            [clusters.run("1", "alice", "v1=4", 0, 500), clusters.run("2", "alice", "v1=2", 0, 300)],
        ),
        Ledger(),
        settings,
    )
    (text,) = [line["text"] for line in describe_reasons(plan, {"workq": "drive"}) if line["code"] == "backfill-window"]
    assert "its estimate of 15 min" in text
    assert "walltime" not in text
    waiting, reason = plan.reasons()["4"]
    assert "a walltime of at most" in reason.sentence(waiting, plan.time_s)
