"""The rows of --runs-csv, audited as an outsider would: from the file alone, with the size of the cluster.

Nothing here knows the engine or the replay's records. Each law is also shown to fail on a file that breaks it.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from policy.model.allocation import Allocation, Spot
from sim.replay.named_policies import resolve
from sim.replay.replay import replay
from sim.report.runs_csv import COLUMNS, show_vnodes, write_runs_csv
from sim.workload.lublin_feitelson import generate
from sim.workload.workload import Cluster

CLUSTER = Cluster(8, 4)
POLICIES = ("easy", "quota", "priority", "checkpoint-sjbf", "checkpoint-rescue", "conservative", "fair-share")
Row = dict[str, str]


def rows_of(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module", params=POLICIES)
def rows(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    path = tmp_path_factory.mktemp("runs") / "runs.csv"
    workload = generate(400, CLUSTER, 8, 4, 1.1)
    result = replay(workload, CLUSTER, resolve(request.param, workload, CLUSTER), keep_runs=True)
    write_runs_csv(path, result.records)
    return rows_of(path)


# The laws


def overfull(rows: list[Row]) -> list[tuple[str, float]]:
    """The vnodes that hold more than they have, and when."""
    changes: dict[str, list[tuple[float, int, int]]] = defaultdict(list)
    for row in rows:
        if float(row["end"]) > float(row["start"]):
            for part in row["vnodes"].split("+"):
                vnode, cores = part.split("=")
                changes[vnode] += [(float(row["start"]), 1, int(cores)), (float(row["end"]), 0, -int(cores))]
    found = []
    for vnode, at in changes.items():
        held = 0
        for time_s, _, change in sorted(at):
            held += change
            if held > CLUSTER.cores_per_node:
                found.append((vnode, time_s))
    return found


def with_wrong_cores(rows: list[Row]) -> list[str]:
    """Jobs that hold another number of cores than they asked for."""
    return [
        row["job"]
        for row in rows
        if sum(int(part.split("=")[1]) for part in row["vnodes"].split("+")) != int(row["cores"])
    ]


def broken_promises(rows: list[Row]) -> list[str]:
    """Jobs that started after the promise that stood, or were promised a start before they were submitted."""
    return [
        row["job"]
        for row in rows
        if row["promised"]
        and (
            float(row["start"]) > float(row["promised"]) + 1e-6
            or not float(row["submit"]) <= float(row["promised_at"]) <= float(row["start"])
        )
    ]


def badly_ended(rows: list[Row]) -> list[str]:
    """Jobs whose last run did not end by itself or that ran again after one that did, and preemptions that name no
    beneficiary."""
    found = []
    for job, runs in by_job(rows).items():
        reasons = [row["why"] for row in runs]
        numbered = [int(row["run"]) for row in runs] == list(range(1, len(runs) + 1))
        over = reasons.index("ended") == len(runs) - 1 if "ended" in reasons else False
        if not numbered or not over or any((row["why"] == "ended") == bool(row["beneficiary"]) for row in runs):
            found.append(job)
    return found


def victims_without_use(rows: list[Row]) -> list[str]:
    """Victims whose beneficiary did not start in the second in which they were preempted. (A simulated preemption frees
    the cores at once.)"""
    starts = {(row["job"], row["start"]) for row in rows}
    return [row["job"] for row in rows if row["beneficiary"] and (row["beneficiary"], row["end"]) not in starts]


def wrongly_charged(rows: list[Row]) -> list[str]:
    """Jobs whose runs are not their own work, what was charged and what was repeated."""
    found = []
    for job, runs in by_job(rows).items():
        held = sum((float(row["end"]) - float(row["start"])) * int(row["cores"]) for row in runs)
        own = float(runs[0]["run_s"]) * int(runs[0]["cores"])
        charged = sum(float(row["charged_core_s"]) + float(row["repeated_core_s"]) for row in runs)
        if held != pytest.approx(own + charged):
            found.append(job)
    return found


def by_job(rows: list[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["job"]].append(row)
    return found


LAWS = (overfull, with_wrong_cores, broken_promises, badly_ended, wrongly_charged)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_file_keeps_the_law(rows: list[Row], law: Callable[[list[Row]], list[object]]) -> None:
    assert law(rows) == []


def test_victims_make_room_for_whoever_they_name(rows: list[Row]) -> None:
    assert victims_without_use(rows) == []


# EASY's promises, reckoned again from the file


@pytest.fixture(scope="module")
def easy(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    path = tmp_path_factory.mktemp("easy") / "runs.csv"
    workload = generate(400, CLUSTER, 8, 4, 1.1)
    write_runs_csv(path, replay(workload, CLUSTER, resolve("easy", workload, CLUSTER), keep_runs=True).records)
    return rows_of(path)


def easy_promise(rows: list[Row], head: Row) -> float:
    """When the head has its cores by the estimates of what ran when it was promised them."""
    at_s, free, ends = float(head["promised_at"]), CLUSTER.cores, []
    for row in rows:
        start_s = float(row["start"])
        before = start_s < at_s or (start_s == at_s and row["backfilled"] == "0")
        if before and float(row["end"]) > at_s and row is not head:
            free -= int(row["cores"])
            ends.append((start_s + float(row["estimate_s"]), int(row["cores"])))
    for end_s, cores in sorted(ends):
        if free >= int(head["cores"]):
            break
        free += cores
        at_s = end_s
    return at_s


def test_each_promise_of_easy_is_the_earliest_that_estimates_allow(easy: list[Row]) -> None:
    promised = [row for row in easy if row["promised"]]
    assert len(promised) > 20
    for row in promised:
        assert float(row["promised"]) == easy_promise(easy, row), row["job"]


# A file that breaks a law is found out


@pytest.mark.parametrize(
    ("law", "change"),
    [
        (overfull, {"vnodes": "n1=5"}),
        (with_wrong_cores, {"cores": "77"}),
        (broken_promises, {"promised": "0", "promised_at": "0"}),
        (broken_promises, {"promised": "1e9", "promised_at": "1e9"}),
        (badly_ended, {"why": "preempted-quota"}),
        (badly_ended, {"beneficiary": "3"}),
        (badly_ended, {"run": "2"}),
        (wrongly_charged, {"charged_core_s": "1000"}),
        (victims_without_use, {"beneficiary": "3"}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "+".join(value),
)
def test_a_broken_row_is_found(
    easy: list[Row], law: Callable[[list[Row]], list[object]], change: dict[str, str]
) -> None:
    last = max(easy, key=lambda row: float(row["start"]) if float(row["run_s"]) else 0)
    assert law([row if row is not last else {**row, **change} for row in easy]) != []


# The file itself


def test_a_row_has_every_column(easy: list[Row]) -> None:
    assert tuple(easy[0]) == COLUMNS
    assert {row["class"] for row in easy} == {""}
    assert {row["backfilled"] for row in easy} == {"0", "1"}


def test_the_class_is_that_of_the_run(tmp_path: Path) -> None:
    workload = generate(150, CLUSTER, 4, 4, 1.1)
    result = replay(workload, CLUSTER, resolve("priority", workload, CLUSTER), keep_runs=True)
    write_runs_csv(tmp_path / "runs.csv", result.records)
    classes = {row["class"] for row in rows_of(tmp_path / "runs.csv")}
    assert "-1" in classes
    assert classes <= {"-1", "0", "1", "2", "3"}


def test_chunks_on_one_vnode_are_added_up() -> None:
    ncpus = (("ncpus", 2),)
    assert show_vnodes(Allocation((Spot("n1", ncpus, 3), Spot("n2", ncpus, 1), Spot("n1", (("mem", 1),), 1)))) == (
        "n1=6+n2=2"
    )


def test_records_whose_runs_were_not_kept_have_no_rows(tmp_path: Path) -> None:
    workload = generate(5, CLUSTER, 2, 1, 1.0)
    write_runs_csv(tmp_path / "runs.csv", replay(workload, CLUSTER, resolve("easy", workload, CLUSTER)).records)
    assert rows_of(tmp_path / "runs.csv") == []
