"""What an early pass does less than one that is due: nothing twice, nothing late, no word about nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from hooks.control.early_pass import EarlyPass
from hooks.control.pass_guard import PassOutcome
from hooks.entries.periodic import run_pass
from hooks.store.state_files import LAST_PASS, State
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, Settings
from tests.hooks.sample_server_statuses import job, queue, running, server_status
from tests.hooks.stand_in import pbs_ifl

PLAIN = Settings()


def run(
    state_of_pass: State,
    jobs: Mapping[str, Mapping[str, str]],
    early: EarlyPass | None = None,
    settings: Settings = PLAIN,
    **more: str,
) -> PassOutcome:
    """A pass that drives."""
    pbs_ifl.WORLD.update(server_status(jobs, queues={"workq": queue("drive", **more)}).to_data())
    return run_pass(pbs_ifl, settings, state_of_pass, early)


def started() -> list[str]:
    return [call[1] for call in pbs_ifl.CALLS if call[0] == "start"]


def test_it_starts_jobs_and_the_journal_says_so(state_of_pass: State) -> None:
    outcome = run(state_of_pass, {"1.s": job()}, EarlyPass(10))
    assert (started(), outcome.passed.tried, outcome.may_be_followed) == (["1.s"], ["1.s"], True)
    assert [entry["started"] for entry in state_of_pass.read_journal(9)] == [["1.s"]]


def test_whoever_waits_again_after_a_start_is_left_to_the_pass_that_is_due(state_of_pass: State) -> None:
    """PBS puts a job whose starts fail at once into its queue again, and holds it after the twentieth."""
    array = job("B", array_indices_remaining="1-2", array="True")
    jobs = {"1.s": job(run_count="1"), "2.s": job(), "8[].s": array}
    run(state_of_pass, jobs, EarlyPass(10, frozenset({"1.s", "8[2].s"})))
    assert started() == ["2.s", "8[1].s"]
    pbs_ifl.CALLS.clear()
    run(state_of_pass, {"1.s": job(run_count="1")})
    assert started() == ["1.s"]


def test_a_start_that_is_refused_counts_as_tried(state_of_pass: State) -> None:
    pbs_ifl.REFUSALS["1.s"] = "the vnode is too hot"
    outcome = run(state_of_pass, {"1.s": job(), "2.s": job()})
    assert sorted(outcome.passed.tried) == ["1.s", "2.s"]


def test_one_whose_time_is_over_once_it_has_decided_does_nothing(state_of_pass: State) -> None:
    outcome = run(state_of_pass, {"1.s": job()}, EarlyPass(0))
    assert (started(), outcome.may_be_followed, state_of_pass.read_journal(9)) == ([], False, [])


@pytest.mark.parametrize("early", [None, EarlyPass(10)], ids=["due", "early"])
def test_an_early_pass_that_did_nothing_has_no_line_in_the_journal(
    state_of_pass: State, early: EarlyPass | None
) -> None:
    run(state_of_pass, {"1.s": running()}, early)
    assert len(state_of_pass.read_journal(9)) == (early is None)
    assert state_of_pass.read_published(LAST_PASS)["running"] == 1


QUOTAS = {"max_run_res_soft__ncpus": "[u:alice=0],[u:bob=16]"}


@pytest.mark.parametrize(
    ("method", "grace_s", "is_followed"), [("signal", 30, True), ("signal", 0, False), ("requeue", 30, False)]
)
@pytest.mark.parametrize("early", [None, EarlyPass(10)], ids=["due", "early"])
def test_it_follows_a_pass_that_preempts_if_the_victims_have_time_to_save(
    state_of_pass: State, early: EarlyPass | None, method: str, grace_s: int, is_followed: bool
) -> None:
    """Others would be requeued by it, or requested to be twice. The next moment is the end of their time."""
    settings = Settings(checkpoint=CheckpointSettings(method=method, grace_s=grace_s))
    jobs = {"1.s": running(8, "v1"), "2.s": running(8, "v2"), "3.s": job(cores=8, user="bob")}
    outcome = run(state_of_pass, jobs, early, settings, **QUOTAS)
    (entry,) = state_of_pass.read_journal(9)
    assert len(entry["asked"] + entry["requeued"]) == 1
    assert outcome.may_be_followed == is_followed
    assert outcome.passed.next_s == (None if not grace_s else entry["time_s"] + grace_s)


def test_none_follows_a_pass_whose_request_to_a_victim_failed(state_of_pass: State) -> None:
    settings = Settings(checkpoint=CheckpointSettings(method="signal", grace_s=30))
    pbs_ifl.REFUSALS.update({"1.s": "the MoM is away", "2.s": "the MoM is away"})
    jobs = {"1.s": running(8, "v1"), "2.s": running(8, "v2"), "3.s": job(cores=8, user="bob")}
    outcome = run(state_of_pass, jobs, EarlyPass(10), settings, **QUOTAS)
    assert "the MoM is away" in "".join(outcome.sentences)
    assert not outcome.may_be_followed


def test_the_next_moment_is_the_save_before_a_promised_start(state_of_pass: State) -> None:
    """A run with ten minutes ends at the time that a wide job is promised; another could be cut for it."""
    settings = Settings(
        backfill=BackfillSettings(kind="checkpoint", shrink_factor=0.2, shrink_threshold_s=30),
        checkpoint=CheckpointSettings(method="signal", grace_s=30),
    )
    run_of_ten_minutes = running(8, "v1", stime=str(int(time.time()) - 100))
    wide = job(cores=1, user="bob", Resource_List__select="2:ncpus=8")
    jobs = {"1.s": run_of_ten_minutes, "3.s": wide}
    outcome = run(state_of_pass, jobs, None, settings)
    (estimate,) = state_of_pass.read_journal(9)[0]["estimates"]
    assert outcome.passed.next_s == estimate["promised_s"] - 30


def test_a_pass_syncs_the_ledger_and_only_if_it_has_changed(
    state_of_pass: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_wide = {"1.s": job(cores=99)}
    promised = {"1.s": job(Resource_List__select="2:ncpus=8"), "2.s": running(cores=8)}
    # The first one switches the scheduler off, and writes that down.
    run(state_of_pass, too_wide)
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(Path(f"/proc/self/fd/{number}").readlink().name))
    run(state_of_pass, too_wide, EarlyPass(10))
    assert synced == []
    run(state_of_pass, promised, EarlyPass(10))
    assert synced == [".ledger.json.new", state_of_pass.path.name]
