"""Whether passes may drive: counts those that did not come to their end, and keeps pbsteer from driving after three.

A pass is counted when it begins and taken off when it ends, so that one that raised, was killed or ran into its alarm
counts alike. After three in a row PBS's own scheduler has its queues back. Passes go on, and drive again only after a
number of good ones in a row that doubles with each setback, until a long time without any has passed.
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
"""Passes in a row for which the server had no answer that are forgiven: some minutes."""
_LONGEST_SILENCE = 20
"""In intervals: when no pass has so much as begun for that long, nobody waits for one any more."""


class Trust(NamedTuple):
    """``unfinished``: passes in a row that have not ended; ``setbacks``: how often three in a row had not;
    ``good``: passes that ended well since the last bad one, as far as setbacks are remembered; ``unanswered``: passes
    in a row that were cut off as the server did not answer."""

    unfinished: int = 0
    setbacks: int = 0
    good: int = 0
    unanswered: int = 0

    @property
    def spent(self) -> bool:
        """Whether so many passes in a row have failed that nobody may wait for the next."""
        return self.unfinished >= MOST_UNFINISHED

    @property
    def missing(self) -> int:
        """How many good passes are missing until pbsteer may drive; 0 where it may."""
        return max(0, self._proof() - self.good) if self.setbacks else 0

    def begun(self) -> Trust:
        """With one more pass that has begun."""
        trust = self._replace(unfinished=self.unfinished + 1)
        if not self.unfinished:
            return trust
        if self.spent and not self.missing:
            return trust._replace(setbacks=self.setbacks + 1, good=0)
        return trust._replace(good=0) if self.missing else trust

    def ended(self) -> Trust:
        """With this pass, and all before it, come to their end."""
        if not self.setbacks:
            return Trust()
        good = self.good + 1
        return Trust() if good >= _FORGIVEN_AFTER * self._proof() else Trust(0, self.setbacks, good)

    def write(self, state: State) -> None:
        """Put it on disk. Raises OSError where the disk does not take it."""
        state.publish(PASSES, dict(self._asdict()), shared=False)

    @classmethod
    def read(cls, state: State) -> Trust:
        """What the last pass wrote; whatever is no count is 0."""
        data = state.read_published(PASSES)
        counts = (data.get(name, 0) for name in cls._fields)
        return cls(*(count if isinstance(count, int) and count > 0 else 0 for count in counts))

    def _proof(self) -> int:
        return min(_LONGEST_PROOF, _FIRST_PROOF << min(self.setbacks - 1, 10))


def begin_pass(pbs_ifl: Any, state: State, settings: Settings, sentences: list[str], alerts: Alerts) -> Trust:
    """Count this pass before anything in it can fail, and hand the queues back where too many before it have failed.

    What was done goes into ``sentences``, and what somebody has to know into ``alerts``: a pass that was killed or ran
    into its alarm could not say so itself. Raises OSError where the disk does not take the count.
    """
    before = Trust.read(state)
    trust = before.begun()
    trust.write(state)
    if before.unfinished:
        alerts.report(FAILING, f"the last pass did not come to its end, {before.unfinished} in a row", time.time())
    if before.spent:
        names = hand_back(pbs_ifl, state, settings.server.mode)
        if names:
            told = (
                f"{before.unfinished} passes in a row have failed: scheduler {', '.join(names)} is switched on again"
                f" and has its queues back; pbsteer drives them after {trust.missing} passes without a failure"
            )
            sentences.append(told)
            alerts.report(HANDED_BACK, told, time.time())
        sentences += [f"job {job_id} is held no longer" for job_id in _release_victims(pbs_ifl)]
    return trust


def forget_pass(state: State) -> None:
    """Take off a pass that could not reach the server: without the server nothing waits for it."""
    trust = Trust.read(state)
    trust._replace(unfinished=max(0, trust.unfinished - 1)).write(state)


def forget_unanswered(state: State) -> bool:
    """Take off a pass that was cut off while the server did not answer; False where too many in a row were, so that
    this one counts as failed."""
    trust = Trust.read(state)
    if trust.unanswered >= _MOST_UNANSWERED:
        return False
    trust._replace(unfinished=max(0, trust.unfinished - 1), unanswered=trust.unanswered + 1).write(state)
    return True


def _release_victims(pbs_ifl: Any) -> list[str]:
    """Let go the victims that are held for somebody, since no pass may come that would; returns them."""
    with Connection(pbs_ifl) as connection:
        picture = connection.read_picture(time.time())
        released = [job_id for job_id, _ in find_held(picture)]
        for job_id in released:
            connection.release(job_id)
            connection.set_mark(job_id, forget_hold(picture.jobs[job_id]))
        for job_id, comment in find_silent(picture, released).items():
            connection.set_comment(job_id, comment)
    return released


def end_silence(pbs_ifl: Any, state: State, settings: Settings, now_s: float) -> list[str]:
    """Hand the queues back where passes cannot even be counted, and have not been for long; says what was done.

    Where there is no folder to count in, that is at once.
    """
    age_s = state.age_s(PASSES, now_s)
    if age_s is None and state.path.is_dir():
        return []
    if age_s is not None and age_s <= _LONGEST_SILENCE * settings.schedule.interval_s:
        return []
    names = hand_back(pbs_ifl, state, settings.server.mode)
    return [f"no pass could begin for long: scheduler {', '.join(names)} is switched on again"] if names else []
