"""The console as somebody uses it: each view and each action, by keys and by command line, on a scripted server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import ScriptedBackend, ScriptedSimulation, a_job, changed, many_jobs
from tui.action_registry import VIEWS
from tui.screen.views.vnode_table_and_occupancy_grid import OccupancyView


async def test_it_says_which_server_in_which_mode_locked_and_how_old(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        header = steered.screen_lines[0]
        assert "hpc1 · PBS 23.06.06 · drive" in header
        assert "READ-ONLY" in header
        assert "0 s ago" in header
        assert "SIMULATED" not in header


async def test_a_simulated_cluster_is_always_marked(audit: Path) -> None:
    async with open_console(ScriptedSimulation(), audit, (80, 24)) as steered:
        for _ in VIEWS:
            assert "SIMULATED ×60" in steered.screen_lines[0]
            await steered.press("tab")


async def test_the_overview_answers_is_it_well_and_what_needs_me(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        for text in ("12 / 16", "75%", "R 2  Q 12  H 1", "v3 offline", "alice", "over 8", "next pass"):
            assert text in steered.text


@pytest.mark.parametrize(
    ("view", "texts"),
    [
        ("queues", ["workq", "drive", "gpu", "observe"]),
        ("vnodes", ["v1", "full", "part used", "o offline", "64 of 64 GB"]),
        ("grid", ["▐ v1   8▌", "v1 · full · 0 of 8 cores free", "jobs 11"]),
        ("jobs", ["11", "alice", "on v1", "16[]", "Q 0+10", "huge"]),
        ("quotas", ["alice", "┃═", "over 8", "everyone else", "2*"]),
        ("plan", ["starts", "preempts", "leaves waiting"]),
    ],
)
async def test_every_view_is_reached_by_name_by_number_and_by_tab(
    backend: ScriptedBackend, audit: Path, view: str, texts: list[str]
) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.command(view)
        assert steered.main.view_name == view
        for text in texts:
            assert text in steered.text
        await steered.press("1")
        await steered.press(str(VIEWS.index(view) + 1))
        assert steered.main.view_name == view
        await steered.press("1", *["tab"] * VIEWS.index(view))
        assert steered.main.view_name == view
        await steered.press("shift+tab")
        assert steered.main.view_name == VIEWS[VIEWS.index(view) - 1]


async def test_enter_goes_into_a_job_and_escape_comes_back(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("5", "j", "j", "enter")
        assert steered.main.view_name == "job"
        assert "13 bob · workq · 8 cores, 2:00:00" in steered.text
        assert "waits" in steered.text
        await steered.press("escape")
        assert steered.main.view_name == "jobs"


async def test_one_job_is_reached_by_its_id(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.command("job 14")
        assert "14 carol · workq · 64 cores" in steered.text
        await steered.command("job 999")
        assert "job '999' is not on the server" in steered.text


@pytest.mark.parametrize(
    ("keys", "filtered"),
    [("2", 'queue:="workq"'), ("3", 'vnode:="v1"'), ("4", 'vnode:="v1"'), ("6", 'user:="alice"')],
)
async def test_enter_leads_from_a_queue_vnode_or_user_to_its_jobs(
    backend: ScriptedBackend, audit: Path, keys: str, filtered: str
) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press(keys, "enter")
        await steered.until_shown(filtered)
        assert steered.main.view_name == "jobs"


@pytest.mark.parametrize("size", [(100, 30), (80, 24), (60, 12), (200, 60)])
async def test_a_key_on_the_grid_acts_before_the_screen_has_laid_it_out(
    backend: ScriptedBackend, audit: Path, size: tuple[int, int]
) -> None:
    async with open_console(backend, audit, size) as steered:
        steered.main.go("grid")
        view = steered.main.view
        assert isinstance(view, OccupancyView)
        assert not view.grid_view.size.width, "nothing was laid out yet"
        assert view.chosen == ("v1",)
        room, rows = view.grid_view.room, view.grid_view.line_count()
        await steered.until(lambda: view.grid_view.size.width)
        await steered.pilot.pause()
        assert (view.grid_view.size.width, view.grid_view.size.height) == (room.width, rows)
        assert view.details.size.height >= size[1] - rows - 4, "its details have the other lines"


async def test_a_filter_stays_until_escape(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("5", "slash")
        await steered.type("user:carol state:H")
        assert "jobs · 1 of 6 · filter user:carol state:H" in steered.text
        await steered.repoll()
        assert "jobs · 1 of 6" in steered.text
        await steered.press("escape")
        assert "jobs · 15 in 6 lines" in steered.text


async def test_a_filter_that_cannot_be_read_is_a_message_and_changes_nothing(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (160, 30)) as steered:
        await steered.press("5", "slash")
        await steered.type("owner:carol")
        assert "no field 'owner' here; there are" in steered.text
        await steered.press("escape")
        assert "jobs · 15 in 6 lines" in steered.text


async def test_sorting_by_a_columns_number_and_again_the_other_way(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("5", "s")
        assert "5 cores" in steered.text or "5 co" in steered.text
        await steered.press("5")
        assert "sort: cores, most first" in steered.text
        assert steered.table[1].lstrip(" ▸").startswith("14 ") or "64" in steered.table[1]
        await steered.command("sort cores")
        assert "sort: cores, least first" in steered.text
        await steered.press("s", "x")
        assert "not sorted" in steered.text


async def test_the_cursor_stays_on_its_job_when_the_list_changes(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("5", "j", "j")
        backend.server_status = changed(
            backend.server_status, jobs={"9.hpc1": a_job("zoe", 1), **backend.server_status.jobs}
        )
        await steered.repoll()
        await steered.press("enter")
        assert "13 bob" in steered.text


async def test_marks_belong_to_jobs_not_to_rows(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("5", "space", "space")
        assert "2 marked" in steered.text
        backend.server_status = changed(
            backend.server_status, jobs={k: v for k, v in backend.server_status.jobs.items() if k != "11.hpc1"}
        )
        await steered.repoll()
        assert "1 marked" in steered.text


async def test_moving_with_arrows_letters_pages_and_ends(audit: Path) -> None:
    async with open_console(ScriptedBackend(many_jobs(500)), audit, (100, 24)) as steered:
        await steered.press("5", "G")
        assert "506 / 506" in steered.text
        assert "▸15" in steered.text, "what is held comes after what waits"
        await steered.press("g")
        assert "1 / 506" in steered.text
        await steered.press("pagedown", "down", "j", "k", "up", "ctrl+d", "ctrl+u", "pageup")
        assert "1 / 506" in steered.text


async def test_the_grid_is_walked_in_both_directions(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("4", "l", "right")
        assert "v3 · offline" in steered.text
        await steered.press("h")
        assert "v2 · part used · 4 of 8 cores free" in steered.text


async def test_left_and_right_go_through_the_queues_of_the_quotas(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("6")
        assert "quotas · workq · ncpus" in steered.text
        await steered.press("l")
        assert "quotas · gpu · ncpus" in steered.text
        assert "of 0" not in steered.text, "without quotas there is no sum of them"
        await steered.press("h")
        assert "quotas · workq · ncpus" in steered.text


async def test_copying_takes_the_name_under_the_cursor(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("5", "j", "y")
        assert steered.console.clipboard == "12.hpc1"


async def test_help_lists_the_actions_narrows_and_is_left_by_escape(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (110, 40)) as steered:
        await steered.press("question_mark")
        assert "Going somewhere" in steered.text
        assert ":next-view" in steered.text
        await steered.press("pagedown", *"leave")
        assert ":quit" in steered.text
        assert ":next-view" not in steered.text
        await steered.press("escape")
        assert "Going somewhere" not in steered.text


async def test_the_command_line_completes_and_remembers(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("colon")
        await steered.type("quo", "tab")
        assert "quotas  quota" in steered.text
        await steered.press("escape")
        await steered.command("vnodes")
        await steered.press("colon", "up")
        assert steered.main.prompt.field.value == "vnodes"
        await steered.press("escape")
        await steered.command("nonsense")
        assert ":nonsense is no command; ? lists them" in steered.text


async def test_the_theme_is_chosen_by_name(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.command("theme light")
        assert steered.console.theme == "pbsteer-light"
        await steered.command("theme pink")
        assert "theme 'pink': there are dark, light, colour-blind, contrast, none" in steered.text


async def test_refresh_asks_the_server_now(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        before = backend.polls
        await steered.press("r")
        await steered.until(lambda: backend.polls > before)


async def test_quitting_lets_go_of_the_server(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("q")
    assert backend.closed


# A simulated cluster's time


async def test_time_is_paused_stepped_and_sped_up(audit: Path) -> None:
    backend = ScriptedSimulation()
    async with open_console(backend, audit) as steered:
        await steered.press("p")
        assert backend.paused
        assert "SIMULATED paused" in steered.text
        await steered.press("full_stop")
        assert backend.steps == 1
        await steered.press("p", "plus")
        assert (backend.paused, backend.speed) == (False, 100)
        await steered.press("minus", "minus")
        assert backend.speed == 30
        await steered.command("speed 1000")
        assert backend.speed == 1000
        await steered.command("speed 1001")
        assert "speed '1001': allowed is a whole number from 1 to 1,000" in steered.text


async def test_a_real_servers_time_cannot_be_steered(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("p")
        assert "works on a simulated cluster only" in steered.text
