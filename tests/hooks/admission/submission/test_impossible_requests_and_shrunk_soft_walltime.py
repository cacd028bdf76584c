"""What is refused at submission is what can never run, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hooks.admission.submission.impossible_requests_and_shrunk_soft_walltime import (
    Preemptibility,
    find_impossible,
    find_nonsense,
    read_preemptibility,
    shrink_estimate,
)
from hooks.pbs.custom_resources import PLENTY
from hooks.store.event_hook_summary import QueueSummary, Summary
from policy.backfill.shrunk_estimate_and_may_be_cut import Estimates
from policy.model.ledger_between_passes import History, Ledger
from policy.model.pbs_units import SIZES
from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.settings.settings_of_server_and_passes import SubmissionSettings
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, Settings
from tests.hooks.make_waiting_job import waiting_job

CONSUMABLES = frozenset({"ncpus", "mem", "ngpus", "scratch"})
NODE = ((("mem", 32 << 20), ("ncpus", 8)),)
HOST = {"ncpus": 8, "mem": 32 << 20, "scratch": 100 << 20}
QUEUE = QueueSummary("drive", {name: 3 * amount for name, amount in HOST.items()}, HOST, 3, 3, ((NODE, 3),))


def summarized(queue: QueueSummary) -> Summary:
    return Summary({"workq": queue}, "workq", CONSUMABLES, frozenset({"n1", "n2", "n3"}), SIZES | {"scratch"})


SAVING = CheckpointSettings(saves=True)
HALF = Settings(BackfillSettings("checkpoint", shrink_factor=0.5, shrink_threshold_s=3600), checkpoint=SAVING)
LAST_TWO = Settings(BackfillSettings("checkpoint", predictor="last-two", shrink_threshold_s=3600), checkpoint=SAVING)
NOTHING_PAST = Ledger()
ALICES_PAST = Ledger(history={"alice": History((5000.0, 7000.0), 12_000.0, 72_000.0)})


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"select": "25:ncpus=1"}, "asks for ncpus=25, and all vnodes open to that queue have ncpus=24 together"),
        ({"select": "1:ncpus=9"}, "one chunk asks for ncpus=9, and the largest host open to that queue has ncpus=8"),
        ({"ncpus": "9"}, "one chunk asks for ncpus=9"),
        ({"select": "1:ncpus=1:mem=33gb"}, "one chunk asks for mem=34603008kb"),
        ({"select": "1:ncpus=1:scratch=2048000000000"}, "scratch=2000000000kb, and all vnodes open to that queue have"),
        (
            {"scratch": "3tb"},
            "asks for scratch=3221225472kb, and all vnodes open to that queue have scratch=314572800kb",
        ),
        ({"select": "1:ncpus=1:ngpus=1"}, "ngpus=1, and all vnodes open to that queue have ngpus=0"),
        ({"select": "1:ncpus=8+1:ncpus=9"}, "one chunk asks for ncpus=9"),
        ({"select": "3:ncpus=4", "place": "pack"}, "with place=pack one host has to have ncpus=12"),
        ({"select": "4:ncpus=1", "place": "scatter:shared"}, "place=scatter it asks for 4 hosts, and 3 are open"),
        ({"select": "4:ncpus=1", "place": "vscatter"}, "place=vscatter it asks for 4 vnodes, and 3 are open"),
        ({"select": "1:ncpus=1:host=n4"}, "it asks for host=n4, and there is no such host"),
        ({"select": "1:ncpus=1:host=n4.example.org"}, "it asks for host=n4.example.org, and there is no such host"),
        ({"select": "1:ncpus=1:vnode=n2.example.org"}, "vnode=n2.example.org, and there is no such vnode"),
        ({"select": "1:ncpus=1+1:ncpus=2:vnode=m[0]"}, "it asks for vnode=m[0], and there is no such vnode"),
    ],
)
def test_what_can_never_run_is_refused_with_the_numbers(asked: dict[str, str], words: str) -> None:
    refusal = find_impossible(asked, "workq", summarized(QUEUE), Settings())
    assert refusal is not None
    assert words in refusal
    assert "queue workq" in refusal


@pytest.mark.parametrize(
    "asked",
    [
        {}, {"walltime": "1:00:00"}, {"select": "3:ncpus=8"}, {"ncpus": "8"}, {"select": "what"}, {"ncpus": "many"},
        {"select": "1:ncpus=1:nosuch=5"}, {"select": "1:ncpus=1:host=N2"}, {"select": "2:ncpus=4", "place": "pack"},
        {"select": "1:ncpus=1:host=n2.example.org"},
        {"select": "3:ncpus=8", "place": "scatter"}, {"select": "1:ncpus=1", "place": "nowhere"},
        {"select": "1:ncpus=1:scratch=1000000000"}, {"ncpus": "1", "mem": "10000000000"},
    ],
)  # fmt: skip
def test_what_may_come_to_fit_or_cannot_be_read_is_let_through(asked: dict[str, str]) -> None:
    assert find_impossible(asked, "workq", summarized(QUEUE), Settings()) is None


@pytest.mark.parametrize("by", ["wish", "settings"])
def test_a_chunk_that_no_host_holds_can_run_where_it_is_cut_for_a_stripe(by: str) -> None:
    asked = {"select": "1:ncpus=16:mpiprocs=16"} | ({"pbsteer_layout": "stripe"} if by == "wish" else {})
    settings = Settings(stripe=StripeSettings(layout="stripe" if by == "settings" else "none"))
    assert find_impossible(asked, "workq", summarized(QUEUE), settings) is None
    packed = {**asked, "pbsteer_layout": "pack"}
    assert "one chunk asks for ncpus=16" in str(find_impossible(packed, "workq", summarized(QUEUE), settings))
    whole = {**asked, "select": "1:ncpus=16:mpiprocs=1"}
    assert "one chunk asks for ncpus=16" in str(find_impossible(whole, "workq", summarized(QUEUE), settings))


def test_nothing_is_refused_while_no_vnodes_are_known() -> None:
    for known in ({}, {"vmem": PLENTY}, {"ncpus": 0, "mem": 0}):
        nothing = summarized(QueueSummary("drive", known, known, 1, 1))
        assert find_impossible({"select": "99:ncpus=99"}, "workq", nothing, Settings()) is None


def test_a_site_may_let_jobs_wait_for_vnodes_that_are_still_to_come() -> None:
    waiting = Settings(submission=SubmissionSettings(refuse_impossible="never"))
    asked = {"select": "99:ncpus=99:host=n99"}
    assert find_impossible(asked, "workq", summarized(QUEUE), Settings()) is not None
    assert find_impossible(asked, "workq", summarized(QUEUE), waiting) is None


def test_an_estimate_above_the_threshold_is_shrunk() -> None:
    assert shrink_estimate({"walltime": "10:00:00"}, "alice", NOTHING_PAST, HALF) == 18_000


def test_an_estimate_is_what_the_users_past_runs_predict() -> None:
    assert shrink_estimate({"walltime": "10:00:00"}, "alice", ALICES_PAST, LAST_TWO) == 6000
    assert shrink_estimate({"walltime": "10:00:00"}, "bob", ALICES_PAST, LAST_TWO) is None
    assert shrink_estimate({"walltime": "01:30:00"}, "alice", ALICES_PAST, LAST_TWO) is None


@pytest.mark.parametrize("predictor", ["none", "last-two", "ratio"])
@pytest.mark.parametrize("factor", [None, 0.2, 0.999])
@pytest.mark.parametrize("hours", [1, 2, 10, 500])
def test_the_scheduler_is_told_what_a_pass_would_test_with(predictor: str, factor: float | None, hours: int) -> None:
    settings = Settings(BackfillSettings("checkpoint", predictor=predictor, shrink_factor=factor), checkpoint=SAVING)
    told = shrink_estimate({"walltime": f"{hours}:00:00"}, "alice", ALICES_PAST, settings)
    tested_s = Estimates(settings, ALICES_PAST, 0.0).short_s(waiting_job("alice", hours * 3600))
    assert (hours * 3600 if told is None else told) == round(tested_s)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"walltime": "1:00:00"},
        {"walltime": "10:00:00", "soft_walltime": "1:00:00"},
        {"walltime": "10:00:00", "min_walltime": "1:00:00"},
        {"walltime": "noon"},
    ],
)
def test_other_estimates_stay_as_they_are(asked: dict[str, str]) -> None:
    assert shrink_estimate(asked, "alice", NOTHING_PAST, HALF) is None


@pytest.mark.parametrize(
    ("preemptibility", "shrunk"),
    [
        (Preemptibility(), True),
        (Preemptibility(saves=True), True),
        (Preemptibility(rerunable=False), False),
        (Preemptibility(saves=False), False),
    ],
)
def test_only_the_estimate_of_a_job_that_can_be_cut_is_shrunk(preemptibility: Preemptibility, shrunk: bool) -> None:
    told = shrink_estimate({"walltime": "10:00:00"}, "alice", NOTHING_PAST, HALF, preemptibility)
    assert (told is not None) == shrunk


@pytest.mark.parametrize(("hours", "shrunk"), [(2, True), (3, False)])
def test_a_job_that_does_not_save_is_cheap_to_repeat_if_it_never_has_more_to_do_again(hours: int, shrunk: bool) -> None:
    cheap = replace(HALF, checkpoint=CheckpointSettings(repeat_at_most_s=7200))
    told = shrink_estimate({"walltime": f"{hours}:00:00"}, "alice", NOTHING_PAST, cheap)
    assert (told is not None) == shrunk


@pytest.mark.parametrize("kind", ["none", "easy"])
def test_where_no_run_is_cut_no_estimate_is_shrunk(kind: str) -> None:
    settings = replace(HALF, backfill=replace(HALF.backfill, kind=kind))
    assert shrink_estimate({"walltime": "10:00:00"}, "alice", NOTHING_PAST, settings) is None


@pytest.mark.parametrize(
    ("rerunable", "checkpoint", "asked", "array", "preemptibility"),
    [
        (None, None, {}, False, Preemptibility(False, None)),
        (1, None, {}, False, Preemptibility(True, None)),
        (1, "u", {}, False, Preemptibility(True, None)),
        (0, None, {}, False, Preemptibility(False, None)),
        (1, "n", {"pbsteer_save": "signal"}, False, Preemptibility(True, False)),
        (1, "u", {"pbsteer_save": "signal"}, True, Preemptibility(True, True)),
        (1, "u", {"pbsteer_save": "checkpoint"}, True, Preemptibility(True, False)),
    ],
)
def test_what_becomes_of_a_jobs_work(
    rerunable: int | None, checkpoint: str | None, asked: dict[str, str], array: bool, preemptibility: Preemptibility
) -> None:
    assert read_preemptibility(rerunable, checkpoint, asked, Settings(), array=array) == preemptibility


def test_without_a_factor_no_estimate_is_shrunk() -> None:
    assert shrink_estimate({"walltime": "10:00:00"}, "alice", NOTHING_PAST, Settings()) is None


def test_a_wish_that_makes_no_sense_is_refused_and_any_other_is_let_through() -> None:
    refusal = find_nonsense({"pbsteer_rank": "fastest", "pbsteer_width": "0"})
    assert refusal is not None
    assert "pbsteer_rank is 'fastest'; allowed is composite, compute" in refusal
    assert "pbsteer_width is '0'; allowed is a whole number of nodes" in refusal
    assert find_nonsense({"pbsteer_rank": "compute+memory", "pbsteer_width": "4", "select": "what"}) is None


@pytest.mark.parametrize("name", ["x" * 65, "x" * 1_000_000, "wrf\x1b[2J", "two\nlines", "\u202eflow"])
def test_an_applications_name_is_refused_where_it_would_be_cut_or_garble_a_screen(name: str) -> None:
    refusal = find_nonsense({"pbsteer_app": name})
    assert refusal is not None
    assert "allowed is a name of up to 64 printable characters" in refusal
    assert refusal.isprintable()
    assert len(refusal) < 300
    assert find_nonsense({"pbsteer_app": "x" * 64}) is None
