"""Times of 18 digits on a real server, which PBS takes from any user: none switches the passes off, ends the server or
``qstat``, or makes the passes forget what they know."""

from __future__ import annotations

import time

import pytest

from tests.bench_pbs.testbed import script
from tests.hooks.deploy_on_testbed import deploy_and_drive, last_pass, quick_settings, wait_for_pass
from tests.pbs.ask_by_pbs_library import ask_by_library
from tests.pbs.cluster import PbsCluster

_AGES = "99999999999999:00:00"


def test_a_job_of_endless_walltime_keeps_no_pass_from_its_work(pbs: PbsCluster) -> None:
    """24 cores. A job that has to wait for such a job is told so, and the head's promise is kept from pass to pass."""
    deploy_and_drive(pbs, quick_settings())
    endless = pbs.qsub("alice", select="1:ncpus=1", walltime=_AGES)
    pbs.wait_for_state(endless, "R")
    whole = pbs.qsub("bob", select="3:ncpus=8")
    pbs.wait_until(lambda: "pbsteer" in pbs.job(whole).get("comment", ""), 120.0, "it is told why it waits")
    small = pbs.qsub("carol", select="1:ncpus=1", walltime="00:01:00")
    pbs.wait_for_state(small, "R")
    for _ in range(2):
        wait_for_pass(pbs)
        found = last_pass(pbs)
        assert not [note for note in found["notes"] if "ledger" in note]
        assert not found["failures"]
        assert whole in found["ledger"]["promises"]
    assert "rest for" not in pbs.server_log()


def test_a_start_time_without_a_date_is_refused(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    waiting = pbs.qsub("alice", options=("-h",))
    asked = ["Resource_List.select=1:ncpus=1", "Execution_Time=99999999999999999"]
    told = ask_by_library(pbs, "alice", "submit", script(pbs, 5), *asked)
    assert "its start time (-a) is 99999999999999999; allowed are 100,000,000,000 seconds" in told
    assert pbs.run(["qstat", "-f", waiting], user="bob").status == 0


@pytest.mark.parametrize("far", ["reserve_start", "reserve_end", "reserve_duration"])
def test_a_reservation_without_a_date_is_refused_and_the_server_goes_on(pbs: PbsCluster, far: str) -> None:
    deploy_and_drive(pbs, quick_settings())
    begin = int(time.time()) + 7200
    times = {"reserve_start": begin, "reserve_end": begin + 600}
    if far == "reserve_duration":
        del times["reserve_end"]
    times[far] = 90000000000000000
    if far == "reserve_start":
        times["reserve_end"] = 90000000000003600
    asked = [f"{name}={value}" for name, value in times.items()]
    told = ask_by_library(pbs, "alice", "reserve", "", *asked, "Resource_List.select=1:ncpus=1")
    assert "as later times have no date" in told
    assert pbs.run(["qstat", "-B"]).status == 0
