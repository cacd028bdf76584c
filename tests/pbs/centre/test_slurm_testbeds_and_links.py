"""A real centre of two Slurm clusters: jobs run, servers meet by SSH, and links are cut and slowed."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from container import testbed as testbeds
from container.centre import centre as centres
from container.centre.centre import Centre
from container.centre.centre_spec import Programs
from container.run_program import Finished
from container.slurm.slurm_conf import CONF
from container.testbed import Testbed, run_on
from container.testbed_spec import TestbedError
from migration.programs import run_external_program_with_limits as programs
from migration.programs.run_external_program_with_limits import Run
from migration.schedulers.scheduler_interface import LocalJob
from migration.schedulers.slurm import SlurmScheduler
from policy.migration.job_demand import Demand
from tests.pbs.idle_machine_deadline import Deadline


def ssh(centre: Centre, one: str, other: str) -> Finished:
    to = f"mg@{centre.spec.find(other).testbed.name}"
    options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=2", "-o", "StrictHostKeyChecking=yes"]
    return run_on(centre.clusters[one], "server", ["ssh", *options, to, "true"], user="mg")


def run_as(centre: Centre, letter: str, argv: Sequence[str]) -> str:
    return run_on(centre.clusters[letter], "server", argv, user="alice").demand_success().stdout


def test_servers_reach_each_other_until_their_link_is_cut(slurm_centre: Centre) -> None:
    # The key of a cluster forces a program, which refuses the command.
    assert '"reply":"failed"' in ssh(slurm_centre, "a", "b").stdout
    centres.cut_link(slurm_centre, "a", "b")
    try:
        for one, other in (("a", "b"), ("b", "a")):
            assert "timed out" in ssh(slurm_centre, one, other).stderr
    finally:
        centres.restore_link(slurm_centre, "a", "b")
    assert '"reply":"failed"' in ssh(slurm_centre, "b", "a").stdout


def test_a_slow_link_is_slow_in_both_directions_and_fast_again(slurm_centre: Centre) -> None:
    centres.limit_link(slurm_centre, "a", "b", 800)
    try:
        for letter, to in (("a", "to-b"), ("b", "to-a")):
            shown = run_on(slurm_centre.clusters[letter], "server", ["tc", "qdisc", "show", "dev", to]).stdout
            assert "rate 800Kbit" in shown
    finally:
        centres.limit_link(slurm_centre, "a", "b", 0)
    assert "tbf" not in run_on(slurm_centre.clusters["a"], "server", ["tc", "qdisc", "show", "dev", "to-b"]).stdout


def test_the_clusters_own_job_takes_the_cores_of_a_guest_which_is_requeued(slurm_centre: Centre) -> None:
    cores = str(slurm_centre.spec.cores)
    guest = run_as(slurm_centre, "a", ["sbatch", "--parsable", "-p", "global", "-n", cores, "--wrap", "sleep 300"])
    wait_for(slurm_centre, guest.strip(), "R")
    own = run_as(slurm_centre, "a", ["sbatch", "--parsable", "-n", cores, "--wrap", "sleep 2"])
    wait_for(slurm_centre, own.strip(), "R")
    assert state_of(slurm_centre, guest.strip()) == "PD"
    run_as(slurm_centre, "a", ["scancel", guest.strip()])


def test_jobs_that_slurm_has_not_tried_yet_delay_no_guest(slurm_centre: Centre) -> None:
    """By Slurm's own estimate they do, as if each took a node for all of its time."""
    testbed = slurm_centre.clusters["b"]
    slurm = SlurmScheduler(run_at(testbed), "global")
    job = LocalJob("asks", "alice", Demand(1, walltime_s=600), "/", "/bin/true", "/dev/null", "/dev/null")
    assert slurm.would_start_now(job).now is True
    with idle_slurm(testbed):
        for _ in range(2):
            submit_guest(slurm_centre, "b", "1", "true")
        verdict = slurm.would_start_now(job)
        assert (verdict.now, verdict.text[:21]) == (None, "Slurm cannot say when"), verdict
    wait_until_all_ended(slurm_centre, "b")
    try:
        for _ in range(2):
            submit_guest(slurm_centre, "b", str(slurm_centre.spec.cores), "sleep 300")
        deadline = Deadline(60)
        while (verdict := slurm.would_start_now(job)).now is not False:
            assert not deadline.has_passed(), verdict
            time.sleep(0.2)
        assert "would start in" in verdict.text
    finally:
        run_on(testbed, "server", ["scancel", "--user", "alice"]).demand_success()


def submit_guest(centre: Centre, letter: str, cores: str, script: str) -> None:
    run_as(centre, letter, ["sbatch", "-p", "global", "-n", cores, "-t", "10", "-o", "/dev/null", "--wrap", script])


def run_at(testbed: Testbed) -> Run:
    def run(
        argv: Sequence[str],
        *,
        user: str | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60,
        env: Mapping[str, str] | None = None,
    ) -> programs.Finished:
        assert not stdin
        assert env is None
        folder = Path(cwd) if cwd is not None else None
        done = run_on(testbed, "server", argv, user=user, timeout_s=timeout_s, cwd=folder)
        return programs.Finished(done.status, done.stdout.encode(), done.stderr.encode())

    return run


@contextmanager
def idle_slurm(testbed: Testbed) -> Iterator[None]:
    """Slurm takes jobs and tries to start none."""
    script = """cp -p "$1" "$1.kept"
sed -i 's/^SchedulerParameters=.*/SchedulerParameters=defer,sched_interval=-1,bf_interval=-1/' "$1"
scontrol reconfigure"""
    run_on(testbed, "server", ["sh", "-e", "-c", script, "sh", str(CONF)]).demand_success()
    try:
        yield
    finally:
        back = 'mv "$1.kept" "$1"; scontrol reconfigure'
        run_on(testbed, "server", ["sh", "-e", "-c", back, "sh", str(CONF)]).demand_success()


def wait_until_all_ended(centre: Centre, letter: str) -> None:
    deadline = Deadline(60)
    while run_as(centre, letter, ["squeue", "--noheader"]):
        assert not deadline.has_passed()
        time.sleep(0.2)


def wait_for(centre: Centre, job: str, state: str) -> None:
    deadline = Deadline(60)
    while (found := state_of(centre, job)) != state:
        assert not deadline.has_passed(), f"job {job} is {found}, not {state}"
        time.sleep(0.2)


def state_of(centre: Centre, job: str) -> str:
    return run_as(centre, "a", ["squeue", "--noheader", "--states=all", "--format=%t", "--jobs", job]).strip()


def test_the_service_has_its_files_and_a_user_may_drop_but_not_list(slurm_centre: Centre) -> None:
    incoming = "/var/spool/pbsteer-mg/incoming"
    run_as(slurm_centre, "b", ["touch", f"{incoming}/x"])
    listed = run_on(slurm_centre.clusters["b"], "server", ["ls", incoming], user="alice")
    assert "Permission denied" in listed.stderr


def test_the_controller_stops_and_starts_and_jobs_run_on(slurm_centre: Centre) -> None:
    testbed = slurm_centre.clusters["b"]
    testbeds.stop_server(testbed)
    assert not testbeds.status(testbed.spec.name).server_answers
    testbeds.start_server(testbed)
    assert testbeds.status(testbed.spec.name).server_answers


def test_a_centre_that_is_up_is_not_brought_up_again(slurm_centre: Centre) -> None:
    with pytest.raises(TestbedError, match="take the centre down first"):
        centres.up(slurm_centre.spec, Programs(testbeds.DEFAULT_STATE))
    assert centres.open_centre(slurm_centre.spec.name).spec == slurm_centre.spec


def test_the_machine_has_no_link_of_a_centre(slurm_centre: Centre) -> None:
    assert slurm_centre.clusters.keys() == {"a", "b"}
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True, timeout=10).stdout
    assert "to-a" not in links
    assert "to-b" not in links
