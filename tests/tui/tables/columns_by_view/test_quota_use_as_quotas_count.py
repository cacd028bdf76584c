"""The use in the quotas view is what quotas count: a chunk that asks for no core counts with one."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tests.tui.scripted_server import ScriptedBackend, running, with_job
from tui.cli.main import main


def test_chunks_without_cores_count_with_one_core_each(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = ScriptedBackend()
    run = running("erin", 0, "v2", **{"Resource_List.select": "3:mem=1gb", "schedselect": "3:mem=1gb"})
    where = "+".join(["(v2:mem=1048576kb)"] * 3)
    backend.server_status = with_job(backend.server_status, "17.hpc1", {**run, "exec_vnode": where})
    monkeypatch.setattr("tui.cli.read_commands.table_commands.open_backend_by_options", lambda **_: backend)
    result = CliRunner().invoke(main, ["quotas", "workq", "--json"])
    assert result.exit_code == 0, result.output
    rows = {row["user"]: row for row in json.loads(result.stdout)["rows"]}
    assert rows["erin"]["used"] == 3
