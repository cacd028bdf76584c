"""A victim whose host answers late: it has ended by then, and PBS would queue it again; or a pass has released it, and
PBS's checkpoint would hold it for good; or a pass has withdrawn its request, and the signal would end it for good.

``pbs_comm``, which carries what server and MoM say to each other, stands still from before that until after the pass's
request.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from container import testbed as testbeds
from hooks.checkpoint.save_method.read_save_method_job_asked_for import CHECKPOINT, REQUEUE, SIGNAL
from tests.pbs.cluster import PbsCluster
from tests.pbs.saving import send_victim_request
from tests.pbs.saving.checkpointing_test_jobs import with_actions

ROOT = Path(__file__).resolve().parents[3]


@contextlib.contextmanager
def messages_held_back(pbs: PbsCluster) -> Iterator[None]:
    """Nothing passes between the server and its MoMs."""
    pbs.run(["pkill", "-STOP", "-x", "pbs_comm"]).demand_success()
    try:
        yield
    finally:
        pbs.run(["pkill", "-CONT", "-x", "pbs_comm"]).demand_success()


def asking(pbs: PbsCluster, job: str, method: str) -> list[str]:
    argv = ["/usr/bin/python3", "-I", str(Path(send_victim_request.__file__).resolve())]
    return [*argv, str(ROOT), pbs.spec.pbs_exec, job, method]


@contextlib.contextmanager
def about_to_ask(pbs: PbsCluster, job: str, method: str) -> Iterator[subprocess.Popen[str]]:
    """A program that has marked the job as a pass does, and sends the request when told to (:func:`tell_to_ask`)."""
    words, environment = testbeds.build_command(pbs.testbed, "server", asking(pbs, job, method), cwd=Path("/"))
    pipe = subprocess.PIPE
    with (
        with_actions(pbs, "save", "restart"),
        subprocess.Popen(words, env=environment, stdin=pipe, stdout=pipe, text=True) as program,
    ):
        pbs.wait_until(lambda: "estimated" in pbs.job(job), 60.0, "it has its mark")
        yield program


def tell_to_ask(program: subprocess.Popen[str]) -> None:
    assert program.stdin is not None
    program.stdin.write("go\n")
    program.stdin.flush()
    # The server has the request by then; what it does with it cannot be seen.
    time.sleep(2)


def run_until(pbs: PbsCluster, may_end: Path) -> str:
    """A job of alice's that runs, as its MoM has said, until this file is there."""
    may_end.unlink(missing_ok=True)
    job = pbs.qsub("alice", ("/bin/sh", "-c", f"while [ ! -e {may_end} ]; do sleep 0.2; done"))
    pbs.wait_for_state(job, "R")
    pbs.wait_until(lambda: pbs.job(job)["substate"] == 42, 60.0, "its MoM has said that it runs")
    return job


@pytest.mark.parametrize("method", [CHECKPOINT, REQUEUE])
def test_a_job_that_has_ended_by_itself_is_neither_saved_nor_requeued(pbs: PbsCluster, method: str) -> None:
    may_end = Path(pbs.testbed.home("alice")) / "may-end"
    job = run_until(pbs, may_end)
    with about_to_ask(pbs, job, method) as program:
        with messages_held_back(pbs):
            may_end.touch()
            pbs.wait_until(lambda: f"{job};Obit sent" in pbs.mom_log(), 60.0, "its MoM has sent its end")
            assert pbs.job_state(job) == "R"
            tell_to_ask(program)
        told = json.loads(program.communicate(timeout=120)[0])
    ended = pbs.wait_for_state(job, "FH")
    assert (ended["job_state"], ended["run_count"], ended["Exit_status"]) == ("F", 1, 0)
    assert told == {"skipped": [job], "failures": {}}


def test_a_job_released_before_its_host_answers_is_not_checkpointed(pbs: PbsCluster) -> None:
    may_end = Path(pbs.testbed.home("alice")) / "may-end"
    job = run_until(pbs, may_end)
    with about_to_ask(pbs, job, CHECKPOINT) as program:
        with messages_held_back(pbs):
            tell_to_ask(program)
            pbs.run(asking(pbs, job, "released")).demand_success()
        told = json.loads(program.communicate(timeout=120)[0])
    assert (pbs.job(job)["Hold_Types"], told) == ("n", {"skipped": [job], "failures": {}})
    may_end.touch()
    ended = pbs.wait_for_state(job, "FH")
    assert (ended["job_state"], ended["run_count"], ended["Exit_status"]) == ("F", 1, 0)


def test_a_job_whose_request_was_withdrawn_before_it_is_sent_gets_no_signal(pbs: PbsCluster) -> None:
    """Requests to victims of one host follow each other, so a host that answers late delays all but the first."""
    may_end = Path(pbs.testbed.home("alice")) / "may-end"
    job = run_until(pbs, may_end)
    with about_to_ask(pbs, job, SIGNAL) as program:
        pbs.run(asking(pbs, job, "withdrawn")).demand_success()
        tell_to_ask(program)
        told = json.loads(program.communicate(timeout=120)[0])
    assert told == {"skipped": [job], "failures": {}}
    may_end.touch()
    ended = pbs.wait_for_state(job, "FH")
    assert (ended["run_count"], ended["Exit_status"]) == (1, 0), "USR2 would have ended its shell"
