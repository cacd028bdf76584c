"""The row of the last passes: each by what it did, the shown one marked, and the cells that lead to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tui.backends.pass_journal import Pass
from tui.pages.plan.row_of_passes import row_of_passes
from tui.text.screen_line import plain, width

BEGIN_S = 1_772_442_000.0


def a_pass(minute: int, **data: Any) -> Pass:
    return Pass(BEGIN_S + 60 * minute, data)


STARTED: Mapping[str, Any] = {"starts": [{"job": "1.h", "queue": "workq"}], "started": ["1.h"], "acted": ["workq"]}
PREEMPTED: Mapping[str, Any] = {
    "preempts": [{"job": "2.h", "queue": "workq"}],
    "preempted": ["2.h"],
    "acted": ["workq"],
}
SIX = [
    a_pass(0),
    a_pass(1, **STARTED),
    a_pass(2, **{**STARTED, **PREEMPTED}),
    a_pass(3, **STARTED, failures=["qrun 1: no"]),
    a_pass(4, starts=STARTED["starts"], started=[], acted=[]),
    a_pass(5, preempts=PREEMPTED["preempts"], preempted=[], acted=[]),
]


def test_a_cell_has_the_gravest_that_its_pass_did_and_what_was_not_done_is_dim() -> None:
    row = row_of_passes(SIX, 6, 78)
    assert plain(row.line).startswith("09:00 ·▄█!▄█ 09:05 next")
    assert [role for text, role in row.line[1:7]] == ["dim", "good", "warn", "bad", "dim", "dim"]
    assert dict(row.line)["next"] == "cursor"


def test_the_pass_that_is_shown_is_marked() -> None:
    row = row_of_passes(SIX, 2, 78)
    assert [index for index, (_, role) in enumerate(row.line[1:7]) if "cursor" in role] == [2]


@pytest.mark.parametrize("shown", [0, 3, 6])
def test_each_cell_leads_to_its_pass_and_the_last_word_to_the_next_one(shown: int) -> None:
    row = row_of_passes(SIX, shown, 78)
    text = plain(row.line)
    assert [row.index_at(x) for x in range(len("09:00 "), len("09:00 ·▄█!▄█"))] == [0, 1, 2, 3, 4, 5]
    assert row.index_at(text.index("next")) == row.index_at(text.index("next") + 3) == 6
    assert {row.index_at(x) for x in (0, 5, 13, text.index("next") + 4, 77)} == {None}


@pytest.mark.parametrize("cells", [20, 38, 78, 118, 298])
@pytest.mark.parametrize("shown", [0, 100, 239, 240])
def test_of_more_than_fit_those_around_the_shown_one_are_in_the_row(cells: int, shown: int) -> None:
    many = [a_pass(minute, **STARTED) for minute in range(240)]
    row = row_of_passes(many, shown, cells)
    assert width(plain(row.line)) <= cells
    assert row.first <= shown <= row.first + row.passes
    assert sum("cursor" in role for _, role in row.line) == 1
    assert (row.next_x is None) == (row.first + row.passes < 240)
