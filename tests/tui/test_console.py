"""The console as somebody uses it: each view and each action, by keys and by command line, on a scripted server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.events import Key

from tests.tui.scripted import (
    HOSTILE_NAMES,
    ScriptedSimulation,
    ScriptedSource,
    a_job,
    a_picture,
    changed,
    many_jobs,
    running,
)
from tests.tui.steering import Steered, open_console
from tui.core.actions import VIEWS
from tui.core.lines import safe
from tui.core.unlock import UNLOCK_S
from tui.dialogs.deed import DeedDialog


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def source() -> ScriptedSource:
    return ScriptedSource()


async def test_it_says_which_server_in_which_mode_locked_and_how_old(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit, (120, 30)) as steered:
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


async def test_the_overview_answers_is_it_well_and_what_needs_me(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        for text in ("12 / 16", "75%", "R 2  Q 12  H 1", "v3 offline", "alice 12 of 4 in workq", "this pass"):
            assert text in steered.text


@pytest.mark.parametrize(
    ("view", "texts"),
    [
        ("queues", ["workq", "drive", "gpu", "observe"]),
        ("vnodes", ["v1", "free", "o offline", "64 of 64 GB"]),
        ("grid", ["█▄o", "v1 · free · 0 of 8 cores free", "jobs 11"]),
        ("jobs", ["11", "alice", "on v1", "16[]", "Q 0+10", "huge"]),
        ("quotas", ["alice", "┃▓", "over 8", "everyone else", "2*"]),
        ("plan", ["starts", "preempts", "leaves alone"]),
    ],
)
async def test_every_view_is_reached_by_name_by_number_and_by_tab(
    source: ScriptedSource, audit: Path, view: str, texts: list[str]
) -> None:
    async with open_console(source, audit, (120, 30)) as steered:
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


async def test_enter_goes_into_a_job_and_escape_comes_back(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("5", "j", "j", "enter")
        assert steered.main.view_name == "job"
        assert "13 bob · workq · 8 cores, 2:00:00" in steered.text
        assert "waits" in steered.text
        await steered.press("escape")
        assert steered.main.view_name == "jobs"


async def test_one_job_is_reached_by_its_id(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.command("job 14")
        assert "14 carol · workq · 64 cores" in steered.text
        await steered.command("job 999")
        assert "job '999' is not on the server" in steered.text


@pytest.mark.parametrize(
    ("keys", "filtered"),
    [("2", 'queue:="workq"'), ("3", 'vnode:="v1"'), ("4", 'vnode:="v1"'), ("6", 'user:="alice"')],
)
async def test_enter_leads_from_a_queue_vnode_or_user_to_its_jobs(
    source: ScriptedSource, audit: Path, keys: str, filtered: str
) -> None:
    async with open_console(source, audit) as steered:
        await steered.press(keys, "enter")
        assert steered.main.view_name == "jobs"
        assert filtered in steered.text


async def test_a_filter_stays_until_escape(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("5", "slash")
        await steered.type("user:carol state:H")
        assert "jobs · 1 of 6 · filter user:carol state:H" in steered.text
        await steered.repoll()
        assert "jobs · 1 of 6" in steered.text
        await steered.press("escape")
        assert "jobs · 6" in steered.text


async def test_a_filter_that_cannot_be_read_is_a_message_and_changes_nothing(
    source: ScriptedSource, audit: Path
) -> None:
    async with open_console(source, audit, (160, 30)) as steered:
        await steered.press("5", "slash")
        await steered.type("owner:carol")
        assert "no field 'owner' here; there are" in steered.text
        assert "jobs · 6" in steered.text


async def test_sorting_by_a_columns_number_and_again_the_other_way(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit, (120, 30)) as steered:
        await steered.press("5", "s")
        assert "5 cores" in steered.text or "5 co" in steered.text
        await steered.press("5")
        assert "sort: cores, most first" in steered.text
        assert steered.screen_lines[3].lstrip(" ▸").startswith("14 ") or "64" in steered.screen_lines[3]
        await steered.command("sort cores")
        assert "sort: cores, least first" in steered.text
        await steered.press("s", "x")
        assert "not sorted" in steered.text


async def test_the_cursor_stays_on_its_job_when_the_list_changes(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("5", "j", "j")
        source.picture = changed(source.picture, jobs={"9.hpc1": a_job("zoe", 1), **source.picture.jobs})
        await steered.repoll()
        await steered.press("enter")
        assert "13 bob" in steered.text


async def test_marks_belong_to_jobs_not_to_rows(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("5", "space", "space")
        assert "2 marked" in steered.text
        source.picture = changed(source.picture, jobs={k: v for k, v in source.picture.jobs.items() if k != "11.hpc1"})
        await steered.repoll()
        assert "1 marked" in steered.text


async def test_moving_with_arrows_letters_pages_and_ends(audit: Path) -> None:
    async with open_console(ScriptedSource(many_jobs(500)), audit, (100, 24)) as steered:
        await steered.press("5", "G")
        assert "506 / 506" in steered.text
        assert "▸15" in steered.text, "what is held comes after what waits"
        await steered.press("g")
        assert "1 / 506" in steered.text
        await steered.press("pagedown", "down", "j", "k", "up", "ctrl+d", "ctrl+u", "pageup")
        assert "1 / 506" in steered.text


async def test_the_grid_is_walked_in_both_directions(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("4", "l", "right")
        assert "v3 · offline" in steered.text
        await steered.press("h")
        assert "v2 · free · 4 of 8 cores free" in steered.text


async def test_left_and_right_go_through_the_queues_of_the_quotas(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("6")
        assert "quotas · workq · ncpus" in steered.text
        await steered.press("l")
        assert "quotas · gpu · ncpus" in steered.text
        await steered.press("h")
        assert "quotas · workq · ncpus" in steered.text


async def test_copying_takes_the_name_under_the_cursor(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("5", "j", "y")
        assert steered.console.clipboard == "12.hpc1"


async def test_help_lists_the_actions_and_any_of_its_keys_leaves_it(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit, (110, 40)) as steered:
        await steered.press("question_mark")
        assert "Going somewhere" in steered.text
        assert ":next-view" in steered.text
        await steered.press("G")
        assert "leave" in steered.text
        await steered.press("escape")
        assert "Going somewhere" not in steered.text


async def test_the_command_line_completes_and_remembers(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
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


async def test_the_theme_is_chosen_by_name(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.command("theme light")
        assert steered.console.theme == "pbsteer-light"
        await steered.command("theme pink")
        assert "theme 'pink': there are dark, light, colour-blind, contrast, none" in steered.text


async def test_refresh_asks_the_server_now(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        before = source.polls
        await steered.press("r")
        await steered.until(lambda: source.polls > before)


async def test_quitting_lets_go_of_the_server(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("q")
    assert source.closed


# Changing a quota


async def open_dialog(steered: Steered, cores: str) -> None:
    """On alice's quota, who is the first of the quotas view, with a number looked at."""
    await steered.press("6", "e")
    await steered.type(cores)
    await steered.until(lambda: "working out" not in steered.text, "the preview")


async def test_the_console_is_read_only_until_unlocked_and_again_after_a_while(
    source: ScriptedSource, audit: Path
) -> None:
    async with open_console(source, audit) as steered:
        await open_dialog(steered, "16")
        await steered.press("a")
        assert "read-only" in steered.text
        assert source.lines == []
        await steered.press("escape", "u")
        assert f"UNLOCKED {UNLOCK_S:.0f} s" in steered.screen_lines[0]
        steered.elapsed_s += UNLOCK_S + 1
        await open_dialog(steered, "16")
        await steered.press("a")
        assert source.lines == []


async def test_a_quota_is_changed_after_its_line_and_its_effects_were_seen(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("u")
        await open_dialog(steered, "16")
        assert "set queue workq max_run_res_soft.ncpus += [u:alice=16]" in steered.text
        assert "in the next pass" in steered.text
        assert source.lines == []
        await steered.press("a")
        await steered.until_shown("alice 4 → 16 in workq: done, read back · z undoes it")
        assert source.lines == ["qmgr -c 'set queue workq max_run_res_soft.ncpus += [u:alice=16]'"]
        stages = [json.loads(line)["stage"] for line in audit.read_text().splitlines()]
        assert stages == ["sending", "done"]
        await steered.until_shown("free 4")


async def test_leaving_the_dialog_changes_nothing(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("u")
        await open_dialog(steered, "16")
        await steered.press("escape")
        assert not isinstance(steered.console.screen, DeedDialog)
        assert source.lines == []
        assert not audit.exists()


async def test_another_number_is_looked_at_before_it_is_applied(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("u")
        await open_dialog(steered, "16")
        await steered.press("e")
        await steered.type("32")
        await steered.until_shown("[u:alice=32]")
        await steered.press("a")
        await steered.until_shown("alice 4 → 32 in workq: done")


@pytest.mark.parametrize(("typed", "says"), [("-5", "allowed is a whole number"), ("4", "already has 4")])
async def test_a_number_that_cannot_be_is_told_in_the_dialog(
    source: ScriptedSource, audit: Path, typed: str, says: str
) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("6", "e")
        await steered.type(typed)
        assert says in steered.text


async def test_undo_takes_the_last_change_back_once(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("z")
        assert "nothing was changed from this console yet" in steered.text
        await steered.press("u")
        await open_dialog(steered, "16")
        await steered.press("a")
        await steered.until_shown("z undoes it")
        await steered.press("z")
        await steered.until_shown("undo: alice 4 → 16 in workq: done")
        assert "z undoes it" not in steered.text
        assert source.picture.queues["workq"]["max_run_res_soft.ncpus"].count("alice=4") == 1


async def test_a_value_changed_by_someone_else_is_not_overwritten(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit, (140, 30)) as steered:
        await steered.press("u")
        await open_dialog(steered, "16")
        source.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:alice=99]"})
        await steered.press("a")
        await steered.until_shown("it was changed meanwhile")
        assert source.lines == []


async def test_what_pbs_refuses_is_on_the_screen(audit: Path) -> None:
    source = ScriptedSource(refusal="Unauthorized Request")
    async with open_console(source, audit) as steered:
        await steered.press("u")
        await open_dialog(steered, "16")
        await steered.press("a")
        await steered.until_shown("PBS refused: Unauthorized Request")


async def test_a_quota_is_changed_by_command_for_a_user_without_jobs(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("u")
        await steered.command("quota workq zoe 12")
        await steered.until_shown("[u:zoe=12]")
        await steered.press("a")
        await steered.until_shown("zoe none → 12 in workq: done")
        await steered.command("quota nosuch zoe 12")
        assert "queue 'nosuch'" in steered.text
        await steered.command("quota workq")
        assert "quota: QUEUE USER CORES" in steered.text


# A simulated cluster's time


async def test_time_is_paused_stepped_and_sped_up(audit: Path) -> None:
    source = ScriptedSimulation()
    async with open_console(source, audit) as steered:
        await steered.press("p")
        assert source.paused
        assert "SIMULATED paused" in steered.text
        await steered.press("full_stop")
        assert source.steps == 1
        await steered.press("p", "plus")
        assert (source.paused, source.speed) == (False, 100)
        await steered.press("minus", "minus")
        assert source.speed == 30
        await steered.command("speed 1000")
        assert source.speed == 1000
        await steered.command("speed 1001")
        assert "speed '1001': allowed is a whole number from 1 to 1,000" in steered.text


async def test_a_real_servers_time_cannot_be_steered(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("p")
        assert "only a simulated cluster" in steered.text


# Trouble


async def test_a_server_that_goes_away_keeps_its_last_picture_and_comes_back(
    source: ScriptedSource, audit: Path
) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("5")
        source.failure = "cannot connect to hpc1"
        steered.main.poller.ask()
        await steered.until_shown("AWAY, seen 0 s ago", "cannot connect to hpc1; trying again in")
        assert "first in line" in steered.text
        assert steered.main.query_one("#view-jobs").has_class("stale")
        steered.elapsed_s += 61
        steered.main.tick()
        await steered.until_shown("AWAY, seen 61 s ago")
        source.failure = ""
        steered.main.poller.ask()
        await steered.until_shown("the server answers again")
        assert not steered.main.query_one("#view-jobs").has_class("stale")


async def test_a_server_that_is_away_from_the_start_is_waited_for(audit: Path) -> None:
    source = ScriptedSource(failure="cannot connect to hpc1")
    async with open_console(source, audit) as steered:
        await steered.until_shown("AWAY", "cannot connect to hpc1")
        for keys in (*map(str, range(1, 8)), "enter", "e", "s", "slash", "space", "y", "z", "r"):
            await steered.press(keys)
            await steered.press("escape")
        source.failure = ""
        await steered.press("1")
        await steered.until_shown("12 / 16")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
async def test_a_hostile_name_is_shown_as_it_is_wherever_names_are_shown(audit: Path, name: str) -> None:
    picture = a_picture()
    jobs = {
        "11.hpc1": running(name, 8, "v1", name=name, queue=name, comment=name),
        "12.hpc1": a_job("bob", 4, name=name, project=name),
    }
    queues = {**picture.queues, name: picture.queues["workq"]}
    vnodes = {**picture.vnodes, name: {**picture.vnodes["v1"], "state": name, "jobs": name}}
    source = ScriptedSource(changed(picture, jobs=jobs, queues=queues, vnodes=vnodes))
    shown = safe(name)[:6]
    async with open_console(source, audit, (160, 40)) as steered:
        for view in VIEWS:
            await steered.command(view)
            assert "\x1b" not in steered.text
            if view in ("queues", "vnodes", "jobs"):
                assert shown in steered.text, view
            await steered.press("y")
            await steered.press("enter", "escape", "escape")
        await steered.command("job 12")
        assert shown in steered.text
        assert steered.console.is_running


async def test_it_survives_a_terminal_of_any_size(source: ScriptedSource, audit: Path) -> None:
    async with open_console(source, audit) as steered:
        for view in range(1, len(VIEWS) + 1):
            await steered.press(str(view))
            for size in ((20, 5), (1, 1), (300, 100), (80, 24)):
                await steered.pilot.resize_terminal(*size)
                await steered.pilot.pause()
                await steered.press("j", "G", "g")
            assert steered.main.view_name in steered.text.lower() or view == 4
        await steered.pilot.resize_terminal(20, 5)
        await steered.press("6", "e", "escape", "question_mark", "escape", "colon", "escape")
        await steered.pilot.resize_terminal(80, 24)
        await steered.press("1")
        await steered.until_shown("12 / 16")


async def test_no_color_leaves_no_colour(source: ScriptedSource, audit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with open_console(source, audit, (120, 30)) as steered:
        await steered.press("3")
        widths = steered.console.screen._compositor.render_strips()
        styles = [
            segment.style
            for strip in widths
            for segment in strip.apply_filter(steered.console._filters[-1], steered.console.screen.background_colors[1])
            if segment.style
        ]
        assert styles
        colours = [colour for style in styles for colour in (style.color, style.bgcolor) if colour is not None]
        assert all(colour.is_default for colour in colours)
        assert "o offline" in steered.text


async def test_what_is_repainted_row_by_row_equals_what_is_painted_anew(audit: Path) -> None:
    source = ScriptedSource(many_jobs(200))
    async with open_console(source, audit, (140, 30)) as steered:
        await steered.press("5")
        jobs = dict(source.picture.jobs)
        for job_id in list(jobs)[3:12]:
            jobs[job_id] = {
                **jobs[job_id],
                "Resource_List.ncpus": "7",
                "Job_Name": "字" * 5,
                "schedselect": "1:ncpus=7",
            }
        source.picture = changed(source.picture, jobs=jobs)
        await steered.repoll()
        row_by_row = steered.text
        steered.console.refresh(repaint=True)
        for lines in steered.main.query("LineView"):
            lines.refresh()
        await steered.pilot.pause()
        assert steered.text == row_by_row
        assert "  7  " in row_by_row


@pytest.mark.parametrize(("typed", "shown"), [("/user:bob", "filter user:bob"), (":view queues", "queues · ")])
async def test_what_is_typed_ahead_of_a_prompt_is_typed_into_it(
    source: ScriptedSource, audit: Path, typed: str, shown: str
) -> None:
    async with open_console(source, audit) as steered:
        await steered.press("5")
        # All at once, as a slow line delivers what was typed meanwhile.
        names = {"/": "slash", ":": "colon", " ": "space", "\r": "enter"}
        for character in (*typed, "\r"):
            steered.console.post_message(Key(names.get(character, character), character))
        await steered.until_shown(shown)
        assert not steered.main.is_unlocked(), "a letter of the line was taken for a key"


async def test_very_many_rows_are_sorted_beside_the_screen_and_a_later_wish_wins(audit: Path) -> None:
    async with open_console(ScriptedSource(many_jobs(6000)), audit, (120, 24)) as steered:
        await steered.command("jobs")
        await steered.command("sort cores")
        await steered.until_shown("sort: cores, most first")
        table = steered.main.views["jobs"].body
        await steered.until(lambda: table.keys[0] == "14.hpc1", "the largest job on top")  # type: ignore[attr-defined]
        await steered.command("filter user:user7")
        await steered.press("escape")
        await steered.until(lambda: len(table.keys) > 6000, "all of them again")  # type: ignore[attr-defined]
