"""A status that cannot be read is not the same as none."""

from __future__ import annotations

import re

import pytest

from migration.as_user.user_files.user_files_in_landing_folder import NO_FILE
from migration.programs.run_external_program_with_limits import NOT_STARTED, TIMED_OUT, Finished
from migration.target_job.read_exit_status import UnreadableError, read_exit_status
from migration.target_job.skip_users_with_hung_disks import HungError

PATH = "/home/u/d/.mg.a.1.exit"


def read(done: Finished) -> str:
    return read_exit_status(lambda argv, **_: done, PATH, "u")


def test_a_status_and_none() -> None:
    assert read(Finished(0, b"143\n", b"")) == "143"
    assert read(Finished(NO_FILE, b"", b"")) == ""


@pytest.mark.parametrize(
    ("done", "why"),
    [
        (Finished(1, b"", b"read: Stale file handle\n"), "cannot be read: read: Stale file handle"),
        (
            Finished(77, b"", b"mguser: user 'u': no such account\n"),
            "cannot be read: mguser: user 'u': no such account",
        ),
        (Finished(NOT_STARTED, b"", b"the program ended"), "cannot be read: the program ended"),
        (Finished(0, b"", b""), "holds '': must be an exit status"),
        (Finished(0, b"x\n", b""), "holds 'x': must be an exit status"),
    ],
)
def test_what_cannot_be_read_is_named(done: Finished, why: str) -> None:
    with pytest.raises(UnreadableError, match=re.escape(f"{PATH}: {why}")):
        read(done)


def test_a_folder_that_does_not_answer_is_not_unreadable() -> None:
    with pytest.raises(HungError, match="/home/u/d: killed after 10 s") as raised:
        read(Finished(TIMED_OUT, b"", b"killed after 10 s"))
    assert not isinstance(raised.value, UnreadableError)
