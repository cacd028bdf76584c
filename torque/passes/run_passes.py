"""The process that makes the passes over a Torque server, as the hook does in PBS: one after another.

A pass runs every ``schedule.interval_s``, when the server wakes it, and when time alone calls for it; after a failure
the next one begins anew from what is on disk. While no queue is driven, nothing listens on the port of schedulers.
"""

from __future__ import annotations

import contextlib
import os
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Callable, NamedTuple

from hooks.alerts.pass_alerts import FAILING, Alerts
from hooks.control.early_pass import EarlyPass, PassResult
from hooks.control.pass_guard import PassOutcome
from hooks.entries.periodic import run_pass
from hooks.pbs.client.pbs_ifl_client import IflError
from hooks.record.add_pass_to_day_of_activity import LastDay
from hooks.store.state_files import LAST_PASS, State
from policy.model.printable_text import printable
from policy.settings.site_settings import Settings
from torque.act.torque_as_pbs_ifl import TorqueAsPbsIfl
from torque.passes.connection_for_pass import PassConnection, look_at_server
from torque.passes.other_schedulers import find_listener, find_other_scheduler
from torque.passes.settings_as_server_attributes import drives, find_unknown_queues
from torque.passes.wake_ups import PORT, PortTakenError, WakeUps
from torque.passes.watched_settings import WatchedSettings
from torque.read.believe_job_list import ReadingUser
from torque.read.known_jobs import KnownJobs

_SHARE = 3
"""An early pass begins at least so many times the last pass's processor time after that one began."""
_SHORTEST_PASS_S = 0.5
_APART_S = 1.0
"""A pass that only the plan's time calls for, or that follows a failed one, begins so long after that at least."""
_SHORTEST_LOOK_S = 0.1
_DONE = (
    ("started", "started"), ("asked", "asked to save"), ("requeued", "requeued"), ("failures", "refused"),
)  # fmt: skip

_FAILED = PassResult(0.0, 0.0)

Say = Callable[[str], None]


class _Waited(NamedTuple):
    """``counts``: the server's job counts when a pass began; ``can_be_woken``: whether the server wakes us."""

    counts: str = ""
    can_be_woken: bool = False


class PassProcess:
    """Makes passes. ``stop`` is a descriptor that ends the process once it can be read; ``say`` takes sentences for
    whoever started it."""

    def __init__(
        self, ifl: TorqueAsPbsIfl, state: State, settings: WatchedSettings, stop: int, say: Say, port: int = PORT
    ) -> None:
        self._ifl, self._state, self._settings, self._say = ifl, state, settings, say
        self._known = KnownJobs(ReadingUser.this_process())
        self._activity = LastDay()
        self._port = port
        self._wake_ups = WakeUps(port, stop)
        self._tried: set[str] = set()
        self._waited = _Waited()
        self._said: frozenset[str] = frozenset()

    def run_once(self) -> bool:
        """One pass; whether it ended well."""
        try:
            return self._guarded(None) is not None
        finally:
            self._wake_ups.close()

    def run(self, is_stopped: Callable[[], bool]) -> None:
        """Passes until ``is_stopped``."""
        early: EarlyPass | None = None
        due_s = 0.0
        try:
            while not is_stopped():
                begun_s = time.monotonic()
                if early is None:
                    due_s = begun_s + self._settings.current().schedule.interval_s
                    self._tried.clear()
                outcome = self._guarded(early)
                _reap()
                passed = outcome.passed if outcome is not None else _FAILED
                self._tried.update(passed.tried)
                early = self._wait(begun_s, due_s, passed)
        finally:
            self._activity.write()
            self._wake_ups.close()

    def _guarded(self, early: EarlyPass | None) -> PassOutcome | None:
        """One pass; None if it did not end, which is logged."""
        # Until it is known what earlier passes reported: a pass that cannot find that out is reported all the same.
        alerts = Alerts(self._state)
        try:
            alerts = Alerts.read(self._state)
            settings = self._settings.current()
            alerts.use(settings.alerts.command)
            outcome = self._pass(settings, early)
            if early is None:
                alerts.note_unstarted(outcome.unstarted, time.time())
            alerts.note_pass(0, time.time())
        except IflError as error:
            # Often the server is only being restarted; whatever was in hand is on disk.
            self._tell([f"no pass: {error}"])
        except Exception as error:  # noqa: BLE001 - a pass that fails must not end those after it
            alerts.report(FAILING, f"a pass failed: {type(error).__name__}: {error}", time.time())
            self._tell([f"a pass failed: {line}" for line in traceback.format_exc().splitlines()])
        else:
            self._tell([*outcome.sentences, *alerts.notes])
            self._tell_deeds()
            return outcome
        return None

    def _pass(self, settings: Settings, early: EarlyPass | None) -> PassOutcome:
        server, queues = look_at_server(self._ifl)
        not_to_drive, unwoken = self._find_obstacle(settings, server)
        can_be_woken = self._wake_ups.is_listening and server.get("scheduling", "") == "True"
        self._waited = _Waited(server.get("state_count", ""), can_be_woken)
        notes = [self._settings.complaint] if self._settings.complaint else []
        notes += [*unwoken, *find_unknown_queues(settings, queues)]
        connect = partial(PassConnection, known=self._known, settings=settings, file=self._settings)
        outcome = run_pass(
            self._ifl, settings, self._state, early, activity=self._activity, not_to_drive=not_to_drive, notes=notes,
            connect=connect,
        )  # fmt: skip
        refusal = [f"nothing is driven: {not_to_drive}"] if not_to_drive else []
        return outcome._replace(sentences=[*notes, *refusal, *outcome.sentences])

    def _find_obstacle(self, settings: Settings, server: Mapping[str, str]) -> tuple[str, list[str]]:
        """Why nothing may be driven now, though the mode is ``drive``; else listens for wake-ups, and notes what keeps
        it from that: any user of this host can take the port."""
        if not drives(settings):
            self._wake_ups.close()
            return "", []
        other = find_other_scheduler(server)
        if other:
            self._wake_ups.close()
            return f"{other} starts jobs of this server: stop it, or set the mode to observe", []
        try:
            self._wake_ups.listen()
        except PortTakenError as taken:
            listener = find_listener(self._port, server)
            if listener:
                return f"{listener} listens on port {self._port}, as Torque's schedulers do: stop it", []
            until = "by a process of a user who may start no jobs; until that is ended, the server wakes no pass"
            return "", [f"{taken}, {until}"]
        return "", []

    def _wait(self, begun_s: float, due_s: float, passed: PassResult) -> EarlyPass | None:
        """Wait for the next pass; None if that is the due one."""
        rested_s = begun_s + (_SHARE * passed.cpu_s if passed is not _FAILED else _APART_S)
        self._wake_ups.pause(min(due_s, rested_s) - time.monotonic())
        timed_s = due_s
        if passed.next_s is not None:
            timed_s = min(due_s, max(begun_s + _APART_S, time.monotonic() + passed.next_s - time.time()))
        look_s = self._settings.current().schedule.look_s
        looks = bool(self._wake_ups.is_listening and not self._waited.can_be_woken and look_s)
        is_over = False
        while not is_over and (left_s := timed_s - time.monotonic()) > 0:
            slice_s = min(left_s, max(look_s, _SHORTEST_LOOK_S)) if looks else left_s
            woken = self._wake_ups.wait(slice_s)
            is_over = woken or self._wake_ups.is_stopped or (looks and self._has_changed())
        left_s = due_s - time.monotonic()
        return EarlyPass(left_s, frozenset(self._tried)) if left_s > _SHORTEST_PASS_S else None

    def _has_changed(self) -> bool:
        try:
            return look_at_server(self._ifl)[0].get("state_count", "") != self._waited.counts
        except IflError:
            return False

    def _tell_deeds(self) -> None:
        """Say what the pass did, in one line; nothing if it did nothing."""
        entry = self._state.read_published(LAST_PASS)
        done = [f"{len(entry[key])} {word}" for key, word in _DONE if entry.get(key)]
        if done:
            self._say(", ".join(done))

    def _tell(self, sentences: Sequence[str]) -> None:
        """Log the sentences that were not logged after the pass before."""
        for sentence in sentences:
            if sentence not in self._said:
                self._say(printable(sentence))
        self._said = frozenset(sentences)


def _reap() -> None:
    """Reap the child processes that a pass did not wait for."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
