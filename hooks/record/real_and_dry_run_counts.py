"""Counts what passes have done, and by episode what they would have done where they only observe.

A job that would be started, or preempted, in twenty passes in a row counts once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from hooks.act.apply_plan import Outcome, Permissions
from hooks.store.state_files import EPISODES, State
from policy.plan.plan_types import Plan


class DryRunCounts(NamedTuple):
    """The episodes of starts and of preemptions since ``since_s``, the time when any queue's mode last changed.
    ``starting`` and ``preempting``: the jobs of those that were under way in the last pass. ``started`` and
    ``preempted`` count what was done since then."""

    since_s: float
    modes: Mapping[str, str]
    starts: int = 0
    preempts: int = 0
    starting: frozenset[str] = frozenset()
    preempting: frozenset[str] = frozenset()
    started: int = 0
    preempted: int = 0

    def with_pass(
        self, plan: Plan, modes: Mapping[str, str], permissions: Permissions, outcome: Outcome
    ) -> DryRunCounts:
        """The counts with one more pass, which acted in the queues of its ``permissions``."""
        then = self if self.modes == dict(modes) else DryRunCounts(plan.time_s, dict(modes))
        starting = frozenset(start.id for start in plan.starts if start.job.queue not in permissions.start)
        preempting = frozenset(
            preempt.id for preempt in plan.preempts if preempt.run.job.queue not in permissions.preempt
        )
        return then._replace(
            starts=then.starts + len(starting - then.starting),
            preempts=then.preempts + len(preempting - then.preempting),
            starting=starting,
            preempting=preempting,
            started=then.started + len(outcome.started),
            preempted=then.preempted + len(outcome.preempted),
        )

    def did(self) -> dict[str, Any]:
        """The counts of what was done, for the journal and the console."""
        return {"since_s": self.since_s, "starts": self.started, "preempts": self.preempted}

    def would(self) -> dict[str, Any]:
        """The counts of what was left undone, for the journal and the console."""
        return {"since_s": self.since_s, "starts": self.starts, "preempts": self.preempts}

    def write(self, state: State) -> None:
        """Write the counts to disk. Raises OSError if the disk does not take them."""
        jobs = {"starting": sorted(self.starting), "preempting": sorted(self.preempting)}
        state.publish(EPISODES, {**self._asdict(), "modes": dict(self.modes), **jobs}, shared=False, sync=False)

    @classmethod
    def read(cls, state: State, now_s: float) -> DryRunCounts:
        """What the last pass wrote; zero from now on if that cannot be read, or has not what was done, as of 0.1.0."""
        data = state.read_published(EPISODES)
        try:
            return cls(
                float(data["since_s"]),
                dict(data["modes"]),
                int(data["starts"]),
                int(data["preempts"]),
                frozenset(data["starting"]),
                frozenset(data["preempting"]),
                int(data["started"]),
                int(data["preempted"]),
            )
        except (KeyError, TypeError, ValueError):
            return cls(now_s, {})
