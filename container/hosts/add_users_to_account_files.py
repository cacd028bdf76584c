"""The testbed's users in the account files of its hosts; the machine's own files are only read.

A user or group that the machine already has keeps its number and home; others get numbers that are not in use.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from container.testbed_spec import User

FIRST_ID = 47001


@dataclass(frozen=True)
class AccountFiles:
    """The texts of /etc/passwd, /etc/group and /etc/shadow."""

    passwd: str
    group: str
    shadow: str


@dataclass(frozen=True)
class Account:
    """A user, as in one line of /etc/passwd."""

    name: str
    uid: int
    gid: int
    home: str


def find_account(passwd: str, name: str) -> Account | None:
    """The account called ``name`` in the text of /etc/passwd, or None."""
    for fields in _rows(passwd):
        if fields[0] == name and len(fields) >= 6:
            return Account(name, int(fields[2]), int(fields[3]), fields[5])
    return None


def add_users(files: AccountFiles, users: Iterable[User], homes: str) -> AccountFiles:
    """The account files with ``users`` added: home ``homes``/NAME, no password, and each user's primary group.

    An existing user is unchanged, but becomes a member of the group.
    """
    passwd, group, shadow = _ended(files.passwd), _ended(files.group), _ended(files.shadow)
    for user in users:
        gids = {fields[0]: int(fields[2]) for fields in _rows(group) if len(fields) >= 3}
        if user.group not in gids:
            gids[user.group] = _free_id(gids.values())
            group += f"{user.group}:x:{gids[user.group]}:\n"
        if find_account(passwd, user.name) is None:
            uid = _free_id(int(fields[2]) for fields in _rows(passwd) if len(fields) >= 3)
            passwd += f"{user.name}:x:{uid}:{gids[user.group]}:pbsteer testbed:{homes}/{user.name}:/bin/sh\n"
            shadow += f"{user.name}:*:19000:0:99999:7:::\n"
        else:
            group = _add_member(group, user.group, user.name)
    return AccountFiles(passwd, group, shadow)


def make_homes(passwd: str, users: Iterable[User], homes: Path) -> None:
    """Make the missing homes of users below ``homes``, as the text of /etc/passwd has them.

    A user with a home elsewhere existed before, and keeps it.
    """
    for user in users:
        account = find_account(passwd, user.name)
        if account is not None and Path(account.home) == homes / user.name and not (homes / user.name).exists():
            (homes / user.name).mkdir(mode=0o700)
            os.chown(homes / user.name, account.uid, account.gid)


def _add_member(group: str, name: str, member: str) -> str:
    lines = []
    for line in group.splitlines():
        fields = line.split(":")
        if fields[0] == name and len(fields) == 4:
            members = [known for known in fields[3].split(",") if known]
            fields[3] = ",".join([*members, *([] if member in members else [member])])
        lines.append(":".join(fields))
    return "\n".join(lines) + "\n"


def _rows(text: str) -> list[list[str]]:
    return [line.split(":") for line in text.splitlines() if line and not line.startswith(("#", "+", "-"))]


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"


def _free_id(taken: Iterable[int]) -> int:
    used = set(taken)
    return next(number for number in range(FIRST_ID, FIRST_ID + len(used) + 1) if number not in used)
