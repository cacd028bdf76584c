"""An operation from the screen, step by step as somebody does it: unlock, look at what it would do, confirm; and what
the audit file has of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.tui.console_under_test import Steered, open_console
from tests.tui.scripted_server import ScriptedBackend
from tui.screen.dialogs.operation_dialog import OperationDialog


async def look(steered: Steered, command: str) -> None:
    """Open a dialog by command and wait for its preview."""
    await steered.command(command)
    assert isinstance(steered.console.screen, OperationDialog), steered.text
    await steered.until(lambda: "working out" not in steered.text, "the preview")


@asynccontextmanager
async def looking(backend: ScriptedBackend, audit: Path, command: str, **options: Any) -> AsyncIterator[Steered]:
    """An unlocked console that shows what the command would do."""
    async with open_console(backend, audit, (140, 40), **options) as steered:
        await steered.press("u", *(["y"] if steered.main.runner.is_production else []))
        await look(steered, command)
        yield steered


async def confirm(steered: Steered, typed: str = "") -> None:
    """Apply what the dialog shows; ``typed`` is what it asks for, if anything."""
    await steered.press("a")
    if typed:
        await steered.type(typed)


async def undo(steered: Steered, typed: str = "") -> None:
    """Undo the last change as any change is made: seen with its preview, then confirmed."""
    await steered.press("z")
    assert isinstance(steered.console.screen, OperationDialog), steered.text
    await steered.until(lambda: "working out" not in steered.text, "the preview")
    await confirm(steered, typed)


def stages(audit: Path) -> list[str]:
    """The stages of all changes in the audit file, in order."""
    return [json.loads(line)["stage"] for line in audit.read_text().splitlines()]
