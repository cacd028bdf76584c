"""The page of evidence has the tables of each trace whose file is known, for each policy."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.figures.evidence_page import BEGIN, END, POLICIES
from sim.figures.evidence_traces import TRACES

PAGE = (Path(__file__).resolve().parents[2] / "docs/evidence.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("trace", [trace.file for trace in TRACES if trace.sha256])
def test_a_trace_has_three_tables_of_all_policies(trace: str) -> None:
    made = PAGE.partition(BEGIN)[2].partition(END)[0]
    section = made.partition(f"### {trace}\n")[2].partition("\n### ")[0]
    for policy in POLICIES:
        assert section.count(f"\n| `{policy}` |") == 3, policy
