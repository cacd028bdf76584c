"""What a job is tested with: all that is left of it, a part, or what its user's past says."""

from __future__ import annotations

from typing import Any

import pytest

from policy import Finished, Ledger
from policy.backfill.shrunk_estimate_and_may_be_cut import Estimates, remember
from policy.backfill.shrunk_estimate_and_may_be_cut import Tested as Outcome
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from policy.model.ledger_between_passes import History
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, QuotaSettings, Settings
from tests.policy.clusters import job, run

NOW_S = 1000.0


def estimates(
    ledger: Ledger | None = None,
    quota: QuotaSettings | None = None,
    saves: bool = True,
    cheap_s: float = 0,
    **backfill: Any,
) -> Estimates:
    """By default p is 0.5 above 60 s, and every job saves its work."""
    shrinking = {"kind": "checkpoint", "shrink_factor": 0.5, "shrink_threshold_s": 60, **backfill}
    settings = Settings(
        BackfillSettings(**shrinking),
        quota or QuotaSettings(),
        checkpoint=CheckpointSettings(saves=saves, repeat_at_most_s=cheap_s),
    )
    return Estimates(settings, ledger or Ledger(), NOW_S)


@pytest.mark.parametrize(
    ("estimate_s", "tested"),
    [
        (60, Outcome(60, cuttable=False)),
        (61, Outcome(30.5, cuttable=True)),
        (1000, Outcome(500, cuttable=True)),
        (UNLIMITED_S, Outcome(UNLIMITED_S, cuttable=True)),
    ],
)
def test_above_the_threshold_it_is_shrunk(estimate_s: float, tested: Outcome) -> None:
    assert estimates().tested(job("3", estimate_s=estimate_s), NOW_S + 100) == tested


@pytest.mark.parametrize(("saved_s", "tested_s"), [(700, 150), (939, 30.5), (940, 60), (2000, 1), (-100, 550)])
def test_what_is_left_counts(saved_s: float, tested_s: float) -> None:
    assert estimates().tested(job("3", estimate_s=1000, saved_s=saved_s), NOW_S + 100).estimate_s == tested_s


@pytest.mark.parametrize(
    ("changed", "tested"),
    [
        ({}, Outcome(60, cuttable=True)),
        ({"rerunable": False}, Outcome(1000, cuttable=False)),
        ({"saves": False}, Outcome(1000, cuttable=False)),
        ({"saved_s": -100, "rerunable": False}, Outcome(1100, cuttable=False)),
    ],
)
def test_saved_work_counts_only_for_a_job_that_can_be_cut(changed: dict[str, Any], tested: Outcome) -> None:
    """Whether the program has saved is not known, and PBS gives it the whole walltime again."""
    saved = job("3", estimate_s=1000, **{"saved_s": 940, **changed})
    assert estimates().tested(saved, NOW_S + 100) == tested


@pytest.mark.parametrize(("now_s", "may_be"), [(59, False), (60, True)])
def test_a_run_of_which_saved_work_left_little_may_be_cut_once_it_outlasts_that(now_s: float, may_be: bool) -> None:
    settings = Settings(
        BackfillSettings("checkpoint", shrink_threshold_s=60), checkpoint=CheckpointSettings(saves=True)
    )
    saved = run("3", "alice", "v1=4", estimate_s=1000, saved_s=940)
    assert Estimates(settings, Ledger(), now_s).may_be_cut_at(saved, 10.0) is may_be


@pytest.mark.parametrize("kind", ["none", "easy"])
@pytest.mark.parametrize("saved_s", [0, 940])
def test_nothing_is_shrunk_where_nobody_may_be_cut(kind: str, saved_s: float) -> None:
    waiting = job("3", estimate_s=1000, saved_s=saved_s)
    assert estimates(kind=kind).tested(waiting, NOW_S + 100) == Outcome(1000, cuttable=False)


FULL = Outcome(1000, cuttable=False)
HALF = Outcome(500, cuttable=True)


@pytest.mark.parametrize(("count", "tested"), [(2, HALF), (3, FULL)])
def test_the_cap(count: int, tested: Outcome) -> None:
    assert (
        estimates(Ledger(preemptions={"3": count}), QuotaSettings(max_preemptions=3)).tested(
            job("3", estimate_s=1000), NOW_S + 100
        )
        == tested
    )


@pytest.mark.parametrize(("rerunable", "tested"), [(True, HALF), (False, FULL)])
def test_who_may_not_be_rerun(rerunable: bool, tested: Outcome) -> None:
    assert estimates().tested(job("3", estimate_s=1000, rerunable=rerunable), NOW_S + 100) == tested


@pytest.mark.parametrize(("exempt_s", "tested"), [(100, HALF), (101, FULL)])
def test_the_exempt_time_is_over_when_the_window_ends(exempt_s: float, tested: Outcome) -> None:
    quota = QuotaSettings(exempt_s=exempt_s)
    assert estimates(quota=quota).tested(job("3", estimate_s=1000), NOW_S + 100) == tested


@pytest.mark.parametrize(
    ("site", "own", "cheap_s", "tested"),
    [
        (True, None, 0, HALF),
        (True, False, 0, FULL),
        (False, None, 0, FULL),
        (False, True, 0, HALF),
        (False, None, 100, HALF),
        (True, False, 100, HALF),
        (False, None, 99, FULL),
    ],
)
def test_who_saves_or_has_little_to_repeat(site: bool, own: bool | None, cheap_s: float, tested: Outcome) -> None:
    found = estimates(saves=site, cheap_s=cheap_s).tested(job("3", estimate_s=1000, saves=own), NOW_S + 100)
    assert found == tested


@pytest.mark.parametrize(("promised_s", "cuttable"), [(NOW_S, True), (NOW_S + 150, True), (NOW_S + 151, False)])
def test_what_is_cheap_to_repeat_is_so_up_to_the_promised_time(promised_s: float, cuttable: bool) -> None:
    """The head is reserved for 100 s from now; that time may move back to the one that it was promised."""
    found = estimates(saves=False, cheap_s=150).tested(job("3", estimate_s=1000), NOW_S + 100, promised_s)
    assert found.cuttable is cuttable


def past(*last: float, run_s: float = 0, estimate_s: float = 0) -> Ledger:
    return Ledger(history={"alice": History(last, run_s, estimate_s)})


@pytest.mark.parametrize(
    ("ledger", "expected_s"),
    [
        (past(90, 110), 100),
        (past(900, 2000), 1000),
        (past(0.2, 0.4), 1),
        (past(90), 500),
        (Ledger(), 500),
    ],
)
def test_the_last_two(ledger: Ledger, expected_s: float) -> None:
    found = estimates(ledger, predictor="last-two").tested(job("3", estimate_s=1000), NOW_S + 100)
    assert found == Outcome(expected_s, cuttable=True)


def test_the_last_two_are_for_the_whole_run() -> None:
    saved = job("3", estimate_s=1000, saved_s=60)
    assert estimates(past(90, 110), predictor="last-two").tested(saved, NOW_S + 100).estimate_s == 40


@pytest.mark.parametrize(
    ("ledger", "expected_s"),
    [
        (past(1, 2, run_s=100, estimate_s=1000), 80),
        (past(1, 2, run_s=3000, estimate_s=1000), 800),
        (past(1, 2), 400),
        (past(1, run_s=100, estimate_s=1000), 400),
    ],
)
def test_the_ratio_is_of_what_is_left(ledger: Ledger, expected_s: float) -> None:
    found = estimates(ledger, predictor="ratio").tested(job("3", estimate_s=1000, saved_s=200), NOW_S + 100)
    assert found.estimate_s == expected_s


def test_without_factor_or_prediction_it_is_all_of_it() -> None:
    assert estimates(shrink_factor=None).tested(job("3", estimate_s=1000), NOW_S + 100) == Outcome(1000, cuttable=True)


def test_how_short_a_job_is_has_nothing_to_do_with_whether_it_may_be_cut() -> None:
    assert estimates().short_s(job("3", estimate_s=1000, rerunable=False)) == 500
    assert estimates().short_s(job("3", estimate_s=60)) == 60


def ended(run_s: float, estimate_s: float = 1000, user: str = "alice", ago_s: float = 0) -> Finished:
    return Finished("9", user, "", 1, NOW_S - ago_s - run_s, NOW_S - ago_s, estimate_s)


def test_the_last_two_runs_and_the_sums_are_remembered() -> None:
    history = remember({}, [ended(30), ended(10, ago_s=2), ended(20, ago_s=1), ended(5, user="bob")])
    assert history == {"alice": History((20, 30), 60, 3000), "bob": History((5,), 5, 1000)}


def test_a_run_without_walltime_teaches_nothing_about_the_ratio() -> None:
    known = {"alice": History((10,), 10, 1000)}
    assert remember(known, [ended(20, UNLIMITED_S)]) == {"alice": History((10, 20), 10, 1000)}
    assert known == {"alice": History((10,), 10, 1000)}
