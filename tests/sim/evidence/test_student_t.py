"""Student's t, beside the printed tables."""

from __future__ import annotations

import pytest

from sim.evidence.student_t import student_t


@pytest.mark.parametrize(
    ("degrees", "t"), [(1, 12.706), (20, 2.086), (21, 2.080), (30, 2.042), (60, 2.000), (999, 1.962)]
)
def test_students_t_is_that_of_the_tables(degrees: int, t: float) -> None:
    assert student_t(degrees) == pytest.approx(t, abs=0.0006)
