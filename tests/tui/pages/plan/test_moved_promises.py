"""What is told of promises that moved: never that a job is late by nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policy import Ledger, Settings
from policy.model.ledger_between_passes import Moved
from tests.tui.scripted_server import NOON_S, a_server_status
from tui.pages.plan.moved_promises import moved_lines
from tui.state.cluster_view import see
from tui.text.screen_line import plain


@pytest.mark.parametrize(
    ("promised_s", "said"),
    [
        (NOON_S + 600, "none of them after its first promise"),
        (NOON_S + 900, "the latest 5 min after its first promise"),
    ],
)
def test_the_latest_is_told_only_where_one_is_late(promised_s: float, said: str) -> None:
    cluster = see(a_server_status(), Settings(), Ledger(), 0.1)
    cluster = replace(
        cluster, ledger=Ledger(promises={"13.hpc1": promised_s}, moved={"13.hpc1": Moved(NOON_S + 600, 1, "9.hpc1")})
    )
    (line,) = moved_lines(cluster)
    assert plain(line).endswith(f"1 of these jobs still wait, {said}")
