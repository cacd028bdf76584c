"""The timed unlock: the console is read-only until a user unlocks it, for a few minutes."""

from __future__ import annotations

from dataclasses import dataclass

UNLOCK_S = 300.0


@dataclass(frozen=True)
class Unlock:
    """Unlocked until ``until_s`` of a monotonic clock; ``Unlock()`` is locked."""

    until_s: float = float("-inf")

    def opened(self, now_s: float, lasting_s: float = UNLOCK_S) -> Unlock:
        """Unlocked from now on for ``lasting_s`` seconds."""
        return Unlock(now_s + lasting_s)

    def closed(self) -> Unlock:
        """Locked again."""
        return Unlock()

    def remaining_s(self, now_s: float) -> float:
        """The seconds until it locks; 0 if it is locked."""
        return max(0.0, self.until_s - now_s)

    def is_open(self, now_s: float) -> bool:
        """True while changes may be made."""
        return self.remaining_s(now_s) > 0
