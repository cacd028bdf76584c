"""The tables of settings for the server and its passes: mode, times, bounds on requests, forecasts and alerts."""

from __future__ import annotations

from dataclasses import dataclass

from policy.settings.external_program_setting import read_program_line
from policy.settings.setting_fields import (
    choice_setting,
    number_setting,
    setting,
    text_setting,
    whole_setting,
)
from policy.values.frozen_value import FrozenValue

MODES = ("observe", "advise", "drive")
RESERVATIONS = ("within-quota", "any")
DEPEND_SERVERS = ("own", "any")
REFUSED_FROM = ("never", "drive", "advise")
ALWAYS, NEEDED = SWITCHED = ("always", "needed")


@dataclass(frozen=True)
class ScheduleSettings(FrozenValue):
    """A pass in the server: its interval, its time budget, and how many jobs it starts and comments it writes at most.

    ``look_s`` is the interval at which the server is checked between two passes, so that an early pass runs when jobs
    have come or gone (0: never).
    """

    interval_s: int = whole_setting(15, 1, 9999)
    budget_s: float = number_setting(10, 0.1, 9999, unit="seconds")
    max_starts: int = whole_setting(500, 1, 1_000_000)
    max_comments: int = whole_setting(200, 0, 1_000_000)
    look_s: float = number_setting(0.5, 0, 1, unit="seconds")


@dataclass(frozen=True)
class ForecastSettings(FrozenValue):
    """The forecast of starts that passes publish: how often (0: never), with how many draws at most, and how many
    seconds of processor time one may take, in a process beside the pass."""

    interval_s: float = number_setting(300, 0, unit="seconds")
    draws: int = whole_setting(30, 1, 1000)
    cpu_s: float = number_setting(20, 1, 3600, unit="seconds")


@dataclass(frozen=True)
class SubmissionSettings(FrozenValue):
    """What submissions and alterations are refused for.

    In every mode (0: no bound): a ``select`` of more than ``select_length`` characters or ``select_kinds`` kinds of
    chunks; other texts that passes read, of more than ``text_length`` characters together; variables, arguments and
    paths, of more than ``environment_length``; an array of more than ``array_size`` subjobs; a dependency on more than
    ``depend_jobs`` jobs; more than ``mpiprocs`` processes (chunks times ``mpiprocs``), which always has a bound.
    ``depend_servers`` says whose jobs a user's job may depend on, and to whose queues a user may move jobs: this
    server's own, or any's.

    From the mode ``refuse_impossible`` on: a job that no vnodes of the server could ever hold. (In ``advise`` PBS's own
    scheduler is in charge, and lets such a job wait.) ``reservations`` says which reservations of users are let through
    where a queue is in ``advise`` or ``drive``.
    """

    select_length: int = whole_setting(16_384, 0, 1_000_000_000)
    select_kinds: int = whole_setting(256, 0, 1_000_000_000)
    mpiprocs: int = whole_setting(1_000_000, 1, 1_000_000_000)
    text_length: int = whole_setting(8_192, 0, 1_000_000_000)
    environment_length: int = whole_setting(131_072, 0, 1_000_000_000)
    array_size: int = whole_setting(10_000, 0, 1_000_000_000)
    depend_jobs: int = whole_setting(500, 0, 1_000_000_000)
    depend_servers: str = choice_setting("own", DEPEND_SERVERS)
    refuse_impossible: str = choice_setting("drive", REFUSED_FROM)
    reservations: str = choice_setting("within-quota", RESERVATIONS)

    def refuses_impossible_in(self, mode: str) -> bool:
        """Whether a job that can never run is refused in a queue of this mode."""
        return mode != "observe" and self.refuse_impossible in ("advise", mode)


@dataclass(frozen=True)
class ServerSettings(FrozenValue):
    """Server-wide: the mode of queues that name none, the group that may read the journal (none where it is empty), and
    how many days the journal is kept. ``guard_starts``: whether the hook of starts is always on, or off while all
    queues are in ``observe``, and while passes alone start jobs and these cannot change their queue. ``end_hook``:
    whether the hook at a job's end is always on, or only while some job could be asked to save."""

    mode: str = choice_setting("observe", MODES)
    journal_group: str = text_setting("", "the name of a group on the server host")
    journal_days: int = whole_setting(14, 1, 3650)
    guard_starts: str = choice_setting(NEEDED, SWITCHED)
    end_hook: str = choice_setting(NEEDED, SWITCHED)


@dataclass(frozen=True)
class AlertSettings(FrozenValue):
    """The program that gets each alert (failing or late passes, queues handed back, unconfirmed changes) beside
    syslog."""

    command: tuple[str, ...] = setting((), "a list: a program's absolute path, then its arguments", read_program_line)


@dataclass(frozen=True)
class TorqueSettings(FrozenValue):
    """Torque alone: how long one request to its server may take. A MoM that does not answer would make the server, and
    whoever waits for it, wait for five minutes."""

    timeout_s: int = whole_setting(10, 1, 300)
