"""Typed ``:`` lines: what they mean, what completes them, and errors in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.action_registry import VIEWS
from tui.command_line import CommandError, complete, parse_command


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
