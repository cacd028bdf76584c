"""A forecast's own record of hits and misses, and the factors by which it corrects the next forecasts.

A factor is the ratio of the waits to those drawn that half, or nine tenths, of the noted forecasts stayed below (Kaplan
and Meier, 1958, for jobs that still wait); the share aimed at moves with each hit and miss (Gibbs and Candès, "Adaptive
conformal inference under distribution shift", NeurIPS 2021). See docs/forecast.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from math import floor
from typing import Any, NamedTuple

KEPT = 1000
"""How many noted forecasts the factors come from."""

ENOUGH = 50
"""With fewer noted forecasts nothing is corrected."""

GRACE_S = 60.0
"""Added to both waits, so that a minute's difference in a forecast of some seconds does not count as a large factor."""

AGAIN_S = 3600.0
"""A job's forecast is noted again after this time."""

MOST_AN_HOUR = 20
"""So many forecasts are noted within AGAIN_S at most: those of one time are right or wrong together, and a thousand
jobs submitted at once would fill the record."""

RATE = 0.005
"""A hit lowers the share aimed at by RATE times the share of misses wanted, a miss raises it by RATE times the share of
hits wanted: the two cancel out where the shares come out right."""

_WANTED = (0.5, 0.9)
_LOWEST, _HIGHEST = (0.3, 0.8), (0.7, 0.98)
"""The bounds of the share aimed at, so that a long series of misses does not take it to an extreme."""


class RecordError(ValueError):
    """Data that is no record; the message says what is wrong."""


class Noted(NamedTuple):
    """One forecast of one job: when it was made, and the waits that half and nine tenths of the draws stayed below.

    ``corrected_half_s`` and ``corrected_nine_tenths_s`` are the waits as they were shown; None beyond the
    horizon.
    """

    job: str
    at_s: float
    half_s: float
    nine_tenths_s: float
    corrected_half_s: float | None = None
    corrected_nine_tenths_s: float | None = None


class ForecastRecord:
    """The last noted forecasts, and when their jobs started. Mutable."""

    def __init__(self) -> None:
        self._noted: deque[Noted] = deque()
        self._started: dict[str, float] = {}
        self._last: dict[str, float] = {}
        self._aims = _WANTED

    def __len__(self) -> int:
        return len(self._noted)

    @property
    def aims(self) -> tuple[float, float]:
        """The shares of the past that the two factors are to cover now."""
        return self._aims

    def note(self, forecasts: Iterable[Noted]) -> None:
        """Keep forecasts of one moment: of the jobs that none was kept of within the last hour, as many as the hour has
        room for, spread evenly over the short and the long waits. None is kept of a job that has started since an
        earlier one, such as an array that has more to start: it has one start here."""
        last = self._last
        new = [
            noted
            for noted in forecasts
            if noted.job not in self._started and (noted.job not in last or noted.at_s - last[noted.job] >= AGAIN_S)
        ]
        if not new:
            return
        since_s = max(noted.at_s for noted in new) - AGAIN_S
        room = max(0, MOST_AN_HOUR - sum(noted.at_s > since_s for noted in self._noted))
        if len(new) > room:
            new.sort(key=lambda noted: (noted.half_s, noted.job))
            new = [new[(2 * part + 1) * len(new) // (2 * room)] for part in range(room)]
        for noted in new:
            last[noted.job] = noted.at_s
            self._noted.append(noted)
        while len(self._noted) > KEPT:
            old = self._noted.popleft()
            if last.get(old.job) == old.at_s:
                del last[old.job]
                self._started.pop(old.job, None)

    def started(self, job_id: str, at_s: float) -> None:
        """The job has started. A start before its last forecast is another subjob's, or an earlier run's, and is not
        the one that was forecast. PBS tells starts in whole seconds."""
        if job_id not in self._last or job_id in self._started or at_s < floor(self._last[job_id]):
            return
        self._started[job_id] = at_s
        for noted in self._noted:
            if noted.job == job_id:
                wait_s = at_s - noted.at_s
                corrected = (noted.corrected_half_s, noted.corrected_nine_tenths_s)
                half, nine_tenths = (
                    aim if until_s is None else _moved(aim, is_hit=wait_s <= until_s, which=which)
                    for which, (aim, until_s) in enumerate(zip(self._aims, corrected))
                )
                self._aims = half, nine_tenths

    def deleted(self, job_id: str) -> None:
        """The job will never start: its forecasts can be neither hits nor misses."""
        if self._last.pop(job_id, None) is not None:
            self._started.pop(job_id, None)
            self._noted = deque(noted for noted in self._noted if noted.job != job_id)

    def factors(self, now_s: float) -> tuple[float, float]:
        """The factors of the waits, plus the grace, that half and nine tenths of the draws stay below."""
        if len(self._noted) < ENOUGH:
            return 1.0, 1.0
        halves: list[tuple[float, bool]] = []
        nine_tenths: list[tuple[float, bool]] = []
        for noted in self._noted:
            start_s = self._started.get(noted.job)
            known = start_s is not None and start_s <= now_s
            wait_s = max(0.0, (start_s if known and start_s is not None else now_s) - noted.at_s) + GRACE_S
            halves.append((wait_s / (noted.half_s + GRACE_S), known))
            nine_tenths.append((wait_s / (noted.nine_tenths_s + GRACE_S), known))
        return _quantile(halves, self._aims[0]), _quantile(nine_tenths, self._aims[1])

    def waiting(self) -> list[str]:
        """The jobs of noted forecasts that have not started as far as is known."""
        return [job for job in self._last if job not in self._started]

    def hits(self) -> tuple[int, int, int]:
        """How many noted forecasts have come true or not, and how many of their jobs started before the half's and the
        nine tenths' moment of the draws."""
        known = [(noted, self._started[noted.job] - noted.at_s) for noted in self._noted if noted.job in self._started]
        return (
            len(known),
            sum(wait_s <= noted.half_s for noted, wait_s in known),
            sum(wait_s <= noted.nine_tenths_s for noted, wait_s in known),
        )

    def to_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "version": 1,
            "noted": [list(noted) for noted in self._noted],
            "started": dict(self._started),
            "aims": list(self._aims),
        }

    @classmethod
    def from_data(cls, data: object) -> ForecastRecord:
        """Read back what :meth:`to_data` gave. Raises :class:`RecordError`."""
        if not isinstance(data, Mapping) or data.get("version") != 1:
            raise RecordError("a record of forecasts is an object of version 1")
        record = cls()
        try:
            for job, at_s, half_s, nine_tenths_s, *corrected in data["noted"]:
                corrected_s = (None if each is None else _seconds(each) for each in corrected)
                noted = Noted(str(job), _seconds(at_s), _seconds(half_s), _seconds(nine_tenths_s), *corrected_s)
                record._noted.append(noted)
                record._last[noted.job] = noted.at_s
            started = {str(job): _seconds(at_s) for job, at_s in data["started"].items()}
            record._started = {job: at_s for job, at_s in started.items() if at_s >= floor(record._last.get(job, at_s))}
            half, nine_tenths = (
                min(high, max(low, _seconds(aim))) for aim, low, high in zip(data["aims"], _LOWEST, _HIGHEST)
            )
            record._aims = half, nine_tenths
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RecordError(f"not a record of forecasts: {type(error).__name__}: {error}") from error
        return record


def _quantile(ratios: list[tuple[float, bool]], share: float) -> float:
    """The smallest ratio that the share of all stays at or below; those not known yet are above what is written. The
    largest known one where too many are not known; 1 without any known."""
    ratios.sort(key=lambda ratio: (ratio[0], not ratio[1]))
    left, above, last = len(ratios), 1.0, 1.0
    for ratio, known in ratios:
        if known:
            above *= 1 - 1 / left
            last = ratio
            if 1 - above >= share - 1e-9:
                return ratio
        left -= 1
    return last


def _moved(aim: float, *, is_hit: bool, which: int) -> float:
    """The share aimed at after one more hit or miss."""
    return min(_HIGHEST[which], max(_LOWEST[which], aim + RATE * (_WANTED[which] - is_hit)))


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= 1e15:
        raise ValueError(f"{value!r} is no number of seconds")
    return float(value)
