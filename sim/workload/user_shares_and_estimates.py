"""The users of a generated workload: how much each submits, and their run time estimates.

Activity is by Zipf; estimates follow D. Tsafrir, Y. Etsion, D. G. Feitelson, "Modeling user runtime estimates", JSSPP
2005 (README.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from random import Random

_MINUTE_S = 60
_HOUR_S = 3600

# The round values in users' job scripts, up to what the run time model can reach.
ROUND_ESTIMATES_S = (
    *(minutes * _MINUTE_S for minutes in (1, 2, 5, 10, 15, 20, 30, 40)),
    *(hours * _HOUR_S for hours in (1, 2, 3, 4, 6, 8, 10, 12, 15, 18, 24, 36)),
)
LONGEST_ESTIMATE_S = 48 * _HOUR_S

_FEWEST_VALUES, _MOST_VALUES = 3, 8
_USERS_PER_GROUP = 4


@dataclass(frozen=True)
class User:
    """One submitter. `estimates_s` are the estimates that this user gives, shortest first, the longest allowed last."""

    name: str
    group: str
    estimates_s: tuple[int, ...]

    def estimate_s(self, random: Random, run_s: int) -> int:
        """This user's estimate for a job that will run `run_s` seconds: at least that, one of the user's round
        values.
        """
        accuracy = 1.0 - random.random()
        return next((value for value in self.estimates_s if value * accuracy >= run_s), LONGEST_ESTIMATE_S)


class Users:
    """A population of `count` users in groups of about four, the busiest first."""

    def __init__(self, random: Random, count: int) -> None:
        digits = len(str(count))
        groups = -(-count // _USERS_PER_GROUP)
        self.all = tuple(
            User(f"u{rank:0{digits}}", f"g{random.randint(1, groups):0{digits}}", _habits(random))
            for rank in range(1, count + 1)
        )
        self._up_to = tuple(accumulate(1 / rank for rank in range(1, count + 1)))

    def draw(self, random: Random) -> User:
        """The user who submits the next job."""
        return random.choices(self.all, cum_weights=self._up_to)[0]


def _habits(random: Random) -> tuple[int, ...]:
    known = random.sample(ROUND_ESTIMATES_S, random.randint(_FEWEST_VALUES, _MOST_VALUES))
    return (*sorted(known), LONGEST_ESTIMATE_S)
