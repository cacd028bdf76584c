"""What stopping a queue means for its jobs names the command that lets them start again, as it is typed there."""

from __future__ import annotations

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import PBS, a_server_status
from tui.operations.operation_registry import BY_NAME, Order
from tui.operations.operation_type_and_preview import COMMAND_LINE
from tui.state.cluster_view import see
from tui.text.screen_line import plain


@pytest.mark.parametrize(
    ("order", "command"),
    [(Order(("workq",)), ":start workq"), (Order(("workq",), "", "", COMMAND_LINE), "pbsteer do start workq")],
)
def test_the_note_names_the_command_that_is_typed_there(order: Order, command: str) -> None:
    operation = BY_NAME["stop"].operation(see(a_server_status(), Settings(), Ledger(), 0.1), PBS, order)
    assert [plain(line) for line in operation.notes] == [f"12 jobs that wait in workq cannot start until {command}"]
