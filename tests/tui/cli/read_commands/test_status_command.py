"""``pbsteer status`` says whose figures it shows: of which plan, of which vnodes, of which hooks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from hooks.deploy.hook_names import HOOKS
from tests.tui.files_of_migrating_jobs import NOW, put_files
from tests.tui.scripted_server import ScriptedBackend
from tests.tui.written_journal_and_audit import a_pass, write_journal
from tui.backends.interface.backend_protocol import BackendError
from tui.cli.main import main

_PERIODIC = "pbsteer_periodic"


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedBackend:
    scripted = ScriptedBackend(folder=tmp_path / "pbsteer")
    monkeypatch.setattr("tui.cli.read_commands.cluster_status.open_backend_by_options", lambda **_: scripted)
    return scripted


def shown(*options: str) -> str:
    result = CliRunner().invoke(main, ["status", *options])
    assert result.exit_code == 0, result.output
    return result.output


def hooks_listed(**enabled: str) -> str:
    """What ``qmgr -c "list hook"`` prints: all of our hooks are enabled but those given."""
    hooks = {**dict.fromkeys(HOOKS, "true"), **enabled}
    return "".join(f"Hook {name}\n    type = site\n    enabled = {text}\n" for name, text in hooks.items() if text)


def test_the_plan_is_the_consoles_and_has_a_time(backend: ScriptedBackend) -> None:
    (line,) = (line for line in shown().splitlines() if line.startswith("next pass"))
    assert "the console's plan of " in line
    assert line.endswith("starts nothing · preempts 1: 12 alice 4c, for 13")


def test_a_disabled_hook_is_named(backend: ScriptedBackend) -> None:
    backend.hooks = hooks_listed(pbsteer_periodic="false")
    assert f"hook {_PERIODIC}: DISABLED" in shown()
    assert json.loads(shown("--json"))["attention"][0].startswith(f"hook {_PERIODIC}: DISABLED")


def test_a_hook_that_is_missing_beside_others_is_named(backend: ScriptedBackend) -> None:
    backend.hooks = hooks_listed(pbsteer_runjob="")
    assert "hook pbsteer_runjob: not there" in shown()


@pytest.mark.parametrize("listed", ["", hooks_listed(), hooks_listed(pbsteer_runjob="false")])
def test_nothing_is_said_of_hooks_that_run_or_are_off_as_passes_switch_them_or_that_cannot_be_listed(
    backend: ScriptedBackend, listed: str
) -> None:
    backend.hooks = listed
    assert "hook pbsteer" not in shown()


def test_cores_of_jobs_on_an_offline_vnode_are_distinguished(backend: ScriptedBackend) -> None:
    backend.set_vnode("v2", state="offline,job-busy")
    assert "cores   8 / 8 " in shown()
    assert "0 empty · 2 offline (4 more cores in use)" in shown()
    assert json.loads(shown("--json"))["cores"] == {"used": 8, "total": 8, "used_not_up": 4}


def test_idle_cores_of_the_last_day_are_the_journals_means(backend: ScriptedBackend) -> None:
    assert "idle, " not in shown()
    write_journal(backend.folder, *(a_pass(ago_s, idle_cores=8 if ago_s > 150 else 0) for ago_s in range(300, 0, -15)))
    (line,) = (line for line in shown().splitlines() if "idle, last " in line)
    assert 20 < float(line.split()[-1].rstrip("%")) < 30


def test_the_head_says_what_is_idle_of_what_it_needs_and_when_it_starts(backend: ScriptedBackend) -> None:
    lines = shown().splitlines()
    (title,) = (line for line in lines if line.startswith("queue "))
    (workq,) = (line for line in lines if line.startswith("workq "))
    assert "start reserved at" in title
    assert "1c: 0 idle" in workq


def test_migration_is_a_line_where_there_are_other_clusters(
    backend: ScriptedBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "migration" not in shown()
    assert "migration" not in json.loads(shown("--json"))
    monkeypatch.setenv("MG_HOME", str(tmp_path / "mg"))
    put_files(tmp_path / "mg")
    line = " ".join(shown().partition("\nmigration  ")[2].split())
    jobs = "1 requested, 2 on the way, 1 at other clusters, 1 here, 1 from other clusters"
    assert line == f"{jobs} · b 216 free, c not reached"
    data = json.loads(shown("--json"))["migration"]
    assert (data["requested"], data["here"], data["guests"], data["last_pass_s"]) == (1, 1, 1, NOW - 12)
    assert data["clusters"][0] == {
        "name": "b", "avail": 216, "cores": 1000, "answered_s": NOW - 12, "failures": 0, "text": "", "paused": "",
        "jobs": 2, "on_the_way": 1,
    }  # fmt: skip


def test_pauses_of_migration_are_named(
    backend: ScriptedBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MG_HOME", str(tmp_path / "mg"))
    put_files(tmp_path / "mg")
    with (tmp_path / "mg/cluster.toml").open("a") as file:
        file.write('[here]\npause_sending_to = ["any"]\n')
    assert "b paused, c not reached and paused" in " ".join(shown().split())
    clusters = json.loads(shown("--json"))["migration"]["clusters"]
    assert [one["paused"] for one in clusters] == ["sending there is paused (pause_sending_to)"] * 2


def test_a_share_is_rounded_down(backend: ScriptedBackend) -> None:
    backend.set_vnode("v2", **{"resources_available.ncpus": "1000", "resources_assigned.ncpus": "999"})
    assert "  99%  " in shown()


def test_server_and_mode_are_printed_before_the_plan_is_made(
    backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise BackendError("no ledger")

    monkeypatch.setattr(backend, "ledger", fail)
    result = CliRunner().invoke(main, ["status"])
    assert result.exit_code == 2
    first, *rest = result.output.splitlines()
    assert first == "hpc1 · drive+observe"
    assert rest == ["Error: no ledger"]
    assert CliRunner().invoke(main, ["status", "--json"]).output == "Error: no ledger\n"


def test_the_first_line_needs_no_engine() -> None:
    code = (
        "import sys, tui.cli.main, tui.cli.open_backend, tui.cli.read_commands.cluster_status, hooks.translate.queues\n"
        "print([name for name in ('policy.cycle.engine', 'policy.forecast.forecast', 'tui.state.cluster_view')"
        " if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (said.stdout, said.stderr) == ("[]\n", "")
