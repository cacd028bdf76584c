"""Holds and the jobs that run by now: what waited when it was looked at is not held, and so ended, once it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import NOON_S, PBS, ScriptedBackend
from tui.audit.audit_file import Actor, AuditLog
from tui.backends.interface.commands_interface import ChangeError
from tui.operations.by_target import job_ops
from tui.operations.compare_and_set import make
from tui.state.cluster_view import ClusterView, see

STARTED = {"job_state": "R", "stime": str(int(NOON_S)), "exec_vnode": "(v2:ncpus=2)"}


@pytest.fixture
def audit(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "audit.jsonl", Actor("root", "here"), "hpc1")


def cluster(backend: ScriptedBackend) -> ClusterView:
    return see(backend.server_status, Settings(), Ledger(), 0.0)


def test_a_job_that_a_pass_started_meanwhile_is_not_held(audit: AuditLog) -> None:
    backend = ScriptedBackend()
    (change,) = job_ops.hold(cluster(backend), PBS, ["13.hpc1"]).changes
    backend.set_job("13.hpc1", **STARTED)
    outcome = make(backend, change, audit, lambda: NOON_S)
    assert (outcome.ok, backend.lines) == (False, [])
    assert "n when you looked, n, running since 1790000000 now" in outcome.text


def test_a_released_job_that_has_started_is_not_held_again_by_the_undo(audit: AuditLog) -> None:
    backend = ScriptedBackend()
    (change,) = job_ops.release(cluster(backend), PBS, ["15.hpc1"]).changes
    assert make(backend, change, audit, lambda: NOON_S).ok
    backend.set_job("15.hpc1", **STARTED)
    undo = change.undo()
    assert undo is not None
    outcome = make(backend, undo, audit, lambda: NOON_S)
    assert (outcome.ok, backend.lines) == (False, ["qrls -h u 15.hpc1"])


def test_a_job_that_starts_as_soon_as_it_is_released_was_released(audit: AuditLog) -> None:
    class Quick(ScriptedBackend):
        def set_job(self, job: str, **attributes: str) -> None:
            super().set_job(job, **{**attributes, **STARTED})

    backend = Quick()
    (change,) = job_ops.release(cluster(backend), PBS, ["15.hpc1"]).changes
    assert make(backend, change, audit, lambda: NOON_S).ok


def test_an_undone_release_is_released_again(audit: AuditLog) -> None:
    backend = ScriptedBackend()
    (change,) = job_ops.release(cluster(backend), PBS, ["15.hpc1"]).changes
    for _ in range(3):
        assert make(backend, change, audit, lambda: NOON_S).ok
        undo = change.undo()
        assert undo is not None
        change = undo
    assert backend.lines == ["qrls -h u 15.hpc1", "qhold -h u 15.hpc1", "qrls -h u 15.hpc1"]


@pytest.mark.parametrize(
    ("state", "word"), [("R", "running"), ("S", "suspended"), ("U", "suspended"), ("E", "exiting")]
)
def test_a_run_is_not_held_suspended_or_not(state: str, word: str) -> None:
    backend = ScriptedBackend()
    backend.set_job("13.hpc1", **{**STARTED, "job_state": state})
    with pytest.raises(ChangeError, match=f"hold: 13 is {word}"):
        job_ops.hold(cluster(backend), PBS, ["13.hpc1"])


def test_a_job_with_a_hold_of_its_user_is_held_by_an_operator_too(audit: AuditLog) -> None:
    class Server(ScriptedBackend):
        def set_job(self, job: str, **attributes: str) -> None:
            super().set_job(job, **{**attributes, "Hold_Types": "ou"})

    backend = Server()
    (change,) = job_ops.hold(cluster(backend), PBS, ["15.hpc1"]).changes
    outcome = make(backend, change, audit, lambda: NOON_S)
    assert outcome.ok, outcome.text
