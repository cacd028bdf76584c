"""What a server has changed since the last request: answers with which a console updates its server status.

An answer is a series of small values for JSON; it is whole at first, from time to time, and whenever the differences do
not add up (README.md).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from hooks.pbs.client.pbs_ifl_client import HOLDING_STATES, Connection, Texts
from hooks.pbs.job_attributes.job_ids_and_states import RUNS_AT_HOST, is_subjob, may_have_runs, parent_of
from hooks.reader.rows_with_shared_keys import Part, Rows, rest_of

WHOLE_AGAIN_S = 600.0
_MOST_SINGLE = 200
_CHANGED = "mtime"
_ENDED_STATES = frozenset("FMX")
_COUNTS = ("state_count", "job_history_enable")
_COUNT = re.compile(r"(\w)\w*:(\d+)")


class Differences:
    """The differences for one console. After an answer that was not delivered to its end, call :meth:`forget`."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: the next answer is whole."""
        self._rows = Rows()
        self._states: dict[str, str] = {}
        self._vnodes: dict[str, Texts] = {}
        self._moving: set[str] = set()
        self._newest_s = 0
        self._whole_s: float | None = None

    def answer(self, connection: Connection, time_s: float, *, whole: bool = False) -> Iterator[Part]:
        """The next answer; ``time_s`` is the caller's clock. Raises
        :class:`hooks.pbs.client.pbs_ifl_client.IflError`."""
        begun_anew = whole or self._whole_s is None or not 0 <= time_s - self._whole_s < WHOLE_AGAIN_S
        if begun_anew:
            self.forget()
        server = connection.read_server(_COUNTS)
        counts, history = (server.pop(name, "") for name in _COUNTS)
        if begun_anew:
            yield {"anew": True}
            yield from self._rows.of("jobs", self._noted(connection.walk_jobs((_CHANGED,))))
            gone: dict[str, list[str]] = {"jobs": [], "vnodes": []}
        else:
            changed = self._changed(connection, ended=history == "True")
            missing = self._check(connection, counts, changed)
            yield from self._rows.of("jobs", self._noted(changed.items()))
            gone = {"jobs": self._drop(missing), "vnodes": []}
        names: set[str] = set()
        yield from self._rows.of("vnodes", self._different(connection, names))
        gone["vnodes"] = [name for name in self._vnodes if name not in names]
        for name in gone["vnodes"]:
            del self._vnodes[name]
        if gone["jobs"] or gone["vnodes"]:
            yield {"gone": gone}
        rest = connection.read_all_else(time_s, server)
        if begun_anew:
            self._whole_s = time_s
        yield {"rest": rest_of(rest)}

    def _changed(self, connection: Connection, *, ended: bool) -> dict[str, Texts]:
        """The jobs that the server reports as changed, and in any case begun arrays and jobs that are starting or
        ending."""
        changed = connection.read_changed_jobs(self._newest_s, (_CHANGED,), ended=ended, subjobs=False)
        new = ((job_id, texts.get("job_state", "")) for job_id, texts in changed.items() if "[]" in job_id)
        old = (known for known in self._states.items() if "[]" in known[0] and known[0] not in changed)
        if any(may_have_runs(job_id, state) for job_id, state in chain(new, old)):
            changed.update(connection.read_begun_arrays((_CHANGED,)))
            subjobs = connection.read_changed_jobs(self._newest_s, (_CHANGED,), ended=ended, subjobs=True)
            changed.update({job_id: texts for job_id, texts in subjobs.items() if is_subjob(job_id)})
        for job_id in sorted(self._moving - changed.keys())[:_MOST_SINGLE]:
            texts = connection.read_server_status_of(job_id, (_CHANGED,))
            if texts:
                changed[job_id] = texts
        return changed

    def _check(self, connection: Connection, counts: str, changed: dict[str, Texts]) -> set[str]:
        """The jobs that are gone: those that have ended and, if the server's counts by state differ, those that it no
        longer lists. Jobs whose state differs although they were not reported as changed are added to ``changed``."""
        ended = {job_id for job_id, texts in changed.items() if _is_over(job_id, texts.get("job_state", ""))}
        for job_id in ended:
            del changed[job_id]
        states = {job_id: state for job_id, state in self._states.items() if job_id not in ended}
        states.update({job_id: texts.get("job_state", "") for job_id, texts in changed.items()})
        if _counted(counts) == Counter(states.values()):
            return ended
        if any(map(is_subjob, states)):
            held = connection.read_subjobs()
            over = {job_id for job_id in states if is_subjob(job_id) and job_id not in held}
            ended |= over
            states = {job_id: state for job_id, state in states.items() if job_id not in over}
            if _counted(counts) == Counter(states.values()):
                return ended
        listed = connection.read_states()
        ended.update(job_id for job_id in states if (parent_of(job_id) if is_subjob(job_id) else job_id) not in listed)
        odd = [job_id for job_id, state in listed.items() if states.get(job_id) != state]
        if len(odd) > _MOST_SINGLE:
            self._whole_s = None
        for job_id in odd[:_MOST_SINGLE]:
            texts = connection.read_server_status_of(job_id, (_CHANGED,))
            if texts:
                changed[job_id] = texts
        return ended

    def _noted(self, jobs: Iterable[tuple[str, Texts]]) -> Iterator[tuple[str, Texts]]:
        """The same jobs, recorded as sent."""
        for job_id, texts in jobs:
            changed = texts.pop(_CHANGED, "")
            if changed.isdigit():
                self._newest_s = max(self._newest_s, int(changed))
            state = self._states[job_id] = texts.get("job_state", "")
            # A job that starts or ends changes its substate without a new mtime (observed).
            moves = state in HOLDING_STATES and texts.get("substate", RUNS_AT_HOST) != RUNS_AT_HOST
            (self._moving.add if moves else self._moving.discard)(job_id)
            yield job_id, texts

    def _drop(self, missing: Iterable[str]) -> list[str]:
        """Those of the missing jobs that were sent before, and the subjobs of the arrays among them."""
        gone = {job_id for job_id in missing if job_id in self._states}
        arrays = {job_id for job_id in gone if "[]" in job_id}
        if arrays:
            gone.update(each for each in self._states if is_subjob(each) and parent_of(each) in arrays)
        for job_id in gone:
            del self._states[job_id]
        self._moving -= gone
        return sorted(gone)

    def _different(self, connection: Connection, names: set[str]) -> Iterator[tuple[str, Texts]]:
        """The vnodes that differ from what was sent; the names of all vnodes are added to ``names``."""
        for name, texts in connection.walk_vnodes():
            names.add(name)
            if self._vnodes.get(name) != texts:
                self._vnodes[name] = texts
                yield name, texts


def _is_over(job_id: str, state: str) -> bool:
    """Whether a job has ended, or a subjob holds no vnodes any more."""
    return state in _ENDED_STATES or (is_subjob(job_id) and state not in HOLDING_STATES)


def _counted(counts: str) -> Counter[str]:
    """``Queued:3 Running:1`` as a count by letter, without states that no job is in."""
    return Counter({letter: int(number) for letter, number in _COUNT.findall(counts) if int(number)})
