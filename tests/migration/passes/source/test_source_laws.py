"""The laws of a source, whatever the network, the targets and its own process do.

A job has at most one run that is alive or may start by itself, no acknowledged request disappears, and the jobs on the
way to a target are within their bound.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migration.spool.queue_file import Queue
from policy.migration.job_record_and_copy_updates import amend
from policy.migration.job_states_and_transitions import BEFORE_RUN, FINAL, OFFERED
from tests.migration.passes.simulated_centre import NETWORK, Centre

_MOST_ON_THE_WAY = 2
_EVENTS = ("upload", "build", "submit", "local", "start", "ended", "given-back", "downloaded", "failed")
_CHANGES = ("late", "silent", "speak", "free", "taken", "busy", "time")

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.none() | st.integers(0, 60), st.lists(st.sampled_from(NETWORK), max_size=8)),
        st.tuples(st.just("submit"), st.integers(1, 9), st.sampled_from(("any", "local", "b"))),
        st.tuples(st.just("target"), st.sampled_from(("b", "c")), st.sampled_from(_EVENTS)),
        st.tuples(st.just("local"), st.sampled_from(("start", "end")), st.integers(0, 3)),
        st.tuples(st.just("world"), st.sampled_from(_CHANGES), st.none()),
        st.tuples(st.just("stop"), st.integers(1, 4), st.sampled_from("01")),
    ),
    max_size=25,
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(STEPS, st.sampled_from((0, 3600)))
def test_laws(steps: list[tuple[str, Any, Any]], fallback_s: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        centre = Centre(Path(folder), fallback_s, max_in_flight_per_target=_MOST_ON_THE_WAY)
        acknowledged: set[str] = set()
        for step in [*steps, ("world", "speak", None), ("world", "late", None), ("pass", None, []), ("pass", None, [])]:
            do(centre, step)
            check(centre, acknowledged)
        assert not any(record.state == OFFERED for _, record in centre.where().values())


def do(centre: Centre, step: tuple[str, Any, Any]) -> None:
    kind, one, other = step
    if kind == "pass":
        centre.network = list(other)
        centre.run_pass(one)
        centre.network = []
    elif kind == "submit":
        centre.submit(cores=one, want=other)
    elif kind == "stop":
        centre.stop(f"a.{one}", other)
    elif kind == "target":
        drive_target(centre, one, other)
    elif kind == "local":
        for job in list(centre.queue.jobs)[:other]:
            (centre.queue.start if one == "start" else centre.queue.end)(job)
    else:
        change_world(centre, one)


def drive_target(centre: Centre, name: str, event: str) -> None:
    target = centre.targets[name]
    for gid, record in list(target.records.items()):
        if event == "local":
            if record.state == "Submitted" and not record.localid:
                target.records[gid] = amend(record, localid="7")
        elif event == "downloaded":
            known = {"End": "downloaded", "Aborted": "downloaded-failed", "Stopped": "downloaded-stopped"}
            target.advance(gid, known.get(record.then, "downloaded"))
        elif event in ("ended", "failed"):
            if event == "failed" or record.ran:
                target.advance(gid, event, then="End" if event == "ended" else "Aborted")
        elif event != "given-back" or record.state in ("Waiting", "Uploading", "Submitted"):
            target.advance(gid, event)


def change_world(centre: Centre, what: str) -> None:
    if what == "late":
        centre.deliver_late()
    elif what in ("silent", "speak"):
        centre.queue.silent = what == "silent"
    elif what in ("free", "taken"):
        centre.queue.free_cores = 8 if what == "free" else 0
    elif what == "busy":
        for target in centre.targets.values():
            target.busy = not target.busy
    else:
        centre.clock.now += 400


def check(centre: Centre, acknowledged: set[str]) -> None:
    where = centre.where()
    assert acknowledged <= where.keys()
    acknowledged |= where.keys()
    for gid, (queue, record) in where.items():
        assert centre.alive(gid) <= 1, f"{gid}: alive twice"
        assert centre.runs(gid) <= 1, f"{gid}: has run twice"
        assert (record.state in FINAL) == (queue is Queue.DONE)
    for name in centre.targets:
        there = [one for _, one in where.values() if one.dst == name and one.state in {OFFERED, *BEFORE_RUN}]
        assert len(there) <= _MOST_ON_THE_WAY


STORIES = {
    "hand-over": {"Waiting"},
    "in place": {"Submitted"},
    "also local": {"Submitted"},
    "also local, then elsewhere": {"Submitted", "Waiting"},
    "others come back": {"Submitted", "Waiting"},
    "stop": {"Stopped"},
}


@pytest.mark.parametrize("story", STORIES)
def test_a_pass_may_be_killed_at_any_step_and_the_next_ones_go_on(story: str) -> None:
    for kill_after in range(100):
        with tempfile.TemporaryDirectory() as folder:
            centre = Centre(Path(folder), fallback_s=0)
            prepare(centre, story)
            finished = centre.run_pass(kill_after) is not None
            seen: set[str] = set()
            check(centre, seen)
            centre.cut.clear()
            for _ in range(3):
                centre.run_pass()
                check(centre, seen)
                for job in list(centre.queue.jobs):
                    centre.queue.start(job)
                check(centre, seen)
            ((gid, (_, record)),) = centre.where().items()
            assert record.state in STORIES[story]
            assert centre.runs(gid) == (record.state == "Submitted")
            if finished:
                assert kill_after > 3
                return


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("story", ["in place", "also local"])
def test_a_local_job_that_ends_before_a_killed_pass_is_made_up_for_never_runs_again(story: str, forgets: bool) -> None:
    for kill_after in range(100):
        with tempfile.TemporaryDirectory() as folder:
            centre = Centre(Path(folder), fallback_s=0)
            centre.queue.forgets = forgets
            prepare(centre, story)
            finished = centre.run_pass(kill_after) is not None
            for _ in range(4):
                for job in list(centre.queue.jobs):
                    centre.queue.start(job)
                    centre.queue.end(job)
                check(centre, set())
                centre.clock.now += 301
                centre.run_pass()
            ((gid, (_, record)),) = centre.where().items()
            assert (record.state, record.exit, centre.runs(gid)) == ("End", "0", 1), kill_after
            if finished:
                assert kill_after > 3
                return


def prepare(centre: Centre, story: str) -> None:
    centre.submit(want="local" if story in ("in place", "also local") else "any")
    if story == "in place":
        centre.queue.free_cores = 8
    elif story in ("also local, then elsewhere", "stop", "others come back"):
        centre.cut = {"b", "c"}
    if story in ("also local, then elsewhere", "stop"):
        centre.run_pass()
        centre.cut.clear()
    if story == "stop":
        centre.stop("a.1")
