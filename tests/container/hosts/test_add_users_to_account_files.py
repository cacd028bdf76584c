"""The testbed's users join the machine's accounts without changing one of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from container.hosts.add_users_to_account_files import (
    FIRST_ID,
    Account,
    AccountFiles,
    add_users,
    find_account,
    make_homes,
)
from container.testbed_spec import USERS, User

BARE = AccountFiles("root:x:0:0:root:/root:/bin/sh\n", "root:x:0:\n", "root:*:1:0:99999:7:::\n")


def test_users_who_are_not_there_get_homes_and_their_primary_groups() -> None:
    files = add_users(BARE, USERS, "/homes")
    gids = {line.split(":")[0]: int(line.split(":")[2]) for line in files.group.splitlines()}
    for user in USERS:
        account = find_account(files.passwd, user.name)
        assert account is not None
        assert (account.gid, account.home) == (gids[user.group], f"/homes/{user.name}")


def test_no_user_can_log_in_with_a_password() -> None:
    added = add_users(BARE, USERS, "/homes").shadow.removeprefix(BARE.shadow)
    assert [line.split(":")[:2] for line in added.splitlines()] == [[user.name, "*"] for user in USERS]


def test_a_user_of_the_machine_keeps_number_group_and_home_and_joins_the_group() -> None:
    machine = AccountFiles(
        BARE.passwd + "alice:x:1000:1000:Alice:/home/alice:/bin/zsh\n",
        BARE.group + "alice:x:1000:\nchem:x:500:zoe\n",
        BARE.shadow,
    )
    files = add_users(machine, [User("alice", "chem")], "/homes")
    assert find_account(files.passwd, "alice") == Account("alice", 1000, 1000, "/home/alice")
    assert "chem:x:500:zoe,alice" in files.group.splitlines()
    assert files.shadow == machine.shadow


def test_adding_the_same_users_again_changes_nothing() -> None:
    once = add_users(BARE, USERS, "/homes")
    again = add_users(once, USERS, "/homes")
    assert (again.passwd, again.shadow) == (once.passwd, once.shadow)


@given(st.sets(st.integers(FIRST_ID, FIRST_ID + 8)))
def test_no_number_is_given_twice(taken: set[int]) -> None:
    machine = AccountFiles(
        BARE.passwd + "".join(f"u{uid}:x:{uid}:{uid}::/:/bin/sh\n" for uid in taken),
        BARE.group + "".join(f"g{gid}:x:{gid}:\n" for gid in taken),
        BARE.shadow,
    )
    files = add_users(machine, USERS, "/homes")
    for text in (files.passwd, files.group):
        numbers = [line.split(":")[2] for line in text.splitlines()]
        assert len(numbers) == len(set(numbers))


def test_a_last_line_without_a_newline_stays_a_line_of_its_own() -> None:
    machine = AccountFiles(BARE.passwd.rstrip(), BARE.group.rstrip(), BARE.shadow.rstrip())
    assert add_users(machine, USERS, "/homes") == add_users(BARE, USERS, "/homes")


def test_lines_of_other_kinds_are_passed_over_and_kept() -> None:
    machine = AccountFiles(BARE.passwd + "# note\n+@staff::::::\n", BARE.group, BARE.shadow)
    files = add_users(machine, USERS, "/homes")
    assert files.passwd.startswith(machine.passwd)


def test_homes_are_made_once_and_only_where_they_are_the_testbeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners: dict[str, tuple[int, int]] = {}
    monkeypatch.setattr("os.chown", lambda path, uid, gid: owners.__setitem__(Path(path).name, (uid, gid)))
    machine = AccountFiles(BARE.passwd + f"alice:x:1000:1000::{tmp_path}/old/alice:/bin/sh\n", BARE.group, BARE.shadow)
    passwd = add_users(machine, USERS, str(tmp_path)).passwd
    for _ in range(2):
        make_homes(passwd, USERS, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bob", "carol", "dave"]
    assert (tmp_path / "bob").stat().st_mode & 0o777 == 0o700
    bob = find_account(passwd, "bob")
    assert bob is not None
    assert owners["bob"] == (bob.uid, bob.gid)
