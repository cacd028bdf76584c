"""The scripted server that ``pbsteer when`` opens in these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.scripted_server import ScriptedBackend


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedBackend:
    scripted = ScriptedBackend(folder=tmp_path / "pbsteer")
    # Alice keeps what she has, so that bob waits for an end.
    scripted.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:PBS_GENERIC=99]"})
    monkeypatch.setattr("tui.cli.read_commands.when_job_starts.open_backend_by_options", lambda **_: scripted)
    return scripted
