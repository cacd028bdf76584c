"""A server that answers anything: odd names and texts, things missing, things that are no such thing, half answers.

Every answer goes the way of the reader's: lines of :mod:`hooks.reader.status_differences`, put together by the
console's own assembly, with a line broken or left out now and then.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hooks.pbs.server_status_type_and_attributes import NAME, ServerStatus
from hooks.reader.apply_status_differences import Assembly
from policy import Ledger, Settings
from tests.tui.scripted_server import HOSTILE_NAMES, NOON_S, a_job, a_vnode, running
from tui.backends.interface.backend_protocol import BackendError, Reply
from tui.backends.pass_journal import JournalReader
from tui.backends.pbs.build_change_commands import PbsCommands

_ODD = (
    *HOSTILE_NAMES,
    "",
    " ",
    "x" * 5000,
    "字" * 300,
    "e\u0301" * 40,
    "\u200b\u2066\ufeff",
    "\x00\x07\x9b31m",
    "a" + "\u0300" * 200,
    "-1",
    "1e999",
    "9" * 400,
    "nan",
    "0-9:0",
    "(v1:ncpus=2)+(",
    "[u:=1],[",
    "True",
    "-",
    "[]",
    "12[",
)
_STATES = "QRHWTSUEBMXF?"


class HostileBackend:
    """What a console watches in a fuzz run. ``polls`` counts the answers by what they were."""

    simulated = False
    system = "PBS"
    spool = None
    own_audit = None
    commands = PbsCommands()

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._assembly = Assembly()
        self.journal = JournalReader(Path("/nonexistent"))
        self.polls: Counter[str] = Counter()
        self.changes = 0

    @property
    def name(self) -> str:
        """One of the odd ones."""
        return self._odd()

    def names(self) -> tuple[str, ...]:
        """Odd ones."""
        return (self._odd(), self._odd())

    def shared_audit(self) -> None:
        """None."""

    def poll(self) -> ServerStatus:
        """A picture, or one of the ways of not giving one."""
        kind = self._chance.choices(("status", "half", "refused", "broken", "slow"), (80, 8, 5, 4, 3))[0]
        self.polls[kind] += 1
        if kind == "refused":
            raise BackendError(self._odd())
        if kind == "broken":
            raise self._chance.choice((OSError("broken"), KeyError(self._odd()), UnicodeError("half")))
        if kind == "slow":
            time.sleep(0.3)
        parts = list(self._parts())
        if kind == "half":
            self._break(parts)
        server_status = None
        try:
            for part in parts:
                server_status = self._assembly.take(part)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise BackendError(str(error)) from error
        finally:
            if server_status is None:
                self._assembly.begin_anew()
        if server_status is None:
            raise BackendError("half an answer")
        return server_status

    def settings(self) -> Settings:
        """The defaults."""
        return Settings()

    def ledger(self) -> Ledger:
        """An empty one."""
        return Ledger()

    def script(self, job_id: str) -> str:
        """An odd one, or a refusal."""
        if self._chance.random() < 0.5:
            raise BackendError(self._odd())
        return "\n".join(self._odd() for _ in range(5))

    def log_lines(self, job_id: str, days: int) -> Sequence[str]:
        """Odd lines, or a refusal."""
        return self.script(job_id).splitlines()

    def used(self) -> Mapping[str, Mapping[str, str]]:
        """Odd figures of some jobs, or a refusal."""
        if self._chance.random() < 0.2:
            raise BackendError(self._odd())
        names = ("cput", "walltime", "mem", "gpupercent")
        return {f"{n}.s": {f"resources_used.{name}": self._odd() for name in names} for n in range(6)}

    def finished(self, window_s: float) -> Mapping[str, Mapping[str, str]]:
        """Some that have ended, or a refusal."""
        if self._chance.random() < 0.2:
            raise BackendError(self._odd())
        return {f"{number}.s": self._job(number) for number in range(self._chance.randrange(6))}

    def read(self, kind: str, name: str) -> Mapping[str, str] | None:
        """One object, none, or a refusal."""
        if self._chance.random() < 0.2:
            raise BackendError(self._odd())
        return self._chance.choice((None, self._job(3), self._vnode()))

    def run(self, argv: Sequence[str]) -> Reply:
        """Taken or refused at random; nothing comes of it."""
        self.changes += 1
        if self._chance.random() < 0.1:
            raise BackendError(self._odd())
        return Reply(self._chance.random() < 0.5, self._odd())

    def close(self) -> None:
        """Nothing to let go of."""

    def _odd(self) -> str:
        return self._chance.choice(_ODD)

    def _parts(self) -> Iterator[dict[str, Any]]:
        chance = self._chance
        keys: dict[tuple[str, ...], int] = {}
        yield {"anew": True}
        for kind, objects in (("jobs", self._jobs()), ("vnodes", self._vnodes())):
            for name, texts in objects.items():
                number = keys.get(tuple(texts))
                if number is None:
                    number = keys[tuple(texts)] = len(keys)
                    yield {"keys": list(texts)}
                yield {kind: [[number, name, *texts.values()]]}
        queues = {name: self._worn(self._queue()) for name in ("workq", *chance.sample(_ODD, chance.randrange(4)))}
        yield {
            "rest": {
                "time_s": chance.choice((NOON_S, NOON_S + chance.random() * 1e5, 0.0, -1.0, 1e12)),
                "server": self._worn({NAME: self._odd(), "pbs_version": self._odd(), "scheduling": "True"}),
                "queues": queues,
                "resources": {"ncpus": {"type": "long", "flag": "hn"}, self._odd(): {"type": self._odd()}},
                "scheds": {self._odd(): {"scheduling": self._odd()}} if chance.random() < 0.3 else {},
                "reservations": {self._odd(): {"queue": self._odd()}} if chance.random() < 0.2 else {},
            }
        }

    def _break(self, parts: list[dict[str, Any]]) -> None:
        """Leave out, cut or replace a line."""
        where = self._chance.randrange(len(parts))
        odd: list[dict[str, Any]] = [
            {"jobs": [[0]]},
            {"jobs": [[99, "1.s"]]},
            {"keys": [None]},
            {"rest": {}},
            {"vnodes": {"v1": 5}},
            {"gone": {"jobs": ["1.s"]}},
            {},
        ]
        if self._chance.random() < 0.5:
            del parts[where:]
        else:
            parts[where] = self._chance.choice(odd)

    def _jobs(self) -> dict[str, dict[str, str]]:
        chance = self._chance
        names = [f"{number}.s" for number in range(chance.choice((0, 3, 40, 200)))]
        names += [f"{number}[].s" for number in range(500, 500 + chance.randrange(3))]
        names += ["500[3].s", "777[1].s", *chance.sample(_ODD, 3)]
        return {name: self._job(number) for number, name in enumerate(names)}

    def _job(self, number: int) -> dict[str, str]:
        chance = self._chance
        job = running(f"u{number % 7}", 1 + number % 9, f"v{number % 5}") if number % 3 == 0 else a_job("bob", 2)
        if chance.random() < 0.3:
            job = {**job, "job_state": chance.choice(_STATES), "array_indices_remaining": self._odd()}
        return self._worn(job)

    def _vnodes(self) -> dict[str, dict[str, str]]:
        names = [f"v{number}" for number in range(self._chance.choice((0, 2, 30, 300)))]
        return {name: self._vnode() for name in (*names, *self._chance.sample(_ODD, 2))}

    def _vnode(self) -> dict[str, str]:
        state = self._chance.choice(("free", "offline", "down,offline", "job-busy", "resv-exclusive", "", self._odd()))
        return self._worn(a_vnode(8, self._chance.choice((0, 4, 8, 99)), state, jobs="1.s/0,2.s/1"))

    def _queue(self) -> dict[str, str]:
        limits = self._chance.choice(("[u:bob=8],[u:PBS_GENERIC=2]", "[g:users=3]", self._odd()))
        return {
            "queue_type": "Execution",
            "enabled": "True",
            "started": self._chance.choice(("True", "False", self._odd())),
            "max_run_res_soft.ncpus": limits,
            "resources_available.pbsteer_mode": self._chance.choice(("drive", "observe", "advise", self._odd())),
        }

    def _worn(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Some of it missing, some of it odd."""
        chance = self._chance
        if chance.random() < 0.6:
            return dict(texts)
        return {
            key: self._odd() if chance.random() < 0.15 else text for key, text in texts.items() if chance.random() > 0.1
        }
