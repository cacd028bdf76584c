"""The reservation that a queue belongs to: PBS makes a queue for each, starts it when the reservation begins and
deletes it with the reservation. PBS's scheduler alone starts the jobs there, in every mode of pbsteer."""

from __future__ import annotations

from typing import NamedTuple

from hooks.pbs.reservation_queue_names import is_reservation_queue
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.translate.closures.reservations import is_running
from tui.model.typed_attributes import Attributes, moment
from tui.text.times_and_durations import day_and_time, short_span

SCHEDULER_STARTS = "PBS's scheduler starts its jobs"
_UNREAD: Attributes = {}


class QueueReservation(NamedTuple):
    """The reservation of one queue. ``texts`` are empty where the server status has no reservations, as one that
    programs have read: then only the queue's name says what it is."""

    name: str
    texts: Attributes

    @property
    def begins_s(self) -> float | None:
        """When it begins or began, of a standing one this time or the next; None if unknown."""
        return moment(self.texts, "reserve_start")

    @property
    def ends_s(self) -> float | None:
        """When it ends, of a standing one this time or the next; None if unknown."""
        return moment(self.texts, "reserve_end")

    @property
    def runs(self) -> bool:
        """Whether its time is now."""
        return is_running(self.texts)

    def describe(self, now_s: float) -> str:
        """``reservation S13 of adm, which begins at 21:40 (in 10 min) and ends at 22:40``, as far as that is known."""
        owner = self.texts.get("Reserve_Owner", "").partition("@")[0]
        about = f"reservation {self.name}" + (f" of {owner}" if owner else "")
        begins_s, ends_s = self.begins_s, self.ends_s
        if begins_s is None or ends_s is None:
            return about
        until = day_and_time(ends_s, now_s)
        if self.runs:
            return f"{about}, which runs until {until}"
        ahead = f" (in {short_span(begins_s - now_s)})" if begins_s > now_s else ""
        return f"{about}, which begins at {day_and_time(begins_s, now_s)}{ahead} and ends at {until}"


def reservation_of(server_status: ServerStatus, queue: str) -> QueueReservation | None:
    """The reservation whose queue this is; None for any other queue."""
    for name, texts in server_status.reservations.items():
        if texts.get("queue") == queue:
            return QueueReservation(name.partition(".")[0], texts)
    return QueueReservation(queue, _UNREAD) if is_reservation_queue(queue) else None
