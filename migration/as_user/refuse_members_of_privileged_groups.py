"""Groups whose members may do more than an ordinary user: no job of another cluster runs as one of them.

Another cluster says who its users are. So an account that may become root, or read what only the system reads, must
not be one that it can name.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
from collections.abc import Iterable


def find_refused_group(account: pwd.struct_passwd, refused: Iterable[str]) -> str:
    """The first of these groups that the account is in; empty if it is in none. Groups that do not exist are none."""
    gids = set(os.getgrouplist(account.pw_name, account.pw_gid))
    for name in refused:
        with contextlib.suppress(KeyError):
            if grp.getgrnam(name).gr_gid in gids:
                return name
    return ""
