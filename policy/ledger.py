"""The little that must be remembered between passes: promises, holds for beneficiaries, preemption counts.

A ledger is a value; a pass makes the next one. It is written to disk as plain data with a version, and a version that
is newer than this code is refused rather than guessed at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Tuple

from policy.placement import Placement, PlacementError, parse_exec_vnode

VERSION = 1


class LedgerError(ValueError):
    """Data that is no ledger of this version; the message says what is wrong with it."""


@dataclass(frozen=True)
class Hold:
    """Resources kept for a beneficiary while its victims let go: where it will run, whom it waits for, since when."""

    placement: Placement
    victims: Tuple[str, ...]
    since_s: float


@dataclass(frozen=True)
class Ledger:
    """``promises``: head job to its first reserved time. ``holds``: beneficiary to its hold. ``preemptions``: job to how
    often it was preempted. ``backfilled``: the runs that started by backfilling."""

    promises: Mapping[str, float] = field(default_factory=dict)
    holds: Mapping[str, Hold] = field(default_factory=dict)
    preemptions: Mapping[str, int] = field(default_factory=dict)
    backfilled: Mapping[str, float] = field(default_factory=dict)

    def to_data(self) -> Dict[str, Any]:
        """As plain data for JSON."""
        return {
            "version": VERSION,
            "promises": dict(self.promises),
            "holds": {
                job: {"exec_vnode": hold.placement.exec_vnode(), "victims": list(hold.victims), "since_s": hold.since_s}
                for job, hold in self.holds.items()
            },
            "preemptions": dict(self.preemptions),
            "backfilled": dict(self.backfilled),
        }

    @classmethod
    def from_data(cls, data: object) -> Ledger:
        """Read back what :meth:`to_data` gave. Raises :class:`LedgerError`."""
        if not isinstance(data, dict):
            raise LedgerError(f"a ledger is an object, this is {type(data).__name__}")
        version = data.get("version")
        if version != VERSION:
            raise LedgerError(f"ledger version {version!r}; this code reads version {VERSION}")
        try:
            return cls(
                {str(job): float(at_s) for job, at_s in data["promises"].items()},
                {
                    str(job): Hold(
                        parse_exec_vnode(hold["exec_vnode"]),
                        tuple(str(victim) for victim in hold["victims"]),
                        float(hold["since_s"]),
                    )
                    for job, hold in data["holds"].items()
                },
                {str(job): int(count) for job, count in data["preemptions"].items()},
                {str(job): float(at_s) for job, at_s in data["backfilled"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError, PlacementError) as error:
            raise LedgerError(f"not a ledger: {type(error).__name__}: {error}") from error
