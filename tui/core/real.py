"""A real PBS server: pictures from the reader process, or from qstat where that cannot be, and changes through qmgr.

Everything runs as the console's own user, from argument lists, within time limits; what PBS says is handed on. The
hooks' ledger and settings are taken from what they published in PBS_HOME, if this user may read it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from hooks.picture import Picture
from hooks.state import LAST_PASS, State, state_folder
from policy import Ledger, Settings
from policy.ledger import LedgerError
from tui.core.pbs_place import PbsPlace
from tui.core.programs import Said, run
from tui.core.qstat import BUILT_IN, flat, picture_of, read_json, read_list
from tui.core.reader import Reader, ReaderUnusableError
from tui.core.source import Reply, SourceError

READ_TIMEOUT_S = 60.0
WRITE_TIMEOUT_S = 30.0


class RealSource:
    """The server of an installed PBS."""

    simulated = False

    def __init__(self, place: PbsPlace, settings: Settings) -> None:
        self._place = place
        self._settings = settings
        self._environment = {"PBS_SERVER": place.server} if place.server else {}
        self._reader: Reader | None = Reader(place)

    @property
    def name(self) -> str:
        """The server's name as PBS's configuration says it."""
        return self._place.server or "PBS"

    def poll(self) -> Picture:
        """One picture; from the reader as long as that can be used at all."""
        if self._reader is not None:
            try:
                return self._reader.picture()
            except ReaderUnusableError:
                self._reader.close()
                self._reader = None
        return self._ask_programs()

    @property
    def way(self) -> str:
        """How pictures are read: ``reader`` or ``qstat``."""
        return "reader" if self._reader is not None else "qstat"

    def settings(self) -> Settings:
        """The settings that were given to the console."""
        return self._settings

    def ledger(self) -> Ledger:
        """The published ledger; an empty one where this user may not read it, or it is of another version."""
        try:
            return Ledger.from_data(State(state_folder(str(self._place.home))).read_published(LAST_PASS)["ledger"])
        except (KeyError, LedgerError):
            return Ledger()

    def read_queue(self, queue: str) -> Mapping[str, str]:
        """One queue, by qstat."""
        answer = self._json("qstat", "-Q", "-f", "-F", "json", "--", queue)
        found = answer.get("Queue", {})
        if not isinstance(found, dict) or queue not in found:
            raise SourceError(f"queue {queue!r} is not on {self.name}")
        return flat(found[queue])

    def write(self, line: str) -> Reply:
        """Send one line through qmgr; a refusal is an answer, not an error."""
        said = run([self._place.program("qmgr"), "-c", line], WRITE_TIMEOUT_S, self._environment)
        return Reply(said.status == 0, said.words if said.status else said.out.strip())

    def close(self) -> None:
        """End the reader."""
        if self._reader is not None:
            self._reader.close()

    def _ask_programs(self) -> Picture:
        server = self._json("qstat", "-B", "-f", "-F", "json")
        return picture_of(
            server,
            self._json("qstat", "-Q", "-f", "-F", "json"),
            self._json("pbsnodes", "-a", "-v", "-F", "json"),
            self._json("qstat", "-t", "-f", "-F", "json"),
            resources={**BUILT_IN, **read_list(self._said("qmgr", "-c", "list resource").out)},
            scheds=read_list(self._said("qmgr", "-c", "list sched").out),
            time_s=time.time(),
        )

    def _said(self, program: str, *arguments: str) -> Said:
        said = run([self._place.program(program), *arguments], READ_TIMEOUT_S, self._environment)
        if said.status != 0 and not said.out.strip():
            raise SourceError(f"{program}: {said.words}")
        return said

    def _json(self, program: str, *arguments: str) -> dict[str, object]:
        return read_json(self._said(program, *arguments).out, program)
