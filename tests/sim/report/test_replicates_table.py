"""Replicates as a table and as JSON: means of the replicates, never of one of them."""

from __future__ import annotations

import json

import pytest

from sim.evidence.gains_over_references import MEASURES, Gain
from sim.replay.metrics import Metrics, measure
from sim.report.gains_sizes_users_and_losers import Gains
from sim.report.replicates_table import to_json, to_text
from tests.sim.small_jobs_and_replays import a_job, a_replay, ran


def waited(*waits_s: float, policy: str = "easy") -> Metrics:
    jobs = [a_job(number) for number in range(len(waits_s))]
    return measure(a_replay(*(ran(job, (s, s + 100)) for job, s in zip(jobs, waits_s)), policy=policy))


def gaining(*gains: float) -> list[Gains]:
    return [{"easy": dict.fromkeys(MEASURES, Gain(gain, None, None, 2, 1))} for gain in gains]


EASY = [waited(100, 300), waited(200, 400), waited(300, 500)]
MINE = [waited(50, 150, policy="mine"), waited(100, 200, policy="mine"), waited(150, 250, policy="mine")]


def test_a_column_has_the_means_of_the_replicates_with_their_intervals() -> None:
    text = to_text("three", ["easy", "mine"], [2, 2, 2], [EASY, MINE], [[{}] * 3, gaining(0.5, 0.5, 0.5)])
    lines = text.splitlines()
    assert lines[:3] == ["three", "", lines[2]]
    assert lines[2].split() == ["easy", "mine"]
    # Means 200, 300 and 400: 4.3027 x 100 / sqrt(3).
    assert lines[3].split() == ["mean", "wait", "300", "s", "±", "248", "150", "s", "±", "124"]
    assert ["mine", *["50.0", "[", "50.0,", "50.0]"] * 3] in [line.split() for line in lines]


def test_a_policy_that_left_jobs_out_in_a_replicate_is_marked() -> None:
    fewer = [MINE[0], waited(100, policy="mine"), MINE[2]]
    text = to_text("three", ["easy", "mine"], [2, 2, 2], [EASY, fewer], [[{}] * 3, gaining(0.1, 0.2, 0.3)])
    assert text.splitlines()[1] == "NOT COMPARABLE where marked *: jobs were left out"
    assert text.splitlines()[3].split() == ["easy", "mine*"]
    gains = gaining(0.1, 0.2, 0.3)
    lines = [to_json("mine", [2, 2, 2], each, gains) for each in (MINE, fewer)]
    assert [json.loads(line)["every_job_ran"] for line in lines] == [True, False]


def test_json_has_every_figure_as_its_mean() -> None:
    answer = json.loads(to_json("mine", [2, 2, 2], MINE, gaining(0.1, 0.2, 0.3)))
    assert (answer["policy"], answer["replicates"]) == ("mine", 3)
    wait = answer["figures"]["mean_wait_s"]
    assert wait["mean"] == 150
    assert wait["low"] < 150 < wait["high"]
    assert answer["figures"]["max_head_delay_s"] is None
    assert answer["gain_over"]["easy"]["wait"]["gain"] == pytest.approx(0.2)
    assert [each["easy"]["wait"] for each in answer["gain_over_in_each"]] == [0.1, 0.2, 0.3]
    assert set(answer["gain_over"]["easy"]["wait"]) == {"gain", "low", "high", "jobs"}


def test_a_policy_that_is_named_alone_is_marked_too() -> None:
    text = to_text("three", ["mine"], [3, 3, 3], [MINE], [gaining(0.1, 0.2, 0.3)])
    assert text.splitlines()[3].split() == ["mine*"]


def test_formulas_are_named_below_the_title() -> None:
    policies = ["formula:ncpus", "formula:walltime"]
    lines = to_text("three", policies, [2, 2, 2], [EASY, MINE], [[{}] * 3, gaining(0.1, 0.2, 0.3)]).splitlines()
    assert lines[:3] == ["three", "formula 1: ncpus", "formula 2: walltime"]
    assert lines[4].split() == ["formula", "1", "formula", "2"]
