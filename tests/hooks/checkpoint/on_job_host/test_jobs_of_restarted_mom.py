"""A MoM that was restarted reports the sessions of the jobs that it took over, for a while."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from hooks.checkpoint.on_job_host.jobs_of_restarted_mom import REPORTED_S, find_mom_start
from hooks.entries.exechost_periodic import report_taken_over


class Job:
    """A job of an event, which notes what is set."""

    def __init__(self, session_id: object) -> None:
        self.__dict__.update(session_id=session_id, told=[])

    def __setattr__(self, name: str, value: object) -> None:
        self.__dict__["told"].append((name, value))


def report(home: Path, **jobs: Job) -> None:
    event = SimpleNamespace(job_list=jobs)
    report_taken_over(SimpleNamespace(event=lambda: event, pbs_conf={"PBS_HOME": str(home)}))


def start_mom(home: Path, ago_s: float) -> None:
    (home / "mom_priv").mkdir()
    (home / "mom_priv" / "mom.lock").touch()
    os.utime(home / "mom_priv" / "mom.lock", (time.time() - ago_s,) * 2)


def test_start_of_a_mom_is_the_time_of_its_lock(tmp_path: Path) -> None:
    assert find_mom_start(str(tmp_path)) == 0.0
    start_mom(tmp_path, 100)
    assert 99 <= time.time() - find_mom_start(str(tmp_path)) < 160


@pytest.mark.parametrize(
    ("ago_s", "is_told"), [(0, True), (REPORTED_S - 60, True), (REPORTED_S + 1, False), (-60, False)]
)
def test_each_session_is_told_for_a_while_after_the_start_of_its_mom(
    tmp_path: Path, ago_s: float, is_told: bool
) -> None:
    start_mom(tmp_path, ago_s)
    runs, restarted, begins = Job(42), Job("-43"), Job(None)
    report(tmp_path, a=runs, b=restarted, c=begins)
    assert runs.__dict__["told"] == ([("session_id", 42)] if is_told else [])
    assert restarted.__dict__["told"] == ([("session_id", -43)] if is_told else [])
    assert begins.__dict__["told"] == []


def test_a_host_without_such_a_lock_or_with_a_strange_session_is_no_error(tmp_path: Path) -> None:
    job = Job("none")
    report(tmp_path, a=job)
    start_mom(tmp_path, 0)
    report(tmp_path, a=job)
    assert job.__dict__["told"] == []
