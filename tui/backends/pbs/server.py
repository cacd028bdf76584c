"""A real PBS server: status from the reader process, or else from qstat and the like; changes by PBS's programs.

The ledger is the one that the hooks publish in PBS_HOME, if this user may read it.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hooks.pbs.files_and_output.parse_qmgr_list import parse_list
from hooks.pbs.job_attributes.job_ids_and_states import is_subjob, parent_of
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.store.state_folder import state_folder
from policy import Settings
from tui.backends.interface.backend_protocol import BackendError, NotSentError, Reply
from tui.backends.pass_journal import JournalReader
from tui.backends.pbs.build_change_commands import PROGRAMS, PbsCommands
from tui.backends.pbs.explain_unreachable_server import explain
from tui.backends.pbs.find_pbs import PbsPlace
from tui.backends.pbs.reader_under_pbs_python import pbs_reader
from tui.backends.pbs.status_from_qstat_pbsnodes_qmgr import BUILT_IN, flat, objects, read_json, server_status_from
from tui.backends.reader_or_programs.run_program import ProgramOutput, run
from tui.backends.reader_or_programs.server_by_reader_or_programs import (
    NAMES_TIMEOUT_S,
    READ_TIMEOUT_S,
    ServerByReaderOrPrograms,
)
from tui.config.match_server_names import goes_by, is_same, names_of
from tui.model.typed_attributes import moment

WRITE_TIMEOUT_S = 30.0


class _Ask(NamedTuple):
    """How one object is read: the program, its options before the name, the key of the objects in its JSON (empty: it
    prints a list like qmgr's), and the messages that mean that there is no such object."""

    program: str
    options: tuple[str, ...]
    under: str
    unknown: tuple[str, ...]


_ASK = {
    "queue": _Ask("qstat", ("-Q", "-f", "-F", "json", "--"), "Queue", ("Unknown queue",)),
    "ended job": _Ask("qstat", ("-x", "-f", "-F", "json", "--"), "Jobs", ("Unknown Job Id",)),
    "job": _Ask("qstat", ("-f", "-F", "json", "--"), "Jobs", ("Unknown Job Id", "has finished")),
    "server": _Ask("qstat", ("-B", "-f", "-F", "json", "--"), "Server", ("Unknown Host",)),
    "vnode": _Ask("pbsnodes", ("-v", "-F", "json"), "nodes", ("Unknown node",)),
}


class PbsBackend(ServerByReaderOrPrograms):
    """The server of an installed PBS."""

    commands = PbsCommands()
    system = "PBS"

    def __init__(self, place: PbsPlace, settings: Settings, complaint: str = "") -> None:
        environment = {"PBS_SERVER": place.server} if place.server else {}
        super().__init__(place, settings, complaint, environment, pbs_reader(place))
        self._place = place
        self._own: bool | None = None
        self.journal = JournalReader(state_folder(str(place.home)), self._find_other)
        self.spool = place.home / "spool"

    def names(self) -> tuple[str, ...]:
        """The server's own name, its host's, and the configured one; only the last until the server replies."""
        if not self._names:
            with contextlib.suppress(BackendError):
                reply = self._json("qstat", "-B", "-f", "-F", "json", by_s=time.monotonic() + NAMES_TIMEOUT_S)
                name, attributes = next(iter(objects(reply, "Server").items()), ("", {}))
                if name:
                    self._names = names_of(name, attributes.get("server_host", ""), self._place.server)
        return self._names or (self.name,)

    def shared_audit(self) -> Path | None:
        """The file in PBS_HOME, which belongs to this host's own server; None if another server is used."""
        return self.journal.changes if self._is_own() else None

    def _is_own(self) -> bool:
        """Whether this host's PBS_HOME is that of the server; a no is final only once the server has replied."""
        if self._own is None:
            own, asked = self._place.home_server, self._place.server
            is_own = not own or is_same(own, asked)
            is_own = is_own or any(goes_by(self.names(), name) for name in (own, socket.gethostname()))
            if not is_own and not self._names:
                return False
            self._own = is_own
        return self._own

    def _find_other(self) -> str:
        """Why the passes in this host's PBS_HOME are of another server; empty if they are of this one."""
        if self._is_own():
            return ""
        return f"the passes on this host are those of {self._place.home_server}: {self.name} has its own on its host"

    def finished(self, window_s: float) -> Mapping[str, Mapping[str, str]]:
        """The jobs that ended in the last ``window_s`` seconds; without the reader, from the whole history."""
        since_s = time.time() - window_s
        with self._explained():
            if self._reader is not None:
                return self._reader.ended(since_s)
            jobs = objects(self._json("qstat", "-x", "-f", "-F", "json"), "Jobs")
        return {
            job_id: texts
            for job_id, texts in jobs.items()
            if texts.get("job_state") == "F" and (moment(texts, "mtime") or 0.0) >= since_s
        }

    def script(self, job_id: str) -> str:
        """The script, by ``printjob -s``: PBS keeps it in its database on the server's host, which root alone reads."""
        asked = parent_of(job_id) if is_subjob(job_id) else job_id
        output = run([self._place.program("printjob"), "-s", asked], READ_TIMEOUT_S, self._environment)
        if output.status != 0 or not output.out.strip():
            raise BackendError(f"printjob -s {asked}: {output.words} (it needs root, on the server's host)")
        return output.out

    def read(self, kind: str, name: str) -> Mapping[str, str] | None:
        """One object, by PBS's programs; None if it is not there, also for a ``job`` that has ended."""
        ask = _ASK[kind]
        output = run([self._place.program(ask.program), *ask.options, name], READ_TIMEOUT_S, self._environment)
        if output.status != 0:
            if any(word in output.words for word in ask.unknown):
                return None
            raise BackendError(explain(output.words, self._place.server) or f"{ask.program}: {output.words}")
        if not ask.under:
            return parse_list(output.out).get(name)
        found = read_json(output.out, ask.program).get(ask.under, {})
        texts = found.get(name) if isinstance(found, dict) else None
        return flat(texts) if texts is not None else None

    def run(self, argv: Sequence[str]) -> Reply:
        """Run one of PBS's programs; a refusal is a reply, not an error."""
        program, *arguments = argv
        if program not in PROGRAMS:
            raise NotSentError(f"{program!r} is none of the programs that change something: {', '.join(PROGRAMS)}")
        output = run([self._place.program(program), *arguments], WRITE_TIMEOUT_S, self._environment)
        return Reply(output.status == 0, output.words if output.status else output.out.strip())

    def _explain(self, text: str) -> str:
        return explain(text, self._place.server)

    def _ask_programs(self) -> ServerStatus:
        """The server status by several programs, which share one time limit."""
        by_s = time.monotonic() + READ_TIMEOUT_S
        server = self._json("qstat", "-B", "-f", "-F", "json", by_s=by_s)
        return server_status_from(
            server,
            self._json("qstat", "-Q", "-f", "-F", "json", by_s=by_s),
            self._json("pbsnodes", "-a", "-v", "-F", "json", by_s=by_s),
            self._json("qstat", "-t", "-f", "-F", "json", by_s=by_s),
            resources={**BUILT_IN, **parse_list(self._output_of("qmgr", "-c", "list resource", by_s=by_s).out)},
            scheds=parse_list(self._output_of("qmgr", "-c", "list sched", by_s=by_s).out),
            time_s=time.time(),
        )

    def _output_of(self, program: str, *arguments: str, by_s: float | None = None) -> ProgramOutput:
        output = self._run_in_time(program, arguments, time.monotonic() + READ_TIMEOUT_S if by_s is None else by_s)
        if output.status != 0 and not output.out.strip():
            raise BackendError(f"{program}: {output.words}")
        return output

    def _json(self, program: str, *arguments: str, by_s: float | None = None) -> dict[str, object]:
        return read_json(self._output_of(program, *arguments, by_s=by_s).out, program)
