"""Numbers of a CSV row are written the same, whether they were whole from the start or were worked out."""

from __future__ import annotations

import math

from sim.report.csv_numbers import plain


def test_whole_numbers_have_no_decimal_point_and_others_keep_theirs() -> None:
    row = plain((3600.0, 3600, 0.5, None, "n1", True, math.inf))
    assert row == [3600, 3600, 0.5, None, "n1", True, math.inf]
    assert [str(value) for value in row[:3]] == ["3600", "3600", "0.5"]
