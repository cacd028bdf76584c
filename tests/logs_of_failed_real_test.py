"""What a real server leaves behind where a test of it fails: the ends of its logs and of pbsteer's journal, put in the
test's report.

The testbed is swept for the next test and taken down at the end, so its logs are gone then.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

LOGS = ("server_logs", "mom_logs", "sched_logs")
LINES, JOURNAL_LINES, WIDTH = 40, 12, 1500


def add_logs(item: pytest.Item, report: pytest.TestReport) -> None:
    """Add the ends of the logs of each testbed that the test has used to a report of a failure."""
    used = getattr(item, "funcargs", {}).values()
    folders = {value.testbed.folder for value in used if isinstance(getattr(value, "server_home", None), Path)}
    for folder in sorted(folders):
        for path in sorted(find_logs(folder)):
            lines = JOURNAL_LINES if path.suffix == ".jsonl" else LINES
            report.sections.append((f"the end of {path.relative_to(folder)}", end_of(path, lines)))


def find_logs(folder: Path) -> Iterator[Path]:
    """The newest log of each daemon of a testbed, and the newest journal."""
    for home in (*folder.glob("*/pbs_home"), *folder.glob("*/spool/torque")):
        for kind in (*(f"{name}/*" for name in LOGS), "pbsteer/journal-*"):
            yield from sorted(home.glob(kind), key=lambda path: path.stat().st_mtime)[-1:]


def end_of(path: Path, lines: int) -> str:
    """The last lines of a file, each of at most ``WIDTH`` characters."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return "\n".join(line[:WIDTH] for line in text.splitlines()[-lines:])
