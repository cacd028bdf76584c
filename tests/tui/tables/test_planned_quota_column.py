"""Planned quotas in the quotas view: a column where there are any, the first of each user, and scopes of their own."""

from __future__ import annotations

from pathlib import Path

from hooks.quota_plan.published_quota_plan import PublishedPlan, ShownQuota
from hooks.quota_plan.quota_plan_files import QUOTA_PLAN_SHOWN
from hooks.store.state_files import State
from policy import Ledger, Settings
from policy.quota_plan.planned_quotas import LimitKey, PlannedQuota
from tests.tui.scripted_server import NOON_S, a_server_status
from tui.backends.pass_journal import JournalReader
from tui.state.cluster_view import ClusterView, see
from tui.state.typed_quota_scope_and_resource import quota_scopes
from tui.tables.columns_by_view.quota_rows_and_columns import quota_columns, quota_rows, show_planned
from tui.text.screen_line import plain
from tui.text.times_and_durations import day_and_time

HOUR_S = 3600.0


def planned(
    number: int, begin: float, end: float, limit: LimitKey, state: str = "planned", why: str = ""
) -> ShownQuota:
    return ShownQuota(PlannedQuota(number, limit, 64, NOON_S + begin * HOUR_S, NOON_S + end * HOUR_S), state, why, 8)


def seen(folder: Path, *quotas: ShownQuota) -> ClusterView:
    """The cluster with these as the passes have published them."""
    folder.mkdir(exist_ok=True)
    State(folder).publish(QUOTA_PLAN_SHOWN, PublishedPlan(quotas).to_data(), shared=True)
    return see(a_server_status(), Settings(), Ledger(), 0.1, passes=JournalReader(folder).read())


ALICE = LimitKey("workq", "ncpus", ("u", "alice"))
AT = {hours: day_and_time(NOON_S + hours * HOUR_S, 0) for hours in range(-1, 9)}


def test_a_column_has_what_is_planned_and_the_rows_whoever_has_nothing_else(tmp_path: Path) -> None:
    zoe = ALICE._replace(entity=("u", "zoe"))
    cluster = seen(
        tmp_path / "pbsteer",
        planned(1, 4, 5, ALICE),
        planned(2, -1, 3, ALICE, "in force"),
        planned(3, 6, 7, zoe._replace(resource="user_priority"), "planned"),
        planned(4, -1, 1, zoe._replace(entity=("u", "old")), "over"),
    )
    rows = quota_rows(cluster, "workq")
    (column,) = [column for column in quota_columns(rows, 120) if column.name == "planned"]
    shown = {entity[1]: plain(column.show(entity)) for entity in rows if column.show(entity)}
    assert shown == {"alice": f"until {AT[3]} +1", "zoe": f"prio 64 {AT[6]} – {AT[7]}"}
    assert ("u", "old") not in rows
    assert "planned" not in [column.name for column in quota_columns(quota_rows(cluster, "gpu"), 120)]


def test_an_entry_that_waits_says_so(tmp_path: Path) -> None:
    waiting = planned(1, -1, 3, ALICE, "waits", "queue workq is in observe")
    assert show_planned([waiting]) == f"64 {AT[-1]} – {AT[3]} (waits)"


def test_a_resource_or_the_server_with_planned_quotas_alone_is_a_scope(tmp_path: Path) -> None:
    folder = tmp_path / "pbsteer"
    usual = quota_scopes(seen(folder))
    licences, server = ALICE._replace(resource="licences"), ALICE._replace(queue="")
    found = quota_scopes(seen(folder, planned(1, 1, 2, licences), planned(2, 1, 2, server)))
    assert set(found) - set(usual) == {"workq:licences", "@server"}


def test_what_another_version_has_published_is_left_out(tmp_path: Path) -> None:
    for data in ({"quotas": [{}, 7, None]}, {"quotas": 7}, {"problem": 3}, {}):
        assert PublishedPlan.from_data(data).quotas == ()
