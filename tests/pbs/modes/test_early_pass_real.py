"""In drive a pass comes ahead of its time on a real server: jobs that come between two passes need not wait."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator

import pytest

from hooks.store.wake_up_fifo import FIFO, open_fifo
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import Settings
from tests.hooks.deploy_on_testbed import (
    deploy,
    last_pass,
    make_deployment,
    set_mode,
    state_of,
    wait_for_due_pass,
)
from tests.pbs.cluster import PbsCluster

pytestmark = pytest.mark.slow

INTERVAL_S = 20
SHORT_S = 5
ATTEMPTS = 5


def drive(pbs: PbsCluster) -> None:
    """Passes of a long interval; the first ones come quickly, so that they drive at once."""
    deploy(pbs, Settings(schedule=ScheduleSettings(interval_s=2, budget_s=1.5)))
    pbs.qmgr("set queue workq resources_available.pbsteer_mode = drive")
    pbs.wait_until(lambda: last_pass(pbs).get("acted") == ["workq"], 120.0, "a pass that drives")
    deploy(pbs, Settings(schedule=ScheduleSettings(interval_s=INTERVAL_S, budget_s=10)))


def wait_for_pass(pbs: PbsCluster) -> None:
    seen_s = last_pass(pbs)["time_s"]
    pbs.wait_until(lambda: last_pass(pbs)["time_s"] > seen_s, 120.0, "a pass")


def is_ahead(pbs: PbsCluster, job: str) -> bool:
    """Whether the pass that started the job came sooner after the one before than PBS runs the hook."""
    entries = sorted(state_of(pbs).read_journal(1000), key=lambda entry: entry["time_s"])
    before, entry = next(pair for pair in itertools.pairwise(entries) if job in pair[1]["started"])
    return bool(entry["time_s"] - before["time_s"] < INTERVAL_S - 2)


def test_a_job_that_comes_between_two_passes_is_started_by_one_ahead_of_its_time(pbs: PbsCluster) -> None:
    drive(pbs)
    for _ in range(ATTEMPTS):
        wait_for_pass(pbs)
        job = pbs.qsub("alice", select="1:ncpus=1")
        pbs.wait_for_state(job, "R")
        # Where the machine was busy with other things until the next pass was due, that one starts the job.
        if is_ahead(pbs, job):
            return
    raise AssertionError(f"all {ATTEMPTS} jobs waited for a pass that was due")


def read_children(pbs: PbsCluster) -> list[str]:
    """The processes that are the server's children."""
    servers = set(pbs.run(["pgrep", "-x", "pbs_server.bin"]).stdout.split())
    lines = pbs.run(["ps", "-eo", "ppid=,pid=,comm="]).stdout.splitlines()
    found = [line.split() for line in lines if line.endswith("pbs_server.bin")]
    return [child for parent, child, _ in found if parent in servers]


def test_a_submission_to_a_driven_queue_writes_to_the_fifo_on_which_the_pass_waits(pbs: PbsCluster) -> None:
    fifo = state_of(pbs).path / FIFO
    drive(pbs)

    def is_waited_on() -> bool:
        links = (pbs.run(["sh", "-c", f"readlink /proc/{child}/fd/*"]).stdout for child in read_children(pbs))
        return any(str(fifo) in link.split() for link in links)

    pbs.wait_until(is_waited_on, 120.0, "a process that has the FIFO open")
    # The process has the old one open, so it takes nothing of what is written into the new one.
    fifo.unlink()
    os.mkfifo(fifo, 0o600)
    descriptor = open_fifo(str(fifo.parent))
    assert descriptor is not None
    try:
        for number in (1, 2):
            pbs.qsub("alice", select="1:ncpus=1", options=["-h"])
            assert os.read(descriptor, 64) == b"\n", f"submission {number}"
        set_mode(pbs, "observe")
        wait_for_due_pass(pbs)
        pbs.qsub("alice", select="1:ncpus=1", options=["-h"])
        with pytest.raises(BlockingIOError):
            os.read(descriptor, 64)
    finally:
        os.close(descriptor)


def test_no_pass_comes_of_hooks_that_are_gone(pbs: PbsCluster) -> None:
    """The process of the last pass is there for some time yet, and must not write again where nothing shall be left."""
    drive(pbs)
    wait_for_pass(pbs)
    make_deployment(pbs).remove(lambda _: None)
    job = pbs.qsub("alice", select="1:ncpus=1")
    pbs.wait_for_state(job, "R")
    assert not state_of(pbs).path.exists()


BROKEN_HOST = 'import pbs\npbs.event().reject("this host is broken")\n'


@pytest.fixture
def broken_hosts(pbs: PbsCluster) -> Iterator[None]:
    """Hosts on which every start fails at once, whereupon PBS queues the job again."""
    path = pbs.server_home / "broken.py"
    path.write_text(BROKEN_HOST, encoding="ascii")
    pbs.qmgr("create hook broken event=execjob_begin", f"import hook broken application/x-python default {path}")
    yield
    pbs.qmgr("delete hook broken")


@pytest.mark.takes(85)
@pytest.mark.usefixtures("broken_hosts")
def test_a_job_whose_starts_fail_at_once_is_started_by_the_passes_that_are_due_alone(pbs: PbsCluster) -> None:
    """PBS holds a job for ever after twenty starts: passes ahead of their time would come to that within a minute."""
    drive(pbs)
    job = pbs.qsub("alice", select="1:ncpus=1")
    pbs.wait_until(lambda: pbs.job(job).get("run_count", 0) >= 1, 120.0, "a start that fails")
    begun, since_s = pbs.job(job)["run_count"], last_pass(pbs)["time_s"]
    while last_pass(pbs)["time_s"] < since_s + 2.5 * INTERVAL_S:
        # Another that comes, which is what brings passes ahead of their time.
        pbs.qsub("alice", select="1:ncpus=1", options=["-h"])
        time.sleep(2)
    entries = [entry for entry in state_of(pbs).read_journal(1000) if entry["time_s"] > since_s]
    assert len(entries) <= 3 + 1, "the journal is silent about passes that do nothing"
    assert 1 <= pbs.job(job)["run_count"] - begun <= 3


def test_while_jobs_start_one_process_makes_the_passes_of_many_intervals(pbs: PbsCluster) -> None:
    """PBS needs a second or more to make another process, in which cores would be idle."""
    deploy(pbs, Settings(schedule=ScheduleSettings(interval_s=SHORT_S, budget_s=2)))
    pbs.qmgr("set queue workq resources_available.pbsteer_mode = drive")
    pbs.wait_until(lambda: last_pass(pbs).get("acted") == ["workq"], 120.0, "a pass that drives")
    pbs.qsub("alice", ("/bin/true",), select="1:ncpus=1", options=("-J", "1-3000"))

    def read_ages_s() -> list[int]:
        """How long each process has been there that is the server's child."""
        children = set(read_children(pbs))
        found = [line.split() for line in pbs.run(["ps", "-eo", "pid=,etimes="]).stdout.splitlines()]
        return [int(age_s) for process, age_s in found if process in children]

    pbs.wait_until(lambda: max(read_ages_s(), default=0) >= 4 * SHORT_S, 240.0, "a process of four intervals")


ENDLESS = """
import signal, time
import pbs
left_s, _ = signal.getitimer(signal.ITIMER_REAL)
if not 50 < left_s <= 60:
    pbs.event().reject("PBS's alarm is another timer: %r" % left_s)
signal.setitimer(signal.ITIMER_REAL, 1.0)
ends_s = time.time() + 30
while time.time() < ends_s:
    pass
pbs.event().reject("it was not interrupted")
"""


def test_pbss_alarm_is_the_timer_that_a_process_sets_anew(pbs: PbsCluster) -> None:
    path = pbs.server_home / "endless.py"
    path.write_text(ENDLESS, encoding="ascii")
    pbs.qmgr(
        "create hook endless event=queuejob",
        f"import hook endless application/x-python default {path}",
        "set hook endless alarm = 60",
    )
    done = pbs.try_qsub("alice")
    assert done.status != 0
    assert "got an alarm call" in done.stderr
