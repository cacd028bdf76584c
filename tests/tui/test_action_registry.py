"""The registry of actions: one key has one meaning, and every line that can be typed is understood or explained."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tui.action_registry import ACTIONS, Situation, help_text
from tui.operations.confirmation.read_only_until_unlocked import UNLOCK_S, Unlock

CALM = Situation("jobs", unlocked=False, simulated=False)


def why_not(name: str, situation: Situation) -> str:
    return next(action for action in ACTIONS if action.name == name).unavailable(situation)


def test_every_key_means_one_thing() -> None:
    keys = Counter(key for action in ACTIONS for key in action.keys)
    assert [key for key, count in keys.items() if count > 1] == []


def test_every_action_is_in_the_help_of_a_simulated_cluster() -> None:
    assert [action for _, actions in help_text(True) for action in actions] != []
    assert {action.name for _, actions in help_text(True) for action in actions} == {a.name for a in ACTIONS}
    assert "pause-clock" not in {action.name for _, actions in help_text(False) for action in actions}


def test_time_can_be_steered_on_a_simulated_cluster_alone() -> None:
    for name in ("pause-clock", "step", "faster", "slower", "speed"):
        assert why_not(name, CALM)
        assert not why_not(name, replace(CALM, simulated=True))


def test_undo_needs_a_change() -> None:
    assert "is left to undo" in why_not("undo", CALM)
    assert not why_not("undo", replace(CALM, can_undo=True))


def test_the_unlock_ends_by_itself() -> None:
    unlock = Unlock().opened(100.0)
    assert unlock.is_open(100.0 + UNLOCK_S - 1)
    assert not unlock.is_open(100.0 + UNLOCK_S)
    assert not unlock.closed().is_open(100.0)
    assert not Unlock().is_open(0.0)
