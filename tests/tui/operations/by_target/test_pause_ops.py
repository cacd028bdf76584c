"""What ``pbsteer resume`` says of the next pass: it acts again only where nothing else pauses it."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.pbs.custom_resources import PAUSED_ATTRIBUTE
from policy import Ledger, Settings
from tests.tui.scripted_server import PBS, a_server_status, changed
from tests.tui.written_journal_and_audit import a_pass
from tui.backends.pass_journal import Pass, Passes
from tui.operations.by_target.pause_ops import resume
from tui.state.cluster_view import see
from tui.text.screen_line import plain

AGAIN = "the next pass starts and preempts again, as the modes say"
STAYS = "pbsteer stays paused: an administrator has set scheduling of the server to False"
MAY_STAY = f"{AGAIN}, unless an administrator has set scheduling of the server to False, as it is now"
ENDS = "qmgr -c 'set server scheduling = True' ends that pause"


@pytest.mark.parametrize(
    ("scheduling", "last", "words"),
    [
        ("True", {"stopped": False}, AGAIN),
        ("True", {"stopped": True}, AGAIN),
        ("False", {"stopped": True}, f"{STAYS}; {ENDS}"),
        ("False", {"stopped": False}, f"{MAY_STAY}; {ENDS}"),
        ("False", None, f"{MAY_STAY}; {ENDS}"),
    ],
)
def test_what_resume_says_of_the_next_pass(scheduling: str, last: dict[str, Any] | None, words: str) -> None:
    status = a_server_status()
    paused = changed(status, server={**status.server, PAUSED_ATTRIBUTE: "water", "scheduling": scheduling})
    entry = a_pass(5, **(last or {}))
    passes = Passes((Pass(entry["time_s"], entry),)) if last is not None else Passes()
    operation = resume(see(paused, Settings(), Ledger(), 0.1, passes=passes), PBS)
    assert [plain(line) for line in operation.notes] == [words]
