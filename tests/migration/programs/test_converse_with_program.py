"""A program is asked several things: answers of any length, limits of time, and what is said where none comes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from migration.programs.converse_with_program import Conversation, NoAnswerError
from migration.programs.run_external_program_with_limits import NOT_STARTED, STOPPED, TIMED_OUT

ECHO = ["/bin/sh", "-c", 'while read line; do echo "$line again"; done']


def soon() -> float:
    return time.monotonic() + 60


def test_each_question_has_its_answer() -> None:
    talk = Conversation(ECHO)
    for word in (b"one", b"two", b"x" * 500_000):
        talk.send(word + b"\n", soon())
        assert talk.read_line(1 << 20, soon()) == word + b" again\n"
    assert not talk.has_ended
    assert talk.close() == ""
    assert talk.has_ended


def test_bytes_are_read_to_their_number() -> None:
    talk = Conversation(["/bin/sh", "-c", "head -c 3000000 /dev/zero; echo end"])
    assert talk.read(1_000_000, soon()) == bytes(1_000_000)
    assert talk.read(2_000_000, soon()) == bytes(2_000_000)
    assert talk.read_line(100, soon()) == b"end\n"
    talk.close()


def test_a_line_without_end_is_bounded() -> None:
    talk = Conversation(["/bin/sh", "-c", "head -c 3000000 /dev/zero; exec sleep 60"])
    assert talk.read_line(1000, soon()) == bytes(1000)
    talk.close(0.1)


def test_no_answer_in_time_when_stopped_and_after_the_end() -> None:
    talk = Conversation(["/bin/sh", "-c", "read line; read line; echo why >&2; exit 1"])
    for until_s, stopped, status in ((time.monotonic() + 0.2, False, TIMED_OUT), (soon(), True, STOPPED)):
        with pytest.raises(NoAnswerError) as raised:
            talk.read_line(10, until_s, lambda stopped=stopped: stopped)  # type: ignore[misc]
        assert raised.value.status == status
    talk.send(b"a\nb\n", soon())
    with pytest.raises(NoAnswerError, match="ended"):
        talk.read_line(10, soon())
    with pytest.raises(NoAnswerError):
        for _ in range(100):
            talk.send(b"x" * 100_000, soon())
    assert talk.close() == "why"


def test_of_what_is_said_on_standard_error_the_end_is_kept_and_no_more_takes_room() -> None:
    talk = Conversation(["/bin/sh", "-c", "head -c 50000000 /dev/zero >&2; echo >&2; echo answer; read l; echo y >&2"])
    assert talk.read_line(100, soon()) == b"answer\n"
    assert max(_open_files()) < 5_000_000
    assert len(talk._said) < 5_000
    assert talk.close() == "y"


def test_one_that_says_more_and_more_is_late_all_the_same() -> None:
    talk = Conversation(["/bin/sh", "-c", "cat /dev/zero >&2; :"])
    began = time.monotonic()
    for status, stopped in ((TIMED_OUT, False), (STOPPED, True)):
        with pytest.raises(NoAnswerError) as raised:
            talk.read_line(10, time.monotonic() + (30 if stopped else 0.5), lambda stopped=stopped: stopped)  # type: ignore[misc]
        assert raised.value.status == status
    assert time.monotonic() - began < 25
    talk.close(0.1)


def _open_files() -> Iterator[int]:
    """The bytes that this process's open files take."""
    for one in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            yield one.stat().st_blocks * 512


def test_a_program_that_does_not_read_blocks_nothing() -> None:
    talk = Conversation(["sleep", "60"])
    with pytest.raises(NoAnswerError) as raised:
        talk.send(bytes(1 << 20), time.monotonic() + 0.3)
    assert raised.value.status == TIMED_OUT
    talk.close(0.1)


def test_what_cannot_be_started_says_so() -> None:
    with pytest.raises(NoAnswerError, match="no-such-program-here: cannot be started") as raised:
        Conversation(["no-such-program-here"])
    assert raised.value.status == NOT_STARTED
