"""Refuses accounts as which no job may run: of the system, of services, without a login, or in privileged groups.

Other clusters name the account, so they must not be able to name one that can become root, read what only the system
reads, or act as a service.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import re
from collections.abc import Iterable
from pathlib import Path

from migration.config.cluster_file import Here

_LOGIN_DEFS = Path("/etc/login.defs")
_FIRST_UID = 1000
_OVERFLOW_UID = 65_534
"""The usual user id of nobody, which the kernel shows for every owner that it cannot name."""
_NO_SHELLS = ("nologin", "false")


def read_first_uid() -> int:
    """The user id from which on accounts are people's: ``UID_MIN`` of the system, 1000 where it says none."""
    try:
        text = _LOGIN_DEFS.read_text("utf-8", "replace")
    except OSError:
        return _FIRST_UID
    match = re.search(r"^UID_MIN\s+(\d+)", text, re.MULTILINE)
    return max(1, int(match[1])) if match else _FIRST_UID


def find_refusal(account: pwd.struct_passwd, here: Here, lowest_uid: int) -> str:
    """Why no job runs as the account: the account, the rule and the setting; empty if one may."""
    name = account.pw_name
    if account.pw_uid < lowest_uid or (account.pw_gid == 0 and lowest_uid > 0):
        return (
            f"user {name!r} has user id {account.pw_uid}, group id {account.pw_gid}: must be at least {lowest_uid} "
            f"(UID_MIN of {_LOGIN_DEFS}, and here.min_uid of cluster.toml), and no root group"
        )
    if name in here.refused_accounts or account.pw_uid == _OVERFLOW_UID:
        return f"user {name!r} is the account of a service: no job runs as it (cluster.toml, here.refused_accounts)"
    if here.refuse_without_login and account.pw_shell.rpartition("/")[2] in _NO_SHELLS:
        return (
            f"user {name!r} has the shell {account.pw_shell}: no job runs as an account without a login "
            "(cluster.toml, here.refuse_without_login)"
        )
    group = _find_refused_group(account, here.refused_groups)
    if group:
        return f"user {name!r} is in group {group}: no job runs as its members (cluster.toml, here.refused_groups)"
    return ""


def _find_refused_group(account: pwd.struct_passwd, refused: Iterable[str]) -> str:
    """The first of these groups that the account is in; empty if it is in none. Groups that do not exist are none."""
    gids = set(os.getgrouplist(account.pw_name, account.pw_gid))
    for name in refused:
        with contextlib.suppress(KeyError):
            if grp.getgrnam(name).gr_gid in gids:
                return name
    return ""
