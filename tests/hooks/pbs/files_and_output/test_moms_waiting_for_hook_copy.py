"""Which MoMs wait for their copy of a hook, by PBS's own file."""

from __future__ import annotations

from pathlib import Path

from hooks.pbs.files_and_output.moms_waiting_for_hook_copy import find_waiting_moms, read_tracking


def test_the_last_line_of_the_highest_number_of_a_mom_and_hook_counts() -> None:
    lines = [
        "a:1 h 3 1", "b:1 h 3 1", "a:1 h 1 1", "a:1 h 0 1", "c:1 h 0 1", "c:1 h 16 2", "c:1 h 0 1", "d:1 h 35 3",
        "d:1 h 0 4", "torn li", "e:1 h 3 x", f"f:1 h 3 {'9' * 5000}",
    ]  # fmt: skip
    assert find_waiting_moms("\n".join(lines)) == {"h": ("b", "c")}


def test_a_server_without_the_file_waits_for_no_mom(tmp_path: Path) -> None:
    assert read_tracking(tmp_path) == ""
