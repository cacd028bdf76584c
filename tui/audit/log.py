"""The console's audit file: who meant what, from where, with which command, and what the server said to it.

Each change leaves two JSON lines: ``sending`` before the command goes out and ``done`` after the value was read again,
so that a connection killed in between is visible as a change that was sent and never confirmed. The file is only
appended to, one write per line, each on a line of its own even after one that was cut off, and only its owner can read
it. PBS's server log remains the authority.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pwd
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tui.config.xdg import state_folder

AUDIT_FILE = "audit.jsonl"
UNCONFIRMED = "unconfirmed"
"""How a change stands that was sent and that no answer came to: only the server knows whether it was made."""


@dataclass(frozen=True)
class Actor:
    """Who sits at the console and from where, as far as the system knows."""

    user: str
    origin: str

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Actor:
        """The account that runs this (for root with the one behind ``sudo``), and the remote address or the terminal.

        The account is that of the process: ``LOGNAME`` says whatever its user wants. Only root can have come by
        ``sudo``, so nobody else's ``SUDO_USER`` is believed, nor one that is no account here.
        """
        user = account_name(os.getuid())
        behind = environment.get("SUDO_USER", "") if os.geteuid() == 0 else ""
        if behind and not _is_account(behind):
            behind = ""
        address = environment.get("SSH_CONNECTION", "").split()
        return cls(
            f"{user} (sudo from {behind})" if behind and behind != user else user,
            f"{address[0]} port {address[1]}" if len(address) > 1 else f"local on {socket.gethostname()}",
        )


def account_name(uid: int) -> str:
    """The name of an account; its number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def _is_account(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except (KeyError, ValueError, UnicodeError):
        return False
    return True


@dataclass(frozen=True)
class AuditEntry:
    """One line. ``stage`` is ``sending``, ``done``, ``failed``, ``refused`` or ``unconfirmed``; values are PBS's texts;
    ``change`` is the same on all lines of one change."""

    time: str
    stage: str
    user: str
    origin: str
    server: str
    command: str
    before: str
    after: str
    reply: str
    change: str = ""


def audit_path(environment: Mapping[str, str]) -> Path:
    """Where this user's audit file is: below ``XDG_STATE_HOME``, else below ``~/.local/state``."""
    return state_folder(environment) / AUDIT_FILE


class AuditError(OSError):
    """The audit file cannot be written; a change that it was to announce must not be made."""


@dataclass(frozen=True)
class AuditLog:
    """The file of one user, for one server; and the administrators' ``shared`` one, where this user may write to it.

    ``tell`` gets a sentence on each change that nobody knows the outcome of (:mod:`tui.operations.alert_site`).
    """

    path: Path
    actor: Actor
    server: str
    shared: Path | None = None
    tell: Callable[[str], None] | None = None

    def write(
        self, now_s: float, stage: str, command: str, *, before: str, after: str, reply: str, change: str = ""
    ) -> AuditEntry:
        """Append one line and see it on the disk. Raises :class:`AuditError` naming the file."""
        entry = AuditEntry(
            datetime.fromtimestamp(now_s, tz=timezone.utc).isoformat(timespec="milliseconds"),
            stage,
            self.actor.user,
            self.actor.origin,
            self.server,
            command,
            before,
            after,
            reply,
            change,
        )
        if stage == UNCONFIRMED and self.tell is not None:
            told = f"sent to {entry.server} and never confirmed: {command}, by {entry.user} from {entry.origin}"
            self.tell(f"{told}: look whether it was done")
        line = json.dumps(asdict(entry), ensure_ascii=True).encode("ascii") + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _append(self.path, line, os.O_CREAT)
        except OSError as error:
            raise AuditError(f"audit file {self.path}: {error.strerror or error}") from error
        if self.shared is not None:
            # Only root on the server's host may. What others change is there all the same, from the server's log.
            with contextlib.suppress(OSError):
                _append(self.shared, line)
        return entry

    def entries(self) -> list[dict[str, Any]]:
        """The lines so far, oldest first; a line that is not whole is left out."""
        try:
            lines = self.path.read_text(encoding="ascii", errors="replace").splitlines()
        except FileNotFoundError:
            return []
        entries = []
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                entries.append(entry)
        return entries


def _append(path: Path, line: bytes, make: int = 0) -> None:
    """Write a line at the end and see it on the disk; on a new line where the one before was cut off. With ``make``,
    which is O_CREAT, a file that is not there is made, and it is its owner's alone. Raises OSError, also for a link in
    the file's place."""
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | make, 0o600)
    try:
        if make:
            os.fchmod(descriptor, 0o600)
        size = os.fstat(descriptor).st_size
        begin = b"\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else b""
        if os.write(descriptor, begin + line) < len(begin + line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
