"""The simulated server against a real one: the same calls, qmgr lines and hook, and the same answers.

Compared are return codes, messages, and every attribute's name and form; ids, times, sizes and names are masked, and
left out is what the simulation does not pretend to have.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sim.hookenv.hook_runner import HookSite
from sim.hookenv.pbs_ifl_module import make_pbs_ifl
from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.objects.errors import PbsError
from sim.pbs_server.requests.qmgr import run_line
from sim.pbs_server.server import SimServer
from tests.pbs.cluster import PbsCluster
from tests.pbs.simulated_server import pbs_ifl_calls_for_comparison

HERE = Path(__file__).parent
CORES = 8

NOT_SIMULATED = {
    "Variable_List", "Error_Path", "Output_Path", "Submit_arguments", "executable", "argument_list", "jobdir",
    "last_used_time", "Stageout_status", "obittime", "run_version", "hashname", "session_id",
}  # fmt: skip
"""Of the environment and the files of a job, and bookkeeping of the server; some of it comes a moment later. Amounts
of 0 assigned are left out too: the server shows them for what was ever assigned."""

JOBS: dict[str, dict[str, str]] = {
    "first": {"Resource_List.select": "1:ncpus=2:mem=100mb", "Resource_List.walltime": "00:10:00", "Job_Name": "first"},
    "plain": {"Resource_List.ncpus": "1", "Job_Name": "plain"},
    "array": {"Resource_List.select": "1:ncpus=1", "Job_Name": "array", "array_indices_submitted": "1-6"},
    "held": {"Resource_List.select": "1:ncpus=1", "Job_Name": "held", "Hold_Types": "u"},
    "stubborn": {"Resource_List.select": "1:ncpus=1", "Job_Name": "stubborn", "Rerunable": "False"},
}


class Masks:
    """Names that differ between two servers, by what they stand for."""

    def __init__(self, server: str, jobs: dict[str, str], vnodes: list[str]) -> None:
        self.server = server
        self._names = {vnode: f"VNODE{number}" for number, vnode in enumerate(vnodes)}
        self._names.update({job.partition(".")[0].rstrip("[]"): f"<{name}>" for name, job in jobs.items()})

    def mask(self, text: str) -> str:
        """The text's form."""
        for vnode in (name for name, word in self._names.items() if word.startswith("VNODE")):
            text = text.replace(vnode, self._names[vnode])
        text = re.sub(
            rf"\b(\d+)((?:\[\d*\])?)\.{re.escape(self.server)}\b",
            lambda found: self._names.get(found[1], "<other>") + found[2],
            text,
        )
        text = text.replace(self.server, "SERVER")
        text = re.sub(r"\b1\d{9}(\d{6})?\b", "TIME", text)
        text = re.sub(r"\b\d+(kb|mb|gb|b)\b", "SIZE", text)
        text = re.sub(r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d (at )?\d\d:\d\d(:\d\d \d{4})?", "DAY", text)
        return re.sub(r"\b\d\d:\d\d:\d\d\b", "DURATION", text)


def normalize(said: list[Any], masks: Masks) -> dict[str, Any]:
    """What came of each call, attributes in order of their names, masked."""
    calls = {}
    for label, found, errno, message in json.loads(json.dumps(said)):
        if isinstance(found, list):
            objects = [(masks.mask(name), normalize_object(pairs, masks)) for name, pairs in found]
            calls[label] = (sorted(objects), errno, message and masks.mask(message))
        else:
            calls[label] = (found, errno, message and masks.mask(message))
    return calls


def normalize_object(pairs: list[list[str | None]], masks: Masks) -> list[str]:
    shown = []
    for name, resource, value in pairs:
        nothing = name == "resources_assigned" and _is_zero(value or "")
        if name == "resources_used" or name in NOT_SIMULATED or nothing:
            continue
        text = masks.mask(value or "")
        if name in (
            "server_state",
            "substate",
            "total_jobs",
            "license_count",
            "sched_priv",
            "sched_log",
            "pcpus",
            "Exit_status",
        ):
            text = "..."
        shown.append(f"{name}{f'.{resource}' if resource else ''} = {text}")
    return sorted(shown)


def make_simulated(pbs: PbsCluster) -> SimServer:
    """A simulated server of the testbed's shape."""
    server = SimServer("simulated", Clock(1_772_442_000.0))
    server.add_queue("workq")
    for name in ("simulated-m1", "simulated-m2", "simulated-m3"):
        server.add_vnode(name, {"ncpus": str(pbs.spec.cores), "mem": "16gb"})
    assert run_line(server, "set server scheduling = false").ok
    return server


def submit_real(pbs: PbsCluster, attributes: dict[str, str]) -> str:
    options: list[str] = []
    if "array_indices_submitted" in attributes:
        options += ["-J", attributes["array_indices_submitted"]]
    options += ["-h"] if "Hold_Types" in attributes else []
    options += ["-r", "n"] if "Rerunable" in attributes else []
    for name, value in attributes.items():
        kind, _, resource = name.partition(".")
        if kind == "Resource_List":
            options += ["-l", f"{resource}={value}"]
    return pbs.qsub("alice", select=None, walltime=None, name=attributes["Job_Name"], options=options)


def run_in_pbs_python(pbs: PbsCluster, names: dict[str, Any]) -> list[Any]:
    path = f"PYTHONPATH={pbs.spec.pbs_exec}/lib/python/altair"
    program = ["env", path, "pbs_python", str(HERE / "pbs_ifl_calls_for_comparison.py"), json.dumps(names)]
    answer: list[Any] = json.loads(pbs.run(program, timeout_s=120.0).demand_success().stdout)
    return answer


def test_pbs_ifl_answers_alike(pbs: PbsCluster) -> None:
    pbs.restart_clean_server()
    # Of a testbed alone (container/pbs/pbs_config.py).
    pbs.qmgr("unset server sync_mom_hookfiles_timeout")
    pbs.qmgr("unset server mailer")
    pbs.qmgr("set server scheduling = false")
    pbs.wait_until(lambda: _holds_nothing(pbs), 120.0, "the server has what the jobs of other tests held")
    real_jobs = {name: submit_real(pbs, attributes) for name, attributes in JOBS.items()}
    real_names = {**real_jobs, "vnodes": pbs.mom_names[:2]}
    real = normalize(run_in_pbs_python(pbs, real_names), Masks(pbs.spec.server.name, real_jobs, pbs.mom_names))

    server = make_simulated(pbs)
    jobs = {name: server.submit("alice", "chem", attributes, 600.0) for name, attributes in JOBS.items()}
    vnodes = list(server.vnodes)
    module: ModuleType = make_pbs_ifl(server)
    said = pbs_ifl_calls_for_comparison.run(
        module, {**jobs, "vnodes": vnodes[:2]}, lambda seconds: server.clock.run_until(server.clock.now_s + seconds)
    )
    simulated = normalize(said, Masks(server.name, jobs, vnodes))
    assert simulated.keys() == real.keys()
    assert [
        line
        for label, answer in real.items()
        for line in difflib.ndiff(_lines(simulated[label]), _lines(answer))
        if not line.startswith("  ")
    ] == []


LINES = (
    "set queue workq max_run_res_soft.ncpus = [u:alice=128]",
    "set queue workq max_run_res_soft.ncpus += [u:bob=12]",
    "set queue workq max_run_res_soft.ncpus += [u:bob=13],[g:chem=5]",
    "set queue workq max_run_res_soft.ncpus += '[u:bob=13],[g:chem=5]'",
    'set queue workq max_run_res_soft.ncpus += "[u:PBS_GENERIC=32]"',
    "list queue workq max_run_res_soft",
    "print queue workq",
    "set queue workq max_run_res_soft.ncpus -= [u:bob=99]",
    "set queue workq max_run_res_soft.ncpus -= [u:bob=13]",
    "set queue workq max_run_res_soft.ncpus -= [u:zed=1]",
    "list queue workq max_run_res_soft.ncpus",
    "unset queue workq max_run_res_soft.ncpus",
    "unset queue workq max_run_res_soft.ncpus",
    "print queue workq",
    "set queue nosuch enabled = true",
    "set queue workq enabld = true",
    "set queue workq enabled = perhaps",
    "set queue workq max_run_res_soft.nosuch = [u:alice=1]",
    "set queue workq max_run_res_soft.ncpus = [u:alice=x]",
    "set queue workq max_run_res_soft.ncpus = u:alice=1",
    "set queue workq max_run_res_soft.ncpus = [u:alice=1],[u:alice=2]",
    "set queue workq max_run_res_soft = 3",
    "set queue workq",
    "set queue workq started",
    "set queue workq started =",
    "create queue workq",
    "create queue other queue_type=execution",
    "set queue other started = true, enabled = true",
    "set queue other Priority = 10",
    "print queue other",
    "delete queue other",
    "delete queue other",
    "frobnicate queue x",
    "set widget x y=1",
    "list server scheduling",
    "set server scheduling = true",
    "l s scheduling",
    "set sched default scheduling = false",
    "list server scheduling",
    "set server comment = 'two  words'",
    "list server comment",
    "set queue workq comment = 'a=b'",
    "print queue workq",
    "set queue workq comment = 'a+b-c'",
    "print queue workq",
    "set queue workq comment = 'a#b'",
    "print queue workq",
    "set queue workq comment = 'a,b'",
    "print queue workq",
    "set queue workq comment = '[a]'",
    "print queue workq",
    "set queue workq comment = '(a;b)&c|d'",
    "print queue workq",
    "unset queue workq comment",
    "unset server comment",
    "set server max_run = [u:PBS_GENERIC=3]",
    "list server max_run",
    "unset server max_run",
    "set node nosuch state = offline",
    "create resource colour type=string",
    "create resource colour type=string",
    "create resource weight type=long, flag=q",
    "list resource",
    "set queue workq resources_available.colour = blue",
    "set queue workq max_run_res_soft.weight = [u:alice=10]",
    "print queue workq",
    "delete resource colour",
    "unset queue workq resources_available.colour",
    "unset queue workq max_run_res_soft.weight",
    "delete resource weight",
    "delete resource weight",
    "list queue nosuch",
    "list queue",
    "create sched spare",
    "create sched spare",
    "delete sched spare",
    "delete sched default",
)


def test_qmgr_answers_alike(pbs: PbsCluster) -> None:
    pbs.qmgr("set server scheduling = false")
    server = make_simulated(pbs)
    differing = {}
    for line in LINES:
        done = pbs.run(["qmgr", "-c", line])
        reply = run_line(server, line)
        real = (done.status == 0, (done.stdout + done.stderr).replace(pbs.spec.server.name, "SERVER").strip())
        simulated = (reply.ok, reply.text.replace(server.name, "SERVER").strip())
        if simulated != real:
            differing[line] = (simulated, real)
    assert differing == {}


def test_a_vnode_set_offline_shows_alike(pbs: PbsCluster) -> None:
    server = make_simulated(pbs)
    for line in ("set node {} state = offline", "set node {} comment = 'fan 2'", "list node {} state", "print node {}"):
        done = pbs.run(["qmgr", "-c", line.format(pbs.mom_names[0])]).demand_success()
        reply = run_line(server, line.format("simulated-m1"))
        real = re.sub(r"\d+(kb|gb|mb)", "SIZE", done.stdout.replace(pbs.mom_names[0], "VNODE"))
        assert re.sub(r"\d+(kb|gb|mb)", "SIZE", reply.text.replace("simulated-m1", "VNODE")) == real


def test_arrays_end_alike(pbs: PbsCluster) -> None:
    """Two subjobs one after the other, of which one may be deleted, and a job that waits for the array's success."""
    pbs.qmgr("set server scheduling = false")
    server = make_simulated(pbs)
    for exit_status, deleted in ((0, None), (3, None), (0, 1), (0, 2)):
        script = f"#!/bin/sh\n[ $PBS_ARRAY_INDEX = {deleted or 0} ] && exec sleep 600\nexit {exit_status}\n"
        array = pbs.qsub("alice", script, options=["-J", "1-2"])
        behind = pbs.qsub("alice", ("/bin/true",), options=["-W", f"depend=afterok:{array}"])
        asked = {"Resource_List.select": "1:ncpus=1", "array_indices_submitted": "1-2"}
        mine = server.submit("alice", "chem", asked, 60.0, exit_status=exit_status)
        depend = {"Resource_List.select": "1:ncpus=1", "depend": f"afterok:{mine}"}
        mine_behind = server.submit("alice", "chem", depend, 60.0)
        for index in (1, 2):
            subjob, my_subjob = (job_id.replace("[]", f"[{index}]") for job_id in (array, mine))
            pbs.run(["qrun", "-H", pbs.mom_names[0], subjob]).demand_success()
            server.run_job(my_subjob, "(simulated-m1:ncpus=1)")
            if index == deleted:
                pbs.wait_for_state(subjob, "R")
                pbs.run(["qdel", subjob]).demand_success()
                server.delete_job(my_subjob)
            server.clock.run_until(server.clock.now_s + 61)
            pbs.wait_until(partial(_has_ended, pbs, subjob), 60.0, f"{subjob} has ended")
        pbs.wait_for_state(array, "F")
        found = [_ending(pbs.job(job_id)) for job_id in (array, behind)]
        assert [_ending(server.jobs[job_id].texts) for job_id in (mine, mine_behind)] == found


def _has_ended(pbs: PbsCluster, job_id: str) -> bool:
    return pbs.job(job_id)["job_state"] in ("X", "F")


def _ending(texts: Mapping[str, Any]) -> tuple[str, ...]:
    """How a job has ended, without the day on which it began; of one that never began, its state alone."""
    ended = texts["job_state"] == "F" and "comment" in texts
    shown = (texts.get("Exit_status", ""), texts["substate"], texts["comment"].rpartition(" ")[2]) if ended else ()
    return (texts["job_state"], *map(str, shown))


def read_probes(log: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line.partition("PROBE ")[2]) for line in log if "PROBE {" in line]


@pytest.fixture
def probe(pbs: PbsCluster) -> PbsCluster:
    pbs.qmgr(
        "set server scheduling = false",
        "create hook probe event='queuejob,runjob'",
        f"import hook probe application/x-python default {HERE / 'hook_logging_pbs_module_answers.py'}",
    )
    return pbs


def test_hooks_see_alike(probe: PbsCluster, tmp_path: Path) -> None:
    pbs = probe
    before = len(read_probes(pbs.server_log().splitlines()))
    asked = {"Resource_List.select": "1:ncpus=2:mem=100mb", "Resource_List.walltime": "00:10:00", "Job_Name": "seen"}
    real_job = submit_real(pbs, asked)
    ran = pbs.run(["qrun", "-H", f"({pbs.mom_names[0]}:ncpus=2:mem=102400kb)", real_job])
    assert ran.status == 0, ran.stderr
    real = read_probes(pbs.server_log().splitlines())[before:]
    refused_real = [pbs.try_qsub("alice", name=name).stderr.strip() for name in ("unwanted", "broken")]

    server = make_simulated(pbs)
    source = (HERE / "hook_logging_pbs_module_answers.py").read_text(encoding="utf-8")
    HookSite(server, {"queuejob": source, "runjob": source}, tmp_path)
    job = server.submit("alice", "chem", asked, 60.0)
    server.run_job(job, "(simulated-m1:ncpus=2:mem=102400kb)")
    simulated = read_probes(list(server.log))
    assert len(real) == len(simulated) == 2
    for mine, truth in zip(simulated, real):
        mine["id"][1], truth["id"][1] = bool(mine["id"][1]), bool(truth["id"][1])
        assert mine == truth

    refused = []
    for name in ("unwanted", "broken"):
        with pytest.raises(PbsError) as error:
            server.submit("alice", "chem", {"Job_Name": name}, 60.0)
        refused.append("qsub: " + error.value.text.replace("pbsteer_queuejob", "probe"))
    assert refused == refused_real


def _lines(answer: object) -> list[str]:
    """An answer as lines, without ``state_count``, which PBS itself lets drift once jobs were deleted by force."""
    return [line for line in json.dumps(answer, indent=1).splitlines() if "state_count = " not in line]


def _holds_nothing(pbs: PbsCluster) -> bool:
    """Whether all that is assigned to jobs is zeros: those deleted by force give back when their hosts say so."""
    told = re.findall(r"resources_assigned\.\S+ = (\S+)", pbs.qmgr("list server", "list queue workq"))
    return all(map(_is_zero, told))


def _is_zero(amount: str) -> bool:
    """Whether nothing is assigned: the unit is that of the last job which gave something back."""
    return re.fullmatch(r"0([kmgtp]?[bw]|0:00:00)?", amount) is not None
