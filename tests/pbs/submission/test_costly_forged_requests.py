"""Costly or forged requests of one user on a real server: refused in every mode; where they are in the server already,
the passes go on and the jobs of everybody else start. What passes take then: ``python -m tests.bench_pbs costly``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from container import testbed as testbeds
from container.testbed_spec import TestbedSpec
from hooks.pbs.files_and_output.json_output import read_json
from hooks.store.state_files import PASSES
from policy.settings.settings_of_server_and_passes import ScheduleSettings, SubmissionSettings
from tests.bench_pbs.testbed import calling, job_attributes, script
from tests.hooks.deploy_on_testbed import (
    deploy,
    deploy_and_drive,
    drive,
    is_scheduling,
    last_pass,
    quick_settings,
    set_mode,
    settle,
    state_of,
    wait_for_pass,
)
from tests.pbs.cluster import PbsCluster

MODES = ("observe", "advise", "drive")
BEYOND = "+".join(f"1:ncpus=0:mem={kib + 1}kb" for kib in range(257))
WITHIN = "+".join(f"1:ncpus=0:mem={kib + 1}kb" for kib in range(255)) + "+1:ncpus=8"
UNBOUNDED = SubmissionSettings(select_length=0, select_kinds=0)


def in_every_mode(pbs: PbsCluster) -> Iterator[str]:
    """The modes, each once the queue has it."""
    deploy(pbs, quick_settings("observe"))
    for mode in MODES:
        if mode == "drive":
            drive(pbs)
        else:
            set_mode(pbs, mode)
            settle(pbs)
        yield mode


def test_a_select_beyond_the_bounds_is_refused_in_every_mode(pbs: PbsCluster) -> None:
    for mode in in_every_mode(pbs):
        check_select_bounds(pbs, mode)


def check_select_bounds(pbs: PbsCluster, mode: str) -> None:
    waiting = pbs.qsub("alice", select="1:ncpus=1", options=["-h"])
    expected_text = "257 kinds of chunks, counting equal neighbours once; allowed are 256 (submission.select_kinds)"
    for done in (
        pbs.try_qsub("alice", select=BEYOND),
        pbs.run(["qalter", "-l", f"select={BEYOND}", waiting], user="alice"),
    ):
        assert done.status != 0, mode
        assert expected_text in done.stderr
    too_long = pbs.try_qsub("alice", select="+".join(["1:ncpus=1"] * 2000))
    assert "19,999 characters; allowed are 16,384 (submission.select_length)" in too_long.stderr
    assert pbs.job(waiting)["Resource_List"]["select"] == "1:ncpus=1"
    pbs.qsub("alice", select="+".join(["1:ncpus=0:mem=1kb"] * 500), options=["-h"])


def test_a_resource_of_deeply_nested_json_is_refused_in_every_mode_and_one_that_is_there_hides_no_job(
    pbs: PbsCluster,
) -> None:
    nested = ["-h", "-l", "software=" + "[" * 990 + "]" * 990]
    there = pbs.qsub("alice", select="1:ncpus=1", options=nested)
    other = pbs.qsub("alice", select="1:ncpus=1", options=["-h"])
    found = read_json(pbs.run(["qstat", "-f", "-F", "json"]).stdout, "qstat")["Jobs"]
    assert found.keys() == {there, other}
    assert isinstance(found[there]["Resource_List"]["software"], list)
    pbs.run(["qdel", there]).demand_success()
    for mode in in_every_mode(pbs):
        asked = pbs.try_qsub("alice", select="1:ncpus=1", options=nested)
        for done in (asked, pbs.run(["qalter", *nested[1:], other], user="alice")):
            assert done.status != 0, mode
            assert "its resource software has 990 brackets in each other; allowed are 8" in done.stderr, mode


def test_arguments_of_deeply_nested_json_from_another_program_than_qsub_are_refused(
    pbs: PbsCluster, capfd: pytest.CaptureFixture[str]
) -> None:
    nested = '{"":' * 900 + "1" + "}" * 900
    attributes = job_attributes("1:ncpus=1", more=[("Hold_Types", None, "u"), ("Submit_arguments", None, nested)])
    submission = {"attributes": attributes, "count": 1, "script": script(pbs, 1), "queue": "workq"}
    with calling(pbs, "alice") as caller:
        (there,) = caller.ask("submit", **submission)["ids"]
    printed = pbs.run(["qstat", "-f", "-F", "json", there]).stdout
    assert len(printed) > 100 * len(nested)
    assert isinstance(read_json(printed, "qstat")["Jobs"][there]["Submit_arguments"], dict)
    deploy(pbs, quick_settings("observe"))
    with calling(pbs, "alice") as caller, pytest.raises(RuntimeError):
        caller.ask("submit", **submission)
    assert "its Submit_arguments has 900 brackets in each other; allowed are 8" in capfd.readouterr().err


def test_a_user_cannot_submit_with_what_only_pbsteer_writes_of_a_job(pbs: PbsCluster) -> None:
    for mode in in_every_mode(pbs):
        check_forged_values(pbs, mode)


def check_forged_values(pbs: PbsCluster, mode: str) -> None:
    forged = pbs.qsub("alice", select="1:ncpus=1", options=["-h", "-l", "pbsteer_asked=2:ncpus=4"])
    resources = pbs.job(forged)["Resource_List"]
    assert resources["select"] == "1:ncpus=1", mode
    assert not resources.get("pbsteer_asked")
    wait_for_pass(pbs)
    assert pbs.job(forged)["Resource_List"]["select"] == "1:ncpus=1"
    for option in (
        ["-l", "pbsteer_mode=drive"],
        ["-l", "pbsteer_reading=t=1"],
        ["-l", "user_priority=9"],
        ["-W", "estimated.site=pbsteer for=1"],
        ["-W", "comment=pbsteer"],
    ):
        done = pbs.try_qsub("alice", select="1:ncpus=1", options=["-h", *option])
        if done.status == 0:
            job = pbs.job(done.stdout.strip())
            assert option[1].partition("=")[0] not in str(job["Resource_List"])
            assert "site" not in str(job.get("estimated"))
            assert "pbsteer" not in str(job.get("comment"))


@pytest.mark.slow
def test_passes_go_on_beside_a_hundred_costly_jobs_of_one_user(pbs: PbsCluster) -> None:
    """They are in the server before pbsteer is; the vnodes are half taken, so that none of them fits."""
    costly = "+".join(f"1:ncpus=0:mem={kib % 997 + 1}kb" for kib in range(5000)) + "+1:ncpus=8"
    pbs.qmgr("set server scheduling = False", "set queue workq max_run_res_soft.ncpus = '[u:alice=8],[u:bob=24]'")
    for _ in range(100):
        pbs.qsub("alice", select=costly)
    deploy_and_drive(pbs, quick_settings())
    busy = [pbs.qsub("bob", select="1:ncpus=4", options=["-l", "place=scatter"]) for _ in range(3)]
    for job_id in busy:
        pbs.wait_for_state(job_id, "R")
    for _ in range(3):
        wait_for_pass(pbs)
    entry = last_pass(pbs)
    blocked = next(wait for wait in entry["waits"] if wait["code"] == "blocked")
    assert blocked["jobs"] == 100
    assert "its select has" in blocked["sentence"]
    assert state_of(pbs).read_published(PASSES).get("setbacks", 0) == 0
    assert not is_scheduling(pbs)


def test_passes_go_on_beside_a_hundred_jobs_at_the_bounds(pbs: PbsCluster) -> None:
    # Each chunk without cores counts as one core.
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=263],[u:bob=8]'")
    deploy_and_drive(pbs, quick_settings())
    for _ in range(24):
        pbs.qsub("bob", select="1:ncpus=1")
    pbs.wait_until(lambda: last_pass(pbs).get("idle_cores") == 0, 120.0, "a full cluster")
    costly = [pbs.qsub("alice", select=WITHIN) for _ in range(100)]
    for _ in range(3):
        wait_for_pass(pbs)
    after = pbs.qsub("carol", select="1:ncpus=1")
    assert state_of(pbs).read_published(PASSES).get("setbacks", 0) == 0
    assert not is_scheduling(pbs)
    # The quota of alice covers one of them: eight cores of bob's are hers.
    pbs.wait_until(lambda: any(pbs.job_state(job_id) == "R" for job_id in costly[:3]), 120.0, "a job of alice's")
    assert pbs.job_state(after) == "Q"


def test_what_a_user_writes_is_escaped_in_the_comment(pbs: PbsCluster) -> None:
    """qsub itself lets fewer characters through than the server takes."""
    deploy_and_drive(pbs, quick_settings("observe"))
    attributes = job_attributes('1:ncpus=1:aoe="a\x1b]0;OWNED\x07\x1b[31mRED"')
    with calling(pbs, "alice") as caller:
        (job_id,) = caller.ask("submit", attributes=attributes, count=1, script=script(pbs, 1), queue="workq")["ids"]
    pbs.wait_until(lambda: "pbsteer" in str(pbs.job(job_id).get("comment")), 120.0, "a comment of the pass")
    comment = str(pbs.job(job_id)["comment"])
    assert r"aoe=a\x1b]0;OWNED\x07\x1b[31mRED" in comment
    assert comment.isprintable()


def test_long_texts_are_refused_and_those_that_are_there_stop_no_starts(pbs: PbsCluster) -> None:
    """Held jobs with megabytes of text are in the server before pbsteer is: to read them takes a pass all its time."""
    long_text = [("Hold_Types", None, "u"), ("Resource_List", "software", "x" * 1_000_000)]
    attributes = job_attributes("1:ncpus=1", more=long_text)
    with calling(pbs, "alice") as caller:
        caller.ask("submit", attributes=attributes, count=150, script=script(pbs, 600), queue="workq")
    budget = ScheduleSettings(interval_s=5, budget_s=0.1)
    deploy_and_drive(pbs, replace(quick_settings(), schedule=budget))
    assert last_pass(pbs)["seconds"]["read_s"] > budget.budget_s
    jobs = [pbs.qsub("bob", select="1:ncpus=1") for _ in range(3)]
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in jobs), 120.0, "bob's jobs run")
    expected_text = "characters; allowed are 8,192 (submission.text_length)"
    assert expected_text in pbs.try_qsub("alice", options=["-l", f"software={'x' * 8_193}"]).stderr
    held = pbs.qsub("bob", select="1:ncpus=1", options=["-h", "-l", f"software={'x' * 5_000}"])
    pbs.run(["qalter", "-l", f"pbsteer_app={'y' * 60}", held], user="bob").demand_success()
    for name, count in (("software", 8_193), ("pbsteer_app", 4_000)):
        done = pbs.run(["qalter", "-l", f"{name}={'x' * count}", held], user="bob")
        assert "allowed are 8,192 (submission.text_length)" in done.stderr


@pytest.fixture
def pbs_of_its_own(pbs_exec: str) -> Iterator[PbsCluster]:
    """A testbed for what takes a server minutes to delete: each subjob of an array is written once more."""
    spec = TestbedSpec(name=f"pbst-{os.getpid()}-own", pbs_exec=pbs_exec)
    try:
        built, _ = testbeds.up(spec)
        yield PbsCluster(built)
    finally:
        testbeds.down(spec.name)


def test_an_over_wide_array_is_refused_and_one_that_is_there_stops_no_starts(pbs_of_its_own: PbsCluster) -> None:
    """PBS takes it where the site has raised ``max_array_size``; some of its subjobs run, so that it has begun."""
    pbs = pbs_of_its_own
    pbs.qmgr("set server max_array_size = 200000")
    wide = pbs.qsub("alice", options=["-J", "0-199999%1"], select="1:ncpus=8")
    pbs.wait_until(lambda: pbs.job_state(wide) == "B", 60.0, "the array has begun")
    deploy(pbs, quick_settings())
    drive(pbs)
    wait_for_pass(pbs)
    assert state_of(pbs).read_published(PASSES).get("setbacks", 0) == 0
    refused = pbs.try_qsub("bob", options=["-J", "0-10000"])
    assert "it has 10,001 subjobs; allowed are 10,000 (submission.array_size)" in refused.stderr
    pbs.qsub("bob", options=["-h", "-J", "0-9999"])
    job_id = pbs.qsub("bob")
    pbs.wait_for_state(job_id, "R")


def test_no_array_that_pbs_would_never_count_through_is_taken(pbs: PbsCluster) -> None:
    """Once its owner deletes it, the server counts beyond 32 bits, and answers no more."""
    for mode in in_every_mode(pbs):
        argv = ["qsub", "-h", "-J", "1-2147483647:2147483646", "--", "/bin/true"]
        assert "as PBS counts through" in pbs.run(argv, user="alice").stderr, mode
