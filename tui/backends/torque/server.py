"""A real Torque server: status from the reader process, or else from qstat and pbsnodes; changes by Torque's programs.

A MoM that does not answer would keep a program waiting for minutes, so each gets Torque's own time limit
(``PBSAPITIMEOUT``).
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hooks.pbs.job_attributes.job_ids_and_states import is_array, parent_of
from hooks.pbs.server_status_type_and_attributes import NAME, ServerStatus
from hooks.store.state_folder import state_folder
from policy import Settings, SettingsError
from policy.settings.simulated_queues import QueueSettings
from torque.passes.settings_as_server_attributes import attributes_of, check_for_torque, with_settings
from torque.passes.watched_settings import EDIT
from torque.read.believe_job_list import ReadingUser, why_not_believed
from torque.read.parse_program_output import OutputError, parse_objects, parse_texts
from torque.translate.arrays import fold_arrays
from torque.translate.jobs import ENDED, read_ended_jobs, read_job
from torque.translate.nodes import read_node, read_report
from torque.translate.server_status import read_queue, read_server, read_server_status
from tui.backends.find_torque import TorquePlace
from tui.backends.interface.backend_protocol import BackendError, NotSentError, Reply
from tui.backends.pass_journal import JournalReader
from tui.backends.reader_or_programs.run_program import run
from tui.backends.reader_or_programs.server_by_reader_or_programs import (
    NAMES_TIMEOUT_S,
    READ_TIMEOUT_S,
    ServerByReaderOrPrograms,
)
from tui.backends.torque.build_change_commands import PROGRAMS, TorqueCommands
from tui.backends.torque.explain_unreachable_torque import explain
from tui.backends.torque.settings_file import EditError, edit_settings_file
from tui.backends.torque.torque_reader import torque_reader
from tui.config.match_server_names import names_of
from tui.config.read_site_policy_toml import DEFAULT_POLICY, read_settings

_PATIENCE_S = 2.0
"""Beyond Torque's own time limit, until a program is ended."""
_UNTIL_REQUEUED_S = 3.0
_LOOK_AGAIN_S = 0.1
_UNKNOWN = {"job": "Unknown Job Id", "vnode": "Unknown node", "queue": "Unknown queue"}
"""Torque's words for an object that does not exist."""
_NO_ANSWER = {237, 185}
"""Exit statuses of a program whose request was sent and not answered: the last eight bits of 15085 and 15033."""

Texts = dict[str, str]


class TorqueBackend(ServerByReaderOrPrograms):
    """The server of an installed Torque."""

    system = "Torque"

    def __init__(
        self, place: TorquePlace, settings: Settings, complaint: str = "", settings_file: Path = DEFAULT_POLICY
    ) -> None:
        self._place = place
        self._file = settings_file
        self.commands = TorqueCommands(settings_file)
        self._timeout_s = settings.torque.timeout_s
        environment = {"PBSAPITIMEOUT": str(math.ceil(self._timeout_s))}
        if place.server:
            environment["PBS_DEFAULT"] = place.server
        reader = torque_reader(place, self._timeout_s) if place.library else None
        super().__init__(place, settings, complaint, environment, reader)
        self.journal = JournalReader(state_folder(str(place.home)))
        self.spool: Path | None = place.home / "spool"

    def names(self) -> tuple[str, ...]:
        """The server's own name and the configured one; only the latter until the server replies."""
        if not self._names:
            with contextlib.suppress(BackendError):
                name, _ = self._read_server(_in(NAMES_TIMEOUT_S))
                self._names = names_of(name, "", self._place.server)
        return self._names or (self.name,)

    def shared_audit(self) -> Path | None:
        """The file in Torque's home; only the server's own host has a pass, and so the folder for it."""
        return self.journal.changes if (self._place.home / "server_priv").is_dir() else None

    def poll(self) -> ServerStatus:
        """The server status with the limits, priorities and modes of the settings file, as a pass has it."""
        status = super().poll()
        return with_settings(status, self.settings(), is_stopped=status.server.get("scheduling", "") == "False")

    def settings(self) -> Settings:
        """The settings of the file as it is now, or those before as long as it is not valid."""
        if self._file.is_file():
            try:
                self._settings, self.complaint = check_for_torque(read_settings(self._file), str(self._file)), ""
            except SettingsError as error:
                self.complaint = f"{'; '.join(error.problems)}; going on with the settings before"
        return self._settings

    def last_reports(self) -> Mapping[str, float]:
        """When the MoM of each node last reported, by the server's clock; those that have not are left out."""
        with self._explained():
            found = {name: read_report(texts.get("status", "")) for name, texts in self._node_names().items()}
        return {
            name: float(report["rectime"]) for name, report in found.items() if report.get("rectime", "").isdecimal()
        }

    def finished(self, window_s: float) -> Mapping[str, Mapping[str, str]]:
        """The jobs that ended in the last ``window_s`` seconds, as far as the server still keeps them."""
        since_s = time.time() - window_s
        with self._explained():
            if self._reader is not None:
                return self._reader.ended(since_s)
            return read_ended_jobs(self._objects("Job", "qstat", "-x", "-t").items(), since_s, self._node_names())

    def script(self, job_id: str) -> str:
        """The script, which Torque keeps in its home on the server's host, for root alone."""
        folder = self._place.home / "server_priv" / "jobs"
        for name in (f"{job_id}.SC", f"{parent_of(job_id)}.SC"):
            with contextlib.suppress(OSError):
                if "/" not in name:
                    return (folder / name).read_text(encoding="utf-8", errors="replace")
        raise BackendError(f"no script of {job_id} in {folder} (it needs root, on the server's host)")

    def read(self, kind: str, name: str) -> Mapping[str, str] | None:
        """One object, by Torque's programs; None if it is not there, also for a ``job`` that has ended."""
        if name.startswith("-"):
            # A program would take it for an option, and no object has such a name.
            return None
        with self._explained():
            if kind in ("job", "ended job"):
                return self._read_job(name, ended=kind == "ended job")
            if kind == "vnode":
                texts = self._objects("Node", "pbsnodes", "-x", name, unknown=_UNKNOWN["vnode"]).get(name)
                return read_node(name, texts) if texts is not None else None
            if kind == "queue":
                argv = ("qstat", "-Q", "-f", name)
                queues = parse_texts(self._output_of(*argv, by_s=_in(READ_TIMEOUT_S), unknown=_UNKNOWN["queue"]))
                texts = queues.get(name)
                found = {each.name: each for each in self.settings().queues}.get(name, QueueSettings(name))
                return {**read_queue(texts), **attributes_of(found)} if texts is not None else None
            server = read_server(self._read_server(_in(READ_TIMEOUT_S))[1])
            return {**server, **attributes_of(self.settings().cluster)}

    def run(self, argv: Sequence[str]) -> Reply:
        """Run one of Torque's programs; a refusal is a reply, not an error.

        To requeue a job that has ended would run it again, and nothing in the server prevents that: the job is looked
        at right before, and this returns when its run is over, which Torque does not wait for.
        """
        program, *arguments = argv
        if program not in PROGRAMS:
            raise NotSentError(f"{program!r} is none of the programs that change something: {', '.join(PROGRAMS)}")
        if program == EDIT:
            try:
                edit_settings_file(arguments)
            except EditError as error:
                return Reply(ok=False, text=str(error))
            except OSError as error:
                return Reply(ok=False, text=f"{arguments[0]}: {error.strerror}")
            return Reply(ok=True, text="")
        if program != "qrerun":
            return self._run(program, arguments)
        job_id = arguments[-1]
        try:
            before = self._run_of(job_id)
        except BackendError as error:
            raise NotSentError(str(error)) from error
        if not before.startswith("R"):
            return Reply(ok=False, text=f"{job_id} does not run, and Torque runs a job again that has ended")
        reply = self._run(program, arguments)
        until_s = _in(_UNTIL_REQUEUED_S)
        try:
            while reply.ok and time.monotonic() < until_s and self._run_of(job_id) == before:
                time.sleep(_LOOK_AGAIN_S)
        except NotSentError as error:
            # The look was not made; the request was.
            raise BackendError(str(error)) from error
        return reply

    def _run_of(self, job_id: str) -> str:
        """A job's state in Torque's letter and the number of its run, by one program: what is looked at right before a
        deed has to be quick. Empty if there is no such job."""
        with self._explained():
            texts = self._objects("Job", "qstat", "-x", job_id, unknown=_UNKNOWN["job"]).get(job_id, {})
        return f"{texts.get('job_state', '')} {texts.get('start_count', '')}".strip()

    def _run(self, program: str, arguments: Sequence[str]) -> Reply:
        output = run([self._place.program(program), *arguments], self._timeout_s + _PATIENCE_S, self._environment)
        if output.status in _NO_ANSWER:
            silent = f"{program}: the server did not answer within {self._timeout_s:g} s"
            if program == "qalter":
                # The walltime of a running job is set, and the server never answers (seen): the value that is read
                # back tells whether it was.
                return Reply(ok=False, text=silent)
            raise BackendError(silent)
        # pbsnodes ends with status 0 when it is refused (seen), and says why.
        refused = output.status != 0 or (program == "pbsnodes" and bool(output.err.strip()))
        return Reply(not refused, output.words if refused else output.out.strip())

    def _explain(self, text: str) -> str:
        return explain(text, self._place.server)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """As of every server; so are errors of what programs print."""
        try:
            with super()._explained():
                yield
        except OutputError as error:
            raise BackendError(str(error)) from error

    def _read_job(self, job_id: str, *, ended: bool) -> Mapping[str, str] | None:
        """A job or subjob; an array by what its subjobs say."""
        # Of an array's own id `-t` lists the subjobs; without it the answer is all jobs (seen).
        found = self._objects(
            "Job", "qstat", "-x", *(("-t",) if "[" in job_id else ()), job_id, unknown=_UNKNOWN["job"]
        )
        nodes = self._node_names()
        jobs = {each: read_job(texts, nodes) for each, texts in found.items()}
        if is_array(job_id):
            return fold_arrays(jobs).get(job_id)
        texts = found.get(job_id)
        if texts is None or (texts.get("job_state") == ENDED and not ended):
            return None
        return jobs[job_id]

    def _ask_programs(self) -> ServerStatus:
        """The server status by several programs, which share one time limit."""
        by_s = _in(READ_TIMEOUT_S)
        _, before = self._read_server(by_s)
        jobs = self._objects("Job", "qstat", "-x", "-t", by_s=by_s)
        name, server = self._read_server(by_s)
        why_not = why_not_believed(len(jobs), before, server, ReadingUser.this_process())
        if why_not:
            raise BackendError(why_not)
        queues = parse_texts(self._output_of("qstat", "-Q", "-f", by_s=by_s))
        nodes = self._objects("Node", "pbsnodes", "-x", by_s=by_s)
        return read_server_status(time.time(), {NAME: name, **server}, queues, nodes, jobs)

    def _read_server(self, by_s: float) -> tuple[str, Texts]:
        """The server's name and attributes."""
        servers = parse_texts(self._output_of("qstat", "-B", "-f", by_s=by_s))
        if not servers:
            raise BackendError("qstat -B -f printed no server")
        return next(iter(servers.items()))

    def _node_names(self) -> Mapping[str, Texts]:
        return self._objects("Node", "pbsnodes", "-x")

    def _objects(
        self, kind: str, program: str, *arguments: str, by_s: float | None = None, unknown: str = ""
    ) -> dict[str, Texts]:
        by_s = _in(READ_TIMEOUT_S) if by_s is None else by_s
        output = self._output_of(program, *arguments, by_s=by_s, unknown=unknown)
        try:
            return parse_objects(output, kind)
        except OutputError as error:
            raise BackendError(f"{program}: {error}") from error

    def _output_of(self, program: str, *arguments: str, by_s: float, unknown: str = "") -> str:
        """What a program prints; nothing if it fails with the words ``unknown``."""
        output = self._run_in_time(program, arguments, by_s)
        if output.status != 0:
            if unknown and unknown in output.words:
                return ""
            raise BackendError(f"{program}: {output.words}")
        return output.out


def _in(seconds: float) -> float:
    return time.monotonic() + seconds
