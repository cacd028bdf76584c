"""A short run of the fuzz (``make fuzz-tui`` is the long one): it does much, and nothing of it ends the console."""

from __future__ import annotations

import pytest

from tests.fuzz_tui.send_random_keys_to_console import fuzz, keys_of_actions

STEPS = 300


@pytest.mark.slow
def test_random_keys_sizes_and_answers_end_nothing() -> None:
    ran = fuzz(STEPS, seed=20)
    assert not ran.problem, ran.problem
    assert ran.steps >= STEPS
    # How many keys arrive while a dialog is open depends on how busy the machine is.
    assert len(ran.did["actions"]) >= 10
    assert len(ran.did["views"]) >= 3
    assert ran.did["polls"]["status"] > 0


def test_the_keys_are_those_of_the_registry() -> None:
    keys = keys_of_actions()
    assert len(keys) > 20
    assert {"j", "k", "\t", "\r", ":", "/"} <= set(keys)
