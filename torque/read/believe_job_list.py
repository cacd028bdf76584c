"""Whether a list of jobs can be believed: a server that lost a reply, or a connection on which one came late, shows
fewer jobs than there are, and "no jobs" without an error.

The server counts its jobs (``total_jobs``): subjobs singly, an array itself not, jobs that have ended as long as it
keeps them. A user sees all of them only as a manager or operator, or where ``query_other_jobs`` is set.
"""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Iterator, Mapping
from typing import NamedTuple

Texts = Mapping[str, str]

_ALL = "query_other_jobs"
_TRUSTED = ("managers", "operators")
_MOST_MISSING, _MOST_MISSING_OF = 20, 0.1


class ReadingUser(NamedTuple):
    """Who reads: the user, and the host as the server may call it."""

    user: str
    host: str

    @classmethod
    def this_process(cls) -> ReadingUser:
        """The user of this process, by number where it has no name."""
        try:
            user = pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:
            user = str(os.geteuid())
        return cls(user, socket.gethostname())

    def sees_all(self, server: Texts) -> bool:
        """Whether the server shows this user all jobs; False where that is not known. Where no managers are set, root
        on the server's host is one (``svr_get_privilege``)."""
        if server.get(_ALL, "") == "True":
            return True
        if not server.get("managers", "") and self.user == "root" and self._is_at(server.get("server_host", "")):
            return True
        return any(user == self.user and self._is_at(host) for user, host in trusted_users(server))

    def _is_at(self, host: str) -> bool:
        """Whether this is the host, or one of those that a pattern such as ``*`` or ``*.example.org`` names."""
        if host.startswith("*"):
            return self.host.lower().endswith(host[1:].lower())
        return bool(host) and host.partition(".")[0].lower() == self.host.partition(".")[0].lower()


def trusted_users(server: Texts) -> Iterator[tuple[str, str]]:
    """The managers and operators: each user, and the host, or pattern of hosts, from which that user is one."""
    for name in _TRUSTED:
        for entry in server.get(name, "").split(","):
            user, _, host = entry.strip().partition("@")
            yield user, host


def count_jobs(server: Texts) -> int:
    """The server's own count of its jobs; 0 where it shows none."""
    text = server.get("total_jobs", "")
    return int(text) if text.isascii() and text.isdigit() else 0


def why_not_believed(listed: int, before: Texts, after: Texts, reader: ReadingUser) -> str:
    """Why a list of so many jobs is wrong, by the server's attributes right before it and right after it; empty if it
    can be right. Jobs come and go while it is made, so a list that is a little shorter than both counts is taken."""
    least = min(count_jobs(before), count_jobs(after))
    missing = least - listed
    if (missing > max(_MOST_MISSING, least * _MOST_MISSING_OF) or 0 == listed < least) and reader.sees_all(after):
        return f"the server listed {listed:,} jobs and counts {least:,}: the list is not used"
    return ""
