"""What binds a driven queue's jobs on a real server, limits new and old, licences, times; and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.hooks.deploy_on_testbed import (
    deploy,
    deploy_and_drive,
    drive,
    is_scheduling,
    last_pass,
    notes,
    quick_settings,
    set_mode,
    wait_for_pass,
)
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.cycles_of_pbs_sched import hang_up

LICENCE = ("-l", "licences=2")


class Limit(NamedTuple):
    """``target`` is the object whose ``attribute`` is set; of three jobs of alice's and one of bob's, each of 2 cores
    and two licences, ``runs`` run: how many of hers, and of his. She and he are of different groups."""

    target: str
    attribute: str
    value: str
    runs: tuple[int, int]


LIMITS = [
    Limit("queue workq", "max_run", "[u:PBS_GENERIC=2]", (2, 1)),
    Limit("queue workq", "max_run", "[u:alice=1],[u:PBS_GENERIC=2]", (1, 1)),
    Limit("queue workq", "max_run", "[g:{alices}=2]", (2, 1)),
    Limit("queue workq", "max_run", "[p:_pbs_project_default=3]", (3, 0)),
    Limit("queue workq", "max_run", "[o:PBS_ALL=2]", (2, 0)),
    Limit("server", "max_run", "[u:PBS_GENERIC=1]", (1, 1)),
    Limit("queue workq", "max_run_res.ncpus", "[u:PBS_GENERIC=5]", (2, 1)),
    Limit("queue workq", "max_run_res.ncpus", "[g:{alices}=5]", (2, 1)),
    Limit("server", "max_run_res.ncpus", "[o:PBS_ALL=4]", (2, 0)),
    Limit("queue workq", "max_run_res.mem", "[u:PBS_GENERIC=1gb]", (1, 1)),
    Limit("queue workq", "max_running", "2", (2, 0)),
    Limit("queue workq", "max_user_run", "1", (1, 1)),
    Limit("queue workq", "max_group_run", "2", (2, 1)),
    Limit("queue workq", "max_user_res.ncpus", "5", (2, 1)),
    Limit("queue workq", "max_group_res.ncpus", "2", (1, 1)),
    Limit("server", "max_running", "3", (3, 0)),
    Limit("server", "max_user_run", "2", (2, 1)),
    Limit("queue workq", "resources_available.ncpus", "5", (2, 0)),
    Limit("server", "resources_available.ncpus", "5", (2, 0)),
    Limit("server", "resources_available.mem", "1400mb", (2, 0)),
    Limit("server", "resources_available.licences", "5", (2, 0)),
    Limit("queue workq", "resources_available.licences", "4", (2, 0)),
    Limit("queue workq", "max_run_res.licences", "[u:PBS_GENERIC=3]", (1, 1)),
    Limit("server", "max_run_res.licences", "[g:{alices}=4]", (2, 1)),
    Limit("queue workq", "max_run_soft", "[u:PBS_GENERIC=1]", (3, 1)),
]


def submit(pbs: PbsCluster, user: str) -> str:
    return pbs.qsub(user, select="1:ncpus=2:mem=600mb", options=LICENCE)


def runs_of(pbs: PbsCluster, jobs: Sequence[str]) -> int:
    shown = pbs.qstat_json()
    return sum(shown[job]["job_state"] == "R" for job in jobs)


def test_limits_and_licences_bind_the_jobs_of_a_driven_queue(pbs: PbsCluster) -> None:
    pbs.qmgr("create resource licences type=long,flag=q")
    deploy_and_drive(pbs, quick_settings())
    wrong = {}
    for limit in LIMITS:
        alices_group = pbs.run(["id", "-gn", "alice"]).stdout.strip()
        value = limit.value.format(alices=alices_group)
        pbs.qmgr(f"set {limit.target} {limit.attribute} = '{value}'")
        alices, bobs = [submit(pbs, "alice") for _ in range(3)], [submit(pbs, "bob")]
        wait_for_pass(pbs)
        found = (runs_of(pbs, alices), runs_of(pbs, bobs))
        if found != limit.runs:
            wrong[limit] = (found, notes(pbs))
        pbs.run(["qdel", "-W", "force", "-x", *alices, *bobs])
        pbs.wait_until(lambda: not pbs.run(["qselect"]).stdout.strip(), 120.0, "no jobs left")
        pbs.qmgr(f"unset {limit.target} {limit.attribute}")
    assert wrong == {}


def test_a_job_waits_for_its_time_and_for_who_holds_it(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    soon = pbs.run(["date", "-d", "+65 seconds", "+%H%M.%S"]).stdout.strip()
    later = pbs.qsub("alice", ("/bin/sleep", "1"), options=["-a", soon])
    held = pbs.qsub("alice", ("/bin/sleep", "1"), options=["-h"])
    wait_for_pass(pbs)
    assert (pbs.job_state(later), pbs.job_state(held)) == ("W", "H")
    begins_s = int(pbs.run(["date", "-d", "now", "+%s"]).stdout)
    pbs.wait_for_state(later, "F")
    assert int(pbs.run(["date", "+%s"]).stdout) > begins_s
    assert pbs.job_state(held) == "H"


REFUSED = [
    (
        "set server job_sort_formula = 'len([ncpus])'",
        "job_sort_formula (len([ncpus])) has 'len([ncpus])', which is not",
    ),
    ("set node {vnode} no_multinode_jobs = True", "has no_multinode_jobs = True"),
]
CONFIGURED = [
    ('job_sort_key: "arch HIGH" ALL', "job_sort_key arch is no number"),
    ('server_dyn_res: "tokens !/no/such/program"', "there is no '/no/such/program'"),
    ('peer_queue: "workq workq@elsewhere"', "peer_queue is set"),
]


def test_what_is_not_honoured_is_named_and_the_queue_handed_back(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    vnode = pbs.mom_names[0]
    wrong = {}
    for line, words in REFUSED:
        made = line.format(vnode=vnode)
        target = made.split()[1] if made.split()[1] == "server" else " ".join(made.split()[1:3])
        pbs.qmgr(made)
        wait_for_pass(pbs)
        if last_pass(pbs)["acted"] or words not in notes(pbs) or not is_scheduling(pbs):
            wrong[made] = notes(pbs)
        for attribute in [part.split("=")[0].split()[-1] for part in made.split(",")]:
            pbs.qmgr(f"unset {target} {attribute}")
    drive(pbs)
    assert not is_scheduling(pbs)
    assert wrong == {}


@pytest.fixture
def sched_config(pbs: PbsCluster) -> Path:
    return pbs.server_home / "sched_priv" / "sched_config"


def test_what_the_schedulers_own_file_says_is_named(pbs: PbsCluster, sched_config: Path) -> None:
    deploy(pbs, quick_settings())
    set_mode(pbs, "drive")
    before = sched_config.read_text()
    missing = {}
    try:
        for line, words in CONFIGURED:
            sched_config.write_text(f"{before}{line}\n")
            hang_up(pbs)
            wait_for_pass(pbs)
            if last_pass(pbs)["acted"] or words not in notes(pbs):
                missing[line] = notes(pbs)
    finally:
        sched_config.write_text(before)
        hang_up(pbs)
    drive(pbs)
    assert missing == {}


def test_a_file_that_the_scheduler_has_not_read_since_it_was_edited_is_named(
    pbs: PbsCluster, sched_config: Path
) -> None:
    deploy(pbs, quick_settings())
    drive(pbs)

    def is_edit_named() -> bool:
        sched_config.write_text(sched_config.read_text() + "# edited\n")
        wait_for_pass(pbs)
        return "was edited at" in notes(pbs)

    # The scheduler reads its files also for each resource that deploying creates, which may still be to come.
    pbs.wait_until(is_edit_named, 120.0, "a pass names the edit")
    assert last_pass(pbs)["acted"] == []
    hang_up(pbs)
    drive(pbs)
    assert "was edited at" not in notes(pbs)
