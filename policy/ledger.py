"""The little that must be remembered between passes: promises, holds for beneficiaries, preemption counts.

A ledger is a value; a pass makes the next one. It is written to disk as plain data with a version, and a version that
is newer than this code is refused rather than guessed at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from policy.placement import Placement, parse_exec_vnode

VERSION = 1

_LATEST_S = 1e15


class LedgerError(ValueError):
    """Data that is no ledger of this version; the message says what is wrong with it."""


@dataclass(frozen=True)
class Hold:
    """Resources kept for a beneficiary while its victims let go: where it will run, whom it waits for, since when."""

    placement: Placement
    victims: tuple[str, ...]
    since_s: float


@dataclass(frozen=True)
class Ledger:
    """``promises``: head job to its first reserved time. ``holds``: beneficiary to its hold. ``preemptions``: job
    to how
    often it was preempted. ``backfilled``: the runs that started by backfilling."""

    promises: Mapping[str, float] = field(default_factory=dict)
    holds: Mapping[str, Hold] = field(default_factory=dict)
    preemptions: Mapping[str, int] = field(default_factory=dict)
    backfilled: Mapping[str, float] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
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
                _times(data["promises"]),
                {
                    str(job): Hold(
                        parse_exec_vnode(hold["exec_vnode"]),
                        _names(hold["victims"]),
                        _time_s(hold["since_s"]),
                    )
                    for job, hold in data["holds"].items()
                },
                {str(job): _count(count) for job, count in data["preemptions"].items()},
                _times(data["backfilled"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LedgerError(f"not a ledger: {type(error).__name__}: {error}") from error


def _time_s(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= _LATEST_S:
        raise ValueError(f"{value!r} is no time; allowed is a number of seconds")
    return float(value)


def _times(value: Mapping[str, object]) -> dict[str, float]:
    return {str(job): _time_s(at_s) for job, at_s in value.items()}


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no count; allowed is a whole number, 0 or more")
    return value


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{value!r} is no list of jobs")
    return tuple(str(name) for name in value)
