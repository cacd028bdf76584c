"""The console in a real terminal on a testbed's server: started, unlocked, a change applied, its audit file read."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.pbs.cluster import PbsCluster
from tests.pbs.terminal import PATIENCE_S, Terminal, open_terminal

ROOT = Path(__file__).parents[3]
CONSOLE = "tui.cli.main"


@contextlib.contextmanager
def console(
    pbs: PbsCluster, state: Path, *options: str, before: Sequence[str] = (), cells: int = 110, lines: int = 36
) -> Iterator[Terminal]:
    """The console in a terminal, once it shows its first plan. Its audit file is below ``state``."""
    environment = [f"PYTHONPATH={ROOT}", f"XDG_STATE_HOME={state}", f"XDG_CONFIG_HOME={state}", "COLORTERM=truecolor"]
    argv = [*before, sys.executable, "-m", CONSOLE, "--interval", "1", *options]
    with open_terminal(pbs, argv, cells=cells, lines=lines, environment=environment) as terminal:
        terminal.wait_for("attention", "in use by")
        yield terminal


def audit(state: Path) -> list[dict[str, Any]]:
    file = state / "pbsteer" / "audit.jsonl"
    lines = file.read_text(encoding="ascii").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def stages(state: Path) -> list[str]:
    return [entry["stage"] for entry in audit(state)]


def wait_for_stages(pbs: PbsCluster, state: Path, *expected: str) -> None:
    """The screen may show a poll's news before the line that confirms the change has been written."""
    pbs.wait_until(lambda: len(stages(state)) >= len(expected), PATIENCE_S, f"{len(expected)} lines in the audit file")
    assert stages(state) == list(expected)


def short(job: str) -> str:
    return job.partition(".")[0]


def unlock(terminal: Terminal) -> None:
    terminal.press("u")
    terminal.wait_for("UNLOCKED")


def apply(terminal: Terminal, said: str, *foreseen: str) -> None:
    """Apply what an open dialog shows, once the dialog has foreseen this, and wait for the sentence about it."""
    terminal.wait_for(*foreseen, "a apply")
    terminal.press("a")
    terminal.wait_for(said)
