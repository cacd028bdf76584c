"""States of jobs that are away: copied from the targets, also where a job is resumed there or its record is
unreadable."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from migration.protocol.replies import Failed, Reply, States
from migration.spool.queue_file import Queue
from policy.migration.available_to_other_clusters import Answer
from tests.migration.passes.simulated_centre import Centre


def test_an_aborted_job_that_is_resumed_at_its_target_is_followed_again(centre: Centre) -> None:
    centre.submit()
    centre.run_pass()
    b = centre.targets["b"]
    for event in ("upload", "failed", "gave-up"):
        b.advance("a.1", event)
    centre.run_pass()
    assert centre.where()["a.1"][0] is Queue.DONE
    b.advance("a.1", "resume", then="End")
    for _ in range(10):
        centre.run_pass()
    assert centre.record().state == "Downloading"
    b.advance("a.1", "downloaded")
    centre.run_pass()
    assert (centre.record().state, centre.where()["a.1"][0]) == ("End", Queue.DONE)


def test_a_job_that_was_resumed_and_is_over_since_is_noted_as_it_ended(centre: Centre) -> None:
    centre.submit()
    centre.run_pass()
    b = centre.targets["b"]
    for event in ("upload", "failed", "gave-up"):
        b.advance("a.1", event)
    centre.run_pass()
    b.advance("a.1", "resume", then="End")
    b.advance("a.1", "downloaded", exit="0")
    for _ in range(10):
        centre.run_pass()
    assert (centre.record().state, centre.record().exit, centre.where()["a.1"][0]) == ("End", "0", Queue.DONE)


def test_one_unreadable_record_hides_no_other_and_is_noted(centre: Centre) -> None:
    for _ in range(2):
        centre.submit(cores=1, want="b")
    centre.run_pass()
    for gid in ("a.1", "a.2"):
        centre.targets["b"].advance(gid, "upload")

    def garble(reply: Reply) -> Reply:
        if not isinstance(reply, States):
            return reply
        return replace(
            reply, records=tuple(replace(one, avoid=("../c",) * (one.gid == "a.1")) for one in reply.records)
        )

    centre.garble = garble
    centre.run_pass()
    assert (centre.record("a.1").state, centre.record("a.2").state) == ("Waiting", "Uploading")
    assert "the record of this job at b cannot be read: record a.1: avoid" in centre.record("a.1").reason
    assert centre.calls.count(("b", "query")) == 1


def test_a_cluster_that_fails_to_answer_one_question_is_not_silent(centre: Centre) -> None:
    for number in range(2):
        centre.submit(cores=1, want="bc"[number])
    centre.run_pass()
    centre.garble = lambda reply: Failed("its scheduler is silent") if isinstance(reply, Answer) else reply
    for gid in ("a.1", "a.2"):
        centre.stop(gid)
    centre.submit(cores=1)
    for _ in range(4):
        centre.run_pass()
    assert (centre.record("a.1").state, centre.record("a.2").state) == ("Stopped", "Stopped")
    assert centre.record("a.3").reason.endswith(
        "b: cannot say what is free: its scheduler is silent; c: cannot say what is free: its scheduler is silent"
    )
    notes = centre.source().notes.of("b")
    assert (notes.failures, notes.text) == (0, "its scheduler is silent")
    centre.garble = None
    centre.run_pass()
    assert centre.record("a.3").dst == "b"


def test_a_cluster_that_answers_about_one_job_at_a_time_is_asked_so_often_and_later_about_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("migration.passes.source.copy_states_from_targets.MOST_GIDS", 5)
    monkeypatch.setattr("migration.passes.source.copy_states_from_targets._MOST_QUESTIONS", 5)
    centre = Centre(tmp_path, max_per_pass=100, max_in_flight_per_target=100)
    centre.targets["b"].cores = 100
    for _ in range(12):
        centre.submit(cores=1, want="b")
    centre.run_pass()
    for number in range(1, 13):
        centre.targets["b"].advance(f"a.{number}", "upload")
    centre.garble = lambda reply: replace(reply, records=reply.records[:1]) if isinstance(reply, States) else reply
    centre.run_pass()
    assert centre.calls.count(("b", "query")) == 5
    centre.run_pass()
    centre.run_pass()
    assert {one.state for _, one in centre.where().values()} == {"Uploading"}
