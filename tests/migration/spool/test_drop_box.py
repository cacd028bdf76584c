"""The drop box takes what users leave, oldest first, and refuses what is unsafe, too much or not readable."""

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from migration.spool.drop_box import (
    MOST_BYTES,
    MOST_FILES,
    MOST_FILES_OF_USER,
    MOST_LINES,
    SWEPT_AFTER_S,
    DropError,
    Dropped,
    clear,
    drop,
    make_drop_box,
    sweep,
    take,
)
from migration.spool.record_as_key_value_line import read_fields
from tests.migration.fake_user_account import UID

NAME = "0123456789abcdef.req"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "incoming"
    make_drop_box(folder)
    yield folder
    folder.chmod(0o700)


def only(box: Path) -> Dropped:
    (found,) = take(box)
    return found


def test_what_is_left_is_taken_with_its_owner(box: Path) -> None:
    ticket = drop(
        box, [{"do": "submit", "dir": "/home/a\tb", "args": ("-n", ""), "cores": 8}, {"do": "stop", "gid": "a.1"}]
    )
    found = only(box)
    assert (found.uid, found.ticket, found.problem) == (os.getuid(), ticket, "")
    fields, more = read_fields({name: value for name, value in found.lines[0].items() if name != "v"})
    assert (fields, more) == ({"dir": "/home/a\tb", "args": ("-n", ""), "cores": 8}, {"do": "submit"})
    assert [dropped.ticket for dropped in take(box)] == [ticket], "it stays until it is cleared"
    clear(box, ticket)
    clear(box, ticket)
    assert list(take(box)) == []


def test_the_folder_has_the_mode_of_a_mail_drop(box: Path) -> None:
    assert stat.S_IMODE(box.stat().st_mode) == 0o1733


def test_a_file_is_readable_whatever_the_umask(box: Path) -> None:
    before = os.umask(0o077)
    try:
        ticket = drop(box, [{"do": "stop"}])
    finally:
        os.umask(before)
    assert stat.S_IMODE((box / ticket).stat().st_mode) == 0o644


def test_files_come_oldest_first_and_other_names_are_left_alone(box: Path) -> None:
    tickets = []
    for age in range(3):
        tickets.append(drop(box, [{"do": "stop"}]))
        # What a user says of a file's age does not count.
        os.utime(box / tickets[-1], (1000 - age, 1000 - age))
        time.sleep(0.05)
    (box / ".0123456789abcdef.req").write_text("half")
    (box / "notes.txt").write_text("x")
    assert [dropped.ticket for dropped in take(box)] == tickets


def test_a_link_is_not_followed(box: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("v=1\tdo=submit\n")
    (box / NAME).symlink_to(tmp_path / "secret")
    assert only(box).problem == "cannot be opened: Too many levels of symbolic links"
    assert only(box).lines == ()


def test_a_hard_link_to_anothers_file_is_refused(box: Path, tmp_path: Path) -> None:
    (tmp_path / "anothers").write_text("v=1\tdo=submit\n")
    (box / NAME).hardlink_to(tmp_path / "anothers")
    assert only(box).problem == "2 links: a request has one"


def test_what_is_no_file_is_refused_without_waiting(box: Path) -> None:
    os.mkfifo(box / NAME)
    assert only(box).problem == "no regular file"


def test_a_folder_is_no_request_and_clearing_one_is_no_error(box: Path) -> None:
    (box / NAME).mkdir()
    assert list(take(box)) == []
    clear(box, NAME)


def test_a_file_that_others_may_write_to_is_refused(box: Path) -> None:
    (box / NAME).write_text("v=1\tdo=submit\n")
    (box / NAME).chmod(0o664)
    assert only(box).problem.startswith("others may write to it")


def test_files_that_are_no_tickets_keep_no_request_waiting(box: Path) -> None:
    for number in range(MOST_FILES):
        os.utime(_touch(box / f"x{number}"), (0, 0))
    ticket = drop(box, [{"do": "submit"}])
    assert [one.ticket for one in take(box)] == [ticket]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes another user's folders")
def test_what_is_no_request_is_removed_once_it_is_old_and_no_folder_is_entered(tmp_path: Path, box: Path) -> None:
    elsewhere = _touch(tmp_path / "elsewhere")
    ticket = drop(box, [{"do": "submit"}])
    _touch(box / "x")
    _touch(box / f".{NAME}")
    (box / "link").symlink_to(elsewhere)
    os.mkfifo(box / "pipe")
    for name in ("empty", NAME, "full", "lost+found"):
        (box / name).mkdir()
        os.chown(box / name, 0 if name == "lost+found" else UID, 0)
    _touch(box / "full/x")
    made_s = time.time()
    assert sweep(box, made_s + SWEPT_AFTER_S - 60) == []
    assert len(list(box.iterdir())) == 9, "it may be a request that is being written"
    assert sweep(box, made_s + SWEPT_AFTER_S + 60) == [("full", UID)]
    assert {one.name for one in box.iterdir()} == {ticket, "full", "lost+found"}
    assert (box / "full/x").exists()
    assert elsewhere.exists()


def test_a_pass_takes_so_many_files_of_a_user(box: Path) -> None:
    for _ in range(MOST_FILES_OF_USER + 1):
        drop(box, [{"do": "submit"}])
    assert len(list(take(box))) == MOST_FILES_OF_USER


def test_a_pass_takes_so_many_bytes_of_a_user_whatever_the_size_of_his_files(box: Path) -> None:
    for _ in range(20):
        drop(box, [{"do": "submit", "args": ("x" * (MOST_BYTES - 100),)}])
    taken = list(take(box))
    assert [one.problem for one in taken] == [""] * 16
    for one in taken:
        clear(box, one.ticket)
    assert len(list(take(box))) == 4


def test_a_file_with_very_many_lines_is_refused_unread(box: Path) -> None:
    drop(box, [{"do": "stop", "gid": f"a.{number}"} for number in range(1, MOST_LINES + 1)])
    assert len(only(box).lines) == MOST_LINES
    clear(box, only(box).ticket)
    drop(box, [{"do": "stop", "gid": f"a.{number}"} for number in range(1, MOST_LINES + 2)])
    assert only(box).problem == "1,001 lines: at most 1,000 are taken"


def _touch(path: Path) -> Path:
    path.touch()
    return path


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"v=1\tdo=submit", "cut off"),
        (b"", "cut off"),
        (b"v=1\tdo=\xff\n", "cannot be read: 'ascii'"),
        (b"v=2\tdo=submit\n", "v: must be 1"),
        (b"do=submit\n", "v: must be 1"),
        (b"v=1\tdo=submit\nhello\n", "cannot be read: 'hello'"),
        (b"v=1\tdo=\x1b[2J\n", "outside printable ASCII"),
        (b"v=1\tx=" + b"y" * MOST_BYTES + b"\n", "65,543 bytes: at most 65,536 are taken"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_as_a_whole(box: Path, content: bytes, problem: str) -> None:
    (box / NAME).write_bytes(content)
    found = only(box)
    assert problem in found.problem
    assert found.lines == ()
    assert found.uid == os.getuid()


def test_too_much_is_not_left(box: Path) -> None:
    with pytest.raises(DropError, match="at most 65,536 are taken at once"):
        drop(box, [{"do": "submit", "args": ("x" * MOST_BYTES,)}])
    assert list(box.iterdir()) == []


def test_a_box_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DropError, match="nowhere: No such file"):
        drop(tmp_path / "nowhere", [{"do": "stop"}])
