"""The console's audit file: who sent which command from where, and how the server replied.

Each change leaves two JSON lines, ``sending`` before the command is sent and a final one after the value was read back,
so that a change cut off in between is visible as unconfirmed. The file is append-only, one write per line, and readable
by its owner only.
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

from hooks.store.bounded_json import parse_json
from tui.config.xdg_folders import state_folder

AUDIT_FILE = "audit.jsonl"
UNCONFIRMED = "unconfirmed"
"""The stage of a change that was sent without a reply: only the server knows whether it was made."""


@dataclass(frozen=True)
class Actor:
    """The user of the console and where they are, as far as the system knows."""

    user: str
    origin: str

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Actor:
        """The account of this process (for root also the one behind ``sudo``), and the remote address or the host.

        The account is taken from the process, since users can set ``LOGNAME``. ``SUDO_USER`` counts only for root, as
        only root can come from ``sudo``, and only if it is an account of this host.
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
    """The name of an account; ``uid N`` if it has none."""
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
    """The path of this user's audit file: below ``XDG_STATE_HOME``, else below ``~/.local/state``."""
    return state_folder(environment) / AUDIT_FILE


class AuditError(OSError):
    """The audit file cannot be written. A change whose ``sending`` line is missing must not be made."""


@dataclass(frozen=True)
class AuditLog:
    """One user's file for one server, and the administrators' ``shared`` file where this user may write to it.

    ``alert`` gets a sentence for each change whose outcome is unknown
    (:mod:`tui.operations.alert_site_of_unknown_outcome`).
    """

    path: Path
    actor: Actor
    server: str
    shared: Path | None = None
    alert: Callable[[str], None] | None = None

    def write(
        self, now_s: float, stage: str, command: str, *, before: str, after: str, reply: str, change: str = ""
    ) -> AuditEntry:
        """Append one line and sync it to disk. Raises :class:`AuditError` with the file's path."""
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
        if stage == UNCONFIRMED and self.alert is not None:
            sentence = f"sent to {entry.server} and never confirmed: {command}, by {entry.user} from {entry.origin}"
            self.alert(f"{sentence}: check whether it was done")
        line = json.dumps(asdict(entry), ensure_ascii=True).encode("ascii") + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _append(self.path, line, os.O_CREAT)
        except OSError as error:
            raise AuditError(f"audit file {self.path}: {error.strerror or error}") from error
        if self.shared is not None:
            # Only root on the server's host may write here. Changes by others get here from the server's log.
            with contextlib.suppress(OSError):
                _append(self.shared, line)
        return entry

    def entries(self) -> list[dict[str, Any]]:
        """The lines so far, oldest first; incomplete lines are left out."""
        try:
            lines = self.path.read_text(encoding="ascii", errors="replace").splitlines()
        except FileNotFoundError:
            return []
        entries = []
        for line in lines:
            try:
                entry = parse_json(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                entries.append(entry)
        return entries


def _append(path: Path, line: bytes, make: int = 0) -> None:
    """Append a line and sync it to disk; it begins on a new line if the last one was cut off. ``make`` is O_CREAT to
    create a missing file and make it accessible to its owner only. Raises OSError, also if the path is a link."""
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
