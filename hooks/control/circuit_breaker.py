"""Circuit breaker: after three passes in a row that crashed or timed out, the queues go back to PBS's own scheduler
(README.md: when passes rest and drive again).

A pass is counted when it begins and taken off when it ends, so that one that raised, was killed or ran into its alarm
counts alike.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, NamedTuple

from hooks.alerts.pass_alerts import FAILING, HANDED_BACK, Alerts
from hooks.checkpoint.victims.held_victims_to_release import find_held
from hooks.checkpoint.victims.plan_victim_requests import find_silent, forget_hold
from hooks.control.pbs_scheduler.scheduler_switch import hand_back, is_paused, trigger_cycle
from hooks.pbs.client.pbs_ifl_client import Connection
from hooks.pbs.client.requests_within_time_budget import Requests
from hooks.pbs.job_attributes.job_ids_and_states import is_array
from hooks.store.state_files import PASSES, State
from policy.model.pbs_units import show_duration
from policy.settings.site_settings import Settings

MOST_UNFINISHED = 3
_FIRST_PROOF = 10
_LONGEST_PROOF = 640
_FORGIVEN_AFTER = 10
_MOST_UNANSWERED = 10
"""Passes in a row without a reply from the server that do not count as failed: some minutes."""
_FIRST_REST_S = 600
_LONGEST_REST_S = 4 * 3600
_LONGEST_SILENCE = 20
"""In intervals: if no pass has even begun for that long, the queues are handed back."""


class CircuitBreaker(NamedTuple):
    """``unfinished``: passes in a row that have not ended; ``setbacks``: how often three in a row had not; ``good``:
    good passes since the last setback, counted anew after a bad one until pbsteer may drive; ``unanswered``: passes in
    a row that were cut off because the server did not answer; ``rests``: how often passes have rested;
    ``rest_began_s``: when the last rest began, 0 once a pass has begun after it."""

    unfinished: int = 0
    setbacks: int = 0
    good: int = 0
    unanswered: int = 0
    rests: int = 0
    rest_began_s: int = 0

    @property
    def is_to_open(self) -> bool:
        """Whether so many passes in a row have failed that the queues go back to PBS's scheduler."""
        return self.unfinished >= MOST_UNFINISHED

    @property
    def successes_needed(self) -> int:
        """How many more good passes must end before pbsteer may drive; 0 if it may."""
        return max(0, self._proof() - self.good) if self.setbacks else 0

    @property
    def why_not_to_drive(self) -> str:
        """Why pbsteer may not drive yet; empty if it may."""
        needed = self.successes_needed
        return f"passes had failed; pbsteer drives again after {needed} more without a failure" if needed else ""

    @property
    def rest_s(self) -> int:
        """How long the present rest is."""
        return min(_LONGEST_REST_S, _FIRST_REST_S << min(self.rests - 1, 10)) if self.rests else 0

    @property
    def rest_end_s(self) -> int:
        """When the present rest ends, if nothing ends it early; 0 without one."""
        return self.rest_began_s + self.rest_s if self.rest_began_s else 0

    def is_resting(self, now_s: float, changed_s: float) -> bool:
        """Whether no pass may begin yet. A rest ends early if the hook's files changed in it (``changed_s``), as its
        cause may be corrected, and if the clock was set back."""
        began_s = self.rest_began_s
        return bool(began_s) and began_s <= now_s < self.rest_end_s and changed_s <= began_s

    def opened(self, now_s: float) -> CircuitBreaker:
        """The breaker as a rest begins: a setback, unless pbsteer was not to drive yet. If the pass after the rest
        fails, the next rest follows at once."""
        return self._replace(
            unfinished=MOST_UNFINISHED - 1,
            setbacks=self.setbacks if self.successes_needed else self.setbacks + 1,
            good=0,
            rests=self.rests + 1,
            rest_began_s=int(now_s),
        )

    def begun(self) -> CircuitBreaker:
        """The breaker with one more pass begun; if the last pass did not end, its failure counts now."""
        good = 0 if self.unfinished and self.successes_needed else self.good
        return self._replace(unfinished=self.unfinished + 1, good=good, rest_began_s=0)

    def ended(self) -> CircuitBreaker:
        """The breaker after a pass that ended: no pass before it counts as unfinished any more."""
        if not self.setbacks:
            return CircuitBreaker()
        good = self.good + 1
        if good >= _FORGIVEN_AFTER * self._proof():
            return CircuitBreaker()
        return CircuitBreaker(0, self.setbacks, good, rests=self.rests)

    def write(self, state: State) -> None:
        """Write the counts to disk. Raises OSError if the disk does not take them."""
        # Passes that fail do not crash the host: a count that a crash loses is counted anew.
        state.publish(PASSES, dict(self._asdict()), shared=False, sync=False)

    @classmethod
    def read(cls, state: State) -> CircuitBreaker:
        """The counts that the last pass wrote; a value that is no count is 0."""
        data = state.read_published(PASSES)
        counts = (data.get(name, 0) for name in cls._fields)
        return cls(*(count if isinstance(count, int) and count > 0 else 0 for count in counts))

    def _proof(self) -> int:
        return min(_LONGEST_PROOF, _FIRST_PROOF << min(self.setbacks - 1, 10))


def begin_pass(
    pbs_ifl: Any, state: State, settings: Settings, sentences: list[str], alerts: Alerts, changed_s: float = 0.0
) -> CircuitBreaker | None:
    """Count this pass before anything in it can fail; None if passes rest, so that this one ends here.

    If too many before it have failed, the queues are handed back and a rest begins, but not during a pause. A pass
    that was killed or ran into its alarm could not report that itself, so the next one does: what was done goes into
    ``sentences``, what administrators have to know into ``alerts``. ``changed_s``: when the hook's files were last
    changed. Raises OSError if the disk does not take the count.
    """
    now_s = time.time()
    before = CircuitBreaker.read(state)
    if before.is_resting(now_s, changed_s):
        return None
    if before.unfinished and not before.rest_began_s:
        alerts.report(FAILING, f"the last pass did not finish, {before.unfinished} in a row", now_s)
    # Not in a pause: an administrator has stopped everything, and PBS's scheduler would start jobs. Until it is over
    # passes go on, and act no more than any pass in a pause.
    if not before.is_to_open or is_paused(pbs_ifl, state):
        breaker = before.begun()
        breaker.write(state)
        return breaker
    breaker = before.opened(now_s)
    failed = f"{before.unfinished} passes in a row have failed"
    rest = f"passes rest for {show_duration(breaker.rest_s)}"
    names = hand_back(pbs_ifl, state, settings.server)
    if names:
        message = (
            f"{failed}: scheduler {', '.join(names)} is switched on again and has its queues back; {rest}, and pbsteer"
            f" drives them after {breaker.successes_needed} passes without a failure"
        )
        alerts.report(HANDED_BACK, message, now_s)
    else:
        message = f"{failed}: {rest}"
    sentences.append(message)
    sentences += [f"job {job_id} is held no longer" for job_id in _release_victims(pbs_ifl)]
    # Only now: as long as the queues are not handed back, each pass has to try it.
    breaker.write(state)
    return None


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
    """Release the victims held for a beneficiary, since a later pass may never do it; returns their ids. PBS refuses
    that for a job that is ending: if it is queued again, the breaker or the pass after the rest releases it."""
    attempts = Requests()
    with Connection(pbs_ifl) as connection:
        server_status = connection.read_server_status(time.time())
        released = [
            job_id for job_id, _ in find_held(server_status) if attempts.run(partial(connection.release, job_id))
        ]
        for job_id in released:
            attempts.run(partial(connection.set_mark, job_id, forget_hold(server_status.jobs[job_id])))
        for job_id, comment in find_silent(server_status, released).items():
            attempts.run(partial(connection.set_comment, job_id, comment))
        # PBS has no cycle of its own after the release of an array.
        arrays = filter(is_array, released)
        trigger_cycle(connection, server_status, {server_status.jobs[job_id]["queue"] for job_id in arrays})
    return released


def end_silence(pbs_ifl: Any, state: State, settings: Settings, now_s: float, *, uncounted: bool = False) -> list[str]:
    """Hand the queues back if no pass could be counted for a long time, but not during a pause; returns sentences on
    what was done. ``uncounted``: the disk did not take the count of a pass that has failed, so that the breaker does
    not see it; then that is after as many intervals as failed passes are too many.

    Without a state folder to count in, that is at once.
    """
    age_s = state.age_s(PASSES, now_s)
    if age_s is None and state.path.is_dir():
        return []
    longest = MOST_UNFINISHED if uncounted else _LONGEST_SILENCE
    if age_s is not None and age_s <= longest * settings.schedule.interval_s:
        return []
    if is_paused(pbs_ifl, state):
        return []
    names = hand_back(pbs_ifl, state, settings.server)
    return [f"no pass could begin for long: scheduler {', '.join(names)} is switched on again"] if names else []
