"""Programs that count, preempted twice each and run again, on a real server: each ends with the right count.

one vnode's 8 cores are all there is; alice's quota is 0, bob's 8

v1  alice counts 8 | bob 8 | alice counts on | bob 8 | alice counts on to the end
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hooks.pbs.job_attributes.victim_mark import MARK_KEY, read_marks
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.settings.site_settings import BackfillSettings, CheckpointSettings
from tests.hooks.deploy_on_testbed import LATE_S, deploy_and_drive, last_pass, quick_settings
from tests.pbs.cluster import PbsCluster
from tests.pbs.saving.checkpointing_test_jobs import (
    GRACE_S,
    SETTINGS,
    SIGNAL,
    STEP_S,
    counting,
    has_run,
    log_of,
    passes_with,
    preempt_by,
    read_counts,
    repeated,
    save_for,
    submit,
    tell_to_end,
    wait_until_it_counts,
    with_actions,
)

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "counting.sh"
PROFILE = ROOT / "hooks" / "scripts" / "profile.sh"
LONG_S = "01:00:00"
"""Long enough for a job to be restarted, to be told of, and to be checkpointed once more, on a busy machine too."""
EXAMPLE_GOAL = 150
PATIENT = CheckpointSettings(grace_s=60, cost_s=0)
"""More than the 40 s of the script."""
KILLED = 256 + 9
"""What PBS says of a job that was dumped and restored: the end that the dump made."""
RANKING = RankingSettings(interval_s=5)
"""How often the MoMs' hook looks, and so how soon a restarted job can be checkpointed again."""


PLAIN = f"""#!/bin/bash
count=0
while [ ! -e "counting.${{PBS_JOBID%%.*}}.end" ]; do
    sleep {STEP_S}
    count=$((count + 1))
    echo $count
    echo $count >> counting.${{PBS_JOBID%%.*}}.log
done
"""
"""A program that counts and knows nothing of saving."""


@pytest.fixture
def cluster(pbs: PbsCluster) -> PbsCluster:
    """One vnode that pbsteer drives, with quotas."""
    return drive_one_vnode(pbs, SETTINGS)


def drive_one_vnode(pbs: PbsCluster, checkpoint: CheckpointSettings) -> PbsCluster:
    for vnode in pbs.mom_names[1:]:
        pbs.run(["pbsnodes", "-o", vnode]).demand_success()
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=0],[u:bob=8]'")
    deploy_and_drive(pbs, quick_settings(checkpoint=checkpoint, ranking=RANKING))
    return pbs


@pytest.fixture
def checkpointing(pbs: PbsCluster) -> Iterator[PbsCluster]:
    """The same, with the checkpoint script in the MoM's configuration as docs/saving.md says, and the time that it may
    need."""
    with with_actions(drive_one_vnode(pbs, PATIENT), "save", "restart"):
        yield pbs


@pytest.fixture
def checkpointing_any(request: pytest.FixtureRequest) -> Iterator[PbsCluster]:
    """The same, with CRIU: $PBSTEER_CRIU, else the one in the PATH. Skipped where none works."""
    criu = shutil.which(os.environ.get("PBSTEER_CRIU", "criu"))
    if criu is None or subprocess.run([criu, "check"], capture_output=True, check=False).returncode:
        pytest.skip(f"no CRIU that works here ($PBSTEER_CRIU, or criu in the PATH): {criu}")
    status = Path("/proc/self/status").read_text()
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    if f"CapBnd:\t{(2 << last) - 1:016x}" not in status:
        pytest.skip("root lacks capabilities here, so CRIU cannot restore as a user (docs/saving.md)")
    cluster = drive_one_vnode(request.getfixturevalue("pbs"), PATIENT)
    with with_actions(cluster, "dump", "restore", criu):
        yield cluster


@pytest.mark.parametrize("exit_status", [85, 0, 3])
def test_a_program_that_saves_and_ends_by_itself_repeats_nothing(cluster: PbsCluster, exit_status: int) -> None:
    job = submit(cluster, counting(f"save; exit {exit_status}"), *SIGNAL)
    preempt_by(cluster, job)
    preempt_by(cluster, job)
    assert repeated(cluster, job) == 0
    assert cluster.job(job)["run_count"] == 3
    assert len(passes_with(cluster, "asked", job)) == 2
    assert passes_with(cluster, "requeued", job) == []


def test_a_program_that_saves_and_runs_on_is_requeued_when_its_time_is_over(cluster: PbsCluster) -> None:
    job = submit(cluster, counting("save"), *SIGNAL)
    preempt_by(cluster, job)
    preempt_by(cluster, job)
    assert repeated(cluster, job) <= 2 * (GRACE_S + 4) / STEP_S
    assert len(passes_with(cluster, "asked", job)) == 2
    for asked_s in passes_with(cluster, "asked", job):
        requeued_s = min(at_s for at_s in passes_with(cluster, "requeued", job) if at_s > asked_s)
        assert GRACE_S - 1 <= requeued_s - asked_s <= GRACE_S + LATE_S


def test_a_program_that_does_not_listen_repeats_what_came_after_its_last_save(cluster: PbsCluster) -> None:
    job = submit(cluster, counting(":", every=5), *SIGNAL)
    preempt_by(cluster, job)
    assert 0 <= repeated(cluster, job) <= 5


@pytest.mark.parametrize(("at_signal", "is_credited"), [("save; exit 85", True), (":", False)])
def test_a_job_that_ignores_the_signal_counts_as_one_that_saved_nothing(
    cluster: PbsCluster, at_signal: str, is_credited: bool
) -> None:
    """The mark stays on the job: what it says is saved is taken off the walltime that the next run is planned with."""
    job = submit(cluster, counting(at_signal), *SIGNAL)
    preempt_by(cluster, job)
    mark = read_marks({MARK_KEY: cluster.job(job)["estimated"]["site"]})[None]
    assert mark.how == "signal"
    assert (mark.saved_before(None) > 0) is is_credited
    assert bool(passes_with(cluster, "requeued", job)) is not is_credited


@pytest.mark.takes(120)
@pytest.mark.parametrize("kind", ["program", "script"])
def test_a_job_that_pbs_checkpoints_repeats_nothing(checkpointing: PbsCluster, kind: str) -> None:
    checkpoint_twice(checkpointing, counting("save; exit 0"), kind)


@pytest.mark.parametrize("kind", ["program", "script"])
def test_a_job_that_knows_nothing_of_saving_repeats_nothing_where_there_is_criu(
    checkpointing_any: PbsCluster, kind: str
) -> None:
    job = checkpoint_twice(checkpointing_any, PLAIN, kind, exit_status=KILLED)
    counts = read_counts(log_of(checkpointing_any, job))
    assert checkpointing_any.read_output("alice", job).split() == [str(count) for count in counts]


def checkpoint_twice(pbs: PbsCluster, program: str, kind: str, exit_status: int = 0) -> str:
    """Have PBS checkpoint a job twice; it ends with the right count, each step done once, and is seen to end."""
    wish = ("-l", "pbsteer_save=checkpoint")
    if kind == "program":
        job = submit(pbs, program, *wish, walltime=LONG_S)
    else:
        job = pbs.qsub("alice", program, select="1:ncpus=8", walltime=LONG_S, options=wish)
    for _ in range(2):
        bobs = save_for(pbs, job)
        pbs.run(["qdel", bobs]).demand_success()
        pbs.wait_for_state(job, "R")
    assert repeated(pbs, job, exit_status=exit_status) == 0
    assert pbs.job(job)["run_count"] == 1, "it was restarted, and not run again"
    assert len(passes_with(pbs, "asked", job)) == 2
    assert len(passes_with(pbs, "released", job)) == 2
    return job


@pytest.mark.takes(60)
def test_a_job_whose_restart_fails_is_queued_again(checkpointing: PbsCluster) -> None:
    pbs = checkpointing
    job = submit(pbs, counting("save; exit 0"), "-l", "pbsteer_save=checkpoint")
    bobs = save_for(pbs, job)
    saved = pbs.testbed.pbs_home(pbs.spec.mom_hosts[0]) / "checkpoint" / f"{job}.CK" / "00000001"
    saved.write_text("cut of", encoding="utf-8")
    pbs.run(["qdel", bobs]).demand_success()
    assert repeated(pbs, job) == 0
    logs = (pbs.testbed.pbs_home(pbs.spec.mom_hosts[0]) / "mom_logs").iterdir()
    assert any("could not be started again" in log.read_text(errors="replace") for log in logs)


def test_a_job_that_is_only_requeued_repeats_what_came_after_its_last_save(cluster: PbsCluster) -> None:
    job = submit(cluster, counting("exit 1", every=5))
    preempt_by(cluster, job)
    preempt_by(cluster, job)
    assert 0 <= repeated(cluster, job) <= 10
    assert passes_with(cluster, "asked", job) == []


def test_the_example_of_the_documentation_does_what_it_says(cluster: PbsCluster) -> None:
    profile = Path(cluster.testbed.home("alice")) / ".profile"
    profile.write_text(PROFILE.read_text(encoding="utf-8"), encoding="utf-8")
    script = EXAMPLE.read_text(encoding="utf-8").replace("${GOAL:-60}", str(EXAMPLE_GOAL))
    script = script.replace("${STEP_S:-1}", str(STEP_S))
    job = cluster.qsub("alice", script, select="1:ncpus=8")
    preempt_by(cluster, job)
    preempt_by(cluster, job)
    profile.unlink()
    assert repeated(cluster, job, EXAMPLE_GOAL) == 0


def test_a_job_that_nobody_asked_ends_whatever_its_exit_status(cluster: PbsCluster) -> None:
    job = cluster.qsub("alice", ("/bin/sh", "-c", "exit 85"), options=("-l", "pbsteer_save=signal"))
    assert cluster.wait_for_state(job, "F")["Exit_status"] == 85
    assert cluster.job(job)["run_count"] == 1


def test_a_job_that_is_deleted_while_it_saves_is_gone(cluster: PbsCluster) -> None:
    job = submit(cluster, counting(":"), *SIGNAL)
    wait_until_it_counts(cluster, job)
    cluster.qsub("bob", ("/bin/sleep", "3"), select="1:ncpus=8")
    cluster.wait_until(lambda: passes_with(cluster, "asked", job), 120.0, "it is asked to save")
    cluster.run(["qdel", job], user="alice").demand_success()
    ended: dict[str, Any] = cluster.wait_for_state(job, "F")
    assert ended["run_count"] == 1


def test_subjobs_are_asked_too(cluster: PbsCluster) -> None:
    array = submit(cluster, counting("save; exit 0"), "-J", "1-2", *SIGNAL, select="1:ncpus=4")
    subjobs = [array.replace("[]", f"[{index}]") for index in (1, 2)]
    for subjob in subjobs:
        wait_until_it_counts(cluster, subjob)
    bobs = cluster.qsub("bob", ("/bin/sleep", "3"), select="1:ncpus=8")
    cluster.wait_for_state(bobs, "F")
    for subjob in subjobs:
        tell_to_end(cluster, subjob)
    cluster.wait_for_state(array, "F")
    for subjob in subjobs:
        assert passes_with(cluster, "asked", subjob)
        counts = read_counts(log_of(cluster, subjob))
        assert counts == list(range(1, len(counts) + 1))


@pytest.mark.takes(90)
def test_the_second_part_of_a_job_that_was_cut_for_a_promise_runs_after_the_head(pbs: PbsCluster) -> None:
    """The picture of P3 (tests/pbs/saving/test_backfilled_job_cut_for_promise.py draws it); the program saves, so E
    goes on."""
    shrunk = BackfillSettings(kind="checkpoint", shrink_factor=0.2, shrink_threshold_s=30)
    deploy_and_drive(pbs, quick_settings(backfill=shrunk, checkpoint=CheckpointSettings(grace_s=GRACE_S, cost_s=0)))
    b = pbs.qsub("alice", ("/bin/sleep", "40"), select="2:ncpus=8", walltime="00:00:50")
    pbs.wait_for_state(b, "R")
    c = pbs.qsub("bob", ("/bin/sleep", "5"), select="3:ncpus=8", walltime="00:00:20")
    pbs.wait_until(lambda: [each["job"] for each in last_pass(pbs)["estimates"]] == [c], 120.0, "C is promised a start")
    (estimate,) = last_pass(pbs)["estimates"]
    goal = 250
    e = submit(pbs, counting("save; exit 85", goal=goal), *SIGNAL, walltime="00:02:00")
    pbs.wait_for_state(e, "R")
    pbs.wait_for_state(c, "F")
    (asked_s,) = passes_with(pbs, "asked", e)
    (started_s,) = passes_with(pbs, "started", c)
    assert estimate["promised_s"] - GRACE_S <= asked_s < started_s <= estimate["promised_s"] + LATE_S
    pbs.wait_until(lambda: has_run(pbs, e, 2), 120.0, "E runs again")
    assert repeated(pbs, e, goal) == 0
