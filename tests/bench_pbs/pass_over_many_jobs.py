"""A pass over thousands of waiting jobs: how long until its first start, and how long other clients wait meanwhile."""

from __future__ import annotations

from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import Settings
from tests.bench_pbs.benchmark_result import Figure, median, percentile
from tests.bench_pbs.testbed import Caller, calling, job_attributes, open_site, script, without_hooks
from tests.hooks.deploy_on_testbed import deploy, state_of
from tests.pbs.cluster import PbsCluster

SHAPES = 40
"""Different selects among the waiting jobs."""

_PING_PAUSE_S = 0.002


def measure(jobs: int = 5000, vnodes: int = 1000) -> list[Figure]:
    """``jobs`` waiting on ``vnodes`` vnodes, all of them idle before the pass."""
    moms = 4
    with (
        open_site(moms=moms, vnodes=vnodes // moms) as pbs,
        calling(pbs, "alice") as submitter,
        calling(pbs) as watcher,
    ):
        quiet = watcher.ask("watch", seconds=10, pause_s=_PING_PAUSE_S)["latencies"]
        with without_hooks(pbs):
            ours = _measure_drive(pbs, submitter, watcher, jobs)
            entry = next(each for each in state_of(pbs).read_journal(1000) if each["started"])
        with without_hooks(pbs):
            theirs = _measure_sched(pbs, submitter, watcher, jobs)
    note = f"{jobs:,} jobs waiting, {vnodes:,} vnodes"
    seconds = entry["seconds"]
    return [
        Figure("pass: reading the server", seconds["read_s"], "s", note=note),
        Figure("pass: deciding, and the ledger on disk", seconds["decide_s"], "s", note=note),
        Figure("pass: until the first start", seconds["read_s"] + seconds["decide_s"], "s", 1.0, note=note),
        Figure("pass: acting", seconds["act_s"], "s", note=f"{len(entry['started'])} starts"),
        *_pauses("quiet server", quiet),
        *_pauses("during pbsteer's passes", ours),
        *_pauses("during pbs_sched's cycle, the same jobs", theirs),
    ]


def _pauses(what: str, latencies: list[float]) -> list[Figure]:
    note = f"{len(latencies):,} requests"
    return [
        Figure(f"another client's answer, {what}: median", median(latencies) * 1000, "ms", note=note),
        Figure(f"another client's answer, {what}: 99th percentile", percentile(latencies, 99) * 1000, "ms"),
        Figure(f"another client's answer, {what}: longest", max(latencies) * 1000, "ms"),
    ]


def _measure_drive(pbs: PbsCluster, submitter: Caller, watcher: Caller, jobs: int) -> list[float]:
    pbs.qmgr("set server scheduling = False")
    deploy(pbs, Settings(schedule=ScheduleSettings(interval_s=10, budget_s=8)))
    _submit(pbs, submitter, jobs)
    watcher.send("watch", seconds=25, pause_s=_PING_PAUSE_S)
    pbs.qmgr("set queue workq resources_available.pbsteer_mode = drive")
    return list(watcher.answer()["latencies"])


def _measure_sched(pbs: PbsCluster, submitter: Caller, watcher: Caller, jobs: int) -> list[float]:
    pbs.qmgr("set server scheduling = False")
    _submit(pbs, submitter, jobs)
    watcher.send("watch", seconds=25, pause_s=_PING_PAUSE_S)
    pbs.qmgr("set server scheduling = True")
    return list(watcher.answer()["latencies"])


def _submit(pbs: PbsCluster, submitter: Caller, jobs: int) -> None:
    for shape in range(SHAPES):
        select = f"{1 + shape % 5}:ncpus={1 + shape % 8}:mem={1 + shape}gb"
        attributes = job_attributes(select, f"{1 + shape % 12:02}:00:00")
        submitter.ask("submit", attributes=attributes, count=jobs // SHAPES, script=script(pbs, 900), queue="workq")
