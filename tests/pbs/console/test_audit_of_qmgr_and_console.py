"""One audit for all administrators of a real server: changes by qmgr and by the console, on any host, seen by each."""

from __future__ import annotations

import json
import stat
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from hooks.audit.shared_audit_file import CHANGES
from tests.hooks.deploy_on_testbed import LATE_S, deploy, deploy_and_drive, quick_settings, state_of, wait_for_pass
from tests.pbs.cluster import PbsCluster

ROOT = Path(__file__).parents[3]
GROUP = "chem"
"""The group of alice and carol."""


AS_USER = """
import os, pwd, sys
import tui.cli.read_commands.audit_of_administrators_changes
import tui.cli.change_commands.quota_show_set_and_priority
import tui.cli.change_commands.run_operation
import tui.cli.open_backend
import tui.backends.pbs.server
from tui.cli.main import main
user = pwd.getpwnam(sys.argv[1])
os.initgroups(user.pw_name, user.pw_gid)
os.setgid(user.pw_gid)
os.setuid(user.pw_uid)
main(sys.argv[2:])
"""
"""The program is loaded as root: users need not come to where it is installed."""


def pbsteer(pbs: PbsCluster, *arguments: str, user: str = "root") -> str:
    state = pbs.server_home / "state" if user == "root" else pbs.testbed.home(user) / "state"
    environment = ["env", f"PYTHONPATH={ROOT}", f"XDG_STATE_HOME={state}"]
    return pbs.run([*environment, sys.executable, "-c", AS_USER, user, *arguments]).demand_success().stdout


def audit(pbs: PbsCluster, user: str = "root") -> list[dict[str, Any]]:
    answer = json.loads(pbsteer(pbs, "audit", "--json", user=user))
    assert answer["shared"], answer["problem"]
    return list(answer["changes"])


def commands(pbs: PbsCluster, user: str = "root") -> list[tuple[str, str]]:
    return [(change["user"], change["command"]) for change in audit(pbs, user)]


def test_two_administrators_see_each_others_changes_however_they_made_them(pbs: PbsCluster) -> None:
    settings = quick_settings()
    deploy(pbs, replace(settings, server=replace(settings.server, journal_group=GROUP)))
    pbs.qmgr("set server managers = alice@*")
    first = pbs.mom_names[0]
    by_hand = "set queue workq max_run_res_soft.ncpus += [u:bob=4]"
    pbs.run(["qmgr", "-c", by_hand], user="alice", host=first).demand_success()
    pbsteer(pbs, "quota", "set", "workq", "dave", "8", "--yes")
    job = pbs.qsub("bob", "sleep 600")
    pbs.run(["qdel", job], user="alice").demand_success()
    own = pbs.qsub("bob", "sleep 600")
    pbs.run(["qdel", own], user="bob").demand_success()
    by_console = "qmgr -c 'set queue workq max_run_res_soft.ncpus += [u:dave=8]'"
    wanted = [("alice", by_hand), ("root", by_console), ("alice", f"qdel {job}")]

    def have_come() -> bool:
        found = [change for change in commands(pbs) if change in wanted]
        return len(found) >= len(wanted)

    pbs.wait_until(have_come, LATE_S, "the changes in the shared audit")
    assert [change for change in commands(pbs) if "bob" in change[1] or "dave" in change[1]] == wanted[:2]
    assert commands(pbs, "alice") == commands(pbs)
    told = {change["command"]: change for change in audit(pbs, "alice")}
    assert first in told[by_hand]["origin"]
    assert (told[by_console]["before"], told[by_console]["after"]) == ("none", "8")
    assert not any(own in change["command"] for change in told.values())
    shared = state_of(pbs).path / CHANGES
    assert stat.S_IMODE(shared.stat().st_mode) == 0o640
    assert "Permission denied" in pbs.run(["cat", str(shared)], user="bob").stderr
    outside = json.loads(pbsteer(pbs, "audit", "--json", user="bob"))
    assert (outside["shared"], outside["changes"]) == (False, [])
    assert "Permission denied" in outside["problem"]


def test_what_passes_do_themselves_is_no_administrators_change(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    job = pbs.qsub("alice", select="1:ncpus=8")
    pbs.wait_for_state(job, "R")
    assert "attributes unset: scheduling" in pbs.server_log(), "the pass did switch the scheduler off"
    wait_for_pass(pbs)
    pbs.qmgr("set sched default scheduling = False")

    def has_come() -> bool:
        return ("root", "set sched default scheduling = False") in commands(pbs)

    pbs.wait_until(has_come, LATE_S, "root's own change in the shared audit")
    told = [command for _, command in commands(pbs)]
    assert not any(job in command or command.endswith(("= y", "= n")) for command in told), told


FORGING = """
import ctypes, glob, sys
sys.path[:0] = [sys.argv[1] + "/lib/python/altair"]
import pbs_ifl
library = ctypes.CDLL(glob.glob(sys.argv[1] + "/lib/libpbs.so*")[0])
connection = pbs_ifl.pbs_connect(None)
library.set_no_attribute_verification()
head = None
links = []
for name, resource, value in (
    ("Job_Name", None, sys.argv[2]), ("Resource_List", "select", "1:ncpus=1"), ("Hold_Types", None, "u"),
    ("executable", None, "<jsdl-hpcpa:Executable>/bin/true</jsdl-hpcpa:Executable>"),
    *((name, None, value) for name, _, value in (text.partition("=") for text in sys.argv[3:])),
):
    link = pbs_ifl.attropl()
    link.name, link.value, link.op, link.next = name, value, pbs_ifl.SET, head
    if resource:
        link.resource = resource
    links.append(link)
    head = link
print(pbs_ifl.pbs_submit(connection, head, None, None, None), pbs_ifl.pbs_geterrmsg(connection))
"""
"""As PBS's own commands, without their look at what they send."""


def test_no_job_name_writes_lines_into_the_log(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings())
    server = pbs.spec.name
    forged = f"11/22/2026 12:00:00;0004;Server@{server};Que;workq;attributes set:  at request of root@{server}"
    for name in (f"a\n{forged}\n", f"a\r{forged}\r"):
        done = pbs.run([f"{pbs.spec.pbs_exec}/bin/pbs_python", "-c", FORGING, pbs.spec.pbs_exec, name], user="alice")
        assert "its name has a line break" in done.stdout
    assert "11/22/2026 12:00:00;0004" not in pbs.server_log()
    done = pbs.run([f"{pbs.spec.pbs_exec}/bin/pbs_python", "-c", FORGING, pbs.spec.pbs_exec, "good"], user="alice")
    assert done.stdout.split()[0].endswith(f".{server}")


def test_no_account_writes_records_of_others_into_the_accounting_log(pbs: PbsCluster) -> None:
    """The forecast learns from it how long each user's jobs ran."""
    deploy(pbs, quick_settings())
    record = "11/22/2026 12:00:00;E;7.forged;user=bob start=1 end=2 Resource_List.ncpus=1"
    argv = [f"{pbs.spec.pbs_exec}/bin/pbs_python", "-c", FORGING, pbs.spec.pbs_exec, "good"]
    for name in ("Account_Name", "project"):
        done = pbs.run([*argv, f"{name}=a\n{record}\n"], user="alice")
        assert f"its {name} has a line break" in done.stdout
    assert pbs.run([*argv, "Account_Name=chem"], user="alice").stdout.split()[0].endswith(f".{pbs.spec.name}")
    logs = pbs.run(["sh", "-c", ". /etc/pbs.conf; cat $PBS_HOME/server_priv/accounting/2*"]).demand_success().stdout
    assert 'account="chem"' in logs
    assert "forged" not in logs


DELETING = """
import sys
sys.path[:0] = [sys.argv[1] + "/lib/python/altair"]
import pbs_ifl
connection = pbs_ifl.pbs_connect(None)
print(pbs_ifl.pbs_deljob(connection, sys.argv[2], None), pbs_ifl.pbs_geterrmsg(connection))
"""


def test_an_id_with_line_breaks_forges_no_change_of_an_object(pbs: PbsCluster) -> None:
    """PBS writes the id into its log as it is, and no hook sees the request."""
    deploy(pbs, quick_settings())
    wait_for_pass(pbs)
    server = pbs.spec.name
    now = time.strftime("%m/%d/%Y %H:%M:%S")
    heads = (f"{now};0004;Server@{server};Que;workq;attributes set: ", f"{now};0008;Server@{server};Job;7.{server};")
    lines = (f"{heads[0]} at request of root@{server}", f"{heads[0]}Priority = 77", f"{heads[1]}Job to be deleted")
    forged = "\n".join([*lines[:2], f"{lines[2]} at request of root@{server}", ""])
    argv = [f"{pbs.spec.pbs_exec}/bin/pbs_python", "-c", DELETING, pbs.spec.pbs_exec, f"1\n{forged}"]
    pbs.run(argv, user="alice")
    assert lines[1] in pbs.server_log(), "the server did not write it"
    pbs.qmgr("set queue workq Priority = 5")

    def all_have_come() -> bool:
        return {("root", "set queue workq Priority = 5"), ("root", f"qdel 7.{server}")} <= set(commands(pbs))

    pbs.wait_until(all_have_come, LATE_S, "the true change and the job's line")
    told = {change["command"]: change["source"] for change in audit(pbs)}
    assert told["set queue workq Priority = 5"] == "request"
    assert not any("Priority = 77" in command for command in told), told
    assert told[f"qdel 7.{server}"] == "log"
    assert "[log]" in pbsteer(pbs, "audit")


def test_a_request_that_is_refused_or_cannot_be_decoded_is_reported_as_what_it_is(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings())
    pbs.qmgr("set server operators = carol@*")
    for user in ("alice", "carol"):
        pbs.run(["qmgr", "-c", "set queue nosuch max_queued += [u:bob=4]"], user=user)
    pbs.run(["qmgr", "-c", "set node @default comment = " + "x" * 3000], user="carol").demand_success()
    told = [
        (change["stage"], change["user"], change["reply"]) for change in audit(pbs) if "nosuch" in change["command"]
    ]
    assert told == [("failed", "carol", "Unknown queue")]
    assert any(change["command"].startswith("set node @default comment = xxx") for change in audit(pbs))


def test_without_the_hook_the_audit_says_that_all_can_be_forged(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings())
    pbs.qmgr("set hook pbsteer_management enabled = false", "set queue workq Priority = 6")

    def has_come() -> bool:
        return ("root", "set queue workq Priority = 6") in commands(pbs)

    pbs.wait_until(has_come, LATE_S, "the change from the log")
    whole = json.loads(pbsteer(pbs, "audit", "--json"))
    assert whole["recorded_since_s"] is None
    assert whole["changes"][-1]["source"] == "log"
