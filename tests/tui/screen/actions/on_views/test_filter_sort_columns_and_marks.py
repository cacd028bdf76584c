"""Sort, columns and filters of a table: what keys and lines change, and what the next console keeps of it."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.tui.console_under_test import Steered, open_console
from tests.tui.screen.actions.on_views.first_cells_of_rows import ids
from tests.tui.scripted_server import ScriptedBackend, a_job, a_server_status, changed, many_jobs
from tui.screen.workers.save_preferences_and_typed_lines import KeptFiles
from tui.user.user_json_file import KeptFile


@pytest.fixture
def files(tmp_path: Path) -> KeptFiles:
    return KeptFiles(KeptFile(tmp_path / "config" / "preferences.json"), KeptFile(tmp_path / "state" / "typed.json"))


def header(steered: Steered) -> str:
    return steered.table[0]


# Order


async def test_jobs_come_running_then_waiting_in_the_plans_order_then_held(
    backend: ScriptedBackend, audit: Path
) -> None:
    first = a_job("erin", 1, **{"Resource_List.pbsteer_priority": "100"})
    backend.server_status = changed(backend.server_status, jobs={**backend.server_status.jobs, "20.hpc1": first})
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("5")
        assert ids(steered) == ["11", "12", "20", "13", "14", "16[]", "15"]


async def test_any_column_sorts_also_one_that_is_not_shown_and_any_attribute(
    backend: ScriptedBackend, audit: Path
) -> None:
    backend.set_job("13.hpc1", **{"Resource_List.ngpus": "12"})
    backend.set_job("11.hpc1", **{"Resource_List.ngpus": "2"})
    async with open_console(backend, audit, (100, 30)) as steered:
        await steered.command("jobs")
        await steered.command("sort project")
        assert "sort: project, least first" in steered.text
        await steered.command("sort resource_list.NGPUS")
        assert ids(steered)[:2] == ["11", "13"], "numbers, not texts"
        await steered.command("sort resource_list.ngpus")
        assert ids(steered)[:2] == ["13", "11"]
        await steered.command("sort default")
        assert "sort:" not in steered.title
        await steered.command("sort colour")
        assert "no column 'colour' here; there are id, user" in steered.text


async def test_s_and_the_key_of_a_column_sorts_and_s_s_takes_the_sort_away(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (300, 30)) as steered:
        await steered.press("3", "s")
        assert "0 " in header(steered), "the tenth column has a key too"
        assert "sort by 1 vnode  2 state  3 fill" in steered.text, "whole names, whatever the header has room for"
        await steered.press("1")
        assert "sort: vnode, least first" in steered.text
        await steered.press("s", "1")
        assert "sort: vnode, most first" in steered.text
        await steered.press("s", "s")
        assert "sort:" not in steered.title


async def test_the_keys_of_the_columns_follow_the_width_of_the_screen(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (50, 30)) as steered:
        await steered.press("3", "s")
        assert "3 fill" not in steered.text, "no room"
        await steered.pilot.resize_terminal(120, 30)
        await steered.until_shown("sort by 1 vnode  2 state  3 fill")
        await steered.press("3")
        assert "sort: fill, least first" in steered.text


async def test_after_a_sort_the_cursor_is_on_the_first_row(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("5", "G")
        assert not steered.table[1].startswith(" ▸")
        await steered.command("sort cores")
        assert steered.table[1].startswith(" ▸"), "what is most of it is what one sorts for"


# Columns


@pytest.mark.slow
async def test_columns_are_added_taken_away_ordered_and_put_back(backend: ScriptedBackend, audit: Path) -> None:
    backend.set_job("13.hpc1", **{"Resource_List.ngpus": "12"})
    async with open_console(backend, audit, (160, 30)) as steered:
        await steered.press("5")
        usual = header(steered)
        await steered.command("columns -queue +resource_list.ngpus")
        assert "queue" not in header(steered)
        assert header(steered).index("Resource_L") < header(steered).index("where, or why")
        assert any(line.split()[0].strip("▸") == "13" and " 12" in line for line in steered.table[1:6])
        await steered.command("columns user id")
        assert header(steered).split()[:2] == ["user", "job"]
        await steered.command("columns +nonsense")
        assert "no column 'nonsense' here" in steered.text
        await steered.command("columns -queue")
        assert "'queue' is not shown; shown are user, id" in steered.text
        await steered.command("columns default")
        assert header(steered) == usual


async def test_starts_and_ends_are_columns_that_sort_and_filter(backend: ScriptedBackend, audit: Path) -> None:
    backend.set_job("11.hpc1", **{"Resource_List.soft_walltime": "00:40:00"})
    async with open_console(backend, audit, (120, 24)) as steered:
        await steered.press("5")
        await steered.command("columns id starts ends ended")
        await steered.command("sort ends")
        await steered.until_shown("job", "starts", "ends↑", "ended")
        assert [line.split()[0].lstrip("▸") for line in steered.table[1:3]] == ["11", "12"]
        await steered.press("slash")
        await steered.type("ends:<15m")
        await steered.until_shown("jobs · 1 of")


async def test_the_dialog_shows_hides_and_orders_columns(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("5", "c")
        assert "columns of jobs" in steered.text
        assert "[x] id" in steered.text
        assert "[ ] Hold_Types" in steered.text or "[ ] Job_Name" in steered.text or "[ ] group" in steered.text
        await steered.press("j", "space", "k", "J", "enter")
        assert header(steered).split()[:2] == ["job", "queue"]
        await steered.press("c", "escape")
        assert header(steered).split()[:2] == ["job", "queue"]
        await steered.press("c", "d")
        assert header(steered).split()[:2] == ["job", "user"]


async def test_right_and_left_reach_the_columns_that_there_is_no_room_for(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (80, 24)) as steered:
        await steered.press("5")
        assert "walltime" not in header(steered)
        await steered.press(*["right"] * 4)
        assert "walltime" in header(steered)
        assert header(steered).split()[0] == "job", "the first column stays"
        assert "← 4 columns" in steered.text
        await steered.press(*["l"] * 20, *["h"] * 20)
        assert "←" not in steered.text
        assert "user" in header(steered)
        await steered.press("l")
        assert "← 1 column " in steered.text


# Kept for the next console


@pytest.mark.slow
async def test_the_next_console_has_the_same_columns_sort_theme_and_filters(
    backend: ScriptedBackend, audit: Path, files: KeptFiles
) -> None:
    async with open_console(backend, audit, (120, 30), files=files) as steered:
        await steered.command("jobs")
        await steered.command("columns id user cores")
        await steered.command("sort cores")
        await steered.command("theme light")
        await steered.command("filter user:carol")
        await steered.command("save mine")
    assert files.preferences.path is not None
    assert stat.S_IMODE(files.preferences.path.stat().st_mode) == 0o600
    assert json.loads(files.preferences.path.read_text())["version"] == 1
    async with open_console(backend, audit, (120, 30), files=files) as steered:
        assert steered.console.theme == "pbsteer-light"
        await steered.press("5")
        assert header(steered).split() == ["job", "user", "ncpus↓"]
        await steered.command("filter mine")
        assert "filter user:carol" in steered.text
        await steered.press("escape", "f")
        assert "mine" in steered.text
        await steered.press("enter")
        assert "filter user:carol" in steered.text
        await steered.command("forget mine")
        await steered.command("forget mine")
        assert "no saved filter 'mine' for jobs; there are none" in steered.text


async def test_two_consoles_at_once_keep_what_both_changed(
    backend: ScriptedBackend, audit: Path, files: KeptFiles
) -> None:
    async with open_console(backend, audit, (120, 30), files=files) as one:
        await one.command("jobs")
        async with open_console(ScriptedBackend(), audit, (120, 30), files=files) as other:
            await other.command("vnodes")
            await other.command("sort free")
        await one.command("sort cores")
    assert files.preferences.path is not None
    tables = json.loads(files.preferences.path.read_text())["tables"]
    assert (tables["vnodes"]["sort"], tables["jobs"]["sort"]) == ("free", "cores")


@pytest.mark.parametrize("broken", ["{half", "[]", '{"version": 1, "theme": 7}', '{"version": true}', "\x00" * 10])
async def test_broken_preferences_file_is_reported_and_replaced(
    backend: ScriptedBackend, audit: Path, files: KeptFiles, broken: str
) -> None:
    path = files.preferences.path
    assert path is not None
    path.parent.mkdir()
    path.write_text(broken)
    async with open_console(backend, audit, (200, 30), files=files) as steered:
        assert "preferences.json" in steered.screen_lines[-1]
        await steered.command("theme contrast")
    assert json.loads(path.read_text())["theme"] == "contrast"
    assert path.with_name("preferences.unreadable.json").read_text() == broken


async def test_a_file_of_a_newer_version_is_left_alone(backend: ScriptedBackend, audit: Path, files: KeptFiles) -> None:
    path = files.preferences.path
    assert path is not None
    path.parent.mkdir()
    path.write_text('{"version": 99, "theme": "light"}')
    async with open_console(backend, audit, (200, 30), files=files) as steered:
        assert "of version 99, this console knows 1: not changed" in steered.text
        await steered.command("theme contrast")
        await steered.until_shown("not changed")
        assert steered.console.theme == "pbsteer-contrast"
    assert json.loads(path.read_text())["version"] == 99


async def test_folder_that_cannot_be_written_is_reported_only(
    backend: ScriptedBackend, audit: Path, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text("a file where the folder would be")
    files = KeptFiles(KeptFile(tmp_path / "config" / "preferences.json"))
    async with open_console(backend, audit, (250, 30), files=files) as steered:
        await steered.command("theme contrast")
        await steered.until_shown("not kept")
        assert steered.console.theme == "pbsteer-contrast"


# Typing


async def test_lines_come_back_by_their_beginning_and_in_the_next_console(
    backend: ScriptedBackend, audit: Path, files: KeptFiles
) -> None:
    async with open_console(backend, audit, files=files) as steered:
        for line in ("jobs", "sort user", "sort cores", "jobs"):
            await steered.command(line)
    async with open_console(backend, audit, files=files) as steered:
        await steered.press("colon", "up")
        assert steered.main.prompt.field.value == "jobs"
        await steered.press("up", "up", "up", "up")
        assert steered.main.prompt.field.value == "sort user"
        await steered.press("escape", "colon", *"so", "up")
        assert steered.main.prompt.field.value == "sort cores"
        await steered.press("up", "down", "down")
        assert steered.main.prompt.field.value == "so"


async def test_completion_is_shown_behind_the_cursor(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("5", "colon", *"vno")
        await steered.until_shown(":vnodes")
        await steered.press("right", "enter")
        assert steered.main.view_name == "vnodes"


async def test_a_filter_completes_fields_and_the_values_that_there_are(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("5", "slash", *"us", "tab")
        assert steered.main.prompt.field.value == "user:"
        await steered.press(*"ca", "tab")
        assert steered.main.prompt.field.value == "user:carol"


async def test_the_rows_are_counted_while_a_filter_is_typed(audit: Path) -> None:
    async with open_console(ScriptedBackend(many_jobs(500)), audit, (120, 30)) as steered:
        await steered.press("5", "slash", *"user:user7")
        await steered.until_shown("10 rows")
        await steered.press("backspace")
        await steered.until_shown("500 rows")
        await steered.until_shown("jobs · 500 of 506")


async def test_error_is_marked_at_its_place_and_enter_does_not_accept_it(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (160, 30)) as steered:
        await steered.press("5", "slash", *"user:a")
        await steered.press("space", *"cores:>many")
        assert "'many' is no number" in steered.text
        row = next(y for y, line in enumerate(steered.screen_lines) if line.startswith(" /user:a"))
        strips = steered.console.screen._compositor.render_strips()
        underlined = "".join(s.text for s in strips[row] if s.style and s.style.underline)
        assert underlined == "cores:>many"
        await steered.press("enter")
        assert steered.main.prompt.is_open
        await steered.press(*["backspace"] * 4, "1", "enter")
        assert "filter user:a cores:>1" in steered.text


async def test_a_filter_belongs_to_the_table_in_which_it_was_begun(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("5", "slash", *"user:")
        steered.main.go("overview")
        await steered.press(*"bob", "enter")
        assert steered.main.view_name == "overview"
        await steered.press("5")
        assert "jobs · 1 of 6 · filter user:bob" in steered.text


async def test_a_filter_is_typed_in_tables_alone(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("1", "slash")
        assert "filter: works in queues, vnodes" in steered.text


async def test_a_name_with_anything_in_it_can_be_filtered_by(audit: Path) -> None:
    server_status = a_server_status()
    odd = 'a "b" c|d*\\e'
    backend = ScriptedBackend(changed(server_status, jobs={**server_status.jobs, "30.hpc1": a_job(odd, 1)}))
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("5", "slash")
        assert steered.main.view.words["field"]
        await steered.press("escape")
        await steered.command('filter user:="a \\"b\\" c|d*\\\\e"')
        assert ids(steered) == ["30"]
