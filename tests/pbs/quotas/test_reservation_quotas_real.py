"""Reservations of users on a real server: none is a way round the quotas, and managers reserve what they like."""

from __future__ import annotations

import time

import pytest

from container.run_program import Finished
from policy.settings.settings_of_server_and_passes import SubmissionSettings
from tests.hooks.deploy_on_testbed import deploy, deploy_and_drive, quick_settings, set_mode, settle
from tests.pbs.ask_by_pbs_library import ask_by_library
from tests.pbs.cluster import PbsCluster


def reserve(pbs: PbsCluster, user: str, cores: int, in_hours: int = 2, *more: str) -> Finished:
    return reserve_chunks(pbs, user, f"{cores}:ncpus=1", in_hours, *more)


def reserve_chunks(pbs: PbsCluster, user: str, select: str, in_hours: int, *more: str) -> Finished:
    begin = time.strftime("%Y%m%d%H%M.%S", time.localtime(time.time() + 3600 * in_hours))[2:]
    return pbs.run(["pbs_rsub", "-R", begin, "-D", "1800", "-l", f"select={select}", *more], user=user)


NOT_UTF8 = "\udcff"


def clear(pbs: PbsCluster) -> None:
    """Take all reservations away."""
    lines = pbs.run(["pbs_rstat", "-f"]).demand_success().stdout.splitlines()
    for name in [line.split()[-1] for line in lines if line.startswith("Resv ID:")]:
        pbs.run(["pbs_rdel", name]).demand_success()


def test_no_running_job_of_a_driven_queue_is_made_a_reservation_by_its_owner(pbs: PbsCluster) -> None:
    """24 cores; alice has 8 and runs 24. Her jobs stay where bob's quota reaches them."""
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=8],[u:bob=8]'")
    deploy_and_drive(pbs, quick_settings())
    jobs = [pbs.qsub("alice", select="1:ncpus=8") for _ in range(3)]
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in jobs), 120.0, "they run on idle cores")
    for job in jobs:
        done = pbs.run(["pbs_rsub", "--job", job], user="alice")
        assert done.status != 0
        assert "is made a reservation by managers and operators only" in done.stderr
    assert {pbs.job(job)["queue"] for job in jobs} == {"workq"}
    bobs = pbs.qsub("bob", select="1:ncpus=8")
    pbs.wait_until(lambda: pbs.job_state(bobs) == "R", 120.0, "bob gets his quota")


@pytest.mark.parametrize("mode", ["advise", "drive"])
def test_users_reserve_within_their_quotas_and_managers_what_they_like(pbs: PbsCluster, mode: str) -> None:
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=8],[u:bob=8]'")
    pbs.qmgr("set server managers += dave@*")
    deploy(pbs, quick_settings())
    set_mode(pbs, mode)
    settle(pbs)
    try:
        refused = reserve(pbs, "alice", 9)
        assert "ncpus=9 to be reserved is more than the quota u:alice=8 of queue workq" in refused.stderr
        reserve(pbs, "alice", 6).demand_success()
        beside = reserve(pbs, "alice", 3)
        assert "beside 6 in other reservations of alice at that time" in beside.stderr
        assert "is more than" in reserve(pbs, "alice", 2, 5, "-l", "place=scatter:excl").stderr
        reserve(pbs, "alice", 8, 6).demand_success()
        reserve(pbs, "dave", 12, 8).demand_success()
        reserve(pbs, "carol", 12, 10).demand_success()
    finally:
        clear(pbs)


def test_reservations_and_their_alterations_beyond_the_bounds_are_refused_in_every_mode(pbs: PbsCluster) -> None:
    beyond = "+".join(f"1:ncpus=0:mem={kib + 1}kb" for kib in range(257))
    deploy(pbs, quick_settings())
    try:
        for mode in ("observe", "advise", "drive"):
            set_mode(pbs, mode)
            settle(pbs)
            kinds = reserve_chunks(pbs, "alice", beyond, 2)
            assert "257 kinds of chunks, counting equal neighbours once; allowed are 256" in kinds.stderr, mode
            text = reserve(pbs, "alice", 1, 2, "-l", f"software={'x' * 9_000}")
            assert "allowed are 8,192 (submission.text_length)" in text.stderr, mode
            lists = [part for option in "UG" for part in (f"-{option}", ",".join([f"+{option}{'x' * 90}"] * 800))]
            users = reserve(pbs, "alice", 1, 2, *[part.replace("+", "") for part in lists])
            assert "lists of users, groups and hosts have" in users.stderr, mode
            kept = reserve(pbs, "alice", 1).demand_success().stdout.split()[0]
            for argv, words in ((["-l", f"select={beyond}"], "257 kinds of chunks"), (lists, "lists of users")):
                done = pbs.run(["pbs_ralter", *argv, kept], user="alice")
                assert done.status != 0, mode
                assert words in done.stderr, (mode, done.stderr[:500])
            pbs.run(["pbs_ralter", "-N", "mine", kept], user="alice").demand_success()
            clear(pbs)
    finally:
        clear(pbs)


def test_a_site_can_leave_reservations_to_pbs(pbs: PbsCluster) -> None:
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=8]'")
    deploy_and_drive(pbs, quick_settings(submission=SubmissionSettings(reservations="any")))
    job = pbs.qsub("alice", select="1:ncpus=8")
    pbs.wait_until(lambda: pbs.job_state(job) == "R", 120.0, "it runs")
    try:
        pbs.run(["pbs_rsub", "--job", job], user="alice").demand_success()
        reserve(pbs, "alice", 16).demand_success()
    finally:
        pbs.run(["qdel", "-W", "force", job])
        clear(pbs)


def test_no_form_of_a_request_hides_what_it_reserves(pbs: PbsCluster) -> None:
    """alice has 8 of 24 cores, carol no quota. PBS makes chunks of ``nodes`` after the hook; a count keeps 32 bits."""
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=8]'")
    deploy_and_drive(pbs, quick_settings())
    begin = time.strftime("%Y%m%d%H%M.%S", time.localtime(time.time() + 7200))[2:]
    try:
        refused = {
            "nodes=3:ppn=8": "say it with -l select=",
            f"select={2**32 + 3}:ncpus=8": "it asks for 4,294,967,299 processes",
        }
        for asked, words in refused.items():
            done = pbs.run(["pbs_rsub", "-R", begin, "-D", "1800", "-l", asked], user="alice")
            assert words in done.stderr, done
        of_carol = ["pbs_rsub", "-R", begin, "-D", "1800", "-l", "nodes=3:ppn=8"]
        pbs.run(of_carol, user="carol").demand_success()
    finally:
        clear(pbs)


def test_text_that_pbs_cannot_show_to_a_hook_hides_nothing_of_a_reservation(pbs: PbsCluster) -> None:
    """A program that uses PBS's library may send text that is not UTF-8, which PBS leaves out of the hook's event."""
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=8]'")
    deploy_and_drive(pbs, quick_settings())
    settle(pbs)
    begin = int(time.time()) + 7200
    asked = [f"reserve_start={begin}", f"reserve_end={begin + 600}", "Resource_List.select=9:ncpus=1"]
    hidden = [f"{name}={NOT_UTF8}" for name in ("Account_Name", "Authorized_Hosts", "reserve_timezone")]
    for text in hidden:
        for attributes in ([text, *asked], [*asked, text]):
            assert "ncpus=9 to be reserved is more than the quota" in ask_by_library(
                pbs, "alice", "reserve", "", *attributes
            )
    try:
        name = reserve(pbs, "alice", 8).demand_success().stdout.split()[0]
        names = ",".join(f"name{number}" for number in range(9000))
        many = [f"Authorized_Users={names}", f"Authorized_Groups={names}"]
        assert "its variables and lists of users" in ask_by_library(pbs, "alice", "alter", name, *many)
        # PBS gives the hook of such an alteration no reservation, and refuses it for want of one.
        for text in hidden[:2]:
            assert ask_by_library(pbs, "alice", "alter", name, text, *many) == "modifyresv event: rejected request"
        assert "name8999" not in pbs.run(["pbs_rstat", "-f", name]).stdout
    finally:
        clear(pbs)
