"""What a job asks for, on a real server: asked for with qsub, met or refused, and out of the server again."""

from __future__ import annotations

from collections import Counter

from policy.model.allocation import parse_exec_vnode
from tests.hooks.deploy_on_testbed import deploy, deploy_and_drive, last_pass, quick_settings, wait_for_pass
from tests.pbs.cluster import PbsCluster

RANKS = "cat $PBS_NODEFILE\n"


def test_a_striped_job_finds_its_ranks_on_the_vnodes_that_it_was_given(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    wish = ["-l", "pbsteer_layout=stripe,pbsteer_width=2,pbsteer_app=wrf"]
    job_id = pbs.qsub("alice", RANKS, select="1:ncpus=4:mpiprocs=4:mem=400mb", options=wish)
    pbs.wait_for_state(job_id, "F")
    ranks = Counter(line.partition(".")[0] for line in pbs.read_output("alice", job_id).split())
    assert sorted(ranks.values()) == [2, 2]
    assert pbs.job(job_id)["Resource_List"]["mem"] == "409600kb"
    assert last_pass(pbs)["failures"] == []


def test_the_subjobs_of_a_striped_array_all_run_in_its_pieces(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    array = pbs.qsub("alice", select="1:ncpus=4:mpiprocs=4", options=["-J", "1-3", "-l", "pbsteer_width=2"])
    subjobs = [array.replace("[]", f"[{index}]") for index in (1, 2, 3)]
    pbs.wait_until(lambda: all(pbs.job_state(each) == "R" for each in subjobs), 120.0, "all subjobs run")
    for each in subjobs:
        vnodes = parse_exec_vnode(pbs.job(each)["exec_vnode"])
        assert sorted(spot.chunks for spot in vnodes.spots) == [2, 2]
    assert last_pass(pbs)["failures"] == []


def test_a_job_in_chunks_is_striped_as_it_is(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    job_id = pbs.qsub("alice", RANKS, select="6:ncpus=1:mpiprocs=1", options=["-l", "pbsteer_width=3"])
    pbs.wait_for_state(job_id, "F")
    ranks = Counter(line.partition(".")[0] for line in pbs.read_output("alice", job_id).split())
    assert sorted(ranks.values()) == [2, 2, 2]
    assert pbs.job(job_id)["Resource_List"]["select"] == "6:ncpus=1:mpiprocs=1"


def test_a_wish_that_makes_no_sense_is_refused_at_submission(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("advise"))
    for wish, words in (
        ("pbsteer_rank=fastest", "pbsteer_rank is 'fastest'; allowed is composite, compute"),
        ("pbsteer_width=0", "pbsteer_width is '0'; allowed is a whole number of nodes"),
        ("pbsteer_min_mem=lots", "pbsteer_min_mem is 'lots'; allowed is a size above 0"),
        ("pbsteer_max_temp=-5", "pbsteer_max_temp is '-5'; allowed is a number above 0"),
        ("pbsteer_deferrable=perhaps", "Illegal attribute or resource value Resource_List.pbsteer_deferrable"),
        ("pbsteer_mode=drive", "Cannot set attribute, read only or insufficient permission"),
    ):
        done = pbs.try_qsub("alice", options=["-l", wish])
        assert (wish, done.status != 0) == (wish, True)
        assert words in done.stderr


def test_a_job_that_needs_what_no_vnode_has_told_of_waits_and_says_so(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    job_id = pbs.qsub("alice", options=["-l", "pbsteer_rank=compute+memory,pbsteer_min_network=5"])
    wait_for_pass(pbs)
    assert pbs.job_state(job_id) == "Q"
    assert [wait["code"] for wait in last_pass(pbs)["waits"]] == ["not-good-enough"]


def test_resources_that_jobs_ask_for_stay_until_they_are_forgotten(pbs: PbsCluster) -> None:
    deployment = deploy(pbs, quick_settings())
    before = pbs.qmgr("print server")
    job_id = pbs.qsub("alice", ("/bin/sleep", "1"), options=["-l", "pbsteer_app=wrf"])
    pbs.wait_for_state(job_id, "F")
    assert "pbsteer_app" in before
    assert deployment.remove(lambda _: None).left == ["pbsteer_app"]
    left = pbs.qmgr("print server", "list hook")
    assert "create resource pbsteer_app" in left
    assert left.count("pbsteer_periodic") == left.count("create resource user_priority") == 0
    pbs.run(["qdel", "-x", job_id])
    pbs.wait_until(lambda: not pbs.run(["qselect", "-x"]).stdout.strip(), 120.0, "the server has forgotten the job")
    assert deployment.remove(lambda _: None).left == []
    assert "pbsteer" not in pbs.qmgr("print server")
    assert not (pbs.server_home / "pbsteer").exists()
