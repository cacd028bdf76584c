"""Alerts by syslog and by the site's command: failing passes, passes without time for starts, queues handed back.

Each kind is an episode, reported when it begins, once an hour while it lasts, and when it is over; reports are recorded
on disk for the next pass, a process of its own.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hooks.alerts.alert_command import start_program
from hooks.alerts.syslog import ERROR, NOTICE, WARNING, send_line
from hooks.pbs.files_and_output.only_root_can_write import find_fault
from hooks.store.state_files import ALERT_COMMAND, ALERTS, State
from policy.model.printable_text import printable

FAILING = "passes fail"
HANDED_BACK = "handed back"
UNSTARTED = "starts put off"
_SEVERITY = {FAILING: WARNING, HANDED_BACK: ERROR, UNSTARTED: WARNING}
_OVER = {
    FAILING: "passes are well again: none has failed for {quiet_s:.0f} s",
    UNSTARTED: "passes have time for all starts again: none was put off for {quiet_s:.0f} s",
}
"""The message of a kind that is over once it has not been seen for long."""
_AGAIN_S = 3600.0
_WELL_FOR_S = 300.0
"""Passes that fail now and then are one episode, which is over when none has failed for this long."""
_MOST_UNSTARTED = 3
"""Passes in a row that put starts off: many jobs at once may take one or two."""
LONGEST = 2000
_NEVER_S = 1e12
"""Later than any clock of a host is."""


class Episode(NamedTuple):
    """An episode that lasts: when it began, was last seen, and was last reported."""

    begun_s: float
    seen_s: float
    told_s: float

    def not_after(self, now_s: float) -> Episode:
        """The episode with no moment later than now: the clock has been set back since such a one was recorded."""
        return Episode(*(min(moment_s, now_s) for moment_s in self))


class Alerts:
    """The alerts of one server's passes, none so far. ``notes``: what could not be reported, for the server's log."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.notes: list[str] = []
        self._episodes: dict[str, Episode] = {}
        self._last: dict[str, Any] | None = None
        self._unstarted = 0
        self._command: list[str] = []

    @classmethod
    def read(cls, state: State) -> Alerts:
        """The alerts that earlier passes have recorded; what cannot be read of them is as if there were none."""
        alerts, record = cls(state), state.read_published(ALERTS)
        alerts._episodes = _read_episodes(record.get("episodes"))
        alerts._last = _read_last(record.get("last"))
        unstarted, command = record.get("unstarted"), record.get("command")
        alerts._unstarted = unstarted if isinstance(unstarted, int) else 0
        # The command of the last readable settings: unreadable settings are themselves a reason for an alert.
        if isinstance(command, list) and all(isinstance(word, str) for word in command):
            alerts._command = command
        return alerts

    def use(self, command: Sequence[str]) -> None:
        """Set the command that the settings name."""
        if list(command) != self._command:
            self._command = list(command)
            self._write()

    def report(self, kind: str, text: str, now_s: float) -> None:
        """Report that this is so now, if it has just begun or its last report is an hour old."""
        known = self._episodes.get(kind)
        episode = known.not_after(now_s) if known is not None else Episode(now_s, now_s, now_s)
        if known is not None and now_s - episode.told_s < _AGAIN_S:
            self._episodes[kind] = episode._replace(seen_s=now_s)
            self._write()
            return
        self._episodes[kind] = Episode(episode.begun_s, now_s, now_s)
        self._tell(kind, text, _SEVERITY[kind], now_s)

    def note_unstarted(self, text: str, now_s: float) -> None:
        """Note that a due pass put starts off for lack of time, with the sentence on it; an empty text: it put none
        off."""
        before, self._unstarted = self._unstarted, min(self._unstarted + 1, _MOST_UNSTARTED) if text else 0
        if self._unstarted >= _MOST_UNSTARTED:
            self.report(UNSTARTED, f"{_MOST_UNSTARTED} passes in a row had no time for all starts: {text}", now_s)
        elif self._unstarted != before:
            self._write()

    def note_pass(self, missing: int, now_s: float) -> None:
        """Note that a pass ended, with ``missing`` good ones until pbsteer may drive; reports the episodes that are
        over by it."""
        handed_back = self._episodes.get(HANDED_BACK)
        if handed_back is not None and not missing:
            del self._episodes[HANDED_BACK]
            self._tell(HANDED_BACK, "passes are well again: pbsteer may drive its queues again", NOTICE, now_s)
        elif handed_back is not None:
            text = f"passes had failed; pbsteer drives its queues again after {missing} more without a failure"
            self.report(HANDED_BACK, text, now_s)
        for kind, over in _OVER.items():
            episode = self._episodes.get(kind)
            if episode is None:
                continue
            if now_s < episode.seen_s:
                self._episodes[kind] = episode.not_after(now_s)
                self._write()
            elif now_s - episode.seen_s >= _WELL_FOR_S:
                del self._episodes[kind]
                self._tell(kind, over.format(quiet_s=now_s - episode.seen_s), NOTICE, now_s)

    def _tell(self, kind: str, text: str, severity: int, now_s: float) -> None:
        """Send the alert. It is recorded before the command runs; if the disk does not take it, each pass would report
        it again, so it goes to the syslog alone. But for a hand-back: a pass reports one only when it has made it, and
        needs the disk before it can switch a scheduler off again."""
        text = printable(text)[:LONGEST]
        unsent = send_line(text, severity)
        self._last = {"time_s": now_s, "kind": kind, "text": text, "syslog": unsent}
        is_kept = self._write()
        if self._command and (is_kept or (kind == HANDED_BACK and severity == _SEVERITY[kind])):
            note = start_command(self._state, self._command, text, now_s)
            self.notes += [note] if note else []

    def _write(self) -> bool:
        episodes = {kind: dict(episode._asdict()) for kind, episode in self._episodes.items()}
        data = {
            "episodes": episodes,
            "last": self._last,
            "command": self._command,
            "unstarted": self._unstarted,
        }
        try:
            self._state.publish(ALERTS, data, shared=False)
        except OSError as error:
            self.notes.append(
                f"the record of alerts cannot be written; the command for alerts is run for a hand-back only: {error}"
            )
            return False
        return True


def start_command(state: State, command: Sequence[str], text: str, now_s: float) -> str:
    """Start the site's command; returns a sentence if it could not be started. How it ends is recorded when it has."""

    def report_outcome(problem: str) -> None:
        state.publish(ALERT_COMMAND, {"time_s": now_s, "program": command[0], "problem": problem}, shared=False)

    fault = find_fault(command[0])
    try:
        if fault:
            report_outcome(f"not run: {fault}")
            return f"the command for alerts is not run: {fault}"
        start_program(command, on_stdin(text), report_outcome)
    except OSError as error:
        return f"the command for alerts could not be started: {error}"
    return ""


def on_stdin(text: str) -> str:
    """The input of a command: one line that names the host."""
    return f"pbsteer on {socket.gethostname()}: {text}\n"


def describe_alerts(state: State) -> dict[str, Any]:
    """The last alert, the episodes that last, and the outcome of the last command, for ``hooks status``; empty if there
    was no alert."""
    record, ended = state.read_published(ALERTS), state.read_published(ALERT_COMMAND)
    last = _read_last(record.get("last"))
    if last is None:
        return {}
    lasting = sorted(_read_episodes(record.get("episodes")))
    problem = ended.get("problem")
    return {**last, "lasting": lasting, "command_problem": problem if isinstance(problem, str) else ""}


def _read_last(data: object) -> dict[str, Any] | None:
    """The last alert as it was recorded; None if that is none."""
    if not isinstance(data, dict):
        return None
    time_s, texts = data.get("time_s"), {name: data.get(name, "") for name in ("kind", "text", "syslog")}
    is_moment = isinstance(time_s, (int, float)) and 0 <= time_s < _NEVER_S
    is_alert = is_moment and all(isinstance(text, str) for text in texts.values())
    return {"time_s": time_s, **texts} if is_alert else None


def _read_episodes(data: object) -> dict[str, Episode]:
    try:
        known = (
            {kind: episode for kind, episode in data.items() if kind in _SEVERITY} if isinstance(data, Mapping) else {}
        )
        return {kind: Episode(*(float(episode[name]) for name in Episode._fields)) for kind, episode in known.items()}
    except (KeyError, TypeError, ValueError):
        return {}
