"""Numbers of processes by which PBS's MoMs or its server would end, on a real server in the mode that interferes least:
refused in all forms that PBS makes chunks of. What is within the bounds runs."""

from __future__ import annotations

import time

from tests.hooks.deploy_on_testbed import deploy, quick_settings
from tests.pbs.ask_by_pbs_library import ask_by_library
from tests.pbs.cluster import PbsCluster

PLAIN = ("Job_Name=x", "Variable_List=PBS_O_HOME=/tmp,PBS_O_WORKDIR=/tmp,PBS_O_HOST=server")
WRAPPING = "1:ncpus=0:mpiprocs=2147483647+1:ncpus=0:mpiprocs=2147483647+1:ncpus=0:mpiprocs=2"
HIDING = "\"'+1:ncpus=1:mpiprocs=99999999+1:arch='"


def test_no_job_has_more_processes_than_a_mom_can_count(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("observe"))
    waiting = pbs.qsub("alice", options=("-h",))
    begin = int(time.time()) + 7200
    times = (f"reserve_start={begin}", f"reserve_end={begin + 600}")
    for asked in (
        f"Resource_List.select={WRAPPING}",
        "Resource_List.select=1:ncpus=1:mpiprocs=99999999",
        'Resource_List.select=1:ncpus=1:mpiprocs="99999999"',
        "Resource_List.select=1:ncpus=1)x1:ncpus=1:mpiprocs=99999999",
        "Resource_List.nodes=1:ppn=99999999",
        "Resource_List.mpiprocs=99999999",
        f"Resource_List.arch={HIDING}",
    ):
        told = (
            ask_by_library(pbs, "alice", "submit", "", *PLAIN, asked),
            ask_by_library(pbs, "alice", "alter job", waiting, asked),
            ask_by_library(pbs, "alice", "reserve", "", *times, asked),
        )
        assert all(("pbsteer: it" in each and "process" in each) or "mpiprocs" in each for each in told), (asked, told)
    runs = pbs.qsub("alice", select="2:ncpus=1:mpiprocs=4")
    pbs.wait_for_state(runs, "R")


def test_no_nodes_text_ends_the_server(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("observe"))
    for asked in (
        ("Resource_List.nodes=" + "0" * 99 + "1",),
        ("Resource_List.nodes=" + "a" * 5000,),
        ("Resource_List.nodes=1:ppn=" + "1" * 99,),
        ("Resource_List.nodes=65536:ppn=65536", "Resource_List.ncpus=4"),
        ("Resource_List.nodes=65536:ppn=1:cpp=65536", "Resource_List.ncpus=0"),
    ):
        told = ask_by_library(pbs, "alice", "submit", "", *PLAIN, *asked)
        assert "pbsteer: it" in told, (asked, told)
    assert "." in ask_by_library(pbs, "alice", "submit", "", *PLAIN, "Resource_List.nodes=2:ppn=3")
    assert pbs.run(["qstat", "-B"]).status == 0
