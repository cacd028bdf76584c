"""The bounds of attempts, waits and pauses: when a job goes back to its source, how long a step is tried again, and
which clusters a pass queries.

They are functions of a record alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from policy.migration.job_record_and_copy_updates import ANY, Record
from policy.migration.job_states_and_transitions import SUBMITTED
from policy.values.frozen_value import FrozenValue

MOST_ATTEMPTS = 3
SILENT_AFTER = 3
"""Failures in a row after which a cluster counts as silent."""
SILENT_EVERY = 10
"""A silent cluster is asked in every pass of this number."""
UPLOAD_PAUSES_MIN = (1, 2, 4, 8, 16, 30)
DOWNLOAD_FOR_S = 7 * 86_400
BUSY_FOR_S = 600
"""How long a submission is repeated that the scheduler refuses for being busy or at a limit."""
MOST_UNCLEAR = 3
"""Submissions that fail without an answer of the scheduler, none of whose jobs is there, before the job goes back."""
FULL_FOR_S = 3_600
"""How long a cluster without space for a user is left out for that user."""
VANISHED_AFTER_S = 300
"""How long a job may be unknown to the scheduler, without an exit status, before its history decides."""
EARLY_FOR_S = 60
"""How long after a hand-over early passes look for more that can go out. Then the pass of the minute will do."""


@dataclass(frozen=True)
class WaitSettings(FrozenValue):
    """``max_remote_wait_s``: a job unstarted for so long goes back; 0 is never."""

    max_remote_wait_s: float = 3600
    upload_timeout_s: float = 14_400


def goes_back(record: Record, waited_s: float, settings: WaitSettings) -> bool:
    """Whether a job that waits unstarted at the target goes back to its source.

    Never where the user named the target, never once it has run, and not after the last attempt.
    """
    return (
        record.state == SUBMITTED
        and not record.in_place
        and not record.ran
        and not record.stop
        and record.want == ANY
        and record.attempt < MOST_ATTEMPTS
        and 0 < settings.max_remote_wait_s <= waited_s
    )


def pause_s(tries: int) -> int:
    """Seconds until a transfer that broke ``tries`` times is tried again: 1, 2, 4 ... 30 minutes."""
    last = len(UPLOAD_PAUSES_MIN) - 1
    return 60 * UPLOAD_PAUSES_MIN[min(max(tries, 1) - 1, last)]


def is_asked(failures: int, pass_number: int) -> bool:
    """Whether a pass asks a cluster that has failed so often in a row."""
    return failures < SILENT_AFTER or pass_number % SILENT_EVERY == 0


def is_early_pass_due(busy_for_now: bool, since_hand_over_s: float) -> bool:
    """Whether a pass that has ended calls for an early one: a request stays since a target is busy for now, amid a
    batch or just after it. Later the passes of each minute ask that target."""
    return busy_for_now and 0 <= since_hand_over_s < EARLY_FOR_S
