"""The folder for the socket of the connection that a transfer's commands share.

It is in a memory file system mounted for one session of the root helper alone: no other process of the host can see it
or put anything there, and it is gone when the session ends.
"""

from __future__ import annotations

import os
import pwd
import stat

from migration.as_user.helper.run_in_own_pid_namespace import keep_mounts_apart, mount_in_memory, unmount

PLACE = "/run/pbsteer-mg"
"""Root's; where no session has mounted anything it stays empty."""
FOLDER = f"{PLACE}/connection"
_OPTIONS = "mode=0711,size=64k,nr_inodes=64"


class PrivatePlace:
    """The private folder of one session."""

    def __init__(self) -> None:
        self._is_apart = False
        self._is_mounted = False

    def renew(self) -> bool:
        """Mount an empty folder, in place of an earlier one. False where the kernel refuses: then no connection is
        shared."""
        if os.geteuid() != 0:
            return False
        try:
            os.makedirs(PLACE, 0o755, exist_ok=True)
        except OSError:
            return False
        if not self._is_apart:
            self._is_apart = keep_mounts_apart()
        if self._is_mounted:
            unmount(PLACE)
        self._is_mounted = self._is_apart and mount_in_memory(PLACE, _OPTIONS)
        return self._is_mounted


def make_folder(account: pwd.struct_passwd) -> None:
    """Make the folder for the account, closed to all others; as root. Raises OSError where the session has no place of
    its own."""
    if not os.path.ismount(PLACE):
        raise OSError(f"{PLACE}: only a session of the root helper has a connection to share")
    os.mkdir(FOLDER, 0o700)
    os.chown(FOLDER, account.pw_uid, account.pw_gid)


def is_own_folder() -> bool:
    """Whether the folder is there and is this user's alone."""
    try:
        there = os.lstat(FOLDER)
    except OSError:
        return False
    return stat.S_ISDIR(there.st_mode) and there.st_uid == os.geteuid() and not stat.S_IMODE(there.st_mode) & 0o077
