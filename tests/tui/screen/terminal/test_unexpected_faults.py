"""An unexpected exception ends what it happened in and not the console, which says so and keeps the traceback."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tui.console_under_test import Steered, open_console
from tests.tui.operate_on_screen import confirm, look
from tests.tui.scripted_server import ScriptedBackend
from tui.screen.actions.dispatch_action import Dispatcher
from tui.screen.dialogs.help import HelpScreen
from tui.screen.terminal.unexpected_faults import MOST, WITHIN_S, Faults
from tui.screen.views.jobs import JobsView
from tui.screen.widgets.footer import Footer
from tui.screen.workers import operation_runner
from tui.screen.workers.background_lookups import Lookups

SIZE = (140, 40)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "state" / "console-faults.log"


def failing(*_: Any, **__: Any) -> Any:
    raise KeyError("job_state")


def failing_worker(lookups: Lookups) -> None:
    lookups._ask("trail", failing)


async def by_poll(steered: Steered) -> None:
    await steered.press("5")
    steered.main.poller.ask()


async def by_key(steered: Steered) -> None:
    await steered.press("r")


async def by_visit(steered: Steered) -> None:
    await steered.press("8")


async def by_time(steered: Steered) -> None:
    await steered.pilot.pause(1.2)


@pytest.mark.parametrize(
    ("owner", "method", "fault", "act"),
    [
        pytest.param(JobsView, "show", failing, by_poll, id="a view"),
        pytest.param(Dispatcher, "do", failing, by_key, id="an action"),
        pytest.param(Lookups, "trail", failing_worker, by_visit, id="a thread"),
        pytest.param(Footer, "age", failing, by_time, id="a timer"),
        pytest.param(JobsView, "render_line", failing, by_poll, id="painting"),
    ],
)
async def test_the_console_goes_on_and_keeps_the_traceback(
    backend: ScriptedBackend,
    audit: Path,
    kept: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    method: str,
    fault: Callable[..., Any],
    act: Callable[[Steered], Any],
) -> None:
    async with open_console(backend, audit, SIZE, faults=Faults(kept, elapsed=iter(range(0, 10**6, 60)).__next__)) as s:
        works, failed = getattr(owner, method), []

        def fails_once(*given: Any) -> Any:
            failed.append(given)
            return fault(*given) if len(failed) == 1 else works(*given)

        monkeypatch.setattr(owner, method, fails_once)
        await act(s)
        await s.until_shown("unexpected KeyError: please report ", "console-faults.log")
        await s.press("2")
        await s.until_shown("[2 queues")
        await s.repoll()
    text = kept.read_text()
    assert "Traceback" in text
    assert "in failing" in text
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


async def test_a_dialog_that_cannot_be_made_is_left(
    backend: ScriptedBackend, audit: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_console(backend, audit, SIZE, faults=Faults(kept)) as steered:
        monkeypatch.setattr(HelpScreen, "on_mount", failing, raising=False)
        await steered.press("question_mark")
        await steered.until_shown("unexpected KeyError")
        assert steered.console.screen is steered.main
        await steered.press("5")
        assert steered.main.view_name == "jobs"


async def test_an_operation_that_fails_unexpectedly_has_ended_and_says_what_is_not_known(
    backend: ScriptedBackend, audit: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_console(backend, audit, SIZE, faults=Faults(kept)) as steered:
        monkeypatch.setattr(operation_runner, "make_all", failing)
        await steered.press("u")
        await look(steered, "hold 13")
        await confirm(steered)
        await steered.until(lambda: kept.exists() and steered.main.runner.busy is None, "the end of the operation")
        assert not steered.main.runner.can_undo
        await steered.command("messages")
        await steered.until_shown("not known what became of it: KeyError: 'job_state'")


async def test_without_a_file_a_fault_ends_the_console(
    backend: ScriptedBackend, audit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyError, match="job_state"):
        async with open_console(backend, audit, SIZE) as steered:
            monkeypatch.setattr(JobsView, "show", failing)
            await steered.pilot.press("5")
            await steered.pilot.pause()


def test_faults_that_do_not_stop_are_too_many(kept: Path) -> None:
    now_s = 0.0
    faults = Faults(kept, elapsed=lambda: now_s)
    assert all(faults.note(KeyError(number)) for number in range(MOST))
    assert faults.note(KeyError("more")) == ""
    now_s = WITHIN_S
    assert faults.note(KeyError("later"))


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_nothing_is_written_to_what_is_no_file_of_ones_own(tmp_path: Path, kind: str) -> None:
    path, victim = tmp_path / "console-faults.log", tmp_path / "victim"
    victim.write_text("kept")
    if kind == "link":
        path.symlink_to(victim)
    else:
        os.mkfifo(path)
    assert f"{path}: not written" in Faults(path).note(KeyError("x"))
    assert victim.read_text() == "kept"


def test_no_text_of_a_user_reaches_the_terminal_of_whoever_reads_the_file(kept: Path) -> None:
    Faults(kept).note(ValueError("a job named \x1b[2J\udc80\n2026-01-01T00:00:00 not an entry"))
    text = kept.read_bytes().decode()
    assert "a job named \\x1b[2J\\udc80\n  2026-01-01" in text
    assert text.replace("\n", "").isprintable()
