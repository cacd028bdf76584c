"""The backend protocol: what the console reads from a cluster and changes in it, for real and simulated servers.

One thread at a time calls a backend. A call may take long; within its own time limit it returns or raises
:class:`BackendError` with a sentence for the screen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from policy import Ledger, Settings
from tui.audit.audit_file import AuditLog
from tui.backends.interface.commands_interface import Commands
from tui.backends.pass_journal import JournalReader

MOST_LOG_LINES = 1000
"""Lines of a job's log that are shown, the last ones."""


class BackendError(Exception):
    """The server did not reply, or its reply cannot be read; the message is for the screen."""


class NotSentError(BackendError):
    """The program that would have sent a change was not run: nothing has reached the server."""


class Reply(NamedTuple):
    """The server's reply to a change: whether it was accepted, and the message."""

    ok: bool
    text: str


class Backend(Protocol):
    """A server that can be polled and changed."""

    @property
    def system(self) -> str:
        """What the workload manager is called: PBS or Torque."""

    @property
    def name(self) -> str:
        """The server's name as far as it is known before the first poll."""

    def names(self) -> tuple[str, ...]:
        """All known names of the server, from itself and its configuration; audit lines use the first."""

    @property
    def own_audit(self) -> Path | None:
        """The audit file for this server alone; None: changes go to the user's own audit file."""

    def shared_audit(self) -> Path | None:
        """The audit file shared by all administrators of this server; None if it is not on this host."""

    @property
    def journal(self) -> JournalReader:
        """The reader of the passes' journal."""

    @property
    def commands(self) -> Commands:
        """The commands that change something on this server."""

    @property
    def spool(self) -> Path | None:
        """The folder on execution hosts with the output of running jobs; None if jobs write none."""

    @property
    def simulated(self) -> bool:
        """Whether the server is simulated."""

    def poll(self) -> ServerStatus:
        """The status of the whole server. Raises :class:`BackendError`."""

    def settings(self) -> Settings:
        """The settings that the server's hooks run with; the defaults if they cannot be read."""

    def ledger(self) -> Ledger:
        """The ledger that the hooks published; an empty one if it cannot be read."""

    def finished(self, window_s: float) -> Mapping[str, Attributes]:
        """The jobs that ended in the last ``window_s`` seconds, from the server's history. Raises BackendError."""

    def used(self) -> Mapping[str, Attributes]:
        """The ``resources_used`` of the jobs and subjobs that run, by id. Raises :class:`BackendError`."""

    def script(self, job_id: str) -> str:
        """The script of a job or of its array. Raises :class:`BackendError` with the reason where there is none."""

    def log_lines(self, job_id: str, days: int) -> Sequence[str]:
        """What the logs of the last days on this host have of a job, oldest first. Raises :class:`BackendError`."""

    def read(self, kind: str, name: str) -> Mapping[str, str] | None:
        """One object's attributes, read now: ``kind`` is job, ended job (finds running and waiting ones too), vnode,
        queue or server. None if there is no such object. Raises :class:`BackendError`.
        """

    def run(self, argv: Sequence[str]) -> Reply:
        """Run a program of the manager's as the console's user. Raises :class:`BackendError` if there was no reply,
        :class:`NotSentError` if it was not even run."""

    def close(self) -> None:
        """Free all resources; a call under way ends with :class:`BackendError`."""


class SteeredBackend(Backend, Protocol):
    """A backend whose time can be controlled."""

    def build(self) -> None:
        """Build the cluster, if it is not there yet."""

    @property
    def paused(self) -> bool:
        """Whether its time is stopped."""

    @property
    def speed(self) -> int:
        """Simulated seconds per second as chosen, 1 to 1000."""

    @property
    def rate(self) -> int | None:
        """Simulated seconds per second as they really pass, which are fewer on a busy machine; None while not known."""

    def pause(self) -> None:
        """Stop the time."""

    def resume(self) -> None:
        """Let the time run again."""

    def step(self) -> None:
        """Advance by one pass, then pause."""

    def set_speed(self, speed: int) -> None:
        """Set the speed, 1 to 1000."""

    def load(self, path: Path, size: str) -> None:
        """Restart with the jobs of a trace; ``size`` is NODESxCORES if the trace does not contain it, else empty.

        Raises :class:`BackendError`; the running simulation then continues.
        """


def audit_log_for(audit: AuditLog, backend: Backend) -> AuditLog:
    """This audit log, set to the backend's server name and shared file. May take as long as a request to the server."""
    return replace(audit, server=backend.names()[0], shared=backend.shared_audit())
