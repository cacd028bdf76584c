"""A real Torque server's accounting log (``tests/torque/record_accounting.py``) as a workload, and its odd records."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hooks.forecast.past_runs import PastRuns
from hooks.pbs.files_and_output.accounting_fields import read_fields
from sim.traces.accounting_job_history import DELETED, RUNNING, WAITING
from sim.traces.accounting_log import PastJob, read_accounting, read_log
from sim.workload.workload import Cluster
from tests.torque.record_status import RECORDED

LOG = RECORDED / "accounting"


@pytest.fixture(scope="module")
def jobs() -> dict[str, PastJob]:
    return {job.id: job for job in read_log([LOG]).jobs}


def test_every_run_that_ended_is_a_job_and_the_others_are_counted(jobs: dict[str, PastJob]) -> None:
    assert set(jobs) == {"0.tq", "1.tq", "2.tq", "3.tq", "5.tq", "6[0].tq", "6[1].tq"}
    log = read_log([LOG])
    assert log.skipped == {f"{cause}, first in 20261127": 1 for cause in (DELETED, WAITING, RUNNING)}
    assert log.vnodes == 2


def test_cores_are_the_slots_that_the_run_held(jobs: dict[str, PastJob]) -> None:
    assert (jobs["0.tq"].cores, jobs["1.tq"].cores, jobs["6[0].tq"].cores) == (6, 2, 1)
    # Slots that do not follow each other: tq-m1/0-2,5.
    assert jobs["2.tq"].cores == 4
    # It asked for ncpus=4, and Torque gave it one slot.
    assert jobs["3.tq"].cores == 1


def test_requeues_are_counted_with_and_without_a_record_of_them(jobs: dict[str, PastJob]) -> None:
    assert jobs["1.tq"].requeues == 1
    assert jobs["2.tq"].requeues == 1
    assert {job.requeues for job_id, job in jobs.items() if job_id not in {"1.tq", "2.tq"}} == {0}
    asking = jobs["2.tq"]
    assert asking.last_start_s - asking.start_s == 2
    assert asking.run_s == asking.end_s - asking.last_start_s


def test_users_times_and_ends(jobs: dict[str, PastJob]) -> None:
    whole = jobs["0.tq"]
    assert (whole.user, whole.group, whole.walltime_s, whole.run_s) == ("alice", "chem", 600, 4)
    assert (jobs["3.tq"].exit_status, jobs["5.tq"].exit_status) == (271, -11)


def test_it_is_a_workload_in_which_a_run_is_cut_at_its_walltime() -> None:
    workload = read_accounting([LOG], Cluster(2, 8))
    assert len(workload.jobs) == 7
    late = next(job for job in workload.jobs if job.number == 5)
    assert (late.run_s, late.estimate_s) == (5, 5)


def test_a_job_that_runs_again_after_its_end_is_the_later_run(tmp_path: Path) -> None:
    """Torque's qrerun of a job that has ended runs it again: an R after the E, and a start with the same ctime."""
    shutil.copy(LOG / "20261127", tmp_path / "20261127")
    lines = (tmp_path / "20261127").read_text(encoding="utf-8").splitlines()
    (start,) = (line for line in lines if ";S;6[0].tq;" in line)
    (end,) = (line for line in lines if ";E;6[0].tq;" in line)
    again = [
        "11/27/2026 09:33:00;R;6[0].tq;",
        start.replace("start_count=1", "start_count=2").replace("start=1795771917", "start=1795771981"),
        end.replace("start_count=1", "start_count=2").replace("=1795771917", "=1795771981").replace(
            "end=1795771918", "end=1795771991"
        ),
    ]  # fmt: skip
    (tmp_path / "20261127").write_text("\n".join([*lines, *again]) + "\n", encoding="utf-8")
    job = {job.id: job for job in read_log([tmp_path]).jobs}["6[0].tq"]
    assert (job.requeues, job.run_s, job.end_s) == (1, 10, 1795771991)


def test_a_record_of_pbs_is_not_taken_for_torques() -> None:
    pbs = b'user=a group=b account="x owner=a@b" ctime=1 qtime=1 etime=1 start=1 exec_host=h/0-7 Resource_List.ncpus=2 '
    assert (read_fields(pbs).cores, read_fields(pbs).vnodes) == (2, ())
    assert read_fields(pbs + b"owner=x exec_vnode=(v:ncpus=2) ").vnodes == ("v",)
    assert read_fields(b"queue=batch").cores is None


@pytest.mark.parametrize(("exec_host", "cores"), [(b"a/0+a/1+b/0", 3), (b"a/0-1,5+b/2", 4), (b"a", None), (b"", None)])
def test_cores_of_older_texts_and_of_such_as_cannot_be_read(exec_host: bytes, cores: int | None) -> None:
    text = b"user=a group=b ctime=1 qtime=1 etime=1 start=1 owner=a@s exec_host=" + exec_host + b" end=9 "
    assert read_fields(text).cores == cores


def test_forecasts_learn_from_runs_of_nodes_and_slots_but_not_from_those_that_had_run_before(tmp_path: Path) -> None:
    shutil.copy(LOG / "20261127", tmp_path / "20261127")
    past = PastRuns().read_on(tmp_path)
    assert [(run.id, run.user, run.cores, run.end_s - run.start_s, run.estimate_s) for run in past.runs] == [
        ("0.tq", "alice", 6, 4.0, 600.0),
        ("3.tq", "dave", 1, 1.0, 600.0),
        ("6[0].tq", "dave", 1, 1.0, 600.0),
        ("6[1].tq", "dave", 1, 1.0, 600.0),
        # Torque ended it at its walltime of 5 s, which MoM looks at now and then.
        ("5.tq", "alice", 1, 25.0, 5.0),
    ]
    assert past.started["1.tq"] == 1795771912
