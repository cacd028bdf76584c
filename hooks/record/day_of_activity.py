"""The last day in slots of ten minutes: cores in use, jobs started, ended and preempted, waits, and failures.

A small ring for the console's charts, kept by passes beside the journal and by a console for itself; it is never read
to decide anything. What cannot be read of it is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hooks.record.hourly_use import Entity, HourlyUse, is_amount

SLOT_S = 600
SLOTS = 144
_LONGEST_S = 300.0
"""Nothing is assumed about longer times between two samples."""
_ALONE_S = 1.0
"""The time that a sample without a recent predecessor counts for."""
_VERSION = 1


class Slot(NamedTuple):
    """Ten minutes. ``number`` counts such slots since 1970; ``used`` and ``total`` are means in cores over the
    ``seconds`` covered; the others are sums, ``waited_s`` over the jobs that ``started``."""

    number: int
    seconds: float = 0.0
    used: float = 0.0
    total: float = 0.0
    started: int = 0
    ended: int = 0
    preempted: int = 0
    failed: int = 0
    waited_s: float = 0.0


class Events(NamedTuple):
    """What happened since the sample before: jobs started (and the sum of their waits), ended and preempted, and
    requests that failed."""

    started: int = 0
    ended: int = 0
    preempted: int = 0
    failed: int = 0
    waited_s: float = 0.0


NO_EVENTS = Events()


class Day(NamedTuple):
    """The slots of a day, oldest first, the time of the last sample, how many jobs ran then, and the use of each entity
    by hour. Immutable: :meth:`sampled` returns the next value."""

    slots: tuple[Slot, ...] = ()
    last_s: float = 0.0
    running: int = 0
    use: HourlyUse = HourlyUse()

    def sampled(
        self,
        time_s: float,
        used: float,
        total: float,
        events: Events = NO_EVENTS,
        running: int = 0,
        use: Mapping[Entity, int] | None = None,
    ) -> Day:
        """The day with one more sample. ``use`` has the cores of each entity. While the clock has gone back a little
        nothing is added; if it was far ahead, what was noted for later times is dropped."""
        if self.last_s - time_s > _LONGEST_S:
            return self._until(time_s).sampled(time_s, used, total, events, running, use)
        if time_s <= self.last_s:
            return self
        span_s = time_s - self.last_s
        seconds = span_s if span_s <= _LONGEST_S else _ALONE_S
        number = int(time_s // SLOT_S)
        slots = {slot.number: slot for slot in self.slots}
        slot = slots.get(number, Slot(number))
        covered = slot.seconds + seconds
        slots[number] = Slot(
            number,
            covered,
            slot.used + (used - slot.used) * seconds / covered,
            slot.total + (total - slot.total) * seconds / covered,
            slot.started + events.started,
            slot.ended + events.ended,
            slot.preempted + events.preempted,
            slot.failed + events.failed,
            slot.waited_s + events.waited_s,
        )
        kept = tuple(slots[each] for each in sorted(slots) if number - SLOTS < each <= number)
        return Day(kept, time_s, running, self.use if use is None else self.use.sampled(time_s, seconds, use))

    def _until(self, time_s: float) -> Day:
        """The day as if it had never been later than just before this time."""
        kept = tuple(slot for slot in self.slots if slot.number <= time_s // SLOT_S)
        return Day(kept, time_s - _ALONE_S, self.running, self.use.ended_at(time_s))

    def filled_from(self, other: Day) -> Day:
        """This day, with each slot and each hour of use of the ``other`` that covers longer than this one's."""
        slots = {slot.number: slot for slot in self.slots}
        for slot in other.slots:
            if slot.number not in slots or slots[slot.number].seconds < slot.seconds:
                slots[slot.number] = slot
        newest = max(slots, default=0)
        kept = tuple(slots[number] for number in sorted(slots) if number > newest - SLOTS)
        return Day(kept, max(self.last_s, other.last_s), self.running, self.use.filled_from(other.use))

    def to_data(self) -> dict[str, Any]:
        """Plain data, for a file."""
        return {
            "version": _VERSION,
            "last_s": self.last_s,
            "running": self.running,
            "slots": [[round(value, 1) for value in slot] for slot in self.slots],
            "use": self.use.to_data(),
        }

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Day:
        """The day of plain data; empty if that is no day, without the slots that are none. Never raises."""
        if not isinstance(data, Mapping) or data.get("version") != _VERSION or not is_amount(data.get("last_s")):
            return Day()
        found = data.get("slots")
        slots = {
            int(each[0]): _slot(each)
            for each in (found if isinstance(found, list) else [])
            if isinstance(each, list) and len(each) == len(Slot._fields) and all(map(is_amount, each))
        }
        newest = int(data["last_s"] // SLOT_S)
        kept = tuple(slots[number] for number in sorted(slots) if newest - SLOTS < number <= newest)
        running = data.get("running", 0)
        use = HourlyUse.from_data(data.get("use"))
        return Day(kept, float(data["last_s"]), int(running) if is_amount(running) else 0, use)


def _slot(values: Sequence[float]) -> Slot:
    number, seconds, used, total, started, ended, preempted, failed, waited_s = values
    return Slot(int(number), seconds, used, total, int(started), int(ended), int(preempted), int(failed), waited_s)
