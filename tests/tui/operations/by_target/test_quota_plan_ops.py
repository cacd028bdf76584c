"""A change of the plan: made only on the plan that was seen, whole or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hooks.quota_plan.quota_plan_files import QUOTA_PLAN, read_plan, write_plan
from hooks.store.state_files import State
from policy import Ledger, Settings
from policy.quota_plan.planned_quotas import LimitKey, PlannedQuota
from tests.tui.scripted_server import NOON_S, a_server_status
from tui.audit.audit_file import Actor, AuditLog
from tui.backends.interface.commands_interface import ChangeError
from tui.operations.by_target.quota_plan_ops import PlanFolder, plan_quotas, withdraw_quotas
from tui.operations.compare_and_set import make
from tui.state.cluster_view import ClusterView, see

DAY_S = 86400.0


def entry(number: int, from_days: float, until_days: float) -> PlannedQuota:
    limit = LimitKey("workq", "ncpus", ("u", "alice"))
    return PlannedQuota(number, limit, 8, NOON_S + from_days * DAY_S, NOON_S + until_days * DAY_S, "olga")


@pytest.fixture
def cluster() -> ClusterView:
    return see(a_server_status(), Settings(), Ledger(), 0.1)


def test_a_plan_that_somebody_changed_meanwhile_is_not_overwritten(cluster: ClusterView, tmp_path: Path) -> None:
    state, audit = State(tmp_path), AuditLog(tmp_path / "audit", Actor("root", "here"), "hpc1")
    operation, after = plan_quotas(cluster, (), [entry(1, 1, 2)], "t.csv", replace=False, kept=())
    write_plan(state, [entry(7, 5, 6)])
    (change,) = operation.changes
    outcome = make(PlanFolder(state, after), change, audit, lambda: NOON_S)
    assert not outcome.ok
    assert "it was changed meanwhile, look again" in outcome.text
    assert read_plan(state) == (entry(7, 5, 6),)
    assert [each["stage"] for each in audit.entries()] == ["refused"]


def test_a_disk_that_does_not_take_the_plan_leaves_the_one_before(
    cluster: ClusterView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, audit = State(tmp_path), AuditLog(tmp_path / "audit", Actor("root", "here"), "hpc1")
    write_plan(state, [entry(1, 1, 2)])
    operation, after = withdraw_quotas(cluster, read_plan(state), [1], all_of_them=False)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hooks.store.state_files.replace_file", full)
    outcome = make(PlanFolder(state, after), operation.changes[0], audit, lambda: NOON_S)
    assert (outcome.ok, "No space left on device" in outcome.text) == (False, True)
    assert read_plan(state) == (entry(1, 1, 2),)
    assert [path.name for path in tmp_path.iterdir() if "plan" in path.name] == [QUOTA_PLAN]


def test_what_was_over_for_a_month_is_dropped_with_the_next_change(cluster: ClusterView) -> None:
    before = (entry(1, -40, -31), entry(2, -31, -29), entry(3, 1, 2))
    _, after = plan_quotas(cluster, before, [entry(4, 5, 6)], "t.csv", replace=False, kept=())
    assert [each.number for each in after] == [2, 3, 4]


def test_a_whole_plan_keeps_what_it_has_again_and_what_is_over(cluster: ClusterView) -> None:
    before = (entry(1, -9, -1), entry(2, 0, 1), entry(3, 2, 3))
    operation, after = plan_quotas(cluster, before, [entry(4, 5, 6)], "t.csv", replace=True, kept=(before[1],))
    assert [each.number for each in after] == [1, 2, 4]
    assert operation.title == "plan 1 quota and withdraw 1"
    with pytest.raises(ChangeError, match="all of it is planned already"):
        plan_quotas(cluster, before[:2], [], "t.csv", replace=True, kept=(before[1],))


def test_only_what_is_not_over_is_withdrawn_as_all(cluster: ClusterView) -> None:
    before = (entry(1, -9, -1), entry(2, 0, 1))
    _, after = withdraw_quotas(cluster, before, (), all_of_them=True)
    assert after == before[:1]
    with pytest.raises(ChangeError, match="no quota is planned"):
        withdraw_quotas(cluster, after, (), all_of_them=True)


def test_a_plan_may_not_grow_without_bound(cluster: ClusterView) -> None:
    many = [replace_number(entry(1, 1, 2), number) for number in range(1, 20_002)]
    with pytest.raises(ChangeError, match=r"20,001 planned quotas in all; allowed are 20,000"):
        plan_quotas(cluster, (), many, "t.csv", replace=False, kept=())


def replace_number(one: PlannedQuota, number: int) -> PlannedQuota:
    return one._replace(number=number)


def test_a_plan_for_the_server_where_all_observe_says_so(cluster: ClusterView) -> None:
    observing = replace(cluster, modes=dict.fromkeys(cluster.modes, "observe"))
    for_all = entry(1, 1, 2)._replace(limit=LimitKey("", "ncpus", ("o", "PBS_ALL")))
    operation, _ = plan_quotas(observing, (), [for_all], "t.csv", replace=False, kept=())
    assert any("all queues are in observe" in text for line in operation.notes for text, _ in line)
