"""A start at once: the room that was found when it was looked at is read again, and the job starts only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import NOON_S, PBS, ScriptedBackend, changed, running, with_job
from tui.audit.audit_file import Actor, AuditLog
from tui.backends.interface.commands_interface import Change
from tui.operations.by_target.walltime_run_suspend_comment_ops import run_now
from tui.operations.compare_and_set import make
from tui.state.cluster_view import see


@pytest.fixture
def audit(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "audit.jsonl", Actor("root", "here"), "hpc1")


def look(backend: ScriptedBackend, job: str) -> Change:
    (change,) = run_now(see(backend.server_status, Settings(), Ledger(), 0.0), PBS, [job]).changes
    return change


def start_another(backend: ScriptedBackend, cores: int) -> None:
    """A job of carol's that a pass starts on v3."""
    backend.server_status = with_job(backend.server_status, "20.hpc1", running("carol", cores, "v3"))
    state = {8: "job-busy"}.get(cores, "free")
    backend.set_vnode("v3", state=state, jobs="20.hpc1/0", **{"resources_assigned.ncpus": str(cores)})


@pytest.mark.parametrize("cores", [1, 8])
def test_a_job_is_not_started_on_cores_that_another_job_has_by_now(audit: AuditLog, cores: int) -> None:
    backend = ScriptedBackend()
    backend.set_vnode("v3", state="free")
    change = look(backend, "13.hpc1")
    start_another(backend, cores)
    outcome = make(backend, change, audit, lambda: NOON_S)
    assert (outcome.ok, backend.lines) == (False, [])
    assert "no longer room for it on (v3:ncpus=8), look again" in outcome.text
    assert [entry["stage"] for entry in audit.entries()] == ["refused"]


def test_a_job_is_started_beside_another_that_leaves_room(audit: AuditLog) -> None:
    backend = ScriptedBackend()
    backend.set_vnode("v3", state="free")
    backend.set_job(
        "13.hpc1", schedselect="1:ncpus=6", **{"Resource_List.ncpus": "6", "Resource_List.select": "1:ncpus=6"}
    )
    change = look(backend, "13.hpc1")
    start_another(backend, 2)
    assert make(backend, change, audit, lambda: NOON_S).ok
    assert backend.lines == ["qrun -H '(v3:ncpus=6)' 13.hpc1"]


@pytest.mark.parametrize("state", ["offline", "down"])
def test_a_job_is_not_started_on_a_vnode_that_is_out_of_use_by_now(audit: AuditLog, state: str) -> None:
    backend = ScriptedBackend()
    backend.set_vnode("v3", state="free")
    change = look(backend, "13.hpc1")
    backend.set_vnode("v3", state=state)
    assert not make(backend, change, audit, lambda: NOON_S).ok
    assert backend.lines == []


def test_a_vnode_that_is_gone_is_no_room(audit: AuditLog) -> None:
    backend = ScriptedBackend()
    backend.set_vnode("v3", state="free")
    change = look(backend, "13.hpc1")
    backend.server_status = changed(backend.server_status, vnodes={"v1": backend.server_status.vnodes["v1"]})
    assert not make(backend, change, audit, lambda: NOON_S).ok
