"""The console in a real terminal on a Torque server's host, and the testbed of Torque itself."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from container import testbed as testbeds
from tests.pbs.terminal import open_terminal
from tests.torque.cluster import TorqueCluster
from tests.torque.server.pbsteer_on_torque import ROOT, audited


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no program tmux, in which the console is tried")
def test_the_console_names_torque_holds_a_job_and_undoes_it(torque: TorqueCluster) -> None:
    job_id = torque.qsub("alice", "nodes=2:ppn=2", "-N", "wide")
    environment = [f"PYTHONPATH={ROOT}", f"XDG_STATE_HOME={torque.testbed.folder / 'state'}"]
    argv = [sys.executable, "-m", "tui.cli.main", "--interval", "1"]
    with open_terminal(torque, argv, cells=110, lines=36, environment=environment) as terminal:
        terminal.wait_for("Torque 6.1.3", "attention")
        terminal.press("u")
        terminal.wait_for("UNLOCKED")
        terminal.command("jobs")
        terminal.wait_for("wide")
        terminal.command(f"hold {job_id}")
        terminal.wait_for(f"qhold -h o {job_id}", "a apply")
        terminal.press("a")
        torque.wait_for_state(job_id, "H")
        terminal.wait_for("verified")
        terminal.command("undo")
        terminal.wait_for(f"qrls -h o {job_id}", "a apply")
        terminal.press("a")
        torque.wait_for_state(job_id, "Q")
        terminal.wait_for("undone")
        terminal.command("pause-pbsteer new switches")
        terminal.wait_for("edit-settings", "@server paused 'new switches'", "a apply")
        terminal.press("Escape")
    assert [command for stage, command in audited(torque) if stage == "done"][-2:] == [
        f"qhold -h o {job_id}", f"qrls -h o {job_id}",
    ]  # fmt: skip


def test_the_testbed_is_whole_and_keeps_its_jobs_while_its_server_is_stopped(torque: TorqueCluster) -> None:
    running = torque.start("bob", "nodes=1:ppn=2")
    name = torque.spec.name
    assert testbeds.status(name).is_up
    testbeds.stop_server(torque.testbed)
    assert not testbeds.status(name).server_answers
    torque.restart_server()
    assert torque.state_of(running) == "R"
    found = testbeds.status(name)
    assert {vnode.name: vnode.ncpus for vnode in found.vnodes} == dict.fromkeys(torque.mom_names, 8)


def test_users_see_the_same_files_and_no_host_has_a_pbs_conf(torque: TorqueCluster) -> None:
    job_id = torque.qsub("alice", "nodes=1", "-N", "told", script="hostname\n")
    torque.qrun(job_id, f"{torque.mom_names[1]}:ppn=1")
    torque.wait_for_state(job_id, "C")
    output = torque.testbed.home("alice") / f"told.o{job_id.partition('.')[0]}"
    torque.wait_until(output.exists, "the output")
    assert output.read_text().strip() == torque.mom_names[1]
    assert torque.run(["test", "-e", "/etc/pbs.conf"]).status != 0
    assert not Path("/tmp/trqauthd-unix").exists()  # noqa: S108 - the machine's own
    assert json.loads((torque.testbed.folder / "spec.json").read_text())["scheduler"] == "torque"
