"""Codes of PBS have their words beside them; a code that is not known stands alone."""

from __future__ import annotations

import pytest

from tui.model.job_state_and_exit_status_words import exit_words, state_words, substate_words


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("0", ""),
        ("1", ""),
        ("85", ""),
        ("137", "a shell's status for SIGKILL"),
        ("255", ""),
        ("271", "killed by SIGTERM"),
        ("265", "killed by SIGKILL"),
        ("-29", "ran longer than its walltime"),
        ("-99", ""),
        ("", ""),
        ("many", ""),
        ("9" * 30, ""),
    ],
)
def test_an_exit_status_that_pbs_chose_has_words(status: str, words: str) -> None:
    assert exit_words(status) == words


def test_only_substates_that_say_more_than_the_state_are_told() -> None:
    assert [substate_words({"substate": code}) for code in ("42", "10", "")] == ["", "", ""]
    assert substate_words({"substate": "41"}).startswith("substate 41: sent to its MoM")
    assert substate_words({"substate": "77"}) == "substate 77"


def test_states_have_words() -> None:
    assert [state_words(letter) for letter in "QBF?"] == ["queued", "array, running", "finished", "state ?"]
