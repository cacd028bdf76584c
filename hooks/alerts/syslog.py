"""Sends one line to the host's syslog: a datagram to ``/dev/log``, without waiting.

A host without a syslog, or with a full one, gets nothing; the caller gets a sentence.
"""

from __future__ import annotations

import os
import socket

from policy.model.printable_text import printable

ERROR, WARNING, NOTICE = 3, 4, 5
"""Severities of syslog (RFC 5424, 6.2.1)."""

SOCKET = "/dev/log"
_DAEMON = 3
_LONGEST = 900
"""Bytes of text: with the header within the 1,024 that every syslog takes (RFC 3164, 4.1)."""


def send_line(text: str, severity: int, path: str = SOCKET) -> str:
    """Send one line, escaped and cut, with the tag ``pbsteer``; returns a sentence if the syslog did not take it."""
    message = printable(text).encode("ascii", "backslashreplace")[:_LONGEST]
    line = f"<{_DAEMON * 8 + severity}>pbsteer[{os.getpid()}]: ".encode("ascii") + message
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.setblocking(False)
            sender.sendto(line, path)
    except OSError as error:
        return f"{path}: {error.strerror or error}"
    return ""
