"""A plan of quotas on a real server: set when its time comes, followed by preemption, taken back, left where changed.

three vnodes of 8 cores; alice's quota is 24, bob's 0; in the planned seconds alice's is 8 and bob's 8

v1  alice 8              bob 8                     alice 8 again, when bob's has ended
v2  alice 8              alice 8                   ...
v3  alice 8              alice 8                   ...
"""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from pathlib import Path

from hooks.quota_plan.quota_plan_files import QUOTA_PLAN, QUOTA_PLAN_RECORD
from policy.model.limit_attributes import parse_limits
from tests.hooks.deploy_on_testbed import LATE_S, deploy_and_drive, make_deployment, quick_settings, state_of
from tests.pbs.cluster import PbsCluster
from tests.pbs.console.test_console_backend_and_commands import on_server, pbsteer
from tests.pbs.idle_machine_deadline import crowding

SOFT = "max_run_res_soft.ncpus"


def iso(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, tz=timezone.utc).isoformat(timespec="seconds")


def limits(pbs: PbsCluster) -> dict[str, int]:
    """The users' entries of workq, as PBS's own qstat shows them."""
    shown = json.loads(pbs.run(["qstat", "-Q", "-f", "-F", "json", "workq"]).demand_success().stdout)
    text = shown["Queue"]["workq"].get("max_run_res_soft", {}).get("ncpus", "")
    return {name: limit for (_, name), limit in parse_limits(str(text), "workq").entries.items()}


def write_table(pbs: PbsCluster, *rows: str) -> Path:
    path = Path(pbs.server_home) / "plan.csv"
    path.write_text("\n".join(["user,queue,quota,from,until", *rows]) + "\n")
    return path


def states(pbs: PbsCluster) -> list[str]:
    found = json.loads(pbsteer(pbs, "quota", "planned", "--json"))
    return [each["state"] for each in found["quotas"]]


def test_a_planned_quota_is_set_followed_taken_back_and_left_where_changed(pbs: PbsCluster) -> None:
    pbs.qmgr(f"set queue workq {SOFT} = '[u:alice=24],[u:bob=0]'")
    deploy_and_drive(pbs, quick_settings())
    alices = [pbs.qsub("alice", select="1:ncpus=8") for _ in range(3)]
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in alices), LATE_S, "alice runs on all cores")
    bobs = pbs.qsub("bob", ("/bin/sleep", "6"), select="1:ncpus=8")

    # Planning has to be over before the first, and what happens between them before the second.
    slower = min(crowding(), 2.5)
    begin_s = time.time() + 15 * slower
    end_s = begin_s + 40 * slower
    rows = [f"{user},workq,8,{iso(begin_s)},{iso(end_s)}" for user in ("alice", "bob")]
    path = write_table(pbs, *rows, f"carol,workq,4,{iso(begin_s)},{iso(end_s)}")
    output = on_server(pbs, "-m", "tui.cli.main", "quota", "plan", str(path), "--yes").demand_success().stdout
    assert "plan 3 quotas: done, verified" in output
    # Whether bob waits less depends on how long alice's earlier jobs ran, which are those of other tests.
    assert "all that wait" in output, "the preview compares the waits over the whole span"
    assert limits(pbs) == {"alice": 24, "bob": 0}
    assert (state_of(pbs).path / QUOTA_PLAN).stat().st_mode & 0o777 == 0o600

    pbs.wait_until(
        lambda: limits(pbs) == {"alice": 8, "bob": 8, "carol": 4}, LATE_S + 15 * slower, "the planned quotas are set"
    )
    assert time.time() >= begin_s - 1
    assert (state_of(pbs).path / QUOTA_PLAN_RECORD).stat().st_mode & 0o777 == 0o600
    pbs.wait_until(lambda: pbs.job_state(bobs) in "RF", LATE_S, "bob's job runs, as it is within the quota now")
    pbs.qmgr(f"set queue workq {SOFT} += '[u:carol=5]'")
    pbs.wait_until(lambda: states(pbs)[2] == "changed by hand", LATE_S, "a pass has seen carol's quota")

    pbs.wait_until(
        lambda: limits(pbs) == {"alice": 24, "bob": 0, "carol": 5}, LATE_S + 40 * slower, "all but carol's is back"
    )
    assert time.time() >= end_s - 1
    pbs.wait_until(lambda: states(pbs) == ["over", "over", "changed by hand"], LATE_S, "the list says so")
    journal = [sentence for entry in state_of(pbs).read_journal(1000) for sentence in entry.get("quotas_set", [])]
    assert len([sentence for sentence in journal if "by entry" in sentence]) == 3
    assert not [failure for entry in state_of(pbs).read_journal(1000) for failure in entry["failures"]]
    audit = json.loads(pbsteer(pbs, "audit", "--json"))
    made = [line for line in audit["changes"] if "[u:alice=8]" in line["command"]]
    assert len(made) == 1, "the server's log and the pass tell of one change"
    assert made[0]["user"].startswith("root (quota plan by ")


def test_a_removal_takes_back_what_is_set(pbs: PbsCluster) -> None:
    pbs.qmgr(f"set queue workq {SOFT} = '[u:alice=24]'")
    deploy_and_drive(pbs, quick_settings())
    now_s = time.time()
    path = write_table(
        pbs, f"alice,workq,8,{iso(now_s)},{iso(now_s + 3600)}", f"bob,workq,8,{iso(now_s)},{iso(now_s + 3600)}"
    )
    on_server(pbs, "-m", "tui.cli.main", "quota", "plan", str(path), "--yes").demand_success()
    pbs.wait_until(lambda: limits(pbs) == {"alice": 8, "bob": 8}, LATE_S, "the planned quotas are set")
    make_deployment(pbs).remove(lambda _: None)
    assert limits(pbs) == {"alice": 24}
    assert not state_of(pbs).path.exists()
