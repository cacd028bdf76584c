"""Marks in the plan are of jobs: those that a filter or a folded part hides count, and a part stands for its jobs."""

from __future__ import annotations

from pathlib import Path

from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import ScriptedBackend, a_job, with_job


def with_two_that_never_fit(backend: ScriptedBackend) -> None:
    backend.server_status = with_job(backend.server_status, "18.hpc1", a_job("zoe", 100))


async def test_an_operation_is_for_the_marked_jobs_also_where_a_filter_hides_them(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (140, 40)) as steered:
        await steered.press("u", "7")
        await steered.command("filter user:carol")
        await steered.press("asterisk")
        await steered.command("filter user:dave")
        assert "2 marked, 2 of them hidden by the filter" in steered.title
        assert set(steered.main.view.chosen) == {"14.hpc1", "15.hpc1"}
        await steered.command("filter user:erin")
        assert set(steered.main.view.chosen) == {"14.hpc1", "15.hpc1"}, "no row is left, the marks are"


async def test_a_marked_part_stands_for_its_jobs(backend: ScriptedBackend, audit: Path) -> None:
    with_two_that_never_fit(backend)
    async with open_console(backend, audit, (140, 40)) as steered:
        await steered.press("u", "7")
        await steered.put_cursor_on("leaves waiting never-fits")
        await steered.press("space")
        assert "2 marked" in steered.title
        assert set(steered.main.view.chosen) == {"14.hpc1", "18.hpc1"}
        assert any("* ▸ leaves waiting" in line for line in steered.screen_lines)
        await steered.command("priority 5")
        await steered.until_shown("priority of 2 jobs")
        await steered.press("escape")
        await steered.put_cursor_on("leaves waiting never-fits")
        await steered.press("x")
        await steered.put_cursor_on("18.hpc1")
        await steered.press("space")
        assert steered.main.view.chosen == ("14.hpc1",)
        assert any("- ▾ leaves waiting" in line for line in steered.screen_lines), "a part of them is marked"


async def test_marks_stay_where_a_part_folds_and_a_part_without_jobs_marks_nothing(
    backend: ScriptedBackend, audit: Path
) -> None:
    with_two_that_never_fit(backend)
    async with open_console(backend, audit, (140, 40)) as steered:
        await steered.press("7")
        await steered.command("filter user:zoe")
        await steered.press("asterisk", "escape")
        assert "1 marked" in steered.title, "its part is folded"
        await steered.repoll()
        assert steered.main.view.chosen == ("18.hpc1",)
        await steered.press("g", "space")
        assert steered.main.view.chosen == ("18.hpc1",), "nothing starts"


async def test_mark_and_cursor_follow_a_job_that_waits_for_another_reason_now(
    backend: ScriptedBackend, audit: Path
) -> None:
    with_two_that_never_fit(backend)
    async with open_console(backend, audit, (140, 40)) as steered:
        await steered.press("7")
        await steered.command("filter user:zoe")
        await steered.press("space")
        before = steered.main.view.table.cursor  # type: ignore[attr-defined]
        backend.set_job("18.hpc1", job_state="H", Hold_Types="u")
        await steered.repoll()
        cursor = steered.main.view.table.cursor  # type: ignore[attr-defined]
        assert cursor.job_id == "18.hpc1" and cursor.code != before.code
        assert steered.main.view.chosen == ("18.hpc1",) and "1 marked" in steered.title
