"""A refresh never moves the cursor or the marks to another row: what is typed before it was seen acts on nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.console_under_test import open_console
from tests.tui.operate_on_screen import confirm, look
from tests.tui.scripted_server import ScriptedBackend, a_job, a_vnode, changed, with_job


def end(backend: ScriptedBackend, job_id: str) -> None:
    jobs = {each: texts for each, texts in backend.server_status.jobs.items() if each != job_id}
    backend.server_status = changed(backend.server_status, jobs=jobs)


async def test_keys_typed_as_the_job_under_the_cursor_ends_act_on_no_other(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (140, 30)) as steered:
        await steered.press("u", "5")
        await steered.put_cursor_on("13.hpc1")
        end(backend, "13.hpc1")
        await steered.repoll()
        assert "13 is gone" in steered.title
        await steered.command("hold")
        assert "hold: 13 is no longer there: move the cursor first" in steered.text
        await steered.press("a", "h", "a")
        await steered.press("space", "enter", "y")
        assert steered.main.view_name == "jobs" and "marked" not in steered.text
        assert backend.lines == []


@pytest.mark.parametrize(("key", "name"), [("j", "14.hpc1"), ("k", "12.hpc1")])
async def test_from_where_the_job_was_the_cursor_goes_to_the_row_below_or_above(
    backend: ScriptedBackend, audit: Path, key: str, name: str
) -> None:
    async with open_console(backend, audit, (140, 30)) as steered:
        await steered.press("5")
        await steered.command("sort id")
        await steered.put_cursor_on("13.hpc1")
        end(backend, "13.hpc1")
        await steered.repoll()
        await steered.press(key)
        assert steered.main.view.cursor_name == name
        assert "is gone" not in steered.title


async def test_the_cursor_is_on_its_job_again_when_that_comes_back(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (140, 30)) as steered:
        await steered.press("5")
        await steered.command("filter state:R")
        await steered.put_cursor_on("12.hpc1")
        running = dict(backend.server_status.jobs["12.hpc1"])
        backend.set_job("12.hpc1", job_state="E")
        await steered.repoll()
        assert "12 is gone" in steered.title, "it passes the filter no longer"
        backend.set_job("12.hpc1", **running)
        await steered.repoll()
        assert steered.main.view.cursor_name == "12.hpc1" and "is gone" not in steered.title


async def test_a_filter_of_ones_own_moves_the_cursor(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (140, 30)) as steered:
        await steered.press("5", "g")
        await steered.command("filter user:bob")
        assert steered.main.view.chosen == ("13.hpc1",)
        await steered.press("1", "5")
        assert steered.main.view.chosen == ("13.hpc1",)


async def test_when_all_marked_jobs_have_ended_an_operation_is_not_for_the_row_under_the_cursor(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (140, 30)) as steered:
        await steered.press("u", "5")
        await steered.put_cursor_on("13.hpc1")
        await steered.press("space")
        await steered.put_cursor_on("14.hpc1")
        end(backend, "13.hpc1")
        await steered.repoll()
        assert "what was marked is gone" in steered.title
        await steered.command("hold")
        assert "hold: what was marked is no longer there: move the cursor first" in steered.text
        await steered.press("a", "h", "a")
        assert backend.lines == []
        await steered.put_cursor_on("14.hpc1")
        await look(steered, "hold")
        await confirm(steered)
        await steered.until_shown("hold 14: done")


async def test_marks_that_a_filter_hides_are_acted_on_where_it_leaves_no_row(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (140, 40)) as steered:
        await steered.press("u", "5")
        await steered.put_cursor_on("13.hpc1")
        await steered.press("space")
        await steered.command("filter user:erin")
        await steered.press("a")
        assert "13 bob" in steered.text


async def test_the_quota_under_the_cursor_is_not_changed_to_another_users(
    backend: ScriptedBackend, audit: Path
) -> None:
    backend.server_status = with_job(backend.server_status, "18.hpc1", a_job("zoe", 1))
    async with open_console(backend, audit, (140, 30)) as steered:
        await steered.press("u", "6")
        await steered.put_cursor_on("zoe")
        end(backend, "18.hpc1")
        await steered.repoll()
        await steered.press("e")
        assert "edit: zoe is no longer there: move the cursor first" in steered.text


async def test_on_the_overview_what_is_gone_leaves_the_cursor_on_nothing(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (140, 40)) as steered:
        await steered.press("g")
        while "v3" not in steered.main.view.chosen:
            await steered.press("j")
        backend.server_status = changed(
            backend.server_status, vnodes={**backend.server_status.vnodes, "v3": a_vnode(8, 0)}
        )
        await steered.repoll()
        assert not steered.main.view.chosen
        await steered.press("a")
        assert "act: what was under the cursor is no longer there: move the cursor first" in steered.text
        await steered.press("enter")
        assert steered.main.view_name == "overview"
        await steered.press("j")
        assert steered.main.view.cursor_name is not None
