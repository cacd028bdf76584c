"""`pbsteer compare` as its user sees it: a table, a picture, files, and one clear line with status 2 otherwise."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from sim.cli.compare import compare
from tests.sim.call_command import Invoked

DRAWN = ("--generate", "60", "--cluster", "4x4", "--users", "3", "--load", "1.5")


INVOKED = Invoked(compare)
run, refused = INVOKED.run, INVOKED.refused


def test_easy_and_quota_are_compared_unless_told_otherwise() -> None:
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
        (("--jobs-csv", "absent/a.csv"), "--jobs-csv absent/a.csv: must be a file in a folder that exists"),
    ],
)
def test_what_makes_no_sense_is_named(options: tuple[str, ...], names: str) -> None:
    assert names in refused(*DRAWN, *options)


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
