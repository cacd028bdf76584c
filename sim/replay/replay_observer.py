"""What may watch a replay as it goes, such as the forecasts that are judged by it (sim/forecast)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from policy import Finished, Job, Ledger, Snapshot


class Observer(Protocol):
    """Watches a replay without changing it. :meth:`look` is called where ``next_s`` is before the next event."""

    next_s: float

    def look(self, until_s: float, snapshot: Snapshot, ledger: Ledger) -> None:
        """This has been the state since the last event, and stays until before ``until_s``. Sets ``next_s``."""

    def happened(self, now_s: float, submitted: Sequence[Job], ended: Sequence[Finished]) -> None:
        """Jobs were submitted, and runs ended by themselves; they are decided about next."""

    def started(self, job_id: str, now_s: float) -> None:
        """A job started for the first time."""
