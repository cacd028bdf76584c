"""``pbsteer doctor`` on a real Torque server: all is ok while it is driven, and each thing that is broken is named."""

from __future__ import annotations

import json

from tests.torque.cluster import TorqueCluster
from tests.torque.server.pass_on_torque import DRIVE, Passes

OURS = ("disk",)


def not_ok(torque: TorqueCluster, passes: Passes) -> list[str]:
    done = torque.run(passes.command("doctor", "--json"))
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["status"] == done.status
    return [each["text"] for each in report["findings"] if each["level"] != "ok" and each["about"] not in OURS]


def test_all_is_ok_while_it_is_driven_and_what_breaks_is_named(torque: TorqueCluster, passes: Passes) -> None:
    passes.configure(DRIVE)
    assert not_ok(torque, passes) == ["no pass has been made: no job is started"]
    passes.start()
    torque.wait_until(lambda: not not_ok(torque, passes), "all is ok")
    torque.qmgr("unset server automatic_requeue_exit_code")
    assert [text[:35] for text in not_ok(torque, passes)] == ["jobs that ask for a signal get none"]
    torque.qmgr("set server automatic_requeue_exit_code = 85")
    passes.configure(DRIVE + "[checkpoint]\nmethod = 'signal'\n")
    assert "checkpoint.method = 'signal'; allowed on Torque is requeue" in not_ok(torque, passes)[0]
    passes.configure(DRIVE)
    torque.run(["qterm", "-t", "quick"]).demand_success()
    torque.wait_until(lambda: torque.run(["pgrep", "-x", "pbs_server"]).status != 0, "the server has ended")
    try:
        (away,) = not_ok(torque, passes)
    finally:
        torque.restart_server()
    assert "start pbs_server there" in away


def test_pbs_sched_beside_a_driven_queue_is_named(torque: TorqueCluster) -> None:
    passes = Passes(torque)
    passes.configure(DRIVE)
    passes.once()
    assert any(text.startswith("pbs_sched (process ") for text in not_ok(torque, passes))
