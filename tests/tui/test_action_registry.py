"""The registry of actions: one key has one meaning, and every line that can be typed is understood or explained."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.action_registry import ACTIONS, VIEWS, CommandError, Situation, complete, help_text, parse_command
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


@pytest.mark.parametrize(
    ("line", "name", "argument"),
    [
        ("jobs", "view-jobs", ""),
        ("view quotas", "view", "quotas"),
        ("q", "quit", ""),
        ("speed 100", "speed", "100"),
        ("pause", "pause-clock", ""),
        ("quota workq carol 1024", "quota", "workq carol 1024"),
        ("filter user:alice state:Q", "filter", "user:alice state:Q"),
    ],
)
def test_a_command_line_names_an_action(line: str, name: str, argument: str) -> None:
    if line == "q":
        with pytest.raises(CommandError, match="could be quota, quit"):
            parse_command(line)
        return
    command = parse_command(line)
    assert (command.action.name, command.argument) == (name, argument)


@given(st.text(max_size=20))
def test_whatever_is_typed_is_a_command_or_an_error_in_words(line: str) -> None:
    try:
        parse_command(line)
    except CommandError as error:
        assert str(error).startswith(":")


def test_an_argument_that_is_not_taken_is_named() -> None:
    with pytest.raises(CommandError, match=":help takes no argument, this has 'me'"):
        parse_command("help me")


def test_completion_offers_names_then_arguments() -> None:
    words = {"queue": ["workq", "gpu"], "user": ["alice", "albert"], "view": VIEWS}
    assert complete("quo", words) == ["quotas", "quota"]
    assert complete("quota w", words) == ["quota workq"]
    assert complete("quota workq al", words) == ["quota workq alice", "quota workq albert"]
    assert complete("quota workq alice ", words) == []
    assert complete("view q", words) == ["view queues", "view quotas"]


def test_completion_offers_the_clock_of_a_simulated_cluster_alone() -> None:
    assert complete("pause", {}) == ["pause-pbsteer", "pause-clock"]
    assert complete("pause", {}, simulated=False) == ["pause-pbsteer"]


def test_time_can_be_steered_on_a_simulated_cluster_alone() -> None:
    for name in ("pause-clock", "step", "faster", "slower", "speed"):
        assert why_not(name, CALM)
        assert not why_not(name, replace(CALM, simulated=True))


def test_undo_needs_a_change() -> None:
    assert "nothing was changed" in why_not("undo", CALM)
    assert not why_not("undo", replace(CALM, can_undo=True))


def test_the_unlock_ends_by_itself() -> None:
    unlock = Unlock().opened(100.0)
    assert unlock.is_open(100.0 + UNLOCK_S - 1)
    assert not unlock.is_open(100.0 + UNLOCK_S)
    assert not unlock.closed().is_open(100.0)
    assert not Unlock().is_open(0.0)
