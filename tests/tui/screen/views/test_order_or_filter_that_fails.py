"""A table that cannot be ordered or filtered as asked goes on as before, whatever its rows say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.console_under_test import Steered, open_console
from tests.tui.scripted_server import ScriptedBackend, a_job, with_job
from tui.screen.terminal.unexpected_faults import Faults
from tui.screen.views.bases import base_table_view
from tui.tables import attribute_columns
from tui.user.user_preferences import Layout


async def shows_the_next_poll(steered: Steered, backend: ScriptedBackend, name: str) -> bool:
    backend.set_job("11.hpc1", Job_Name=name)
    await steered.repoll()
    await steered.until_shown(name)
    return True


async def test_a_job_with_a_number_of_thousands_of_digits_is_sorted_and_filtered(
    backend: ScriptedBackend, audit: Path
) -> None:
    long = a_job("zoe", 1, **{"Resource_List.software": "9" * 5000})
    backend.server_status = with_job(backend.server_status, "18.hpc1", long)
    async with open_console(backend, audit, (140, 30)) as steered:
        await steered.press("5")
        await steered.command("sort resource_list.software")
        assert await shows_the_next_poll(steered, backend, "first")
        await steered.command("filter resource_list.software:999")
        assert "jobs · 1 of " in steered.title


@pytest.mark.parametrize("at_once", [5000, 0])
async def test_an_order_or_filter_that_fails_is_taken_back(
    backend: ScriptedBackend, audit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    def fail(text: str | None) -> str:
        raise ArithmeticError(text)

    monkeypatch.setattr(attribute_columns, "value_of", fail)
    monkeypatch.setattr(base_table_view, "_AT_ONCE", at_once)
    async with open_console(backend, audit, (140, 30), faults=Faults(tmp_path / "faults")) as steered:
        await steered.press("5")
        await steered.command("filter user:alice")
        view = steered.main.view
        assert isinstance(view, base_table_view.TableView)
        for command, name in (("sort job_owner", "first"), ("filter job_owner:zoe", "second")):
            await steered.command(command)
            await steered.until_shown("unexpected ArithmeticError")
            assert view.layout_chosen == Layout()
            assert view.filter_text == "user:alice"
            assert await shows_the_next_poll(steered, backend, name)
