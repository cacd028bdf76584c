"""`pbsteer simulate` with several clusters: what migration gains, and the messages for what cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sim.cli.simulate import simulate
from tests.sim.call_command import Invoked

COMMAND = Invoked(simulate)
BUSY = ("--clusters", 3, "--generate", 60, "--cluster", "8x4", "--load", 0.9)


def figures(*arguments: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in COMMAND.run(*arguments, "--json").stdout.splitlines()]


def test_both_are_printed_and_migration_waits_less() -> None:
    separate, migrating = figures(*BUSY)
    assert (separate["policy"], migrating["policy"]) == ("separate", "migrating")
    assert separate["jobs"] == migrating["jobs"] == 180
    assert separate["moved_jobs"] == 0 < migrating["moved_jobs"]
    assert migrating["mean_wait_s"] < separate["mean_wait_s"]
    assert "3 clusters, 96 cores, 180 jobs, policy easy; separate, and with migration:" in COMMAND.run(*BUSY).stdout


def test_copying_that_takes_longer_costs_more() -> None:
    _, quick = figures(*BUSY, "--copy-mib", 0)
    _, slow = figures(*BUSY, "--copy-mib", 10_000, "--bandwidth-mib", 1)
    assert quick["moved_bytes"] == 0 < slow["moved_bytes"]
    assert quick["mean_wait_s"] < slow["mean_wait_s"]


def trace(path: Path, jobs: int) -> Path:
    lines = [f"{number} {number * 10} -1 600 8 -1 -1 8 600 -1 1 1 1 -1 -1 -1 -1 -1" for number in range(1, jobs + 1)]
    path.write_text("\n".join(["; MaxNodes: 4", "; MaxProcs: 16", *lines]) + "\n")
    return path


def test_a_trace_for_each_cluster(tmp_path: Path) -> None:
    separate, migrating = figures("--clusters", 2, trace(tmp_path / "a.swf", 20), trace(tmp_path / "b.swf", 1))
    assert separate["jobs"] == migrating["jobs"] == 21
    assert migrating["makespan_s"] < separate["makespan_s"]


def test_a_file_names_clusters_and_traces(tmp_path: Path) -> None:
    trace(tmp_path / "a.swf", 20)
    trace(tmp_path / "b.swf", 1)
    file = tmp_path / "centre.toml"
    file.write_text('[[cluster]]\nname = "old"\ntrace = "a.swf"\n[[cluster]]\ntrace = "b.swf"\ncluster = "8x4"\n')
    assert [one["jobs"] for one in figures("--clusters", file)] == [21, 21]


def test_reservations_are_of_each_cluster_and_are_reported(tmp_path: Path) -> None:
    reservations = tmp_path / "reservations.toml"
    reservations.write_text('[[reservation]]\nnodes = "1-2"\nstart = 0\nduration = 3600\n')
    both = figures(*BUSY, "--reservations", reservations)
    assert [one["reserved_core_s"] for one in both] == [3 * 2 * 4 * 3600] * 2
    assert all(one["max_head_delay_s"] is not None for one in both)
    table = COMMAND.run(*BUSY, "--reservations", reservations).stdout
    assert "3 clusters, 96 cores, 180 jobs, 3 reservations, policy easy; separate, and with migration:" in table
    assert "\nreserved " in table


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--load", "0.5"), ("--resample", "3"), ("--reservations", "res.toml"), ("--users", "3"), ("--seed", "7"),
        ("--applications", "memory"),
    ],
)  # fmt: skip
def test_an_option_that_a_file_of_clusters_would_ignore_is_refused(option: str, value: str) -> None:
    assert f"{option} {value}: not with --clusters c.toml" in COMMAND.refused("--clusters", "c.toml", option, value)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--clusters", 1, "--generate", 5, "--cluster", "8x4"), "--clusters 1: must be from 2 to 1000, or a file"),
        (("--clusters", 2), "--clusters 2: needs 2 traces, one for each; 0 are given"),
        (("--clusters", 2, "--policy", "quota"), "--policy quota: with --clusters one of fcfs, easy, easy-sjbf"),
        (("--clusters", 2, "--contention"), "--contention: not with --clusters"),
        (("--clusters", 2, "--readings", 1), "--readings: not with --clusters"),
        (("--clusters", 2, "--think-times"), "--think-times: not with --clusters"),
        (("--clusters", "no.toml"), "no.toml: cannot be read: No such file"),
        (("--copy-mib", 3), "--copy-mib 3: only with --clusters"),
        (("--clusters", "no.toml", "--generate", 5), "the file names the traces and clusters"),
    ],
)
def test_what_cannot_be_is_reported(arguments: tuple[object, ...], problem: str) -> None:
    assert problem in COMMAND.refused(*arguments)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "must have two or more tables"),
        ('[[cluster]]\ntrace = "a"\n[[cluster]]\nname = "x"\n', "cannot be read"),
        ("[[cluster]]\nnodes = 3\n[[cluster]]\n", "cluster 1: must have trace"),
    ],
)
def test_a_file_that_is_none_is_reported(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "centre.toml").write_text(text)
    assert problem in COMMAND.refused("--clusters", tmp_path / "centre.toml")
