"""What a console under test stands on, unless a module says otherwise: a scripted server and an audit file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tui.scripted_server import ScriptedBackend
from tests.tui.wait_until_idle import wait_until_idle


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def backend() -> ScriptedBackend:
    return ScriptedBackend()


@pytest.fixture(autouse=True)
def _owners_run_this(monkeypatch: pytest.MonkeyPatch) -> None:
    """The owners of scripted jobs are the user who runs the tests, so that files written here are theirs."""
    monkeypatch.setattr("tui.backends.job_output_tail.find_uid", lambda user: os.getuid() if user else None)


@pytest.fixture(autouse=True)
def _pilots_look_shortly(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("app", "pilot"):
        monkeypatch.setattr(f"textual.{module}.wait_for_idle", wait_until_idle)


@pytest.fixture(autouse=True)
def _no_other_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Migration's files of this machine are none of the tests'; a test that has some names its own folder."""
    monkeypatch.setenv("MG_HOME", "/nonexistent/mg")
