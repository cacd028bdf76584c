"""The counts of what passes did and would have done begin where their record begins."""

from __future__ import annotations

from pathlib import Path

from hooks.record.real_and_dry_run_counts import DryRunCounts
from hooks.store.state_files import EPISODES, State

MODES = {"workq": "drive"}


def test_counts_are_read_as_they_were_written(tmp_path: Path) -> None:
    state, counts = State(tmp_path), DryRunCounts(100.0, MODES, 1, 2, frozenset({"1.s"}), frozenset(), 3, 4)
    counts.write(state)
    assert DryRunCounts.read(state, 900.0) == counts


def test_what_was_done_is_counted_from_now_on_where_an_earlier_version_did_not_count_it(tmp_path: Path) -> None:
    state = State(tmp_path)
    record = {"since_s": 100.0, "modes": MODES, "starts": 1, "preempts": 0, "starting": [], "preempting": []}
    state.publish(EPISODES, record, shared=False)
    assert DryRunCounts.read(state, 900.0).did() == {"since_s": 900.0, "starts": 0, "preempts": 0}
