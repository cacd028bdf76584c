"""Reading a real Torque server: by its library and by its programs, while jobs come and go and while it hangs."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import pytest

from tests.torque.cluster import TorqueCluster
from tests.torque.server.pbsteer_on_torque import ROOT, pbsteer

STEPS = 20


def run_module(torque: TorqueCluster, name: str, *arguments: str) -> Any:
    argv = [sys.executable, "-m", f"tests.torque.server.{name}", *arguments]
    return json.loads(torque.run(["env", f"PYTHONPATH={ROOT}", *argv], timeout_s=400.0).demand_success().stdout)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_patched_status_equals_one_read_anew_and_one_by_programs(torque: TorqueCluster, seed: int) -> None:
    told = run_module(torque, "compare_differences_with_full_read", str(seed), str(STEPS))
    assert told["differs"] is None
    assert told["compared"] > STEPS / 2
    assert len(told["operations"]) > 7


def test_status_and_jobs_with_what_users_can_write(torque: TorqueCluster) -> None:
    torque.start("alice", "nodes=2:ppn=2")
    torque.qsub("bob", "nodes=1", "-N", "hostile", "-v", "B=c\x01<&>", "-A", "a\x02\x1b[31m")
    array = torque.qsub("carol", "procs=2", "-t", "0-4%2")
    torque.wait_until(lambda: array.replace("[]", "[4]") in torque.jobs(), "the subjobs")
    answer = json.loads(pbsteer(torque, "status", "--json").demand_success().stdout)
    assert answer["jobs"]["R"] == 1
    assert answer["jobs"]["Q"] == 1 + 5
    shown = pbsteer(torque, "jobs").demand_success().stdout
    assert "\x01" not in shown
    assert "\x1b" not in shown
    assert "hostile" in shown


def test_a_server_that_hangs_ends_a_poll_in_time_and_hides_no_job_after_it(torque: TorqueCluster) -> None:
    for _ in range(3):
        torque.qsub("alice")
    torque.run(["pkill", "-STOP", "-x", "pbs_server"]).demand_success()
    began_s = time.monotonic()
    try:
        done = pbsteer(torque, "status", settings="[torque]\ntimeout_s = 3\n")
    finally:
        torque.run(["pkill", "-CONT", "-x", "pbs_server"]).demand_success()
    assert done.status == 2
    assert "does not answer" in done.stderr
    assert time.monotonic() - began_s < 30.0
    told = run_module(torque, "poll_while_server_stops", "3")
    assert told["jobs"][0] == told["jobs"][-1] == 3
    assert set(told["jobs"]) == {3, None}
    assert any("answer" in text or "15" in text for text in told["errors"])


def test_a_server_that_is_down_or_unknown_is_reported_with_what_to_do(torque: TorqueCluster) -> None:
    unknown = pbsteer(torque, "status", "--server", "nosuchhost")
    assert unknown.status == 2
    assert "check the name, server_name in Torque's home" in unknown.stderr
    torque.run(["qterm", "-t", "quick"]).demand_success()
    torque.wait_until(lambda: torque.run(["pgrep", "-x", "pbs_server"]).status != 0, "the server has ended")
    try:
        down = pbsteer(torque, "status")
    finally:
        torque.restart_server()
    assert down.status == 2
    assert "start pbs_server there" in down.stderr


def test_jobs_are_all_there_after_a_restart_of_the_server(torque: TorqueCluster) -> None:
    running = torque.start("alice", "nodes=1:ppn=2")
    waiting = torque.qsub("bob")
    torque.run(["qterm", "-t", "quick"]).demand_success()
    torque.wait_until(lambda: torque.run(["pgrep", "-x", "pbs_server"]).status != 0, "the server has ended")
    torque.restart_server()
    answer = json.loads(pbsteer(torque, "status", "--json").demand_success().stdout)["jobs"]
    assert (answer["R"], answer["Q"]) == (1, 1)
    assert (torque.state_of(running), torque.state_of(waiting)) == ("R", "Q")


def test_what_only_pbs_has_is_refused_in_one_line(torque: TorqueCluster) -> None:
    for arguments, reason in (
        (("do", "mode", "batch", "advise"), "allowed on Torque is observe or drive"),
        (("hooks", "status"), "Torque's, which has no hooks"),
    ):
        done = pbsteer(torque, *arguments)
        assert done.status != 0
        assert reason in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
