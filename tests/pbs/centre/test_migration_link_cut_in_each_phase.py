"""The link between source and target is cut while a job is in each of its phases: nothing is lost, nothing is done
twice, and the job ends when the link is back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.pbs.centre.act_as_user_and_service import SiteUser

pytestmark = pytest.mark.centre_faults


@pytest.fixture
def impatient(pbs_user: SiteUser) -> Iterator[SiteUser]:
    """The source waits five seconds for a connection."""
    with pbs_user.cluster_file("a", "$a[limits]\\nssh_timeout_s = 5"):
        yield pbs_user


def test_a_cluster_that_does_not_answer_gets_nothing_and_is_asked_in_every_tenth_pass(impatient: SiteUser) -> None:
    """Row: findavl fails or is late."""
    ticket = impatient.submit(impatient.folder("asked", "exit 0"), "-t", "b")
    with impatient.cut():
        for _ in range(3):
            impatient.send()
            assert "b: unreachable" in impatient.job(ticket)["reason"]
        before = impatient.sent_bytes()
        impatient.send()
        assert impatient.sent_bytes() - before < 200, "the fourth pass has asked"
        assert "b: silent" in impatient.job(ticket)["reason"]
        shown = json.loads(impatient.do(impatient.programs.path("mgstat"), "--queues", "--json"))
        assert [one["silent"] for one in shown["clusters"] if one["cluster"] == "b"] == [True], shown
    impatient.send()
    assert "b: silent" in impatient.job(ticket)["reason"]
    for _ in range(4):
        impatient.send()
    # The tenth pass.
    impatient.send()
    assert impatient.job(ticket)["state"] == "Waiting"
    assert impatient.wait_for(ticket)["exit"] == "0"


def test_cut_while_the_folder_is_on_its_way(impatient: SiteUser) -> None:
    """Rows: upload breaks; link cut while Uploading."""
    folder = impatient.folder("upload", "cksum < data")
    impatient.sh('head -c 6000000 /dev/urandom > "$1/data"', folder)
    with impatient.slow(4000):
        gid = impatient.sent(impatient.submit(folder, "-t", "b"))
        impatient.wait_there(gid, "Uploading")
        impatient.there("until pgrep -x rsync; do sleep 0.1; done; sleep 1", user="root")
        with impatient.cut():
            record = impatient.wait_there(gid, "Uploading", tries=1)
            assert "tried again: " in record.reason
    impatient.try_now(gid)
    job = impatient.wait_for(gid)
    assert (job["state"], job["exit"], job["reason"]) == ("End", "0", ""), job
    assert impatient.read(f"{folder}/mg.{gid}.out") == impatient.sh('cksum < "$1/data"', folder)


def test_cut_while_the_program_is_built(impatient: SiteUser) -> None:
    """Row: link cut while Making, which needs none."""
    folder = impatient.folder("making", "./tool")
    build = (
        "touch begun; until [ -e go ]; do sleep 0.2; done; printf '#!/bin/sh\\necho built\\n' > tool; chmod 755 tool"
    )
    gid = impatient.sent(impatient.submit(folder, "-t", "b", "-b", build))
    there = impatient.wait_there(gid, "Making").dstdir
    with impatient.cut():
        impatient.there('until [ -e "$1/begun" ]; do sleep 0.2; done; touch "$1/go"', there, user="alice")
        record = impatient.wait_there(gid, "Downloading", tries=1)
        assert (record.exit, record.ran) == ("0", 1)
        impatient.send()
        assert "b unreachable, as of " in impatient.job(gid)["reason"]
    impatient.try_now(gid)
    job = impatient.wait_for(gid)
    assert (job["state"], job["exit"]) == ("End", "0"), job
    assert impatient.read(f"{folder}/mg.{gid}.out") == "built\n"


def test_cut_while_the_job_runs_and_the_target_counts_as_lost(impatient: SiteUser) -> None:
    """Rows: target lost while Submitted; source lost. An idle source does not start the job a second time."""
    folder = impatient.folder("lost", "until [ -e go ]; do sleep 0.2; done; echo ran >> result; exit 4")
    gid = impatient.sent(impatient.submit(folder, "-t", "b"))
    there = impatient.wait_there(gid, "Submitted", ran=1).dstdir
    impatient.send()
    with impatient.cut():
        for _ in range(3):
            impatient.send()
        job = impatient.job(gid)
        assert (job["state"], job["dst"]) == ("Submitted", "b"), job
        assert "b unreachable, as of " in job["reason"]
        assert f"mg_{gid}_1" not in impatient.local_jobs("a")
        impatient.there('touch "$1/go"', there, user="alice")
        impatient.wait_there(gid, "Downloading", tries=1, exit="4")
    impatient.try_now(gid)
    job = impatient.wait_for(gid)
    assert (job["state"], job["exit"]) == ("End", "4"), job
    assert impatient.read(f"{folder}/result") == "ran\n"


def test_a_job_of_a_target_that_never_comes_back_is_forgotten_on_an_administrators_word(impatient: SiteUser) -> None:
    """Row: target lost while Submitted, mgsched --forget."""
    folder = impatient.folder("forgotten", "until [ -e go ]; do sleep 0.2; done; exit 4")
    gid = impatient.sent(impatient.submit(folder, "-t", "b"))
    there = impatient.wait_there(gid, "Submitted", ran=1).dstdir
    impatient.send()
    with impatient.cut():
        impatient.do(impatient.programs.path("mgsched"), "--forget", gid, user="mg")
        job = impatient.job(gid)
        assert (job["state"], job["reason"]) == ("Requested", "b is lost"), job
        impatient.send()
        assert "b: unreachable" in impatient.job(gid)["reason"]
    # It has come back after all: its copy of the first attempt changes nothing at the source.
    impatient.there('touch "$1/go"', there, user="alice")
    impatient.wait_there(gid, "Downloading", tries=1)
    impatient.send()
    assert impatient.job(gid)["state"] == "Requested"
    impatient.do(impatient.programs.path("mgstop"), gid)
    assert impatient.wait_for(gid)["state"] == "Stopped"


def test_cut_while_results_are_on_their_way_back(impatient: SiteUser) -> None:
    """Rows: download breaks; link cut while Downloading."""
    folder = impatient.folder("download", "head -c 6000000 /dev/urandom > data; exit 3")
    gid = impatient.sent(impatient.submit(folder, "-t", "b"))
    impatient.wait_there(gid, "Submitted")
    with impatient.slow(4000):
        there = impatient.wait_there(gid, "Downloading").dstdir
        impatient.there("until pgrep -x rsync; do sleep 0.1; done", user="root")
        with impatient.cut():
            record = impatient.wait_there(gid, "Downloading", tries=1)
            assert "tried again: " in record.reason
            assert impatient.sh('ls "$1"', folder) == "run.sh\n"
    impatient.try_now(gid)
    job = impatient.wait_for(gid)
    assert (job["state"], job["exit"], job["reason"]) == ("End", "3", ""), job
    sums = [impatient.sh('cksum < "$1/data"', folder), impatient.there('cksum < "$1/data"', there, user="alice")]
    assert sums[0] == sums[1]
