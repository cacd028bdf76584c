"""Starts on a real server: what the runjob hook refuses to PBS's scheduler, to a pass, and to an administrator."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from hooks.admission.start.refuse_striped_starts_too_close import STRIPE_STARTS
from hooks.deploy.bundle_hook import build
from hooks.store.event_hook_summary import SUMMARY
from policy.settings.ranking_and_stripe_settings import StripeSettings
from tests.hooks.deploy_on_testbed import deploy, deploy_and_drive, last_pass, quick_settings, wait_for_pass
from tests.pbs.cluster import PbsCluster

STAGGER_S = 15.0


def test_two_stripes_that_pbss_scheduler_starts_start_apart_on_a_node(pbs: PbsCluster) -> None:
    stripe = StripeSettings(layout="stripe", stagger_s=STAGGER_S)
    deploy(pbs, quick_settings("advise", stripe=stripe))
    pbs.qmgr("set server scheduler_iteration = 5")
    jobs = [pbs.qsub("alice", select="1:ncpus=4:mpiprocs=4", options=["-l", "pbsteer_width=3"]) for _ in range(2)]
    packed = pbs.qsub("alice", select="1:ncpus=2")
    for job_id in (*jobs, packed):
        pbs.wait_for_state(job_id, "R")
    starts = [time.mktime(time.strptime(pbs.job(job_id)["stime"])) for job_id in (*jobs, packed)]
    # Both begin within the second in which the hook let them, and PBS tells whole seconds.
    assert abs(starts[1] - starts[0]) >= STAGGER_S - 1
    assert starts[2] < max(starts[:2])
    by_hand = pbs.qsub("alice", select="1:ncpus=4:mpiprocs=4", options=["-l", "pbsteer_width=3", "-h"])
    pbs.qmgr("set server scheduling = False")
    pbs.run(["qrls", by_hand]).demand_success()
    place = "+".join(f"({vnode}:ncpus=1)" for vnode in pbs.mom_names)
    pbs.run(["qrun", "-H", place, by_hand]).demand_success()
    noted = json.loads((pbs.server_home / "pbsteer" / STRIPE_STARTS).read_text())
    assert sorted(noted) == sorted(pbs.mom_names)


def test_stripes_of_a_pass_start_apart_and_none_is_refused_by_the_guard(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings(stripe=StripeSettings(layout="stripe", stagger_s=STAGGER_S)))
    jobs = [pbs.qsub("alice", select="3:ncpus=2:mpiprocs=2", options=["-l", "pbsteer_width=3"]) for _ in range(2)]
    for job_id in jobs:
        pbs.wait_for_state(job_id, "R")
        assert last_pass(pbs)["failures"] == []
    starts = [time.mktime(time.strptime(pbs.job(job_id)["stime"])) for job_id in jobs]
    assert abs(starts[1] - starts[0]) >= STAGGER_S - 2


def test_an_administrator_may_start_a_job_on_an_offline_vnode(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("advise"))
    pbs.qmgr("set server scheduling = False")
    vnode = pbs.mom_names[0]
    pbs.run(["pbsnodes", "-o", vnode]).demand_success()
    job_id = pbs.qsub("alice")
    pbs.run(["qrun", "-H", f"({vnode}:ncpus=1)", job_id]).demand_success()
    pbs.wait_for_state(job_id, "R")


def test_an_amount_that_another_vnode_counts_keeps_no_job_from_starting(pbs: PbsCluster) -> None:
    first, second = pbs.mom_names[:2]
    pbs.qmgr(
        "create resource seats type=long, flag=nh",
        f"set node {first} resources_available.seats = 4",
        f"set node {second} resources_available.seats = @{first}",
    )
    deploy(pbs, quick_settings("advise"))
    pbs.qmgr("set server scheduling = False")
    for _ in range(2):
        job_id = pbs.qsub("alice", select="1:ncpus=1:seats=2")
        pbs.run(["qrun", "-H", f"({second}:ncpus=1:seats=2)", job_id]).demand_success()
        pbs.wait_for_state(job_id, "R")
    too_large = pbs.qsub("alice", select=f"1:ncpus={pbs.spec.cores}:seats=1")
    refused = pbs.run(["qrun", "-H", f"({second}:ncpus={pbs.spec.cores}:seats=1)", too_large])
    assert "there is no room" in refused.stderr


def break_file(path: Path, how: str) -> None:
    """Leave a file as nobody should."""
    if path.is_dir():
        path.rmdir()
    elif path.exists():
        path.unlink()
    if how == "a folder":
        path.mkdir()
    elif how != "missing":
        contents: dict[str, Any] = {
            "empty": "",
            "cut off": '{"queues": {"workq": {"mode": "adv',
            "of wrong types": json.dumps({"queues": [1], "default_queue": 7, "backfill": 3, "past": None}),
            "a list": "[]",
            "huge": json.dumps({"queues": {f"q{number}": {} for number in range(300_000)}}),
            "no text": "\udcff".encode("utf-8", "surrogateescape") * 1000,
        }
        content = contents.get(how, "{}")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if how == "unreadable":
        path.chmod(0)


BROKEN = ("missing", "empty", "cut off", "of wrong types", "a list", "huge", "no text", "a folder", "unreadable")


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["summary", "config"])
def test_files_broken_in_any_way_hold_up_no_submission_alteration_or_start(pbs: PbsCluster, broken: str) -> None:
    deploy(pbs, quick_settings("advise", stripe=StripeSettings(layout="stripe", stagger_s=1)))
    pbs.qmgr("set server scheduling = False", "set hook pbsteer_periodic enabled = False")
    wait_s = time.monotonic() + 3
    pbs.wait_until(lambda: time.monotonic() > wait_s, 120.0, "a pass under way to end")
    hooks = pbs.server_home / "server_priv" / "hooks"
    events = ("queuejob", "modifyjob", "runjob")
    files = (
        [pbs.server_home / "pbsteer" / SUMMARY]
        if broken == "summary"
        else [hooks / f"pbsteer_{event}.CF" for event in events]
    )
    before = len(pbs.server_log())
    for how in BROKEN:
        for path in files:
            break_file(path, how)
        job_id = pbs.qsub("alice", ("/bin/sleep", "1"), select="1:ncpus=2:mpiprocs=2", walltime="10:00:00")
        pbs.run(["qalter", "-l", "walltime=05:00:00", job_id], user="alice").demand_success()
        pbs.run(["qrun", "-H", f"({pbs.mom_names[0]}:ncpus=2)", job_id]).demand_success()
        pbs.wait_for_state(job_id, "F")
    failed = pbs.server_log()[before:]
    if broken == "summary":
        assert all(f"the {event} hook failed and lets PBS go on" in failed for event in events)
    for path in files:
        break_file(path, "missing")


@pytest.mark.slow
def test_a_stripe_starts_file_broken_in_any_way_holds_up_no_start(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("advise", stripe=StripeSettings(layout="stripe", stagger_s=1)))
    path = pbs.server_home / "pbsteer" / STRIPE_STARTS
    for how in BROKEN:
        break_file(path, how)
        job_id = pbs.qsub("alice", ("/bin/sleep", "1"), select="1:ncpus=2:mpiprocs=2")
        assert pbs.wait_for_state(job_id, "F")["Exit_status"] == 0
        shutil.rmtree(path) if path.is_dir() else None


@pytest.mark.parametrize("event", ["queuejob", "modifyjob", "runjob"])
def test_pbss_alarm_holds_up_no_request(pbs: PbsCluster, tmp_path: Path, event: str) -> None:
    """PBS interrupts a hook that takes too long, and refuses the request unless the hook ends well all the same."""
    deploy(pbs, quick_settings("advise"))
    pbs.qmgr("set server scheduling = False")
    before = len(pbs.server_log())
    start = "def handle(pbs: Any) -> str | None:"
    text = build(event)
    endless = text.replace(start, f"{start}\n    while pbs:\n        pass", 1)
    assert endless != text
    (tmp_path / "endless.py").write_text(endless)
    hook = f"pbsteer_{event}"
    pbs.qmgr(f"import hook {hook} application/x-python default {tmp_path / 'endless.py'}", f"set hook {hook} alarm = 2")
    job_id = pbs.qsub("alice", ("/bin/sleep", "1"))
    pbs.run(["qalter", "-l", "walltime=05:00:00", job_id], user="alice").demand_success()
    pbs.run(["qrun", "-H", f"({pbs.mom_names[0]}:ncpus=1)", job_id]).demand_success()
    assert pbs.wait_for_state(job_id, "F")["Exit_status"] == 0
    log = pbs.server_log()[before:]
    assert f"the {event} hook failed and lets PBS go on" in log
    assert "KeyboardInterrupt" in log
    whose = "root" if event == "runjob" else "alice"
    assert f"the {event} hook failed and lets PBS go on (a request of {whose}@{pbs.spec.server.name}" in log
    wait_for_pass(pbs)
