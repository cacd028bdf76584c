"""Quotas of the server and of several resources: how they are named, shown, changed and warned about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy import Ledger, Settings
from tests.tui.scripted_server import PBS, a_server_status
from tui.backends.interface.commands_interface import ChangeError
from tui.operations.by_target.soft_quota_priority_and_import_ops import check_scope, set_quota
from tui.operations.status_edits_for_preview import edit_queue, edit_server
from tui.pages.cluster.needs_attention import attention
from tui.state.cluster_view import ClusterView, see
from tui.state.typed_quota_scope_and_resource import quota_scopes
from tui.tables.columns_by_view.quota_rows_and_columns import quota_rows
from tui.text.screen_line import plain

SOFT = "max_run_res_soft"


def cluster(of_server: dict[str, str] | None = None, of_queue: dict[str, str] | None = None) -> ClusterView:
    server_status: ServerStatus = edit_server(
        a_server_status(), {f"{SOFT}.{name}": text for name, text in (of_server or {}).items()}
    )
    texts = {f"{SOFT}.{name}": text for name, text in (of_queue or {}).items()}
    return see(edit_queue(server_status, "workq", texts), Settings(), Ledger(), 0.0)


def test_every_queue_is_one_and_what_has_further_quotas() -> None:
    plain_cluster = cluster()
    assert "workq" in quota_scopes(plain_cluster)
    assert not [scope for scope in quota_scopes(plain_cluster) if "@" in scope or ":" in scope]
    seen = cluster(
        {"ngpus": "[u:alice=2]", "ncpus": "[u:alice=8]"}, {"ngpus": "[u:bob=1]", "user_priority": "[u:bob=1]"}
    )
    assert [scope for scope in quota_scopes(seen) if scope != "express"] == [
        *(["workq", "workq:ngpus"]),
        *(scope for scope in quota_scopes(plain_cluster) if scope not in ("workq", "express")),
        "@server",
        "@server:ngpus",
    ]


@pytest.mark.parametrize("text", ["nowhere", "nowhere:ngpus", "server", ""])
def test_what_is_no_scope_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(ChangeError, match="@server"):
        check_scope(cluster(), text)


@pytest.mark.parametrize(
    ("scope", "line"),
    [
        ("@server", "qmgr -c 'set server max_run_res_soft.ncpus += [u:alice=64]'"),
        ("@server:ngpus", "qmgr -c 'set server max_run_res_soft.ngpus += [u:alice=64]'"),
        ("workq:ngpus", "qmgr -c 'set queue workq max_run_res_soft.ngpus += [u:alice=64]'"),
    ],
)
def test_the_command_names_the_server_and_the_resource(scope: str, line: str) -> None:
    seen = cluster()
    operation = set_quota(seen, PBS, scope, ("u", "alice"), 64)
    (change,) = operation.changes
    assert change.line == line
    after = see(operation.edit(seen.server_status), Settings(), Ledger(), 0.0)
    assert quota_rows(after, scope)["u", "alice"].quota == 64


def test_the_rows_of_the_server_add_up_those_of_all_queues() -> None:
    seen = cluster({"ncpus": "[u:PBS_GENERIC=5]"})
    rows = quota_rows(seen, "@server")
    for (kind, name), row in rows.items():
        if kind == "u" and name != "PBS_GENERIC":
            used = sum(use.cores for (_, user), use in seen.counts.users.items() if user == name)
            assert (row.use.cores, row.quota) == (used, 5)
    assert any(row.use.cores for row in rows.values())


def test_too_much_for_the_whole_cluster_is_reported() -> None:
    told = [plain(line) for line in attention(cluster({"ncpus": "[u:alice=16],[u:bob=16]"}))]
    assert "quotas of users of the whole cluster add up to 32 of 24 ncpus" in told


def test_priorities_stand_on_queues_alone() -> None:
    with pytest.raises(ChangeError, match="priorities stand on queues"):
        set_quota(cluster(), PBS, "@server", ("u", "alice"), 3, "user_priority")


def test_a_world_without_a_decision_shows_what_jobs_asked_for() -> None:
    seen = replace(cluster(), decision=None)
    assert quota_rows(seen, "workq")
