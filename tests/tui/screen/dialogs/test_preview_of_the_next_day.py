"""The later part of a preview: what a change does over the next day, computed beside the console while keys work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

from hooks.forecast.published_forecast import PublishedForecast
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.forecast.what_if_waits_before_and_after import Comparison, Fares, Side
from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import NOON_S, ScriptedBackend
from tui.forecast.forecast_in_background import BackgroundForecasts
from tui.state.cluster_view import ClusterView

QUOTA = "quota workq alice 100"


class Failing:
    """Forecasts for which no process can be made."""

    def __call__(self, cluster: ClusterView) -> PublishedForecast | None:
        return None

    def compare(self, cluster: ClusterView, after: ServerStatus) -> Iterator[tuple[Comparison, int]]:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    def stop(self) -> None:
        return


async def test_the_dialog_is_filled_in_with_the_next_day(backend: ScriptedBackend, audit: Path) -> None:
    forecasts = BackgroundForecasts(backend)
    async with open_console(backend, audit, size=(120, 50), forecasts=forecasts) as steered:
        await steered.press("u")
        await steered.command(QUOTA)
        await steered.until_shown("in the next pass", "over the next 24 h 00, 30 cases of drawn run times")
        assert "jobs preempted" in steered.text
        assert backend.lines == [], "nothing is sent before it is confirmed"
    # The poller's thread ends it, once its poll is over.
    begun_s = time.monotonic()
    while forecasts.is_busy and time.monotonic() < begun_s + 30:
        await asyncio.sleep(0.05)
    assert not forecasts.is_busy, "no process is left"


class Made(Failing):
    """Forecasts that know the outcome."""

    def compare(self, cluster: ClusterView, after: ServerStatus) -> Iterator[tuple[Comparison, int]]:
        fares = Fares(102, 36_000, 102)
        side = Side(1000.0, 12.0, 360_000.0, fares, {"alice": fares}, {"workq": fares})
        later = side._replace(all=Fares(102, 86_400, 95))
        yield Comparison(NOON_S, NOON_S + 86_400, 30, side, later), 0


async def test_a_row_of_the_next_day_is_one_line_on_eighty_cells(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, size=(80, 40), forecasts=Made()) as steered:
        await steered.press("u")
        await steered.command(QUOTA)
        await steered.until_shown("over the next 24 h 00")
        assert any("difference" in line and "starts" in line for line in steered.screen_lines), steered.text
        assert any("all that wait" in line and "102 → 95" in line for line in steered.screen_lines), steered.text


async def test_a_comment_changes_no_decision_and_forecasts_nothing(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, size=(120, 50), forecasts=Failing()) as steered:
        await steered.press("u")
        await steered.command("comment 13 text:ask the owner")
        await steered.until_shown("ask the owner", "no start, preemption or reservation of the next pass changes")
        assert "next 24 hours" not in steered.text


async def test_what_cannot_be_computed_is_a_line_and_the_change_can_be_made(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, size=(120, 50), forecasts=Failing()) as steered:
        await steered.press("u")
        await steered.command(QUOTA)
        await steered.until_shown("over the next 24 hours: BlockingIOError")
        await steered.press("a")
        await steered.until(lambda: backend.lines, "the change")


async def test_the_jobs_page_shows_the_own_forecast_once_it_is_made(backend: ScriptedBackend, audit: Path) -> None:
    forecasts = BackgroundForecasts(backend)
    async with open_console(backend, audit, size=(120, 50), forecasts=forecasts) as steered:
        main = steered.main
        while main.cluster is None or main.cluster.forecast is None or not main.cluster.forecast.is_whole:
            await steered.repoll()
        assert main.cluster.forecast.time_s == NOON_S
        await steered.command("job 13")
        await steered.until_shown("in half of the cases now", "by this console: 30 cases")
