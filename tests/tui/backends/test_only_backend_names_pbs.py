"""A second manager is one folder: only backends/pbs and the pages about PBS name PBS's programs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tui

ROOT = Path(tui.__file__).parent
PROGRAMS = re.compile(r"\b(qmgr|qstat|qsub|qhold|qrls|qdel|qrerun|qmove|qalter|qsig|qrun|qterm|pbsnodes)\b")


@pytest.mark.parametrize("folder", ["operations", "screen", "cli", "state", "tables", "model", "user"])
def test_no_program_of_pbs_is_named(folder: str) -> None:
    named = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if PROGRAMS.search(line)
    ]
    assert named == []
