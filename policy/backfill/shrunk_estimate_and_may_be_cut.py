"""The run time that a job is tested with for backfilling (docs/policies.md, P3).

A job that can be cut when the head's time comes is tested with p times what is left of its estimate, or with a
prediction (Tsafrir, Etsion, Feitelson, "Backfilling using system-generated predictions", IEEE TPDS 2007), any other job
with its whole estimate: that it has saved work is what its program says, and only a cut ends a run that saved nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Finished, Job, Run
from policy.model.ledger_between_passes import History, Ledger
from policy.settings.site_settings import Settings

NotCut = Literal["grace", "not-rerunable", "exempt", "cap", "repeats"]
"""Why a job could not be cut, and so must be tested with its whole estimate."""


class Tested(NamedTuple):
    """``estimate_s``: what the job is tested with; ``cuttable``: whether it may be cut at the shadow time."""

    estimate_s: float
    cuttable: bool


class Estimates:
    """The estimates of one pass."""

    __slots__ = (
        "_cheap_s", "_counts", "_exempt_s", "_factor", "_grace_s", "_history", "_most_cuts", "_now_s", "_predictor",
        "_saves", "_slack_s", "_threshold_s", "shrinks",
    )  # fmt: skip

    def __init__(self, settings: Settings, ledger: Ledger, now_s: float) -> None:
        backfill = settings.backfill
        self._factor = backfill.shrink_factor
        self._predictor = backfill.predictor
        self._threshold_s = backfill.shrink_threshold_s
        self._most_cuts = settings.quota.cap
        self._exempt_s = settings.quota.exempt_s
        self._saves = settings.checkpoint.saves
        self._cheap_s = settings.checkpoint.repeat_at_most_s
        self._grace_s = settings.checkpoint.grace_s
        self._slack_s = settings.schedule.interval_s + settings.checkpoint.grace_s
        self._counts = ledger.preemptions
        self._history = ledger.history
        self._now_s = now_s
        self.shrinks = backfill.kind == "checkpoint"

    def tested(self, job: Job, reserved_s: float, promised_s: float = 0.0) -> Tested:
        """The estimate for a test against a head reserved for ``reserved_s``, and whether the job may be cut then.

        ``promised_s`` is the last time promised to a head there: a shadow time may move back to it. A job without a
        walltime has an infinite estimate, and can be cut like others.
        """
        left_s, now_s = job.left_s, self._now_s
        is_short = left_s <= self._threshold_s
        if (
            not self.shrinks
            or (is_short and job.saved_s <= 0)
            or self.why_not_cut(job, reserved_s - now_s, max(reserved_s, promised_s) - now_s)
        ):
            return Tested(job.longest_s, cuttable=False)
        return Tested(left_s if is_short else self.expected_s(job, left_s), cuttable=True)

    def expected_s(self, job: Job, left_s: float) -> float:
        """What is left of the job by prediction, else by p; all of it if neither gives less, or without a walltime. A
        prediction is at least 1 s: a user's last jobs may have ended at once."""
        if left_s == UNLIMITED_S:
            return left_s
        predicted = self._predicted_s(job, left_s)
        if predicted is not None and predicted <= 0 and job.saved_s > 0:
            # It has outlasted the prediction.
            return left_s
        if predicted is None:
            return left_s if self._factor is None else left_s * self._factor
        return min(left_s, max(1.0, predicted))

    def longest_expected(self, job: Job, within_s: float) -> float:
        """The most seconds left of the job with which it is expected to run no longer than ``within_s``; infinite if
        the prediction does not depend on what is left."""
        most_s = within_s
        past = self._history.get(job.user) if self._predictor != "none" else None
        if past is not None and len(past.last) >= 2 and self._predictor == "last-two":
            predicted = sum(past.last) / len(past.last) - job.saved_s
            is_short = max(1.0, predicted) <= within_s and (predicted > 0 or job.saved_s <= 0)
            most_s = UNLIMITED_S if is_short else within_s
        elif past is not None and len(past.last) >= 2 and past.estimate_s and past.run_s:
            most_s = within_s * past.estimate_s / past.run_s
        elif past is not None and len(past.last) >= 2 and past.estimate_s:
            most_s = UNLIMITED_S if within_s >= 1 and job.saved_s <= 0 else within_s
        elif self._factor is not None:
            most_s = within_s / self._factor
        return most_s if most_s == UNLIMITED_S else max(within_s, float(int(most_s)))

    def short_s(self, job: Job) -> float:
        """How short a waiting job is: :meth:`expected_s`, but all that is left at or below the threshold. Does not ask
        whether the job may be cut."""
        left_s = job.left_s
        return left_s if left_s <= self._threshold_s else self.expected_s(job, left_s)

    def advised_s(self, job: Job) -> float:
        """The run time that PBS's own scheduler is to plan with in ``advise``. It is less than the walltime only for a
        job that can be cut, where backfilling is by checkpoint.

        The length of the window is not known yet. So a job counts as cheap to repeat only if all that is left of it is.
        """
        cheap = self.may_save(job) or job.left_s <= self._cheap_s
        return self.short_s(job) if self.shrinks and job.rerunable and cheap else job.longest_s

    def longest_that_is(self, short_s: float, user: str) -> float:
        """An upper bound: no job of the user with more left to run is as short as ``short_s``. Infinite if each job
        must be tested."""
        past = self._history.get(user) if self._predictor != "none" else None
        if past is None or len(past.last) < 2:
            return short_s if self._factor is None else max(short_s, short_s / self._factor)
        if self._predictor == "last-two" or not past.run_s or not past.estimate_s:
            return UNLIMITED_S
        return max(short_s, short_s * past.estimate_s / past.run_s * (1 + 1e-9))

    def may_save(self, job: Job) -> bool:
        """Whether the job's work survives a preemption."""
        return self._saves if job.saves is None else job.saves

    def below_cap(self, job_id: str) -> bool:
        """Whether the job was preempted fewer times than the cap."""
        return self._counts.get(job_id, 0) < self._most_cuts

    def may_be_cut_at(self, run: Run, at_s: float) -> bool:
        """Whether a cuttable run saves, or will have little to repeat at that promised time, or now, if the pass for
        that time comes late. A run of which saved work left no more than the threshold is cut only once it has
        run longer than that."""
        job = run.job
        if job.saved_s > 0 and job.left_s <= self._threshold_s and self._now_s < run.start_s + job.left_s:
            return False
        if self.may_save(job):
            return True
        late_s = self._now_s - self._slack_s
        return max(at_s, late_s) - run.start_s <= self._cheap_s

    def why_not_cut(self, job: Job, window_s: float, longest_s: float) -> NotCut | None:
        """Why the job cannot be cut at the end of its window; None if it can.

        It can if it starts before runs are asked to save for that time, is rerunnable, has run its exempt time by then,
        is below the cap, and saves or has little to repeat even if the window becomes ``longest_s``.
        """
        if window_s <= self._grace_s:
            return "grace"
        if not job.rerunable:
            return "not-rerunable"
        if window_s < self._exempt_s:
            return "exempt"
        next_id = job.subjob_id(job.subjobs[0]) if job.subjobs else job.id
        if not self.below_cap(next_id):
            return "cap"
        return None if self.may_save(job) or longest_s <= self._cheap_s else "repeats"

    def _predicted_s(self, job: Job, left_s: float) -> float | None:
        if self._predictor == "none":
            return None
        past = self._history.get(job.user)
        if past is None or len(past.last) < 2:
            return None
        if self._predictor == "last-two":
            return sum(past.last) / len(past.last) - job.saved_s
        return left_s * past.run_s / past.estimate_s if past.estimate_s else None


def remember(history: Mapping[str, History], finished: Sequence[Finished]) -> dict[str, History]:
    """The users' histories with the ended runs added; runs without a walltime do not count for the ratio."""
    known = dict(history)
    for run in sorted(finished, key=lambda run: (run.end_s, run.start_s, run.id)):
        past = known.get(run.user, History((), 0.0, 0.0))
        run_s = run.end_s - run.start_s
        estimated = run.estimate_s != UNLIMITED_S
        known[run.user] = History(
            (*past.last, run_s)[-2:],
            past.run_s + (run_s if estimated else 0.0),
            past.estimate_s + (run.estimate_s if estimated else 0.0),
        )
    return known
