"""The header in narrow terminals: what kind of server it is, whether changes are possible, and which server it is."""

from __future__ import annotations

import pytest

from tui.pages.header_line import Header, header_line
from tui.text.screen_line import plain


@pytest.mark.parametrize(
    ("production", "simulation", "unlocked_s", "shown"),
    [
        (False, "", 0.0, "READ-ONLY hpc1"),
        (True, "", 0.0, "PROD READ-ONLY hpc1"),
        (False, "×60", 0.0, "SIM READ-ONLY hpc1"),
        (True, "", 299.0, "PROD UNLOCKED hpc1"),
        (False, "", 299.0, "UNLOCKED 299 s hpc1"),
    ],
)
def test_the_server_is_named_on_a_line_of_twenty_cells(
    production: bool, simulation: str, unlocked_s: float, shown: str
) -> None:
    header = Header("hpc1", None, unlocked_s, 4.0, 0.0, "", simulation, production=production)
    line = plain(header_line(header, 20))
    assert len(line) == 20
    assert line.startswith(shown)


@pytest.mark.parametrize("cells", [*range(1, 60)])
def test_a_line_has_exactly_its_cells(cells: int) -> None:
    header = Header("hpc1", None, 0.0, 4.0, 0.0, "no route to host", "", production=True)
    assert len(plain(header_line(header, cells))) == cells


def test_words_are_whole_where_there_is_room() -> None:
    header = Header("hpc1", None, 299.0, 4.0, 0.0, production=True)
    assert plain(header_line(header, 34)).startswith("PRODUCTION UNLOCKED 299 s hpc1 ")
