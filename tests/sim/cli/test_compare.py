"""`pbsteer compare` as its user sees it: a table, a picture, files, and one clear line with status 2 otherwise."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from sim.cli import replay_options
from sim.cli.compare import compare
from tests.sim.call_command import Invoked

DRAWN = ("--generate", "60", "--cluster", "4x4", "--users", "3", "--load", "1.5")


INVOKED = Invoked(compare)
run, refused = INVOKED.run, INVOKED.refused


def test_easy_and_quota_are_compared_by_default() -> None:
    result = run(*DRAWN)
    assert result.exit_code == 0
    title, _, head, *_ = result.stdout.splitlines()
    assert "60 jobs on 4 nodes of 4 cores" in title
    assert head.split() == ["easy", "quota"]
    for part in ("short narrow: mean wait", "wait: 5, 25", "bounded slowdown: 5", "cores in use", "jobs from"):
        assert part in result.stdout


def test_a_row_a_policy_with_the_figures_of_the_json(tmp_path: Path) -> None:
    path = tmp_path / "figures.csv"
    result = run(*DRAWN, "--policy", "easy", "--policy", "fcfs", "--json", "--csv", path)
    objects = [json.loads(line) for line in result.stdout.splitlines()]
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows] == ["easy", "fcfs"]
    for row, values in zip(rows, objects):
        assert list(row) == list(values)
        assert row == {key: "" if value is None else str(value) for key, value in values.items()}


WEEKS = ("--generate", "900", "--cluster", "4x4", "--users", "5", "--load", "0.3")
"""Enough weeks for intervals."""


def test_gains_over_both_references_are_shown_whatever_policies_are_named() -> None:
    text = run(*WEEKS, "--policy", "checkpoint-sjbf").stdout
    assert text.splitlines()[3].split() == ["checkpoint-sjbf"]
    part = text.partition("\ngain over")[2]
    assert re.search(r"\neasy\n  checkpoint-sjbf  +-?[0-9.]+ \[ *-?[0-9.]+, +-?[0-9.]+\]", part)
    assert re.search(r"\neasy-sjbf\n  checkpoint-sjbf  +-?[0-9.]+ \[", part)
    assert "weeks of submissions, seed 1" in part


def test_the_same_gains_are_in_the_json() -> None:
    (figures,) = map(json.loads, run(*WEEKS, "--policy", "checkpoint-sjbf", "--json").stdout.splitlines())
    for reference in ("easy", "easy_sjbf"):
        low, gain, high = (figures[f"gain_over_{reference}_wait{end}"] for end in ("_low", "", "_high"))
        assert low <= gain <= high
    other = run(*WEEKS, "--policy", "checkpoint-sjbf", "--json", "--bootstrap-seed", "2").stdout
    assert json.loads(other)["gain_over_easy_wait"] == figures["gain_over_easy_wait"]
    assert json.loads(other)["gain_over_easy_wait_low"] != figures["gain_over_easy_wait_low"]


def test_a_reference_has_no_gain_over_itself() -> None:
    easy, _ = map(json.loads, run(*DRAWN, "--policy", "easy", "--policy", "fcfs", "--json").stdout.splitlines())
    assert easy["gain_over_easy_wait"] is None
    assert easy["gain_over_easy_sjbf_wait"] is not None
    assert easy["jobs_that_wait_longer_than_under_easy"] == 0


def test_sizes_users_and_losers_have_their_tables_and_files(tmp_path: Path) -> None:
    users, losers = tmp_path / "users.csv", tmp_path / "losers.csv"
    text = run(*WEEKS, "--policy", "fcfs", "--users-csv", users, "--losers-csv", losers).stdout
    for part in ("by size, cores / machine", "25 to 50 %", "by user, mean slowdown", "jobs that fare worst"):
        assert part in text
    rows = list(csv.DictReader(users.read_text().splitlines()))
    assert {row["user"] for row in rows} == {f"u{number}" for number in range(1, 6)}
    longer = [float(row["longer_s"]) for row in rows]
    assert longer == sorted(longer, reverse=True)
    worst = list(csv.DictReader(losers.read_text().splitlines()))
    assert float(worst[0]["longer_s"]) == float(worst[0]["wait_s"]) - float(worst[0]["wait_s_under_reference"]) > 0
    assert worst[0]["job"] in text.partition("jobs that fare worst")[2]


def test_what_is_trimmed_is_reported_and_can_be_none() -> None:
    assert "waits and slowdowns of 882 jobs: the first and last submitted" in run(*WEEKS, "--policy", "easy").stdout
    assert "warm up" not in run(*WEEKS, "--policy", "easy", "--trim", "0").stdout


def test_runs_are_written_for_each_policy(tmp_path: Path) -> None:
    run(*DRAWN, "--runs-csv", tmp_path / "runs.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs-easy.csv", "runs-quota.csv"]
    with (tmp_path / "runs-quota.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) >= 60


def test_replicates_are_compared_too() -> None:
    text = run(*DRAWN, "--policy", "easy", "--policy", "fcfs", "--replicates", "3").stdout
    assert "over 3 replicates" in text
    assert "--span: not with --replicates" in refused(*DRAWN, "--replicates", "3", "--span", "1h+2h")


def test_files_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
    assert run(*DRAWN, "--plot", tmp_path / "a.svg", "--jobs-csv", tmp_path / "jobs.csv").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svg", "jobs-easy.csv", "jobs-quota.csv"]


def test_a_span_is_looked_at_when_asked_for() -> None:
    assert "jobs from 1 h to 3 h after the first submit" in run(*DRAWN, "--span", "1h+2h").stdout


@pytest.mark.parametrize(("options", "env"), [(("--ascii",), {}), ((), {"LC_ALL": "C"})])
def test_ascii_is_drawn_when_asked_for(options: tuple[str, ...], env: dict[str, str]) -> None:
    assert not run(*DRAWN, env={"LC_ALL": "C.UTF-8"}).stdout.isascii()
    assert run(*DRAWN, *options, env=env).stdout.isascii()


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--span", "noon"), "--span: span 'noon': must be START+LENGTH"),
        (("--span", "900d+1d"), "--span 900d+1d: must start by the last submit"),
        (("--policy", "no-such-policy"), "no-such-policy"),
        (("--plot", "story.pdf"), "--plot: plot file story.pdf: must end in .svg or .png"),
        (("--csv", "absent/a.csv"), "--csv absent/a.csv: must be a file in a folder that exists"),
        (("--runs-csv", "absent/a.csv"), "--runs-csv absent/a.csv: must be a file in a folder that exists"),
        (("--users-csv", "absent/a.csv"), "--users-csv absent/a.csv: must be a file in a folder that exists"),
        (("--losers-csv", "absent/a.csv"), "--losers-csv absent/a.csv: must be a file in a folder that exists"),
        (("--policy", "conservative", "--contention"), "policy conservative: not with contention"),
        (("--policy", "formula:mem"), "policy 'formula:mem': the formula has 'mem'"),
        (("--jobs-csv", "absent/a.csv"), "--jobs-csv absent/a.csv: must be a file in a folder that exists"),
    ],
)
def test_what_makes_no_sense_is_named(options: tuple[str, ...], names: str) -> None:
    assert names in refused(*DRAWN, *options)


def test_a_policy_that_cannot_be_replayed_so_is_refused_before_any_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_options, "replay", lambda *_, **__: pytest.fail("a policy was replayed"))
    assert "not with contention" in refused(
        *DRAWN, "--policy", "easy", "--policy", "conservative", "--contention", "--json"
    )


def test_files_of_policies_that_cannot_be_written_are_refused_before_any_replay(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(replay_options, "replay", lambda *_, **__: pytest.fail("a policy was replayed"))
    policies = ("--policy", "easy", "--policy", "fcfs")
    jobs, summary = tmp_path / f"{'x' * 250}.csv", tmp_path / "a-easy.csv"
    assert "-easy.csv: File name too long" in refused(*DRAWN, *policies, "--jobs-csv", str(jobs))
    twice = refused(*DRAWN, *policies, "--csv", str(summary), "--runs-csv", str(tmp_path / "a.csv"))
    assert "a-easy.csv: --csv writes this file too" in twice


@pytest.mark.parametrize(
    ("options", "names"),
    [(("--policy", "no-such-policy"), "no-such-policy"), (("--cluster", "4by4"), "--cluster: cluster '4by4'")],
)
def test_what_makes_no_sense_is_named_without_a_workload_too(options: tuple[str, ...], names: str) -> None:
    assert names in refused(*options)


def test_a_policy_that_starts_nothing_is_named(tmp_path: Path) -> None:
    settings = tmp_path / "closed.toml"
    settings.write_text('[[queue]]\nname = "workq"\nmax_run_res = "[u:PBS_GENERIC=0]"\n')
    result = run(*DRAWN, "--policy", settings)
    assert result.exit_code == 2
    assert "Error: policy closed: not one of the jobs could ever start" in result.stderr
