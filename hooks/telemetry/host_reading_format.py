"""A host's reading as the one line of text that its MoM sends to the server.

``t=1795229283;idle=0.97;mem=52429/64296;net=9800/10000;temp=41/100``: seconds since 1970; the idle fraction of its
cores' time; memory in MiB and network bandwidth in Mbit/s, each what is left of how much; its temperature in degrees
Celsius and the highest that it tolerates. Parts without a sensor are left out, and any other part is ignored.
"""

from __future__ import annotations

import math
from typing import NamedTuple

INTERVAL_S, STALE_INTERVALS = 60.0, 3.0
"""How often a host reports, and after how many intervals a reading is too old, unless the settings say otherwise."""

_LATE_S = 2.0
"""By how much a report may come later than its interval: an idle MoM looks once in some seconds at what is due."""
_STEP = 0.03
_STEP_DEGREES = 3.0
_COLDEST, _HOTTEST = -60.0, 250.0
_MOST = 1e12


class Amount(NamedTuple):
    """What is left of how much."""

    left: float
    all: float


class Heat(NamedTuple):
    """Degrees Celsius, and the highest tolerated temperature; None if it is not known."""

    now: float
    most: float | None = None


class HostReading(NamedTuple):
    """What a host has left; None for what is not measured there."""

    time_s: float
    idle: float | None = None
    memory_mib: Amount | None = None
    network_mbit: Amount | None = None
    heat: Heat | None = None

    def show(self) -> str:
        """The text, rounded."""
        words = [f"t={self.time_s:.0f}"]
        if self.idle is not None:
            words.append(f"idle={self.idle:.2f}")
        for name, amount in (("mem", self.memory_mib), ("net", self.network_mbit)):
            if amount is not None:
                words.append(f"{name}={amount.left:.0f}/{amount.all:.0f}")
        if self.heat is not None:
            words.append(f"temp={self.heat.now:.0f}" + (f"/{self.heat.most:.0f}" if self.heat.most is not None else ""))
        return ";".join(words)


def parse_reading(text: str) -> HostReading | None:
    """The reading in a text; None if it has no time. An invalid part counts as missing."""
    texts = dict(word.split("=", 1) for word in text.split(";") if "=" in word)
    time_s = _read_number(texts.get("t", ""))
    if time_s is None:
        return None
    idle = _read_number(texts.get("idle", ""))
    now, _, most = texts.get("temp", "").partition("/")
    return HostReading(
        time_s,
        idle if idle is not None and idle <= 1 else None,
        _read_amount(texts.get("mem", "")),
        _read_amount(texts.get("net", "")),
        make_heat(_read_number(now, _COLDEST), _read_number(most, _COLDEST)),
    )


def make_heat(now: float | None, most: float | None) -> Heat | None:
    """A plausible temperature, else None; an implausible highest one becomes None."""
    if now is None or not _COLDEST <= now <= _HOTTEST:
        return None
    return Heat(now, most if most is not None and 0 < most <= _HOTTEST else None)


def is_due(reading: HostReading, sent: HostReading | None, interval_s: float, stale_s: float) -> bool:
    """Whether a reading has to be sent: it differs from the one sent last, or that would be older than ``stale_s`` by
    the next report. Each reading sent is written into the server's database, so most are not sent."""
    if sent is None or _differ(reading, sent):
        return True
    age_s = reading.time_s - sent.time_s
    return age_s < 0 or age_s + 1.5 * interval_s + _LATE_S > stale_s


def _differ(one: HostReading, other: HostReading) -> bool:
    pairs = [(one.idle, other.idle, _STEP)]
    for mine, theirs in ((one.memory_mib, other.memory_mib), (one.network_mbit, other.network_mbit)):
        pairs.append((mine and mine.left, theirs and theirs.left, _STEP * max(1.0, mine.all if mine else 0.0)))
        pairs.append((mine and mine.all, theirs and theirs.all, 1.0))
    pairs.append((one.heat and one.heat.now, other.heat and other.heat.now, _STEP_DEGREES))
    pairs.append((one.heat and one.heat.most, other.heat and other.heat.most, 1.0))
    return any(
        (mine is None) != (theirs is None) or (mine is not None and theirs is not None and abs(mine - theirs) >= step)
        for mine, theirs, step in pairs
    )


def _read_amount(text: str) -> Amount | None:
    left, _, most = text.partition("/")
    amount, total = _read_number(left), _read_number(most)
    if amount is None or not total:
        return None
    return Amount(min(amount, total), total)


def _read_number(text: str, least: float = 0.0) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and least <= number <= _MOST else None
