"""What needs somebody: told where it is so, not where passes only watch."""

from __future__ import annotations

import pytest

from policy import Ledger, Settings
from policy.model.allocation import Allocation
from policy.model.ledger import Earmark
from tests.tui.scripted import NOON_S, a_server_status, changed
from tui.pages.attention import attention
from tui.state.cluster_view import see
from tui.text.lines import plain


@pytest.mark.parametrize(("mode", "told"), [("drive", True), ("advise", True), ("observe", False)])
def test_cores_are_let_go_only_where_a_pass_acts(mode: str, told: bool) -> None:
    server_status = a_server_status()
    workq = {**server_status.queues["workq"], "resources_available.pbsteer_mode": mode}
    server_status = changed(server_status, queues={**server_status.queues, "workq": workq})
    ledger = Ledger(earmarks={"13.hpc1": Earmark(Allocation(()), ("11.hpc1",), NOON_S)})
    lines = [plain(line) for line in attention(see(server_status, Settings(), ledger, 0.1))]
    assert any(line.startswith("13 gets what 11 let go") for line in lines) is told
