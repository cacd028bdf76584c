"""The view of migrating jobs: what it shows, how a job is stopped from it, and that most sites see nothing of it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.tui.console_under_test import Steered, open_console
from tests.tui.files_of_migrating_jobs import AT_B, NOW, put_files
from tests.tui.scripted_server import ScriptedBackend, ScriptedSimulation
from tui.action_registry import VIEWS
from tui.backends.interface.backend_protocol import Reply
from tui.backends.migration_spool import MigrationSpool


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "mg"
    monkeypatch.setenv("MG_HOME", str(folder))
    return folder


async def look(steered: Steered) -> None:
    await steered.until(lambda: steered.main.migration is not None, "the migrating jobs")
    await steered.press("9")


async def test_jobs_show_where_from_where_to_and_why(home: Path, backend: ScriptedBackend, audit: Path) -> None:
    put_files(home)
    async with open_console(backend, audit, (160, 40)) as steered:
        await look(steered)
        lines = [" ".join(line.split()) for line in steered.screen_lines]
        assert "migration of a · 7" in lines[2]
        assert "▸a.1 case01 alice 64 a b Submitted 2 min 203.0 MiB 8123 -" in lines
        assert any(line.startswith("a.3 case01 alice 64 a - Requested 2 min - - - a: short by 60") for line in lines)
        assert any("a.4" in line and "Requested" in line and "hand-over to c unconfirmed" in line for line in lines)
        assert any(line.startswith("b.7 case01 carol 64 b a Submitted") for line in lines)
        assert any(line.startswith("a.6 case01 alice 64 a b End 2 h 00 5.0 GiB - 3") for line in lines)
        assert "a.9" not in steered.text, "it ended more than a day ago"


async def test_other_clusters_show_what_is_free_and_how_old_that_is(
    home: Path, backend: ScriptedBackend, audit: Path
) -> None:
    put_files(home)
    async with open_console(backend, audit, (160, 40)) as steered:
        await look(steered)
        lines = [" ".join(line.split()) for line in steered.screen_lines]
        assert "b 216 of 1,000 cores free, 12 s ago 2 jobs there, 1 on the way" in lines
        (silent,) = (line for line in lines if line.startswith("c no answer yet"))
        assert "reached: not for 3 passes: ssh: connect to host c" in silent


async def test_filter_and_sort_work_on_its_columns(home: Path, backend: ScriptedBackend, audit: Path) -> None:
    put_files(home)
    async with open_console(backend, audit, (160, 40)) as steered:
        await look(steered)
        await steered.press("slash")
        await steered.type("to:b state:Submitted")
        assert "1 of 7 · filter to:b state:Submitted" in steered.text
        await steered.press("escape")
        await steered.command("sort moved")
        assert "sort: moved, most first" in steered.text


async def test_a_job_is_stopped_after_a_preview_and_its_name_typed(
    home: Path, backend: ScriptedBackend, audit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_files(home)
    run: list[str] = []

    def run_program(_: MigrationSpool, argv: tuple[str, ...]) -> Reply:
        run.append(shlex.join(argv))
        return Reply(True, "a.1: stop requested")

    monkeypatch.setattr(MigrationSpool, "run", run_program)
    monkeypatch.setattr("tui.screen.actions.on_cluster.stop_migrating_jobs._own_name", lambda: "alice")
    async with open_console(backend, audit, (120, 40)) as steered:
        await look(steered)
        await steered.press("u", "a", "enter")
        await steered.until_shown("mgstop a.1", "its job 8123 at b is deleted", f"comes back into {AT_B.dir}")
        await steered.until_shown("no start, preemption or reservation")
        await steered.press("a")
        await steered.type("a.1")
        await steered.until_shown("stop a.1: mgstop has accepted it and is not done yet, now under way")
    assert run == ["mgstop a.1"]
    assert "mgstop a.1" in audit.read_text()


async def test_the_command_line_takes_ids_and_discard(
    home: Path, backend: ScriptedBackend, audit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_files(home)
    monkeypatch.setattr("tui.screen.actions.on_cluster.stop_migrating_jobs._own_name", lambda: "root")
    async with open_console(backend, audit, (120, 40)) as steered:
        await look(steered)
        await steered.command("mgstop --discard a.2 a.6 b.7")
        await steered.until_shown("mgstop --discard a.2", "it ends at b, and nothing comes back")
        assert "left out: mgstop: a.6 is End already" in steered.text
        assert "left out: mgstop: b.7 is a job of cluster b: it is stopped there" in steered.text


async def test_the_stop_of_a_job_in_place_previews_what_its_cores_start(
    home: Path, backend: ScriptedBackend, audit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_files(home)
    monkeypatch.setattr("tui.screen.actions.on_cluster.stop_migrating_jobs._own_name", lambda: "root")
    async with open_console(backend, audit, (120, 40)) as steered:
        await look(steered)
        await steered.command("mgstop a.5")
        await steered.until_shown("a.5 is job 12.hpc1 here, in its own folder: it is deleted", "in the next pass")
        assert "13 bob" in steered.text, "job 13 starts on the cores of job 12"


async def test_a_site_without_other_clusters_sees_nothing_of_it(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 50)) as steered:
        await steered.repoll()
        before = steered.main.view_name
        await steered.press("9")
        assert steered.main.view_name == before
        await steered.press(*["tab"] * len(VIEWS))
        assert steered.main.view_name == before
        await steered.command("migration")
        assert ":migration is no command" in steered.text
        await steered.press("escape")
        await steered.command("mgstop a.1")
        assert ":mgstop is no command" in steered.text
        await steered.press("escape", "question_mark")
        assert "migrat" not in steered.text
        assert list(steered.main.query("MigrationView")) == []


async def test_a_simulated_cluster_has_no_other_clusters(home: Path, audit: Path) -> None:
    put_files(home)
    async with open_console(ScriptedSimulation(), audit) as steered:
        await steered.repoll()
        assert steered.main.migration is None


async def test_a_site_gets_the_view_and_loses_it_while_the_console_runs(
    home: Path, backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit) as steered:
        await steered.repoll()
        put_files(home, notes=False)
        await steered.repoll()
        await look(steered)
        assert "migration of a · no pass of mgsched yet" in steered.text
        (home / "cluster.toml").unlink()
        await steered.repoll()
        await steered.until(lambda: steered.main.view_name == "overview", "the overview")


async def test_files_that_cannot_be_read_are_reported(home: Path, backend: ScriptedBackend, audit: Path) -> None:
    put_files(home)
    (home / "cluster.toml").write_text("this = 5")
    async with open_console(backend, audit, (120, 40)) as steered:
        await look(steered)
        assert f"{home}/cluster.toml: this: 5: must be a name of" in steered.text


async def test_a_pass_that_is_long_ago_is_reported(home: Path, backend: ScriptedBackend, audit: Path) -> None:
    put_files(home)
    (home / "source.json").write_text(f'{{"v": 1, "number": 1, "ended": {NOW - 7200}, "clusters": {{}}}}')
    async with open_console(backend, audit, (120, 40)) as steered:
        await look(steered)
        assert "migration of a · last pass 2 h 00 ago" in steered.text


async def test_a_pause_is_named_beside_the_cluster(home: Path, backend: ScriptedBackend, audit: Path) -> None:
    put_files(home)
    file = home / "cluster.toml"
    file.write_text(file.read_text() + '[here]\npause_sending_to = ["b"]\n')
    async with open_console(backend, audit, (160, 40)) as steered:
        await look(steered)
        (paused,) = (line for line in steered.screen_lines if line.startswith(" b "))
        assert "216 of 1,000 cores free" in paused
        assert "sending there is paused (pause_sending_to)" in paused
        assert not any("pause" in line for line in steered.screen_lines if line.startswith(" c "))
