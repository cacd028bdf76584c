"""PBS's programs on the simulated server: what the console sends reaches the job, and the rest is refused by name."""

from __future__ import annotations

import pytest

from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.requests.client_programs import run_program
from sim.pbs_server.server import SimServer

BEGIN_S = 1_000_000.0
TEN_MINUTES = {"Resource_List.select": "1:ncpus=2", "Resource_List.walltime": "00:10:00"}


@pytest.fixture
def server() -> SimServer:
    made = SimServer("sim", Clock(BEGIN_S))
    made.add_queue("workq")
    made.add_vnode("v1", {"ncpus": "4", "mem": "16gb"})
    return made


def wait(server: SimServer, seconds: float) -> None:
    server.clock.run_until(server.clock.now_s + seconds)


def test_a_job_is_run_where_it_is_said(server: SimServer) -> None:
    job = server.submit("alice", "chem", TEN_MINUTES, run_s=60.0)
    assert run_program(server, ["qrun", "-H", "(v1:ncpus=2)", job]).ok
    assert server.jobs[job].texts["exec_vnode"] == "(v1:ncpus=2)"
    assert run_program(server, ["qrun", "-H", "(v1:ncpus=2)", job]).ok is False


@pytest.mark.parametrize(("walltime", "ends_s"), [("00:20:00", 1200), ("00:05:00", 300), ("10:00:00", 3600)])
def test_a_running_job_ends_at_its_new_walltime_or_by_itself(server: SimServer, walltime: str, ends_s: int) -> None:
    job = server.submit("alice", "chem", TEN_MINUTES, run_s=3600.0)
    server.run_job(job, "(v1:ncpus=2)")
    wait(server, 60)
    assert run_program(server, ["qalter", "-l", f"walltime={walltime}", job]).ok
    assert server.jobs[job].texts["Resource_List.walltime"] == walltime
    wait(server, ends_s - 61)
    assert server.jobs[job].state == "R"
    wait(server, 1)
    assert server.jobs[job].state == "F"


def test_a_comment_is_written(server: SimServer) -> None:
    job = server.submit("alice", "chem", TEN_MINUTES, run_s=60.0)
    assert run_program(server, ["qalter", "-W", "comment=ask the owner", job]).ok
    assert server.jobs[job].texts["comment"] == "ask the owner"


@pytest.mark.parametrize(
    "words", [["qalter", "-W", "depend=afterok:1"], ["qalter", "-l", "select=1"], ["qsig", "-s", "suspend"]]
)
def test_what_is_not_simulated_is_refused(server: SimServer, words: list[str]) -> None:
    job = server.submit("alice", "chem", TEN_MINUTES, run_s=60.0)
    reply = run_program(server, [*words, job])
    assert not reply.ok
    assert words[0] in reply.text
