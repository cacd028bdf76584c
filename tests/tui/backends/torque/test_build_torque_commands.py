"""Torque's commands where they differ from PBS's: what is run, what is refused before anything is run, and the undo."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.backends.interface.commands_interface import ChangeError, Target
from tui.backends.torque.build_change_commands import TorqueCommands

FILE = "/etc/pbsteer/policy.toml"
COMMANDS = TorqueCommands(Path(FILE))
BATCH = Target("queue", "batch")


def test_a_start_names_the_slots_of_each_host_once() -> None:
    change = COMMANDS.run("1.s", {"job_state": "Q"}, "(a:ncpus=2)+(b:ncpus=1)")
    assert change.argv == ("qrun", "-H", "a:ppn=2+b:ppn=1", "1.s")
    assert change.doer == "Torque"


@pytest.mark.parametrize("holds", ["u", "o", "s", "uos"])
def test_a_held_job_is_not_started_which_torque_would_do(holds: str) -> None:
    with pytest.raises(ChangeError, match=f"is held \\({holds}\\)"):
        COMMANDS.run("1.s", {"job_state": "H", "Hold_Types": holds}, "(a:ncpus=1)")


def test_the_hold_of_a_dependency_is_not_released() -> None:
    with pytest.raises(ChangeError, match=r"waits for other jobs \(afterok:4\.s\)"):
        COMMANDS.release("1.s", {"Hold_Types": "s", "depend": "afterok:4.s"})
    assert COMMANDS.release("1.s", {"Hold_Types": "s"}).argv == ("qrls", "-h", "s", "1.s")


def test_the_limit_of_an_array_is_no_hold_that_can_be_released() -> None:
    with pytest.raises(ChangeError, match="limit of its array"):
        COMMANDS.release("1[3].s", {"Hold_Types": "l"})


def test_a_node_goes_offline_with_its_note_and_back_to_the_old_one() -> None:
    change = COMMANDS.set_offline("a", {"state": "free", "comment": "old"}, "disk")
    assert change.argv == ("pbsnodes", "-o", "-N", "disk", "a")
    undo = change.undo()
    assert undo is not None
    assert undo.argv == ("pbsnodes", "-c", "-N", "old", "a")


@pytest.mark.parametrize("name", ["-o", "a b", "", "a;b", "a\n"])
def test_a_name_that_is_no_nodes_is_refused(name: str) -> None:
    with pytest.raises(ChangeError, match="is no name of a node"):
        COMMANDS.set_offline(name, {"state": "free"})


def test_a_quota_is_an_edit_of_the_settings_file_and_its_undo_the_edit_back() -> None:
    texts = {"max_run_res_soft.ncpus": "[u:alice=4],[g:chem=9]"}
    change = COMMANDS.set_limits(BATCH, texts, "ncpus", {("u", "alice"): 8, ("u", "bob"): 2})
    assert change.argv == ("edit-settings", FILE, "batch", "quotas.ncpus", "[u:alice=8],[u:bob=2]")
    undo = change.undo()
    assert undo is not None
    assert undo.argv == ("edit-settings", FILE, "batch", "quotas.ncpus", "[u:alice=4],[u:bob=none]")
    assert (change.before, change.after) == ("alice 4, bob none", "alice 8, bob 2")


def test_priorities_and_modes_are_edits_too_and_other_attributes_are_qmgrs() -> None:
    priority = COMMANDS.set_limits(BATCH, {}, "user_priority", {("u", "alice"): 8})
    assert priority.argv == ("edit-settings", FILE, "batch", "priorities", "[u:alice=8]")
    mode = COMMANDS.set_attribute(BATCH, {}, "resources_available.pbsteer_mode", "drive", "observe")
    assert (mode.argv, mode.back) == (
        ("edit-settings", FILE, "batch", "mode", "drive"),
        ("edit-settings", FILE, "batch", "mode", ""),
    )
    texts = {"resources_available.pbsteer_paused": "a while"}
    server = Target("server", "tq")
    resume = COMMANDS.set_attribute(server, texts, "resources_available.pbsteer_paused", "", "none")
    assert (resume.argv, resume.before, resume.after) == (
        ("edit-settings", FILE, "@server", "paused", ""), "a while", "none",
    )  # fmt: skip
    started = COMMANDS.set_attribute(BATCH, {}, "started", "True", "False")
    assert started.argv == ("qmgr", "-c", "set queue batch started = True")
    with pytest.raises(ChangeError, match="allowed on Torque is observe or drive"):
        COMMANDS.set_attribute(BATCH, {}, "resources_available.pbsteer_mode", "advise", "observe")


def test_a_note_that_cannot_be_written_again_leaves_no_undo() -> None:
    assert COMMANDS.set_offline("a", {"state": "free", "comment": "a <b>"}, "disk").undo() is None
    assert COMMANDS.set_offline("a", {"state": "free", "comment": "a <b>"}).undo() is not None
