"""Prime and non-prime time: a scheduler's ``holidays`` file as windows in which its queues start no jobs.

Queues named with ``primetime_prefix`` start jobs in prime time only, those with ``nonprimetime_prefix`` outside it;
``backfill_prime`` also keeps jobs from running on past that time, but for ``prime_spill``. Times are local to the host
(Administrator's Guide, "Using Primetime and Holidays"; ``prime.cpp`` and ``check.cpp`` of PBS's scheduler).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import is_true, read_options
from policy.model.jobs_runs_vnodes_queues import CROSSING, STARTS, UNLIMITED_S, Window
from policy.model.pbs_units import UnitError, parse_duration_s

PRIME, NON_PRIME = "prime time", "non-prime time"

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
"""As :func:`time.localtime` counts them."""
_NAMED = {**{name: (number,) for number, name in enumerate(_DAYS)}, "weekday": (0, 1, 2, 3, 4)}
_ALL, _NONE = "all", "none"
_AHEAD_DAYS = 9
"""The windows of so many days are made. A week repeats, and a later pass makes those of later days."""
_SHOWN = 80


class _Begin(NamedTuple):
    """When prime or non-prime time begins on a day: at a time, HHMM as a number, unless the ``word`` is ``all`` or
    ``none``. The time is -1 where the last line had a word."""

    word: str = ""
    hhmm: int = 0

    def then(self, later: _Begin) -> _Begin:
        """As a later line about the day leaves it: a time does not take the place of a word."""
        return later if later.word else _Begin(self.word, later.hhmm)


class _Day(NamedTuple):
    """When prime and non-prime time begin on a day."""

    prime: _Begin = _Begin()
    non_prime: _Begin = _Begin()

    def then(self, prime: _Begin, non_prime: _Begin) -> _Day:
        """As a later line leaves it (``load_day`` of PBS's scheduler): ``none`` for both is all prime time."""
        prime = self.prime.then(prime)
        if prime.word == non_prime.word == _NONE:
            return _Day(_Begin(_ALL, -1), self.non_prime)
        return _Day(prime, self.non_prime.then(non_prime))

    def is_prime(self, hhmm: int) -> bool:
        """Whether it is prime time then. A day without times, or with both at midnight, is all prime time."""
        begins, ends = self.prime.hhmm, self.non_prime.hhmm
        if self.prime.word == _ALL or (not self.prime.word and begins == ends == 0):
            return True
        if self.non_prime.word == _ALL or self.prime.word == _NONE:
            return False
        if self.non_prime.word == _NONE:
            return True
        return begins <= hhmm < ends if begins < ends else ends < begins and not ends <= hhmm < begins


class PrimeTime(NamedTuple):
    """The days of the week from Monday on, and the holidays by their number in the year; no ``days`` if it is always
    prime time. ``unread`` is the first line that cannot be read (empty if all can)."""

    days: tuple[_Day, ...] = ()
    holidays: frozenset[int] = frozenset()
    unread: str = ""

    def is_prime(self, at_s: float) -> bool:
        """Whether it is prime time at that moment (``is_prime_time`` of PBS's scheduler)."""
        if not self.days:
            return True
        local = time.localtime(at_s)
        if local.tm_yday in self.holidays:
            return False
        return self.days[local.tm_wday].is_prime(local.tm_hour * 100 + local.tm_min)

    def changes(self, from_s: float) -> list[float]:
        """The moments after ``from_s`` at which prime time begins or ends, in order, for some days ahead."""
        found, before = [], self.is_prime(from_s)
        for at_s in sorted(set(self._moments(from_s))) if self.days else ():
            if at_s > from_s and self.is_prime(at_s) != before:
                found.append(at_s)
                before = not before
        return found

    def _moments(self, from_s: float) -> Iterator[float]:
        """The moments at which it may change: each midnight, and the two times of each day."""
        today = time.localtime(from_s)
        for ahead in range(_AHEAD_DAYS + 1):
            for _, hhmm in (_Begin(), *self.days[(today.tm_wday + ahead) % 7]):
                if hhmm >= 0:
                    moment = (today.tm_year, today.tm_mon, today.tm_mday + ahead, hhmm // 100, hhmm % 100, 0)
                    yield time.mktime((*moment, 0, 0, -1))


def read_prime_time(text: str) -> PrimeTime:
    """The times of a ``holidays`` file. Without the file or a ``YEAR`` in it, it is always prime time."""
    days = [_Day()] * 7
    holidays: set[int] = set()
    year, unread = 0, ""
    for line in text.splitlines():
        words = line.split()
        if not words or words[0][0] in "#*" or words[0] == "HOLIDAYFILE_VERSION1":
            continue
        try:
            if words[0] == "YEAR":
                year = int(words[1])
            elif words[0] in _NAMED:
                prime, non_prime = _read_begin(words[1]), _read_begin(words[2])
                for day in _NAMED[words[0]]:
                    days[day] = days[day].then(prime, non_prime)
            else:
                holidays.add(int(words[0]))
        except (IndexError, ValueError):
            unread = unread or line.strip()[:_SHOWN]
    if not year:
        return PrimeTime(unread=unread)
    return PrimeTime(tuple(days), frozenset(holidays), unread)


def _read_begin(word: str) -> _Begin:
    """A time of day as HHMM, ``all`` or ``none``. Raises ValueError for any other."""
    if word in (_ALL, "ALL", _NONE, "NONE"):
        return _Begin(word.lower(), -1)
    number = int(word)
    if not (0 <= number <= 2400 and number % 100 < 60):
        raise ValueError(word)
    return _Begin("", number)


class PrimeRules(NamedTuple):
    """What a scheduler does with prime and non-prime time. ``keeps``: whether no job goes on past the end of prime
    (first) or non-prime time; ``spill_s``: by how much it may all the same."""

    times: PrimeTime
    prime_prefix: str = "p_"
    non_prime_prefix: str = "np_"
    keeps: tuple[bool, bool] = (False, False)
    spill_s: tuple[float, float] = (0.0, 0.0)
    exempts_anytime_queues: bool = False

    def close_queue(self, queue: str, now_s: float) -> tuple[Window, ...]:
        """The windows in which the queue starts no jobs, and those that its jobs do not cross. Of the latter, the last
        has no end: it is not known, and keeps no job from running."""
        is_for_prime = queue.startswith(self.prime_prefix)
        is_for_other = queue.startswith(self.non_prime_prefix)
        if not (is_for_prime or is_for_other or any(self.keeps)):
            return ()
        is_prime, windows = self.times.is_prime(now_s), []
        begins, changes = 0.0, self.times.changes(now_s)
        is_bound = is_for_prime or is_for_other or not self.exempts_anytime_queues
        for ends in (*changes, UNLIMITED_S):
            name, index = (PRIME, 0) if is_prime else (NON_PRIME, 1)
            is_known, never_ends = ends != UNLIMITED_S, not changes
            # What comes after the last change that is known is left open, unless nothing ever changes.
            if (is_known or never_ends) and (is_for_other if is_prime else is_for_prime):
                windows.append(Window(begins, ends, name, closed_to=STARTS))
            if is_known and is_bound and self.keeps[index]:
                windows.append(Window(begins, ends, name, closed_to=CROSSING, past_end_s=self.spill_s[index]))
            if not (is_known or never_ends) and is_bound and any(self.keeps):
                windows.append(Window(begins, ends, name, closed_to=CROSSING))
            begins, is_prime = ends, not is_prime
        return tuple(windows)


def read_prime_rules(files: Mapping[str, str]) -> PrimeRules:
    """The rules of a scheduler by its ``sched_config`` and ``holidays``."""
    text = files.get("sched_config", "")
    prime, non_prime = read_options(text, prime=True), read_options(text, prime=False)
    return PrimeRules(
        read_prime_time(files.get("holidays", "")),
        prime.get("primetime_prefix", ["p_"])[-1],
        prime.get("nonprimetime_prefix", ["np_"])[-1],
        (is_true(prime, "backfill_prime"), is_true(non_prime, "backfill_prime")),
        # Its word says into which of the two a job may spill.
        (_read_spill_s(non_prime), _read_spill_s(prime)),
        is_true(prime, "prime_exempt_anytime_queues"),
    )


def _read_spill_s(options: Mapping[str, Sequence[str]]) -> float:
    try:
        return float(parse_duration_s(options.get("prime_spill", ["0"])[-1]))
    except UnitError:
        return 0.0
