"""The temperatures that hosts have reported since the console was opened, in slots of ten minutes over a day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hooks.pbs.custom_resources_on_hosts import READING
from hooks.pbs.server_status_type_and_attributes import Attributes
from hooks.record.day_of_activity import SLOT_S, SLOTS

_ATTRIBUTE = f"resources_available.{READING}"
_PART = "temp="
_MOST = 250
"""A byte for each slot: 0 is unknown, else degrees Celsius and one, from 0 to this."""


class Temperatures:
    """The hottest that each vnode's host reported, by slot. A byte a slot, since there may be 10,000 vnodes."""

    def __init__(self) -> None:
        self._slots: dict[str, bytearray] = {}
        self._newest = 0

    def sample(self, vnodes: Mapping[str, Attributes], now_s: float) -> None:
        """Take the readings of these vnodes; those that are gone are forgotten."""
        newest = int(now_s // SLOT_S)
        passed = newest - self._newest
        if passed < 0 or passed >= SLOTS:
            self._slots.clear()
        elif passed:
            for ring in self._slots.values():
                for number in range(self._newest + 1, newest + 1):
                    ring[number % SLOTS] = 0
        self._newest = newest
        at = newest % SLOTS
        for name in self._slots.keys() - vnodes.keys():
            del self._slots[name]
        for name, vnode in vnodes.items():
            degrees = _degrees(vnode.get(_ATTRIBUTE, ""))
            if degrees is not None:
                ring = self._slots.get(name) or self._slots.setdefault(name, bytearray(SLOTS))
                ring[at] = max(ring[at], degrees + 1)

    def of(self, names: Iterable[str], slots: int) -> list[int | None]:
        """The hottest of these vnodes in each of the newest ``slots``, the oldest first; None where none is known."""
        rings = [self._slots[name] for name in names if name in self._slots]
        found: list[int | None] = []
        for number in range(self._newest - slots + 1, self._newest + 1):
            highest = max((ring[number % SLOTS] for ring in rings), default=0)
            found.append(highest - 1 if highest else None)
        return found


def _degrees(reading: str) -> int | None:
    """The temperature in a reading, without parsing the rest of it; None where there is none."""
    _, found, rest = reading.partition(_PART)
    text = rest.partition(";")[0].partition("/")[0]
    try:
        return max(0, min(_MOST, round(float(text)))) if found else None
    except (ValueError, OverflowError):
        return None
