"""Accounting logs as workloads: a real log, what is left out of a log, and what a replay gets to see."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.replay.named_policies import resolve
from sim.replay.replay import replay
from sim.traces.accounting_job_history import DELETED, MOVED, RUNNING, WAITING
from sim.traces.accounting_log import PastJob, read_accounting, read_log
from sim.traces.accounting_log_files_and_lines import AccountingError
from sim.workload.lublin_feitelson import generate
from sim.workload.workload import Cluster, describe_skipped
from tests.sim.accounting_builders import (
    BIG,
    NOON_S,
    causes,
    ended,
    fields,
    log_of,
    only_traced,
    record,
    write_log,
)

REAL = Path(__file__).parents[1] / "accounting_log"
"""A day of a real OpenPBS server with two MoMs of eight cores: requeued, deleted, suspended, an array, odd accounts."""


# A real log


@pytest.fixture(scope="module")
def real() -> dict[str, PastJob]:
    return {job.id: job for job in read_log([REAL]).jobs}


def test_every_job_that_ended_is_there_and_no_other(real: dict[str, PastJob]) -> None:
    arrays = [f"5[{index}].hpc1" for index in range(4)]
    assert set(real) == {*(f"{number}.hpc1" for number in (0, 1, 2, 3, 6, 7, 9, 11)), *arrays}


def test_a_requeued_job_counts_its_last_run(real: dict[str, PastJob]) -> None:
    job = real["1.hpc1"]
    assert (job.requeues, job.last_start_s - job.start_s, job.end_s - job.last_start_s, job.run_s) == (1, 9, 13, 13)
    assert job.walltime_s == 180  # altered while it ran


def test_a_suspended_job_ran_without_its_pause(real: dict[str, PastJob]) -> None:
    job = real["11.hpc1"]
    assert (job.end_s - job.start_s, job.suspended_s, job.run_s) == (13, 7, 6)


def test_a_deleted_running_job_ran_until_then(real: dict[str, PastJob]) -> None:
    assert (real["6.hpc1"].run_s, real["6.hpc1"].exit_status) == (35, 271)


def test_an_account_with_a_line_end_forges_no_job(real: dict[str, PastJob]) -> None:
    assert real["7.hpc1"].user == "alice"
    assert "99.hpc1" not in real
    assert not any("mallory" in job.user for job in real.values())


def test_what_is_left_out_of_the_real_log_is_reported_with_file_and_line() -> None:
    log = read_log([REAL])
    assert describe_skipped(log.skipped, log.skipped_lines) == (
        "6 left out: 2 a field given twice, first in 20261120 (lines 38, 47), 2 deleted before they ran, first in "
        "20261120 (lines 9, 44), 2 still waiting when the log ends, first in 20261120 (lines 37, 41)"
    )
    lines = (REAL / "20261120").read_bytes().split(b"\n")
    assert b'account="x" start=5 end=7 y"' in lines[38 - 1]
    assert b";Q;4.hpc1;" in lines[9 - 1]


def test_the_cores_held_at_once_fit_the_real_cluster() -> None:
    log = read_log([REAL])
    assert 8 <= log.most_cores_at_once <= 16
    assert log.vnodes == 2


# What is left out


def an_end(*, start: int = NOON_S, end: int = NOON_S, **others: Any) -> str:
    """The end record of job 9."""
    return record("E", 9, NOON_S, fields(start=start, end=end, **others))


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (["hello"], "not an accounting record"),
        ([an_end().replace("12/31", "13/31")], "a date or time that does not exist"),
        ([record("S", 9, NOON_S, fields())], "no start time"),
        ([record("R", 9, NOON_S, fields(start=NOON_S))], "no end time"),
        ([record("?", 9, NOON_S)], "not an accounting record"),
        ([record("x", 9, NOON_S)], "an unknown type of record"),
        ([an_end().replace("9.hpc1", "nonsense.hpc1")], "no job id"),
        ([an_end(end=5)], "its times are days away from the record's own"),
        ([an_end(start=NOON_S + 9)], "an end before the start"),
        ([an_end(start=5)], "a start before it was created"),
        ([an_end(walltime="soon")], "a walltime that is none"),
        ([an_end(walltime="9999999:0:0")], "a walltime of more than 100 years"),
        ([an_end() + " end=1"], "a field given twice"),
        ([an_end().replace("ncpus=4", "ncpus=four")], "a number of cores that is none"),
        ([an_end(cores=None, after="Resource_List.select=a:b")], "a select that cannot be read"),
        ([an_end(cores=None)], "number of cores unknown"),
        ([an_end(user="")], "no user"),
        ([an_end(start=0)], DELETED),
        ([record("Q", 9, NOON_S, fields()), record("D", 9, NOON_S, "requestor=bob@hpc1")], DELETED),
        ([record("Q", 9, NOON_S, fields()), record("A", 9, NOON_S)], DELETED),
        ([record("R", 9, NOON_S, fields(start=NOON_S, end=NOON_S)), record("D", 9, NOON_S)], DELETED),
        ([record("Q", 9, NOON_S, fields()), record("M", 9, NOON_S, "hpc2")], MOVED),
        ([record("Q", 9, NOON_S, fields())], WAITING),
        ([record("Q", 9, NOON_S, "queue=workq")], WAITING),
        ([record("S", 9, NOON_S, fields(start=NOON_S))], RUNNING),
        ([record("S", 9, NOON_S, fields(start=NOON_S)), record("C", 9, NOON_S)], WAITING),
        ([record("R", 9, NOON_S, fields(start=NOON_S, end=NOON_S))], WAITING),
        (ended(1, NOON_S, NOON_S + 60)[2:], "an end recorded before"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_counted_by_cause_with_its_line(tmp_path: Path, lines: list[str], cause: str) -> None:
    log = log_of(tmp_path, *ended(1, NOON_S, NOON_S + 60), *lines)
    assert [job.id for job in log.jobs] == ["1.hpc1"]
    # A record that is left out may leave its job without an end.
    assert causes(log)[cause] == 1
    assert log.skipped_lines[f"{cause}, first in 20251231"] == (4,)


@pytest.mark.parametrize(
    "line",
    [
        record("L", "license", NOON_S, "floating license hour:3 day:3 month:3 max:10"),
        record("Q", "5[].hpc1", NOON_S, fields()),
        record("E", "5[].hpc1", NOON_S, fields(start=NOON_S, end=NOON_S)),
        record("B", "R7.hpc1", NOON_S, "owner=root@hpc1 start=1 end=2"),
        record("A", "R7.hpc1", NOON_S),
        record("u", 1, NOON_S, fields(start=NOON_S, end=NOON_S)),
        record("a", 1, NOON_S, "Resource_List.walltime=00:03:00"),
        record("z", 77, NOON_S, "resources_used.ncpus=1"),
        "",
    ],
)
def test_records_of_other_things_are_passed_over(tmp_path: Path, line: str) -> None:
    log = log_of(tmp_path, *ended(1, NOON_S, NOON_S + 60), line)
    assert (len(log.jobs), log.skipped) == (1, {})


def test_a_binary_line_costs_itself_alone(tmp_path: Path) -> None:
    path = write_log(tmp_path / "20251231", *ended(1, NOON_S, NOON_S + 60))
    path.write_bytes(b"\0" * 5000 + b"\n" + path.read_bytes())
    log = read_log([path])
    assert (len(log.jobs), causes(log)) == (1, {"not an accounting record": 1})


def test_an_id_given_to_a_new_job_is_another_job(tmp_path: Path) -> None:
    later = NOON_S + 10_000
    log = log_of(tmp_path, *ended(1, NOON_S, NOON_S + 60), *ended(1, later, later + 30))
    assert [job.run_s for job in log.jobs] == [60, 30]


# As a workload


def test_a_workload_needs_a_cluster_and_hears_how_large_it_was(tmp_path: Path) -> None:
    lines = [*ended(1, NOON_S, NOON_S + 60, cores=40), *ended(2, NOON_S + 10, NOON_S + 60, cores=2)]
    with pytest.raises(AccountingError, match=r"held at most 42 cores at once, .* give --cluster NODESxCORES"):
        read_accounting([write_log(tmp_path / "20251231", *lines)])


def test_jobs_larger_than_the_cluster_are_left_out(tmp_path: Path) -> None:
    lines = [*ended(1, NOON_S, NOON_S + 60, cores=40), *ended(2, NOON_S, NOON_S + 60, cores=2)]
    path = write_log(tmp_path / "20251231", *lines)
    workload = read_accounting([path], Cluster(4, 4))
    assert [job.number for job in workload.jobs] == [2]
    assert workload.skipped == {"more cores than the cluster has": 1}
    with pytest.raises(AccountingError, match="no job in it is as small as the cluster 1x1"):
        read_accounting([path], Cluster(1, 1))


def test_a_job_that_waited_when_the_log_began_comes_at_its_beginning(tmp_path: Path) -> None:
    earlier = NOON_S - 5_000
    _, start, end = ended(1, NOON_S + 20, NOON_S + 60, created=earlier)
    job = only_traced(tmp_path, *ended(2, NOON_S, NOON_S + 9), start, end)
    assert (job.submit_s, job.run_s, job.estimate_s) == (0, 40, 3600)


def test_a_job_that_ran_when_the_log_began_comes_with_what_was_left_of_it(tmp_path: Path) -> None:
    end = ended(1, NOON_S - 1_000, NOON_S + 60)[2]
    job = only_traced(tmp_path, *ended(2, NOON_S, NOON_S + 9), end)
    assert (job.submit_s, job.run_s, job.estimate_s) == (0, 60, 2_600)


def test_subjobs_and_taken_numbers_are_numbered_after_the_highest(tmp_path: Path) -> None:
    lines = [
        *ended("7[1].hpc1", NOON_S, NOON_S + 60), *ended("7[2].hpc1", NOON_S, NOON_S + 60),
        *ended("8.hpc1", NOON_S + 1, NOON_S + 60), *ended("8.hpc2", NOON_S + 2, NOON_S + 60),
    ]  # fmt: skip
    workload = read_accounting([write_log(tmp_path / "20251231", *lines)], BIG)
    assert [(job.number, job.submit_s) for job in workload.jobs] == [(9, 0), (10, 0), (8, 1), (11, 2)]


def test_time_counts_from_the_logs_first_moment(tmp_path: Path) -> None:
    workload = read_accounting(
        [write_log(tmp_path / "20251231", *ended(1, NOON_S + 7, NOON_S + 60, created=NOON_S))], BIG
    )
    assert (workload.start_epoch, workload.jobs[0].submit_s, workload.cluster) == (NOON_S, 0, BIG)


@given(st.integers(1, 10_000))
@settings(max_examples=20)
def test_a_replayed_workload_logged_and_read_is_the_workload(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """What a log is made of comes back out of it, whatever waited for what."""
    cluster = Cluster(8, 4)
    workload = generate(60, cluster, users=4, seed=seed, load=1.5)
    first_s = NOON_S - int(workload.jobs[0].submit_s)
    lines: list[tuple[float, str]] = []
    records = replay(workload, cluster, resolve("easy", workload, cluster)).records
    waited_s = {ran.job.number: ran.start_s - ran.job.submit_s for ran in records}
    for ran in records:
        job = ran.job
        times = [int(first_s + time_s) for time_s in (job.submit_s, ran.start_s, ran.end_s)]
        text: dict[str, Any] = {
            "created": times[0],
            "cores": job.cores,
            "user": job.user,
            "walltime": f"0:0:{job.estimate_s:g}",
        }
        lines += zip(times, ended(job.number, times[1], times[2], **text))
    path = tmp_path_factory.mktemp("log") / "20251231"
    read = read_accounting([write_log(path, *(line for _, line in sorted(lines, key=lambda item: item[0])))], cluster)
    kept = [
        replace(
            job,
            submit_s=job.submit_s - workload.jobs[0].submit_s,
            group="chem",
            application="",
            waited_s=waited_s[job.number],
        )
        for job in workload.jobs
    ]
    assert list(read.jobs) == kept


@given(st.permutations(range(6)))
def test_the_order_of_unrelated_records_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, order: list[int]
) -> None:
    """Jobs are the same however their records are mixed, as long as each job's own are in order."""
    path = tmp_path_factory.mktemp("log") / "20251231"
    first, second = ended(1, NOON_S, NOON_S + 60), ended(2, NOON_S + 5, NOON_S + 90)
    mixed = sorted(zip(order, [0, 0, 0, 1, 1, 1]))
    queues = [list(first), list(second)]
    one = read_log([write_log(path, *(queues[which].pop(0) for _, which in mixed))])
    other = read_log([write_log(path, *first, *second)])
    assert replace(one, skipped={}) == replace(other, skipped={})
