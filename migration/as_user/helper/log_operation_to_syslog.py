"""Writes one line to the system's log for each operation of the root helper: caller, user, operation and job.

sudo logs only the start of the helper. The words come from users and other clusters, so the line is bounded ASCII in
quotes, without control characters.
"""

from __future__ import annotations

import os
import syslog
from collections.abc import Sequence

_MOST_WORD = 200
_MOST_ARGUMENTS = 600


def log_operation(words: Sequence[str], job: str, refused: str = "") -> None:
    """Log an operation: the words of the helper's command line. Nothing happens where there is no log."""
    user, _, _, folder, operation, *arguments = *words[:5], *[""] * (5 - len(words[:5])), *words[5:]
    shown = " ".join(map(_quoted, arguments))[:_MOST_ARGUMENTS]
    parts = [f"by={_quoted(os.environ.get('SUDO_USER', ''))}", f"user={_quoted(user)}", f"job={_quoted(job)}"]
    parts += [f"operation={_quoted(operation)}", f"folder={_quoted(folder)}", f"arguments={shown}"]
    if refused:
        parts.append(f"refused={_quoted(refused)}")
    syslog.openlog("mguser", syslog.LOG_PID, syslog.LOG_AUTHPRIV)
    syslog.syslog(syslog.LOG_WARNING if refused else syslog.LOG_INFO, " ".join(parts))


def _quoted(text: str) -> str:
    return ascii(text[:_MOST_WORD])
