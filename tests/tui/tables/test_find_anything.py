"""One search over all that has a name: what fits best comes first."""

from __future__ import annotations

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import a_job, a_server_status, with_job
from tui.state.cluster_view import see
from tui.tables.find_anything import Everything

EVERYTHING = Everything(
    see(with_job(a_server_status(), "113.hpc1", a_job("eve", 1, name="alice_test")), Settings(), Ledger(), 0.0)
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("alice", [("user", "alice"), ("job", "113")]),
        ("13", [("job", "13"), ("job", "113")]),
        ("RENDER", [("job", "13")]),
        ("v3", [("vnode", "v3")]),
        ("gp", [("queue", "gpu")]),
        ("", []),
        ("nosuch", []),
    ],
)
def test_names_and_ids_are_found_the_best_first(text: str, found: list[tuple[str, str]]) -> None:
    assert [(one.kind, one.shown) for one in EVERYTHING.find(text)] == found


def test_what_is_found_is_described() -> None:
    assert EVERYTHING.find("13")[0].about == "bob · render · 8 cores · queued"
    assert EVERYTHING.find("v3")[0].about == "offline"
    assert EVERYTHING.find("alice")[0].about == "2 jobs"
