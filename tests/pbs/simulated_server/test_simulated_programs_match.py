"""PBS's programs on the simulated server against the real ones: the same command lines, the same status and words."""

from __future__ import annotations

import re

from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.requests.client_programs import run_program
from sim.pbs_server.requests.qmgr import run_line
from sim.pbs_server.server import SimServer
from tests.pbs.cluster import PbsCluster

LINES: tuple[tuple[str, ...], ...] = (
    ("qhold", "-h", "o", "{waiting}"),
    ("qrls", "-h", "o", "{waiting}"),
    ("qhold", "-h", "o", "9999.{server}"),
    ("qrls", "-h", "u", "{waiting}"),
    ("qalter", "-p", "-5", "{waiting}"),
    ("qalter", "-p", "5", "9999.{server}"),
    ("qalter", "-p", "7", "{running}"),
    ("qalter", "-l", "walltime=00:20:00", "{waiting}"),
    ("qalter", "-l", "walltime=00:20:00", "{running}"),
    ("qalter", "-l", "walltime=00:20:00", "9999.{server}"),
    ("qalter", "-W", "comment=ask the owner", "{waiting}"),
    ("qmove", "other", "{waiting}"),
    ("qmove", "nosuch", "{waiting}"),
    ("qmove", "closed", "{waiting}"),
    ("qmove", "workq", "{running}"),
    ("qmove", "workq", "9999.{server}"),
    ("qrerun", "{waiting}"),
    ("qrerun", "9999.{server}"),
    ("qrerun", "{stubborn}"),
    ("qdel", "9999.{server}"),
    ("qmgr", "-c", "set node {vnode} state += offline"),
    ("qmgr", "-c", "set node {vnode} state += offline"),
    ("qmgr", "-c", "list node {vnode} state"),
    ("qmgr", "-c", "set node {vnode} state -= offline"),
    ("qmgr", "-c", 'set node {vnode} state += offline, comment = "pbsteer drain by root"'),
    ("qmgr", "-c", "list node {vnode} state"),
    ("qmgr", "-c", "list node {vnode} comment"),
    ("qmgr", "-c", 'set node {vnode} state -= offline, comment = ""'),
    ("qmgr", "-c", "list node {vnode} comment"),
    ("qmgr", "-c", "set node nosuch state += offline"),
    ("qmgr", "-c", "set queue workq started = False"),
    ("qmgr", "-c", "set queue workq started = True"),
    ("qmgr", "-c", "set queue nosuch started = True"),
    ("qmgr", "-c", "unset queue workq resources_available.pbsteer_mode"),
    ("qdel", "{waiting}"),
    ("qdel", "{waiting}"),
)
QUEUES = (
    "create queue other queue_type=execution, enabled=true, started=true",
    "create queue closed queue_type=execution",
    "create resource pbsteer_mode type=string, flag=i",
)


def test_the_programs_that_change_something_answer_alike(pbs: PbsCluster) -> None:
    pbs.qmgr("set server scheduling = false", *QUEUES)
    vnode = pbs.mom_names[0]
    jobs = {
        "waiting": pbs.qsub("alice", name="waiting"),
        "running": pbs.qsub("alice", name="running"),
        "stubborn": pbs.qsub("alice", name="stubborn", options=["-r", "n"]),
    }
    for job in ("running", "stubborn"):
        pbs.run(["qrun", "-H", f"({vnode}:ncpus=1)", jobs[job]]).demand_success()
        pbs.wait_for_state(jobs[job], "R")
    real_names = {**jobs, "server": pbs.spec.server.name, "vnode": vnode}

    server = SimServer("simulated", Clock(1_772_442_000.0))
    server.add_queue("workq")
    server.add_vnode("simulated-m1", {"ncpus": str(pbs.spec.cores), "mem": "16gb"})
    for line in ("set server scheduling = false", *QUEUES):
        assert run_line(server, line).ok
    asked = {"Resource_List.select": "1:ncpus=1", "Resource_List.walltime": "00:10:00"}
    names = {
        name: server.submit("alice", "chem", {**asked, "Job_Name": name}, 600.0) for name in jobs if name != "stubborn"
    }
    names["stubborn"] = server.submit("alice", "chem", {**asked, "Job_Name": "stubborn", "Rerunable": "False"}, 600.0)
    for job in ("running", "stubborn"):
        server.run_job(names[job], "(simulated-m1:ncpus=1)")
    server.clock.run_until(server.clock.now_s + 5)
    simulated_names = {**names, "server": "simulated", "vnode": "simulated-m1"}

    differing = {}
    for words in LINES:
        done = pbs.run([word.format(**real_names) for word in words])
        real = done.status == 0, masked(done.stdout + done.stderr, real_names)
        reply = run_program(server, [word.format(**simulated_names) for word in words])
        simulated = reply.ok, masked(reply.text, simulated_names)
        if simulated != real:
            differing[" ".join(words)] = {"simulated": simulated, "real": real}
    assert differing == {}


def masked(text: str, names: dict[str, str]) -> str:
    """The words, with names that differ between the servers replaced by what they stand for."""
    for meaning, name in sorted(names.items(), key=lambda pair: -len(pair[1])):
        text = text.replace(name, f"<{meaning}>")
    return re.sub(r"\s+", " ", text).strip()
