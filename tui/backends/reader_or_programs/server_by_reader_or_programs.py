"""The common part of PBS's and Torque's backends: the reader process reads the server, or the manager's programs do.

A reader that cannot be used at all is given up for good. All programs run as the console's user, from argument lists,
within time limits.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.store.state_files import LAST_PASS, State
from hooks.store.state_folder import state_folder
from policy import Ledger, Settings
from policy.model.ledger_between_passes import LedgerError
from tui.backends.interface.backend_protocol import MOST_LOG_LINES, BackendError
from tui.backends.reader_or_programs.run_program import ProgramOutput, run
from tui.backends.reader_or_programs.start_and_ask_reader_process import Reader, ReaderUnusableError

READ_TIMEOUT_S = 60.0
NAMES_TIMEOUT_S = 10.0


class Place(Protocol):
    """An installed batch system: its home, and the server to connect to; empty if no file names one."""

    @property
    def home(self) -> Path:
        """Its home on this host."""

    @property
    def server(self) -> str:
        """The configured name of the server."""

    def program(self, name: str) -> str:
        """The path of one of its programs."""


class ServerByReaderOrPrograms:
    """A server that is read by ``reader``, or else by programs of ``place``, which run in ``environment``."""

    simulated = False
    own_audit = None
    system = ""

    def __init__(
        self, place: Place, settings: Settings, complaint: str, environment: dict[str, str], reader: Reader | None
    ) -> None:
        self.complaint = complaint
        """What is wrong with the settings that should have been used; a sentence, or empty."""
        self._programs = place
        self._settings = settings
        self._environment = environment
        self._reader = reader
        self._names: tuple[str, ...] = ()

    def _ask_programs(self) -> ServerStatus:
        """The server status by the programs."""
        raise NotImplementedError

    def _explain(self, text: str) -> str:
        """The text with what to do in front, if it says that the server cannot be reached; else empty."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The configured name of the server."""
        return self._programs.server or self.system

    @property
    def way(self) -> str:
        """How the server status is read: ``reader`` or ``qstat``."""
        return "reader" if self._reader is not None else "qstat"

    def poll(self) -> ServerStatus:
        """The server status; from the reader as long as that can be used at all."""
        with self._explained():
            if self._reader is not None:
                try:
                    return self._reader.server_status()
                except ReaderUnusableError:
                    self._reader.close()
                    self._reader = None
            return self._ask_programs()

    def settings(self) -> Settings:
        """The settings that were given to the console."""
        return self._settings

    def ledger(self) -> Ledger:
        """The published ledger; an empty one if it cannot be read or has another version."""
        try:
            return Ledger.from_data(State(state_folder(str(self._programs.home))).read_published(LAST_PASS)["ledger"])
        except (KeyError, LedgerError):
            return Ledger()

    def used(self) -> Mapping[str, Mapping[str, str]]:
        """The ``resources_used`` of the jobs that run; none without the reader."""
        if self._reader is None:
            return {}
        with self._explained():
            return self._reader.used()

    def log_lines(self, job_id: str, days: int) -> Sequence[str]:
        """The lines by ``tracejob``, which reads the logs in this host's home of the batch system."""
        argv = [self._programs.program("tracejob"), "-w", "300", "-n", str(days), job_id]
        output = run(argv, READ_TIMEOUT_S, self._environment)
        lines = [line for line in output.out.splitlines() if line.strip()]
        if not lines:
            raise BackendError(f"tracejob {job_id}: {output.words}")
        return lines[-MOST_LOG_LINES:]

    def close(self) -> None:
        """End the reader."""
        if self._reader is not None:
            self._reader.close()

    def _run_in_time(self, program: str, arguments: Sequence[str], by_s: float) -> ProgramOutput:
        """What a program that only reads prints, within the time limit that it shares with others."""
        left_s = by_s - time.monotonic()
        if left_s <= 0:
            raise BackendError(
                f"the server's programs did not answer within {READ_TIMEOUT_S:g} s; {program} was not run"
            )
        return run([self._programs.program(program), *arguments], left_s, self._environment)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors raised within say what to do if the server cannot be reached."""
        try:
            yield
        except BackendError as error:
            explained = self._explain(str(error))
            if not explained:
                raise
            raise BackendError(explained) from error
