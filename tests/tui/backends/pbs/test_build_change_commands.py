"""Texts that qmgr cannot carry: what replaces one is sent, and there is no undo that would be a malformed line."""

from __future__ import annotations

import pytest

from tests.tui.scripted_server import PBS
from tui.backends.interface.commands_interface import Target

UNQUOTABLE = ('it\'s "slow"', "two\nlines")
QUEUE = Target("queue", "workq")


@pytest.mark.parametrize("comment", UNQUOTABLE)
def test_a_comment_that_cannot_be_written_again_leaves_no_undo(comment: str) -> None:
    for change in (
        PBS.set_offline("v1", {"state": "free", "comment": comment}, "fan 2"),
        PBS.set_in_use("v1", {"state": "offline", "comment": comment}, ""),
        PBS.set_attribute(QUEUE, {"comment": comment}, "comment", "closed", "none"),
    ):
        assert change.undo() is None


@pytest.mark.parametrize("comment", ["", "slow", 'is "slow"', "it's slow"])
def test_a_comment_that_can_be_written_again_comes_back(comment: str) -> None:
    undo = PBS.set_offline("v1", {"state": "free", "comment": comment}, "fan 2").undo()
    assert undo is not None
    quote = "'" if '"' in comment else '"'
    assert undo.argv[2] == f"set node v1 state -= offline, comment = {quote}{comment}{quote}"


@pytest.mark.parametrize("comment", UNQUOTABLE)
def test_a_comment_that_stays_as_it_is_hinders_no_undo(comment: str) -> None:
    undo = PBS.set_offline("v1", {"state": "free", "comment": comment}).undo()
    assert undo is not None
    assert undo.argv == ("qmgr", "-c", "set node v1 state -= offline")
