"""The overview: everything on it can be entered, at every size, and the cursor stays on what it was on."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.record.day_of_activity import SLOT_S, Day, Events
from tests.tui.console_under_test import Steered, open_console
from tests.tui.scripted_server import NOON_S, ScriptedBackend
from tui.backends.idle_core_history import IdleHistory
from tui.pages.cluster.overview_page import Row, overview_rows
from tui.screen.views.overview import OverviewView
from tui.text.screen_line import plain, width
from tui.text.times_and_durations import clock_time


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def backend() -> ScriptedBackend:
    backend = ScriptedBackend()
    backend.set_vnode("v3", state="down,job-busy", last_state_change_time=str(int(NOON_S - 1200)), comment="fan 2")
    return backend


def overview(steered: Steered) -> OverviewView:
    view = steered.main.view
    assert isinstance(view, OverviewView)
    return view


async def find(steered: Steered, text: str) -> None:
    """Go to the line with this text."""
    await steered.press("g")
    for _ in range(100):
        if any("▸" in line and text in line for line in steered.screen_lines):
            return
        await steered.press("j")
    raise AssertionError(f"no line with {text!r} can be reached:\n{steered.text}")


def texts(rows: list[Row]) -> list[str]:
    return [" ".join(plain(part.line) for part in row.parts).rstrip() for row in rows]


def a_day() -> Day:
    day = Day()
    for number in range(144):
        events = Events(started=3, ended=2, preempted=int(number == 143), failed=0, waited_s=360)
        day = day.sampled(NOON_S - (143 - number) * SLOT_S, 50, 100, events)
    return day


async def test_it_opens_on_what_needs_somebody_and_enter_leads_there(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 40)) as steered:
        await steered.until_shown("v3 down since")
        assert overview(steered).link is not None
        await find(steered, "v3 down")
        assert "▸● v3 down since" in steered.text
        await steered.press("enter")
        assert steered.main.view_name == "vnodes"
        assert "filter vnode:=" in steered.text
        await steered.press("escape")
        assert steered.main.view_name == "overview"
        assert "▸● v3 down since" in steered.text, "the cursor is where it was"


@pytest.mark.parametrize(
    ("text", "view"),
    [("memory", "vnodes"), ("R ", "jobs"), ("next pass", "plan"), ("workq", "jobs"), ("since ", "audit")],
)
async def test_its_other_lines_lead_to_their_views(backend: ScriptedBackend, audit: Path, text: str, view: str) -> None:
    async with open_console(backend, audit, (80, 40)) as steered:
        if text == "since ":
            await steered.press("G")
        else:
            await find(steered, text)
        await steered.press("enter")
        assert steered.main.view_name == view


async def test_a_user_leads_to_the_quotas_with_the_cursor_on_that_user(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (80, 40)) as steered:
        await find(steered, "alice ")
        await steered.press("enter")
        assert (steered.main.view_name, steered.main.view.cursor_name) == ("quotas", "alice")


async def test_a_broken_vnode_can_be_acted_on_from_there(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 40)) as steered:
        await find(steered, "v3 down")
        await steered.press("a")
        await steered.until_shown("vnode v3", "drain")


async def test_left_and_right_go_between_the_columns(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (140, 40)) as steered:
        await steered.press("g")
        await steered.press("right")
        before = overview(steered).link
        await steered.press("left")
        assert overview(steered).link != before


@pytest.mark.parametrize("size", [(20, 5), (40, 12), (80, 24), (300, 100)])
async def test_at_every_size_the_cursor_is_seen_and_reaches_both_ends(
    backend: ScriptedBackend, audit: Path, size: tuple[int, int]
) -> None:
    async with open_console(backend, audit, size) as steered:
        await steered.until(lambda: "▸" in steered.text)
        for key in ("G", "g", "pagedown", "pageup", "j", "k", "l", "h"):
            await steered.press(key)
            assert "▸" in steered.text, key
            assert len(steered.screen_lines) == size[1]


async def test_the_cursor_stays_on_its_line_when_lines_come_above(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (80, 40)) as steered:
        await find(steered, "next pass")
        backend.set_vnode("v1", state="offline", last_state_change_time=str(int(NOON_S - 60)))
        await steered.repoll()
        assert any("▸next pass" in line for line in steered.screen_lines)


async def test_numbers_and_charts_come_from_the_day(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 40)) as steered:
        cluster = steered.main.cluster
    assert cluster is not None
    for cells in (30, 76, 116, 196):
        rows = overview_rows(cluster, a_day(), IdleHistory(), cells, 40)
        for row in rows:
            for part in row.parts:
                assert part.link is None or plain(part.line).strip()
            assert all(each <= cells for each in row.cells)
        text = "\n".join(texts(rows))
        assert "mean 50%" in text
        assert " ".join(text.split()).count("mean wait 2 min") == 1 or cells < 76
    wide = texts(overview_rows(cluster, a_day(), IdleHistory(), 116, 40))
    assert any("started       18" in line for line in wide)
    assert any("preempted      1" in line for line in wide)
    chart = [line[:70] for line in wide if "100%" in line[:6] or " 50%" in line[:6]]
    assert "█" not in chart[0], "half of the cores is half of the chart"
    empty = texts(overview_rows(cluster, Day(), IdleHistory(), 116, 40))
    assert any("nothing was recorded yet" in line for line in empty)


async def test_what_is_not_full_is_not_shown_as_full(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (80, 24)) as steered:
        cluster = steered.main.cluster
    assert cluster is not None
    vnodes = cluster.counts.vnodes
    vnodes.used, vnodes.total = 4016, 4032
    line = next(line for line in texts(overview_rows(cluster, Day(), IdleHistory(), 76, 20)) if "cores" in line)
    assert " 99% 4,016 / 4,032" in line
    assert width(line) <= 76


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_what_happened_is_said_of_the_time_that_was_looked_at(
    backend: ScriptedBackend, audit: Path, size: tuple[int, int]
) -> None:
    async with open_console(backend, audit, size) as steered:
        await steered.until_shown("v3 down since")
        cluster = steered.main.known_cluster()
        now_s = cluster.now_s
        opened = Day().sampled(now_s - 60, 50, 100).sampled(now_s, 50, 100, Events(started=2))
        for day, said in ((opened, f"since {clock_time(now_s - 61)}"), (a_day(), "last hour")):
            page = "\n".join(texts(overview_rows(cluster, day, IdleHistory(), *size)))
            assert said in page, page


async def test_requests_that_failed_are_not_taken_for_jobs_that_did(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 40)) as steered:
        await steered.until_shown("v3 down since")
        cluster = steered.main.known_cluster()
        day = Day().sampled(cluster.now_s - 60, 50, 100).sampled(cluster.now_s, 50, 100, Events(failed=3))
        page = "\n".join(texts(overview_rows(cluster, day, IdleHistory(), 80, 40)))
        assert "3 refused" in page
        assert "failed" not in page
