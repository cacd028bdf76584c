"""A removal takes planned quotas back that are set, and leaves limits that somebody else has changed."""

from __future__ import annotations

from pathlib import Path

from hooks.quota_plan.quota_plan_files import write_record
from hooks.quota_plan.take_back_at_removal import lines_to_take_back
from hooks.store.state_files import State
from policy.quota_plan.limits_due import Override, PlanRecord
from policy.quota_plan.planned_quotas import LimitKey


def test_a_line_for_each_limit_that_still_has_what_was_planned(tmp_path: Path) -> None:
    state = State(tmp_path)
    write_record(
        state,
        PlanRecord(
            {
                LimitKey("workq", "ncpus", ("u", "alice")): Override(64, 64, 128, 1, True),
                LimitKey("workq", "ncpus", ("u", "bob")): Override(None, None, 8, 2, True),
                LimitKey("workq", "ncpus", ("u", "carol")): Override(4, 4, 8, 3, True),
                LimitKey("workq", "ncpus", ("u", "dora")): Override(4, 4, 8, 4, False),
                LimitKey("", "ngpus", ("o", "PBS_ALL")): Override(2, 2, None, 5, True),
            }
        ),
    )
    queue = "queue workq max_run_res_soft.ncpus"
    limits = [
        (queue, "[u:alice=128]"), (queue, "[u:bob=8]"), (queue, "[u:carol=77]"), (queue, "[u:dora=4]"),
        ("queue workq max_run", "[u:alice=1]"), ("queue workq max_run_res_soft.mem", "[u:alice=1gb]"),
    ]  # fmt: skip
    assert list(lines_to_take_back(state, limits)) == [
        "set server max_run_res_soft.ngpus += [o:PBS_ALL=2]",
        f"set {queue} += [u:alice=64]",
        f"set {queue} -= [u:bob=8]",
    ]
    # PBS stores no removal of a limit's last entry.
    assert f"unset {queue}" in lines_to_take_back(state, [(queue, "[u:bob=8]")])


def test_without_a_plan_or_with_a_broken_record_nothing_is_taken_back(tmp_path: Path) -> None:
    assert list(lines_to_take_back(State(tmp_path / "none"), [("queue workq max_run_res_soft.ncpus", "[u:a=1]")])) == []
    (tmp_path / "quota-plan-record.json").write_text("{")
    assert list(lines_to_take_back(State(tmp_path), [])) == []
