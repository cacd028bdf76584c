"""What jobs ask for beyond cores, on a real server: a site's own resources, old ways of asking, jobs that shrink."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.deploy_on_testbed import last_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.compare_placement_with_pbs_sched import driven, run_by_pass, run_by_sched, shape_of, why_it_waits
from tests.pbs.modes.cycles_of_pbs_sched import hang_up


@pytest.fixture
def rich(pbs: PbsCluster) -> PbsCluster:
    """The first vnode has GPUs, scratch space and FPGAs, the second one is big, and each is in a rack of its own."""
    pbs.qmgr(
        "create resource ngpus type=long,flag=nh",
        "create resource scratch type=size,flag=nh",
        "create resource fpga type=float,flag=nh",
        "create resource big type=boolean,flag=h",
        "create resource rack type=string,flag=h",
        "create resource tags type=string_array,flag=h",
        "create resource speed type=float,flag=h",
        "create resource disk type=size,flag=h",
        "create resource licences type=long,flag=q",
        "create resource tokens type=float,flag=q",
        "set server resources_available.licences = 3",
        "set server resources_available.tokens = 2.5",
    )
    first, second, _ = pbs.mom_names
    pbs.qmgr(
        f"set node {first} resources_available.ngpus = 4",
        f"set node {first} resources_available.scratch = 100gb",
        f"set node {first} resources_available.fpga = 1.5",
        f"set node {first} resources_available.speed = 4.5",
        f"set node {first} resources_available.disk = 5gb",
        f"set node {second} resources_available.big = True",
    )
    for number, name in enumerate(pbs.mom_names):
        pbs.qmgr(f"set node {name} resources_available.rack = r{number}")
        pbs.qmgr(f"set node {name} resources_available.tags = 'any,t{number}'")
    return pbs


def wishes(pbs: PbsCluster) -> list[dict[str, Any]]:
    """Requests of all kinds; each has its place on the idle testbed."""
    second = pbs.mom_names[1]
    return [
        {"select": "1:ncpus=2:ngpus=2"},
        {"select": "1:ncpus=1:mem=1gb+2:ncpus=2:ngpus=1+1:ncpus=0:mem=2gb"},
        {"select": "2:ncpus=1:scratch=50gb"},
        {"select": "1:ncpus=1:big=true"},
        {"select": "1:ncpus=1:big=false"},
        {"select": "1:ncpus=1:rack=r2"},
        {"select": "1:ncpus=1:speed=3:disk=2gb"},
        {"select": f"1:ncpus=1:host={second.upper()}"},
        {"select": "1:ncpus=1:vmem=1gb"},
        {"select": "2:ncpus=1", "options": ["-l", "place=scatter:group=host"]},
        {"select": None, "options": ["-l", "vmem=2gb,ncpus=2"]},
        {"select": "1:ncpus=1:tags=t1"},
        {"select": f"1:ncpus=1:host={second}"},
        {"select": f"1:ncpus=1:vnode={second}"},
        {"select": "3:ncpus=8", "options": ["-l", "place=scatter"]},
        {"select": "2:ncpus=2", "options": ["-l", "place=pack:group=rack"]},
        {"select": "2:ncpus=2", "options": ["-l", "place=scatter:excl"]},
        {"select": None, "options": ["-l", "ncpus=4,mem=1gb"]},
        {"select": None, "options": ["-l", "nodes=2:ppn=2"]},
        {"select": None},
        {"select": "1:ncpus=1", "walltime": None},
        {"options": ["-l", "licences=2"]},
        {"options": ["-l", "tokens=1.5"]},
        {"options": ["-l", "preempt_targets=queue=workq"]},
        {"options": ["-W", "umask=077", "-A", "account", "-p", "10", "-c", "n", "-m", "n"]},
    ]


@pytest.mark.takes(80)
def test_every_request_is_placed_as_well_as_by_pbs_sched(rich: PbsCluster) -> None:
    asked = wishes(rich)
    by_sched = [run_by_sched(rich, **each) for each in asked]
    driven(rich)
    for each, theirs in zip(asked, by_sched):
        ours = run_by_pass(rich, **each)
        assert shape_of(rich, ours["exec_vnode"]) == shape_of(rich, theirs["exec_vnode"]), each
        assert ours["Resource_List"] == theirs["Resource_List"]
        running = rich.run(["qselect", "-s", "R"]).demand_success().stdout.split()
        rich.run(["qdel", "-W", "force", "-x", *running]).demand_success()
        rich.wait_until(lambda: all(not v.get("jobs") for v in rich.pbsnodes().values()), 120.0, "no job on any vnode")
    assert last_pass(rich)["failures"] == []


def test_a_number_that_is_not_used_up_is_had_by_vnodes_with_as_much_or_more(rich: PbsCluster) -> None:
    driven(rich)
    first = rich.mom_names[0]
    for wish in ("speed=4.5", "speed=1", "disk=5120mb", "disk=1kb"):
        assert run_by_pass(rich, select=f"1:ncpus=1:{wish}")["exec_vnode"].startswith(f"({first}:"), wish
    for wish in ("speed=4.6", "disk=6gb"):
        assert "could hold 0 chunks of that kind" in why_it_waits(rich, rich.qsub("alice", select=f"1:ncpus=1:{wish}"))


def test_what_nobody_counts_keeps_no_job_from_a_vnode_again_and_again(pbs: PbsCluster) -> None:
    driven(pbs)
    first = pbs.mom_names[0]
    for _ in range(3):
        run_by_pass(pbs, select=f"1:ncpus=1:vmem=1gb:vnode={first}")
    assert last_pass(pbs)["failures"] == []


def test_what_a_job_asks_for_as_a_whole_is_what_queue_and_server_have(pbs: PbsCluster) -> None:
    pbs.qmgr(
        "create resource campus type=string",
        "create resource tested type=boolean",
        "set queue workq resources_available.campus = north",
        "set server resources_available.tested = False",
    )
    driven(pbs)
    config = pbs.server_home / "sched_priv" / "sched_config"
    before = config.read_text()
    try:
        config.write_text(before.replace('resources: "', 'resources: "campus, tested, '))
        hang_up(pbs)
        south = pbs.qsub("alice", options=["-l", "campus=south"])
        tested = pbs.qsub("alice", options=["-l", "tested=true"])
        run_by_pass(pbs, options=["-l", "campus=north,tested=false"])
        assert "it asks for campus=south, and queue workq has campus=north" in why_it_waits(pbs, south)
        assert "it asks for tested=True, and the server has tested=False" in pbs.job(tested)["comment"]
    finally:
        config.write_text(before)
        hang_up(pbs)
    for job_id in (south, tested):
        pbs.wait_for_state(job_id, "R")


def test_a_size_of_the_sites_own_is_counted_as_it_was_asked_for(rich: PbsCluster) -> None:
    driven(rich)
    run_by_pass(rich, select="1:ncpus=1:scratch=60gb")
    first = rich.mom_names[0]
    assert rich.pbsnodes()[first]["resources_assigned"]["scratch"] == f"{60 << 20}kb"
    second = rich.qsub("alice", select="1:ncpus=1:scratch=60gb")
    why = "needs 1 core, 23 are idle, but too few of them where scratch=62914560kb is free for each chunk"
    assert why in why_it_waits(rich, second)


def test_fractions_are_never_given_out_twice(rich: PbsCluster) -> None:
    """Counted in whole ones: what is asked for rounded up, what there is rounded down."""
    driven(rich)
    run_by_pass(rich, select="1:ncpus=1:fpga=0.5")
    second = rich.qsub("alice", select="1:ncpus=1:fpga=1")
    assert "but too few of them where fpga=1 is free for each chunk" in why_it_waits(rich, second)
    run_by_pass(rich, options=["-l", "tokens=1.5"])
    third = rich.qsub("alice", options=["-l", "tokens=1.2"])
    assert "asks for 2 tokens of the server: 0 are left" in why_it_waits(rich, third)


def test_licences_of_the_server_are_given_out_and_given_back(rich: PbsCluster) -> None:
    driven(rich)
    first = run_by_pass(rich, command=("/bin/sleep", "8"), options=["-l", "licences=2"])
    assert first["Resource_List"]["licences"] == 2
    second = rich.qsub("alice", options=["-l", "licences=2"])
    assert "asks for 2 licences of the server: 1 is left" in why_it_waits(rich, second)
    rich.wait_for_state(second, "R")


def test_a_job_that_may_shrink_gets_its_longest_walltime(pbs: PbsCluster) -> None:
    theirs = run_by_sched(pbs, walltime=None, options=["-l", "min_walltime=00:01:00,max_walltime=01:00:00"])
    driven(pbs)
    ours = run_by_pass(pbs, walltime=None, options=["-l", "min_walltime=00:01:00,max_walltime=01:00:00"])
    assert ours["Resource_List"] == theirs["Resource_List"]
    assert ours["Resource_List"]["walltime"] == "01:00:00"


def test_a_request_that_no_vnode_can_ever_meet_waits_and_says_so(rich: PbsCluster) -> None:
    driven(rich)
    job_id = rich.qsub("alice", select="1:ncpus=1:rack=r9")
    assert "could hold 0 chunks of that kind" in why_it_waits(rich, job_id)
