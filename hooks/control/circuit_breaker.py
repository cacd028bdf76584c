"""Circuit breaker: after three passes in a row that crashed or timed out, the queues go back to PBS's own scheduler.

A pass is counted when it begins and taken off when it ends, so that one that raised, was killed or ran into its alarm
counts alike. Passes go on, and drive again after a number of good passes in a row. That number doubles with each
setback; setbacks are forgotten after ten times as many good passes without another.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from hooks.alerts.pass_alerts import FAILING, HANDED_BACK, Alerts
from hooks.checkpoint.ask_to_save import find_silent, forget_hold
from hooks.checkpoint.victim_holds import find_held
from hooks.control.scheduler_switch import hand_back
from hooks.pbs.client import Connection
from hooks.store.state_dir import PASSES, State
from policy.settings.site_settings import Settings

MOST_UNFINISHED = 3
_FIRST_PROOF = 10
_LONGEST_PROOF = 640
_FORGIVEN_AFTER = 10
_MOST_UNANSWERED = 10
"""Passes in a row without a reply from the server that do not count as failed: some minutes."""
_LONGEST_SILENCE = 20
"""In intervals: if no pass has even begun for that long, the queues are handed back."""


class CircuitBreaker(NamedTuple):
    """``unfinished``: passes in a row that have not ended; ``setbacks``: how often three in a row had not; ``good``:
    good passes since the last setback, counted anew after a bad one until pbsteer may drive; ``unanswered``: passes in
    a row that were cut off because the server did not answer."""

    unfinished: int = 0
    setbacks: int = 0
    good: int = 0
    unanswered: int = 0

    @property
    def spent(self) -> bool:
        """Whether so many passes in a row have failed that the queues go back to PBS's scheduler."""
        return self.unfinished >= MOST_UNFINISHED

    @property
    def missing(self) -> int:
        """How many good passes are missing until pbsteer may drive; 0 where it may."""
        return max(0, self._proof() - self.good) if self.setbacks else 0

    def begun(self) -> CircuitBreaker:
        """The breaker with one more pass begun; if the last pass did not end, its failure counts now."""
        breaker = self._replace(unfinished=self.unfinished + 1)
        if not self.unfinished:
            return breaker
        if self.spent and not self.missing:
            return breaker._replace(setbacks=self.setbacks + 1, good=0)
        return breaker._replace(good=0) if self.missing else breaker

    def ended(self) -> CircuitBreaker:
        """The breaker after a pass that ended: no pass before it counts as unfinished any more."""
        if not self.setbacks:
            return CircuitBreaker()
        good = self.good + 1
        return CircuitBreaker() if good >= _FORGIVEN_AFTER * self._proof() else CircuitBreaker(0, self.setbacks, good)

    def write(self, state: State) -> None:
        """Write the counts to disk. Raises OSError if the disk does not take them."""
        state.publish(PASSES, dict(self._asdict()), shared=False)

    @classmethod
    def read(cls, state: State) -> CircuitBreaker:
        """The counts that the last pass wrote; a value that is no count is 0."""
        data = state.read_published(PASSES)
        counts = (data.get(name, 0) for name in cls._fields)
        return cls(*(count if isinstance(count, int) and count > 0 else 0 for count in counts))

    def _proof(self) -> int:
        return min(_LONGEST_PROOF, _FIRST_PROOF << min(self.setbacks - 1, 10))


def begin_pass(pbs_ifl: Any, state: State, settings: Settings, sentences: list[str], alerts: Alerts) -> CircuitBreaker:
    """Count this pass before anything in it can fail, and hand the queues back if too many before it have failed.

    A pass that was killed or ran into its alarm could not report that itself, so the next one does: what was done goes
    into ``sentences``, what administrators have to know into ``alerts``. Raises OSError if the disk does not take the
    count.
    """
    before = CircuitBreaker.read(state)
    breaker = before.begun()
    breaker.write(state)
    if before.unfinished:
        alerts.report(FAILING, f"the last pass did not come to its end, {before.unfinished} in a row", time.time())
    if before.spent:
        names = hand_back(pbs_ifl, state, settings.server.mode)
        if names:
            told = (
                f"{before.unfinished} passes in a row have failed: scheduler {', '.join(names)} is switched on again"
                f" and has its queues back; pbsteer drives them after {breaker.missing} passes without a failure"
            )
            sentences.append(told)
            alerts.report(HANDED_BACK, told, time.time())
        sentences += [f"job {job_id} is held no longer" for job_id in _release_victims(pbs_ifl)]
    return breaker


def forget_pass(state: State) -> None:
    """Uncount a pass that could not reach the server: without the server no job waits for pbsteer."""
    breaker = CircuitBreaker.read(state)
    breaker._replace(unfinished=max(0, breaker.unfinished - 1)).write(state)


def forget_unanswered(state: State) -> bool:
    """Uncount a pass that was cut off while the server did not answer; False after too many in a row, so that this one
    counts as failed."""
    breaker = CircuitBreaker.read(state)
    if breaker.unanswered >= _MOST_UNANSWERED:
        return False
    breaker._replace(unfinished=max(0, breaker.unfinished - 1), unanswered=breaker.unanswered + 1).write(state)
    return True


def _release_victims(pbs_ifl: Any) -> list[str]:
    """Release the victims held for a beneficiary, since no later pass may come to do it; returns their ids."""
    with Connection(pbs_ifl) as connection:
        server_status = connection.read_server_status(time.time())
        released = [job_id for job_id, _ in find_held(server_status)]
        for job_id in released:
            connection.release(job_id)
            connection.set_mark(job_id, forget_hold(server_status.jobs[job_id]))
        for job_id, comment in find_silent(server_status, released).items():
            connection.set_comment(job_id, comment)
    return released


def end_silence(pbs_ifl: Any, state: State, settings: Settings, now_s: float) -> list[str]:
    """Hand the queues back if no pass could be counted for a long time; returns sentences on what was done.

    Without a state folder to count in, that is at once.
    """
    age_s = state.age_s(PASSES, now_s)
    if age_s is None and state.path.is_dir():
        return []
    if age_s is not None and age_s <= _LONGEST_SILENCE * settings.schedule.interval_s:
        return []
    names = hand_back(pbs_ifl, state, settings.server.mode)
    return [f"no pass could begin for long: scheduler {', '.join(names)} is switched on again"] if names else []
