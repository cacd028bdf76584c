"""Classes in words."""

from __future__ import annotations

import pytest

from policy.model.priority_class import BASE, EXPRESS, HIGHEST_PRIORITY, is_express, show_class


@pytest.mark.parametrize(
    ("rank", "words"),
    [(BASE, "base"), (0, "0"), (20, "20"), (EXPRESS + 150, "express 150"), (EXPRESS - 3, "express -3")],
)
def test_a_class_in_words(rank: int, words: str) -> None:
    assert show_class(rank) == words


def test_no_priority_of_a_user_is_that_of_an_express_queue() -> None:
    assert [is_express(rank) for rank in (BASE, HIGHEST_PRIORITY, EXPRESS - 1024)] == [False, False, True]
