"""Numbers that look random and follow from a seed alone: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).

The policy has no random source, so equal seeds give equal forecasts on every machine.
"""

from __future__ import annotations

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


class DrawnNumbers:
    """A sequence of numbers, evenly spread from 0 until before 1; another one for each seed and each draw."""

    __slots__ = ("_state",)

    def __init__(self, seed: int, draw: int = 0) -> None:
        self._state = _mixed((seed * _STEP + draw + 1) & _MASK)

    def next(self) -> float:
        """The next number."""
        self._state = (self._state + _STEP) & _MASK
        return (_mixed(self._state) >> 11) / (1 << 53)

    def below(self, count: int) -> int:
        """A whole number from 0 until before ``count``, each as likely as the others."""
        return min(count - 1, int(self.next() * count))

    def strata(self, count: int) -> list[float]:
        """So many numbers, one from each equal part of the range, in a drawn order (McKay, Beckman, Conover, 1979).

        Together they are spread more evenly than numbers drawn each for itself, so fewer draws will do.
        """
        order = list(range(count))
        for last in range(count - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return [(part + self.next()) / count for part in order]


def _mixed(number: int) -> int:
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)
