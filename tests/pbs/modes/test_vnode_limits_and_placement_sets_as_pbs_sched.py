"""Run limits of vnodes and placement sets on a real server: pbs_sched and a pass get the same jobs, and start the same
ones in the same sets.

The queue is stopped while jobs are submitted, so that one cycle, and one pass, sees them all. Within a set any vnode
will do, so hosts are compared by their racks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Callable, NamedTuple

import pytest

from container import testbed as testbeds
from container.testbed_spec import TestbedSpec
from policy.model.allocation import parse_exec_vnode
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import Settings
from tests.hooks.deploy_on_testbed import deploy_and_drive, last_pass, notes, wait_for_due_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.cycles_of_pbs_sched import outcome_by_sched

RACKS = ("r1", "r1", "r2", "r2", "r2", "")
ROWS = "abbbbb"
"""The rack and the row of each host, in order; the last is in no rack."""
WAITS = "waits"


@pytest.fixture(scope="module")
def six_testbed(pbs_exec: str) -> Iterator[PbsCluster]:
    """Six MoMs of four cores."""
    name = f"pbst-{os.getpid()}-s"
    try:
        built, _ = testbeds.up(TestbedSpec(name=name, moms=6, cores=4, pbs_exec=pbs_exec))
        yield PbsCluster(built)
    finally:
        testbeds.down(name)


@pytest.fixture
def six(six_testbed: PbsCluster) -> PbsCluster:
    six_testbed.reset()
    six_testbed.qmgr(
        "create resource rack type=string_array,flag=h",
        "create resource row type=string,flag=h",
        *(f"set node {host} resources_available.rack = {rack}" for host, rack in racks_of(six_testbed).items() if rack),
        *(f"set node {host} resources_available.row = {row}" for host, row in zip(six_testbed.mom_names, ROWS)),
    )
    return six_testbed


def racks_of(six: PbsCluster) -> dict[str, str]:
    return dict(zip(six.mom_names, RACKS))


class Asked(NamedTuple):
    user: str
    select: str
    place: str = "free"


class Case(NamedTuple):
    """``settings``: ``OBJECT ATTRIBUTE VALUE``, set for the case and unset afterwards; a vnode by its place."""

    settings: Sequence[str]
    jobs: Sequence[Asked]


def all_vnodes(attribute: str, value: int) -> list[str]:
    return [f"node {place} {attribute} {value}" for place in range(len(RACKS))]


MEM = {"alice": "10mb", "bob": "11mb", "carol": "12mb"}
"""What jobs of each user ask for, so that they differ: pbs_sched takes jobs that differ in their users alone for alike
where only vnodes limit users, and looks at none of them in a cycle once one of them had to wait."""


def each(user: str, count: int, select: str = "1:ncpus=1", place: str = "free") -> list[Asked]:
    return [Asked(user, f"{select}:mem={MEM[user]}", place)] * count


SIZES = [Asked("alice", select) for select in ("1:ncpus=4", "2:ncpus=4", "3:ncpus=4", "1:ncpus=1")]
SERVER_KEY = ("server node_group_enable True", "server node_group_key rack")
LIMITS: Mapping[str, Case] = {
    "max_running": Case(all_vnodes("max_running", 2), [*each("alice", 8), *each("bob", 8)]),
    "max_running-0": Case(["node 0 max_running 0", "node 1 max_running 0"], each("alice", 20)),
    "max_user_run": Case(all_vnodes("max_user_run", 1), [*each("alice", 8), *each("bob", 8), *each("carol", 8)]),
    "max_group_run": Case(all_vnodes("max_group_run", 2), [*each("alice", 14), *each("bob", 8)]),
    "user-and-all": Case(
        [*all_vnodes("max_user_run", 1), *all_vnodes("max_running", 2)],
        [*each("alice", 7), *each("bob", 7), *each("carol", 3)],
    ),
    "limits-of-some-vnodes": Case(
        [f"node {place} max_user_run 1" for place in range(5)],
        [*each("alice", 12), *each("bob", 5)],
    ),
    "limit-and-wide-jobs": Case(all_vnodes("max_user_run", 1), each("alice", 4, "2:ncpus=1", "scatter")),
}
SETS: Mapping[str, Case] = {
    "server-key": Case(SERVER_KEY, SIZES),
    "explicit": Case([*SERVER_KEY, "sched default only_explicit_psets True"], SIZES),
    "too-large-spans": Case(SERVER_KEY, [Asked("alice", "5:ncpus=4"), Asked("bob", "1:ncpus=1")]),
    "do-not-span": Case(
        [*SERVER_KEY, "sched default do_not_span_psets True"], [Asked("alice", "5:ncpus=4"), Asked("bob", "2:ncpus=4")]
    ),
    "waits-for-its-set": Case(SERVER_KEY, [*each("alice", 2, "2:ncpus=3", "scatter"), *each("bob", 2, "3:ncpus=2")]),
    "queue-key-before-server-key": Case([*SERVER_KEY, "queue workq node_group_key row"], SIZES),
    "key-without-enable": Case(SERVER_KEY[1:], SIZES),
    "two-keys": Case([SERVER_KEY[0], "server node_group_key 'rack,row'"], SIZES),
    "own-group-before-server-key": Case(
        SERVER_KEY, [Asked("alice", "2:ncpus=2", "group=host"), Asked("bob", "2:ncpus=4", "group=row")]
    ),
    "own-group-with-the-rest": Case((), [Asked("alice", "1:ncpus=4", "group=rack"), Asked("bob", "3:ncpus=4")]),
    "own-group-explicit": Case(["sched default only_explicit_psets True"], [Asked("alice", "1:ncpus=4", "group=rack")]),
    "least-left-of-equal-sets": Case(
        [SERVER_KEY[0], "server node_group_key row"],
        [Asked("alice", "1:ncpus=2"), Asked("bob", "1:ncpus=2"), Asked("carol", "1:ncpus=2")],
    ),
    "scatter-in-a-set": Case(SERVER_KEY, each("alice", 3, "2:ncpus=1", "scatter")),
    "pack-in-a-set": Case(SERVER_KEY, each("alice", 3, "2:ncpus=2", "pack")),
}


def outcome_of(six: PbsCluster, jobs: Sequence[str]) -> list[str]:
    """For each job the racks of its vnodes, one for each, in order; ``waits`` if it does."""
    shown, racks = six.qstat_json(), racks_of(six)
    return [
        " ".join(sorted(racks[vnode] or "rest" for vnode in parse_exec_vnode(shown[job]["exec_vnode"]).vnodes))
        if shown[job]["job_state"] == "R"
        else WAITS
        for job in jobs
    ]


def read_settings(six: PbsCluster, case: Case) -> Iterator[tuple[str, str, str]]:
    """The object, the attribute and the value of each setting."""
    for setting in case.settings:
        *target, attribute, value = setting.split()
        if target[0] == "node":
            target[1] = six.mom_names[int(target[1])]
        yield " ".join(target), attribute, value


def submit(six: PbsCluster, case: Case) -> list[str]:
    """Configure the case and submit its jobs to the stopped queue."""
    six.qmgr("set queue workq started = False")
    for target, attribute, value in read_settings(six, case):
        six.qmgr(f"set {target} {attribute} = {value}")
    return [
        six.qsub(job.user, select=job.select, walltime="3600", options=["-l", f"place={job.place}"])
        for job in case.jobs
    ]


def clear(six: PbsCluster, case: Case, jobs: Sequence[str]) -> None:
    six.run(["qdel", "-W", "force", "-x", *jobs])
    six.wait_until(lambda: not six.run(["qselect"]).stdout.strip(), 120.0, "no jobs left")
    for target, attribute, _ in read_settings(six, case):
        six.qmgr(f"unset {target} {attribute}")
    six.wait_until(lambda: all(not v.get("jobs") for v in six.pbsnodes().values()), 120.0, "no job on any vnode")


def by_sched(six: PbsCluster, case: Case) -> list[str]:
    jobs = submit(six, case)
    six.qmgr("set queue workq started = True")
    found = outcome_by_sched(six, lambda: outcome_of(six, jobs))
    clear(six, case, jobs)
    return found


def by_pass(six: PbsCluster, case: Case) -> list[str]:
    jobs = submit(six, case)
    six.qmgr("set queue workq started = True")
    # An early pass may have no time for all of them.
    wait_for_due_pass(six)
    assert last_pass(six)["failures"] == [], notes(six)
    found = outcome_of(six, jobs)
    clear(six, case, jobs)
    return found


def differences(six: PbsCluster, cases: Mapping[str, Case], is_same: Callable[[list[str], list[str]], bool]) -> str:
    """A line for each case with another outcome by a pass than by pbs_sched."""
    of_sched = {name: by_sched(six, case) for name, case in cases.items()}
    assert any(WAITS in outcome for outcome in of_sched.values()), of_sched
    deploy_and_drive(six, Settings(schedule=ScheduleSettings(interval_s=3, budget_s=120)))
    of_pass = {name: by_pass(six, case) for name, case in cases.items()}
    wrong = [name for name in cases if not is_same(of_sched[name], of_pass[name])]
    return "\n".join(f"{name}: pbs_sched {of_sched[name]}, a pass {of_pass[name]}" for name in wrong)


@pytest.mark.takes(120)
def test_vnodes_run_the_same_jobs_within_their_limits_as_by_pbs_sched(six: PbsCluster) -> None:
    """Which vnode of those that are as good a job gets is not the same."""

    def start_the_same(theirs: list[str], ours: list[str]) -> bool:
        return [racks == WAITS for racks in theirs] == [racks == WAITS for racks in ours]

    wrong = differences(six, LIMITS, start_the_same)
    assert not wrong, wrong


@pytest.mark.parametrize("part", [0, 1])
def test_jobs_start_in_the_same_placement_sets_as_by_pbs_sched(six: PbsCluster, part: int) -> None:
    wrong = differences(six, dict(list(SETS.items())[part::2]), lambda theirs, ours: theirs == ours)
    assert not wrong, wrong
