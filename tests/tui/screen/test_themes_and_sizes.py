"""How the console looks: themes, without colour, in ASCII alone, and in terminals of any size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from textual.color import Color

from tests.tui.console_under_test import Steered, open_console
from tests.tui.scripted_server import (
    NOON_S,
    ScriptedBackend,
    ScriptedSimulation,
    a_job,
    a_vnode,
    changed,
    running,
    with_job,
)
from tests.tui.written_journal_and_audit import a_pass, a_start, write_changes, write_journal
from tui.action_registry import ACTIONS, VIEWS
from tui.cli.main import main
from tui.config.theme_names import THEME_NAMES
from tui.screen.terminal.themes import THEMES
from tui.screen.workers.save_preferences_and_typed_lines import KeptFiles
from tui.user.user_json_file import KeptFile

ODD = "𝔉é🚀字"


@pytest.fixture
def backend(tmp_path: Path) -> ScriptedBackend:
    return ScriptedBackend(folder=tmp_path / "pbsteer")


# Characters


def shown_to_the_terminal(steered: Steered) -> str:
    """Every character that is painted, those of dialogs and of their frames too."""
    return "\n".join(steered.screen_lines)


@pytest.mark.slow
async def test_in_ascii_nothing_else_is_painted_in_any_view_and_dialog(
    backend: ScriptedBackend, audit: Path, tmp_path: Path
) -> None:
    backend.server_status = with_job(
        backend.server_status, "20.hpc1", a_job(ODD, 1, name=ODD, project=ODD, comment=ODD)
    )
    backend.set_vnode("v3", comment=ODD, state="down")
    write_journal(backend.folder, a_pass(30, starts=[a_start("13.hpc1", user=ODD)], notes=[ODD]))
    write_changes(audit, "done", "sending", command=ODD)
    seen = []
    async with open_console(backend, audit, (120, 30), ascii_only=True) as steered:

        def check(what: str) -> None:
            text = shown_to_the_terminal(steered)
            odd = sorted({character for character in text if not character.isascii()})
            assert not odd, f"{what} paints {odd}"
            seen.append(what)

        for view in VIEWS:
            await steered.command(view)
            check(view)
        await steered.press("7", "left")
        check("a pass")
        await steered.command("job 20")
        check("a job")
        for keys in (("6", "e"), ("5", "a"), ("5", "c"), ("question_mark",)):
            await steered.press(*keys)
            assert len(steered.console.screen_stack) == 2, keys
            check(f"the dialog of {keys[-1]}")
            await steered.press("escape")
        await steered.press("6", "e")
        await steered.type("16")
        check("a preview")
        await steered.press("escape", "5", "slash", *"user:", "é")
        check("the filter line")
        await steered.press("escape", "colon", "é")
        check("the command line")
        await steered.press("escape")
        await steered.command("filter user:a")
        await steered.command("save mine")
        await steered.press("f")
        check("the saved filters")
        await steered.press("escape", "s")
        check("choosing a column")
    assert len(seen) == len(VIEWS) + 11


async def test_ascii_is_switched_and_kept(backend: ScriptedBackend, audit: Path, tmp_path: Path) -> None:
    files = KeptFiles(KeptFile(tmp_path / "config" / "preferences.json"))
    async with open_console(backend, audit, (120, 30), files=files) as steered:
        assert not shown_to_the_terminal(steered).isascii()
        await steered.command("ascii on")
        assert shown_to_the_terminal(steered).isascii()
        await steered.command("ascii perhaps")
        assert "ascii 'perhaps': there are on, off" in steered.text
    async with open_console(backend, audit, (120, 30), files=files) as steered:
        assert shown_to_the_terminal(steered).isascii()
        await steered.command("ascii off")
        assert not shown_to_the_terminal(steered).isascii()


# Colours


def colours_of(steered: Steered) -> set[str]:
    """The colours of all that is on the screen but the terminal's own."""
    strips = steered.console.screen._compositor.render_strips()
    styles = [segment.style for strip in strips for segment in strip if segment.style]
    colours = [colour for style in styles for colour in (style.color, style.bgcolor) if colour is not None]
    return {colour.name for colour in colours if not colour.is_default}


@pytest.mark.parametrize("theme", THEME_NAMES)
async def test_every_theme_is_chosen_by_name_and_paints_its_own_colours(
    backend: ScriptedBackend, audit: Path, theme: str
) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.command(f"theme {theme}")
        await steered.press("6")
        colours = colours_of(steered)
        assert bool(colours) == (theme != "none")
        if colours:
            assert Color.parse(THEMES[theme].background or "").hex.lower() in colours
        assert "over 8" in steered.text


async def test_without_colour_the_line_that_is_typed_still_has_a_cursor(
    backend: ScriptedBackend, audit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.command("theme light")
        assert colours_of(steered) == set(), "who wants no colour gets none, whatever the theme"
        await steered.press("colon", "x")
        strip = steered.console.screen._compositor.render_strips()[-1]
        assert any(segment.style and segment.style.reverse for segment in strip)


async def test_without_colour_a_dialog_leaves_the_header_in_sight(
    backend: ScriptedBackend, audit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("u", "6", "e")
        await steered.type("16")
        assert "hpc1" in steered.screen_lines[0]
        assert "UNLOCKED" in steered.screen_lines[0]


@pytest.mark.parametrize("colours", [True, False])
async def test_a_dialog_that_fills_the_screen_leaves_the_header_in_sight(
    backend: ScriptedBackend, audit: Path, monkeypatch: pytest.MonkeyPatch, colours: bool
) -> None:
    if not colours:
        monkeypatch.setenv("NO_COLOR", "1")
    for number in range(30):
        backend.server_status = with_job(backend.server_status, f"{200 + number}.hpc1", running("bob", 1, "v2"))
    async with open_console(backend, audit, (80, 12)) as steered:
        await steered.press("u", "5", "asterisk", "a", "d")
        await steered.until_shown("core-hours")
        await steered.press("a")
        await steered.until_shown("to do it")
        assert steered.screen_lines[1].startswith("╭")
        assert steered.screen_lines[-1].startswith("╰")
        assert "esc cancel" in steered.screen_lines[-2], "its keys are in sight too"
        assert "hpc1" in steered.screen_lines[0]
        assert "UNLOCKED" in steered.screen_lines[0]


async def test_a_server_that_is_away_is_greyed_without_colour_too(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.command("theme none")
        backend.failure = "cannot connect"
        steered.main.poller.ask()
        await steered.until_shown("AWAY")
        assert colours_of(steered) == set()


def test_the_command_line_knows_the_themes_that_there_are() -> None:
    assert set(THEME_NAMES) == set(THEMES)
    said = CliRunner().invoke(main, ["--theme", "pink"])
    assert said.exit_code == 2
    for name in THEME_NAMES:
        assert f"'{name}'" in said.output


def luminance(colour: str) -> float:
    """Relative luminance (W3C, "Web Content Accessibility Guidelines 2.1")."""
    parts = [part / 255 for part in Color.parse(colour).rgb]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(("theme", "least"), [("dark", 4.5), ("light", 4.5), ("colour-blind", 3.5), ("contrast", 7.0)])
def test_what_is_written_can_be_read_on_its_ground(theme: str, least: float) -> None:
    palette = THEMES[theme]
    ground = palette.background or ""
    for name in ("foreground", "primary", "warning", "error", "success", "accent"):
        assert contrast(getattr(palette, name), ground) >= least, name
    assert contrast(palette.variables["text-muted"], ground) >= min(least, 4.5)


def test_the_palette_for_colour_blind_eyes_is_okabe_and_itos() -> None:
    theme = THEMES["colour-blind"]
    own = {theme.primary, theme.secondary, theme.warning, theme.error, theme.success, theme.accent}
    assert own <= {"#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}


# Sizes


ESSENTIAL = {
    "queues": ("queue", "on", "mode", "R", "Q", "H", "head of the queue"),
    "vnodes": ("vnode", "state", "used", "of", "jobs"),
    "jobs": ("job", "user", "state", "ncpus", "time", "where, or why not"),
    "quotas": ("user", "prio", "quota", "used", "free or over", "waiting"),
    "audit": ("time", "stage", "command"),
}


@pytest.mark.parametrize("view", ESSENTIAL)
async def test_no_essential_column_is_cut_off_at_80x24(backend: ScriptedBackend, audit: Path, view: str) -> None:
    write_changes(audit, "done")
    async with open_console(backend, audit, (80, 24)) as steered:
        await steered.command(view)
        header = steered.table[0]
        for title in ESSENTIAL[view]:
            assert title in header, title
        assert "…" not in header


async def test_the_overview_tells_all_of_its_numbers_at_80x24(backend: ScriptedBackend, audit: Path) -> None:
    backend.set_vnode("v3", state="down,offline")
    async with open_console(backend, audit, (80, 24)) as steered:
        for text in ("12 / 16", "75%", "2 / 3 up", "v3 down, offline", "R 2  Q 12  H 1"):
            assert text in steered.text


async def test_a_wide_terminal_shows_more_columns_and_longer_cells(backend: ScriptedBackend, audit: Path) -> None:
    name = "a_job_with_a_rather_long_name_of_forty_c"
    backend.set_job("13.hpc1", Job_Name=name)
    async with open_console(backend, audit, (360, 100)) as steered:
        await steered.press("5")
        for title in ("group", "project", "waited", "submitted"):
            assert title in steered.table[0]
        assert name in steered.text
        await steered.pilot.resize_terminal(100, 24)
        await steered.until(lambda: "submitted" not in steered.table[0], "fewer columns")


@pytest.mark.slow
async def test_dialogs_survive_20x5_and_come_back(audit: Path, tmp_path: Path) -> None:
    async with open_console(ScriptedSimulation(), audit, (100, 30)) as steered:
        for keys in (("6", "e"), ("5", "a"), ("5", "c"), ("question_mark",), ("5", "slash"), ("5", "s")):
            await steered.press(*keys)
            for size in ((20, 5), (1, 1), (300, 100), (100, 30)):
                await steered.pilot.resize_terminal(*size)
                await steered.pilot.pause()
                await steered.press("down", "up")
            await steered.press("escape", "escape")
            assert len(steered.console.screen_stack) == 1, keys
        await steered.press("1")
        await steered.until_shown("12 / 16")


async def test_what_the_preferences_say_of_a_theme_that_is_not_there_is_passed_over(
    backend: ScriptedBackend, audit: Path, tmp_path: Path
) -> None:
    path = tmp_path / "preferences.json"
    path.write_text(json.dumps({"version": 1, "theme": "pink", "tables": {"jobs": {"columns": ["nothing"]}}}))
    async with open_console(backend, audit, (120, 30), files=KeptFiles(KeptFile(path))) as steered:
        assert steered.console.theme == "pbsteer-dark"
        await steered.press("5")
        assert "nothing" in steered.table[0] or "user" in steered.screen_lines[2]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_help_names_every_action_and_cuts_nothing_off(audit: Path, size: tuple[int, int]) -> None:
    async with open_console(ScriptedSimulation(), audit, size) as steered:
        await steered.press("question_mark")
        seen: list[str] = []
        for _ in range(20):
            seen += steered.screen_lines
            await steered.press("pagedown")
        text = "\n".join(seen)
        for action in ACTIONS:
            # A site without other clusters sees nothing of jobs that migrate.
            assert (f":{action.name}" in text) is not action.migrates, action.name
        assert "…" not in text


async def test_an_empty_table_says_why_it_is_empty(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (80, 24)) as steered:
        await steered.press("8")
        await steered.until_shown("no change is known yet of any administrator")
        await steered.press("5", "slash")
        await steered.type("user:nobody")
        await steered.until_shown("no row passes the filter: esc drops it")
        await steered.press("down", "space", "x", "y")
        await steered.press("escape")
        await steered.until_shown("11 ")
        assert "no row passes" not in steered.text
        backend.server_status = changed(backend.server_status, jobs={})
        await steered.repoll()
        await steered.until_shown("no jobs: nothing runs and nothing waits")


async def test_where_much_needs_attention_queues_and_users_stay_in_sight(backend: ScriptedBackend, audit: Path) -> None:
    vnodes = {f"w{n}": a_vnode(8, 0, "down", last_state_change_time=str(int(NOON_S - n * 600))) for n in range(40)}
    stopped = {f"q{n}": {**backend.server_status.queues["gpu"], "started": "False"} for n in range(3)}
    backend.server_status = changed(
        backend.server_status,
        vnodes={**backend.server_status.vnodes, **vnodes},
        queues={**backend.server_status.queues, **stopped},
    )
    async with open_console(backend, audit, (80, 24)) as steered:
        await steered.until_shown("attention", "more groups of vnodes", "in use by", "alice")
        await steered.press("G")
        await steered.until_shown("changed", "next pass")


async def test_the_menu_tells_all_of_why_something_cannot_be_done(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (80, 24)) as steered:
        await steered.press("5", "a")
        await steered.until_shown("11 is running; requeue it first", "checkpoint")
        await steered.press("p")
        await steered.until_shown("priority of 11 on hpc1")
    async with open_console(backend, audit, (80, 7)) as steered:
        await steered.press("5", "a", "end")
        await steered.until_shown("▸ S ssh")


async def test_a_narrow_screen_shows_jobs_by_name_and_a_wider_one_their_queue_too(
    backend: ScriptedBackend, audit: Path
) -> None:
    for cells, shown in ((80, "job user state ncpus time eff name"), (90, "job user queue state ncpus time eff name")):
        async with open_console(backend, audit, (cells, 24)) as steered:
            await steered.press("5")
            header = next(line for line in steered.screen_lines if "where, or why not" in line)
            assert header.split()[:-4] == shown.split()
