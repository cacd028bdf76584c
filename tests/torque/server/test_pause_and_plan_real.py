"""A pause by name and planned quotas on a real Torque server, which has a place for neither."""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone

from container.run_program import Finished
from tests.torque.cluster import TorqueCluster
from tests.torque.server.pass_on_torque import DRIVE, Passes

QUOTAS = '[[queue]]\nname = "batch"\nquotas = "[u:alice=0],[u:bob=8]"\n'
QUICK = "[schedule]\ninterval_s = 5\n"
NODE = "nodes=1:ppn=8"


def pbsteer(torque: TorqueCluster, passes: Passes, *arguments: str) -> Finished:
    return torque.run(passes.command(*arguments))


def test_a_pause_by_name_starts_nothing_until_it_is_resumed(torque: TorqueCluster, passes: Passes) -> None:
    passes.configure(DRIVE + QUICK)
    passes.start()
    output = pbsteer(torque, passes, "pause", "--reason", "new switches", "--yes").demand_success().stdout
    assert "edit-settings" in output
    assert 'paused = "new switches"' in passes.file.read_text()
    time.sleep(1)
    job_id = torque.qsub("alice")
    torque.wait_until(lambda: "pbsteer is paused (new switches)" in torque.jobs()[job_id].get("comment", ""), "so said")
    assert torque.state_of(job_id) == "Q"
    assert "new switches" in pbsteer(torque, passes, "explain", job_id).demand_success().stdout
    pbsteer(torque, passes, "resume", "--yes").demand_success()
    assert "paused" not in passes.file.read_text()
    torque.wait_for_state(job_id, "R", 30)


def test_a_planned_quota_is_set_for_its_time_and_put_back(torque: TorqueCluster, passes: Passes) -> None:
    """bob has both nodes, alice no quota until hers is planned; then her job preempts one of his."""
    before = DRIVE + QUICK + QUOTAS
    passes.configure(before)
    passes.start()
    bobs = [torque.qsub("bob", NODE) for _ in range(2)]
    for job_id in bobs:
        torque.wait_for_state(job_id, "R")
    mine = torque.qsub("alice", NODE)
    plan = torque.testbed.folder / "plan.csv"
    moments = [datetime.fromtimestamp(time.time() + s, timezone.utc).strftime("%FT%TZ") for s in (3, 45)]
    plan.write_text(f"user,queue,quota,from,until\nalice,batch,8,{moments[0]},{moments[1]}\n")
    output = pbsteer(torque, passes, "quota", "plan", str(plan), "--yes").demand_success().stdout
    assert "alice 8 ncpus in batch" in output
    torque.wait_for_state(mine, "R", 40)
    assert '"[u:alice=8],[u:bob=8]"' in passes.file.read_text()
    assert sorted(torque.state_of(job_id) for job_id in bobs) == ["Q", "R"]
    listed = json.loads(pbsteer(torque, passes, "quota", "planned", "--json").demand_success().stdout)["quotas"]
    assert [(each["state"], each["before"]) for each in listed] == [("in force", 0)]
    torque.wait_until(lambda: passes.file.read_text() == before, "the quota is put back", 60)
    torque.wait_until(lambda: len(passes.all_of("quotas_set")) == 2, "both are in the journal")
    assert not passes.all_of("failures")
