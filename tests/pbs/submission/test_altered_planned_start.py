"""A start that a pass has planned on a real server, and a job that its owner has altered since."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from hooks.pbs.job_attributes.job_altered_since_plan import digest_of_plan
from hooks.store.event_hook_summary import SUMMARY
from hooks.store.state_files import SecondWriterError, State
from tests.hooks.deploy_on_testbed import deploy_and_drive, quick_settings, state_of
from tests.pbs.cluster import PbsCluster


@contextmanager
def between_passes(state: State) -> Iterator[None]:
    """No pass begins meanwhile."""
    until_s = time.monotonic() + 60
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(state.locked())
                break
            except SecondWriterError:
                assert time.monotonic() < until_s
                time.sleep(0.05)
        yield


def read_texts(pbs: PbsCluster, job_id: str) -> dict[str, str]:
    """The job's attributes as a pass reads them."""
    lines = pbs.run(["qstat", "-f", "-w", job_id]).demand_success().stdout.splitlines()
    return dict(line.strip().split(" = ", 1) for line in lines if " = " in line)


def start_as_planned(pbs: PbsCluster, changes: Mapping[str, Sequence[str]], subjob: str = "") -> None:
    """Ask for the start of each held job as its pass would, which no pass can meanwhile: as it was planned, after its
    owner has altered it so. The job is an array where its ``subjob`` of that index is to start."""
    state = state_of(pbs)
    starts = {job: job.replace("[]", f"[{subjob}]") for job in changes}
    with between_passes(state):
        planned = {start: digest_of_plan(read_texts(pbs, job), {}) for job, start in starts.items()}
        summary = state.read_published(SUMMARY)
        said = {**summary, "starting": dict.fromkeys(planned, False), "planned": planned}
        state.publish(SUMMARY, said, shared=False)
        for job, change in changes.items():
            if change:
                pbs.run(["qalter", *change, job], user="alice").demand_success()
            pbs.run(["qrls", job], user="alice").demand_success()
            done = pbs.run(["qrun", "-H", f"({pbs.mom_names[0]}:ncpus=1)", starts[job]])
            assert (done.status == 0) == (not change), (change, done.stderr)
            assert not change or "was altered after this start of it had been planned" in done.stderr


def test_a_planned_start_is_refused_once_its_owner_has_altered_the_job(pbs: PbsCluster) -> None:
    pbs.qmgr("create resource lic type=long,flag=q")
    pbs.qmgr("set server resources_available.lic = 4")
    deploy_and_drive(pbs, quick_settings(guard_starts="always"))
    changes = (
        (), ("-r", "n"), ("-l", "select=1:ncpus=2"), ("-l", "walltime=00:20:00"), ("-c", "n"), ("-P", "other"),
        ("-l", "lic=3"),
    )  # fmt: skip
    jobs = {pbs.qsub("alice", options=("-h",), select="1:ncpus=1"): change for change in changes}
    start_as_planned(pbs, jobs)
    # The next pass decides on the jobs as they are now.
    waiting = [job for job, change in jobs.items() if change]
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in waiting), 120.0, "the altered jobs run")


def test_a_planned_start_of_a_subjob_is_refused_once_its_array_was_altered(pbs: PbsCluster) -> None:
    """PBS itself lets an array that waits be made one whose subjobs cannot run again."""
    deploy_and_drive(pbs, quick_settings(guard_starts="always"))
    changes: tuple[tuple[str, ...], ...] = ((), ("-r", "n"), ("-l", "walltime=00:20:00"))
    options = ("-h", "-J", "1-2")
    start_as_planned(pbs, {pbs.qsub("alice", options=options, select="1:ncpus=1"): change for change in changes}, "1")


def test_an_array_that_is_altered_between_the_starts_of_two_subjobs_is_read_again(pbs: PbsCluster) -> None:
    """The hook does not read an array again for each of its subjobs, unless a job was altered meanwhile."""
    deploy_and_drive(pbs, quick_settings(guard_starts="always"))
    array = pbs.qsub("alice", options=("-h", "-J", "1-3"), select="1:ncpus=1")
    state = state_of(pbs)
    subjobs = [array.replace("[]", f"[{index}]") for index in (1, 2, 3)]
    with between_passes(state):
        planned = dict.fromkeys(subjobs, digest_of_plan(read_texts(pbs, array), {}))
        summary = state.read_published(SUMMARY)
        state.publish(SUMMARY, {**summary, "starting": dict.fromkeys(planned, False), "planned": planned}, shared=False)
        pbs.run(["qrls", array], user="alice").demand_success()
        place = f"({pbs.mom_names[0]}:ncpus=1)"
        for subjob in subjobs[:2]:
            pbs.run(["qrun", "-H", place, subjob]).demand_success()
        pbs.run(["qalter", "-r", "n", array]).demand_success()
        done = pbs.run(["qrun", "-H", place, subjobs[2]])
    assert "was altered after this start of it had been planned" in done.stderr


def test_a_planned_start_is_refused_while_its_job_is_held_or_waits(pbs: PbsCluster) -> None:
    """PBS itself starts such a job if its vnodes are named, as administrators may want it to."""
    deploy_and_drive(pbs, quick_settings(guard_starts="always"))
    state, place = state_of(pbs), f"({pbs.mom_names[0]}:ncpus=1)"
    blocks: tuple[tuple[str, ...], ...] = (("-h",), ("-a", "203001010000"), ("-h", "-J", "1-2"))
    jobs = [pbs.qsub("alice", options=options, select="1:ncpus=1") for options in blocks]
    starts = {job: job.replace("[]", "[1]") for job in jobs}
    with between_passes(state):
        planned = {start: digest_of_plan(read_texts(pbs, job), {}) for job, start in starts.items()}
        summary = state.read_published(SUMMARY)
        said = {**summary, "starting": dict.fromkeys(planned, False), "planned": planned, "planned_s": time.time()}
        state.publish(SUMMARY, said, shared=False)
        for start in starts.values():
            done = pbs.run(["qrun", "-H", place, start])
            assert (done.status != 0, "was held, or has a dependency" in done.stderr) == (True, True), done.stderr
        state.publish(SUMMARY, {**said, "planned": {}}, shared=False)
        pbs.run(["qrun", "-H", place, jobs[0]]).demand_success()
    pbs.wait_for_state(jobs[0], "R")


def test_an_array_whose_subjobs_run_stays_one_that_can_be_preempted_while_it_is_held(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    array = pbs.qsub("alice", options=("-J", "1-3"), select="1:ncpus=1")
    pbs.wait_for_state(array.replace("[]", "[1]"), "R")
    pbs.run(["qhold", array], user="alice").demand_success()
    assert pbs.job_state(array) == "H"
    done = pbs.run(["qalter", "-r", "n", array], user="alice")
    assert done.status != 0
    assert "by managers and operators alone" in done.stderr
    pbs.run(["qalter", "-r", "n", array]).demand_success()


def test_jobs_of_all_kinds_start_as_they_were_planned(pbs: PbsCluster) -> None:
    """What PBS and the pass make of a job before it starts is none of its owner's alterations."""
    deploy_and_drive(pbs, quick_settings())
    plain: dict[str, Any] = {"select": None, "walltime": None}
    wide = ("-l", "pbsteer_layout=stripe", "-l", "pbsteer_width=3")
    jobs = [
        pbs.qsub("alice", **plain),
        pbs.qsub("alice", options=("-l", "ncpus=2", "-l", "walltime=600"), **plain),
        pbs.qsub("alice", options=("-l", "nodes=2:ppn=1"), **plain),
        pbs.qsub("alice", options=("-l", "min_walltime=00:01:00,max_walltime=00:10:00"), select="1", walltime=None),
        pbs.qsub("alice", options=wide, select="1:ncpus=3:mpiprocs=3"),
        pbs.qsub("alice", options=("-l", "place=scatter:shared", "-c", "c=10", "-r", "y"), select="2:ncpus=1:mem=1gb"),
        pbs.qsub("alice", options=("-r", "n", "-P", "p1", "-l", "pbsteer_save=signal"), walltime="1:00"),
    ]
    array = pbs.qsub("alice", options=("-J", "1-3"))
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in jobs), 120.0, "all run")
    pbs.wait_until(lambda: pbs.job_state(array) == "B", 120.0, "the array has begun")
    assert "altered after this start" not in pbs.server_log()
