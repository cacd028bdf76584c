"""The starts of this pass, which a later job of the pass may take back instead of preempting a run.

Nothing has been started yet, so it costs no work, and what protects a run does not protect a start. Two kinds of starts
stay: that of a beneficiary, whose victims would have lost their work for nothing, and those of subjobs.
"""

from __future__ import annotations

from collections.abc import Container

from policy.model.jobs_runs_vnodes_queues import Run


class PlannedStarts:
    """The starts of one pass. ``changes`` counts what was noted and taken back, ``kept`` are the starts that stay, one
    of each array."""

    __slots__ = ("_beneficiaries", "_ids", "_of_users", "_takeable", "changes", "kept")

    def __init__(self, beneficiaries: Container[str]) -> None:
        self._beneficiaries = beneficiaries
        self._ids: set[str] = set()
        self._takeable: dict[str, Run] = {}
        self.kept: dict[str, Run] = {}
        self._of_users: dict[str, int] = {}
        self.changes = 0

    def __contains__(self, run_id: str) -> bool:
        """Whether the run is a start of this pass."""
        return run_id in self._ids

    def note(self, run: Run) -> None:
        """Note a start."""
        self.changes += 1
        self._ids.add(run.id)
        if run.subjob is None and run.id not in self._beneficiaries:
            self._takeable[run.id] = run
            self._of_users[run.job.user] = self._of_users.get(run.job.user, 0) + 1
        else:
            self.kept[run.job.id] = run

    def take_back(self, run_id: str) -> None:
        """Note that a start is taken back."""
        self.changes += 1
        self._ids.discard(run_id)
        run = self._takeable.pop(run_id, None)
        if run is not None:
            self._of_users[run.job.user] -= 1

    @property
    def any(self) -> bool:
        """Whether some start may be taken back."""
        return bool(self._takeable)

    def has_of(self, user: str) -> bool:
        """Whether a start of this user may be taken back."""
        return self._of_users.get(user, 0) > 0

    def latest_first(self) -> list[Run]:
        """The starts that may be taken back, in the reverse of the order in which they were planned."""
        return [*self._takeable.values()][::-1]
