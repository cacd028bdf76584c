"""What a change does over the next day, as lines: rows that fit a dialog on 80 cells, and none about no jobs."""

from __future__ import annotations

from policy.forecast.what_if_waits_before_and_after import Comparison, Fares, Side
from tui.pages.plan.what_if_page import what_if_lines
from tui.text.screen_line import plain, width

IN_DIALOG = 76
"""Cells of a line in a dialog on 80."""


def a_side(jobs: int, wait_s: float) -> Side:
    fares = Fares(jobs, wait_s, float(jobs))
    return Side(1000.0, 12.0, 360_000.0, fares, {"u" * 30: fares}, {"workq": fares})


def page_lines(jobs: int, wait_s: float, then_s: float) -> list[str]:
    found = Comparison(0.0, 86400.0, 30, a_side(jobs, wait_s), a_side(jobs, then_s), left_out=123_456)
    return [plain(line) for line in what_if_lines(found, 0)]


def test_each_row_fits_a_dialog_on_eighty_cells() -> None:
    rows = [line for line in page_lines(1021, 36_000, 90_000) if line.startswith("  ")]
    assert any("1,021 → 1,021" in row for row in rows)
    assert [row for row in page_lines(102, 36_000, 90_000) if row.startswith("  ") and width(row) > IN_DIALOG] == []


def test_where_no_other_job_waits_there_is_no_row_about_waits() -> None:
    lines = page_lines(0, 0, 0)
    assert "  no other job waits" in lines
    assert not any("all that wait" in line or "waits longer" in line for line in lines)
    assert any(line.startswith("  idle cores, mean") for line in lines)
