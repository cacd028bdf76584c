"""A child's answer comes whole, or is cut off at the time limit; no child is left."""

from __future__ import annotations

import os
import time

import pytest

from hooks.checkpoint.forked_server_request import Child, read_answer, read_piece, start_child


def is_there(child: Child) -> bool:
    try:
        os.waitpid(child.pid, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


@pytest.mark.parametrize("size", [0, 5, 1 << 20])
def test_an_answer_of_any_size_comes_whole(size: int) -> None:
    child = start_child(lambda: b"x" * size)
    assert read_answer(child, 60) == b"x" * size
    assert not is_there(child)


def test_a_child_that_fails_answers_nothing() -> None:
    def fail() -> bytes:
        raise MemoryError("on purpose")

    child = start_child(fail)
    assert read_answer(child, 60) == b""
    assert not is_there(child)


def test_a_child_that_hangs_is_ended_at_the_time_limit() -> None:
    def hang() -> bytes:
        time.sleep(600)
        return b"late"

    began_s = time.monotonic()
    child = start_child(hang)
    assert read_answer(child, 0.2) == b""
    assert time.monotonic() - began_s < 300
    assert not is_there(child)


def test_an_answer_can_be_read_piece_by_piece() -> None:
    child = start_child(lambda: b"answer")
    assert read_piece(child) == b"answer"
    assert read_piece(child) == b""
    assert not is_there(child)
