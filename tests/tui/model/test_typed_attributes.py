"""A vnode's state in words."""

from __future__ import annotations

import pytest

from tests.tui.scripted_server import a_vnode
from tui.model.typed_attributes import state_in_words


@pytest.mark.parametrize(
    ("used", "state", "words"),
    [
        (0, "free", "empty"),
        (3, "free", "part used"),
        (8, "free", "full"),
        (8, "job-busy", "full"),
        (2, "job-exclusive", "exclusive"),
        (2, "offline", "offline"),
        (2, "down,job-busy", "down"),
        (0, "offline,down", "offline, down"),
        (0, "", "unknown"),
    ],
)
def test_what_pbs_calls_free_is_said_by_what_jobs_have_of_it(used: int, state: str, words: str) -> None:
    assert state_in_words(a_vnode(8, used, state), "ncpus") == words


def test_a_vnode_that_pbsteer_drains_is_draining_while_it_has_jobs() -> None:
    drained = a_vnode(8, 8, "offline", comment="pbsteer drain by root")
    assert state_in_words({**drained, "jobs": "11.hpc1/0"}, "ncpus") == "draining"
    assert state_in_words(drained, "ncpus") == "offline"
