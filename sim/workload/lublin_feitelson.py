"""Generates workloads from the Lublin-Feitelson model: sizes, run times that depend on them, arrivals by time of day.

Source: U. Lublin, D. G. Feitelson, J. Parallel and Distributed Computing 63(11), 2003, 1105-1122; README.md has which
constants, and what the model leaves open.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import accumulate
from random import Random

from sim.workload.application_contention_traits import KINDS
from sim.workload.user_shares_and_estimates import Users
from sim.workload.workload import Cluster, TraceJob, Workload

# Sizes: probabilities of a serial job and of a power of two, then the log2 range of the others, a two-stage uniform
# distribution with a bend.
SERIAL = 0.2927
POWER_OF_2 = 0.6686
LOG2_LOW = 1.2
LOG2_BEND_BELOW_HIGH = 2.0
BELOW_BEND = 0.875

# Natural logarithm of the run time in seconds: a mixture of two gammas (shape, scale), the share of the first falling
# with the size. e**12 s is 45 h: longer ones are drawn again.
SHORT_RUNS = (6.57, 0.823)
LONG_RUNS = (639.1, 0.0156)
SHORT_SHARE_PER_CORE = -0.003
SHORT_SHARE = 0.6986
LONGEST_LOG_RUN = 12.0

# Natural logarithm of the gap between two jobs in seconds of the mean hour: the rush hours' gamma, its shape stretched
# to the whole day by the paper's rush-to-all ratio. e**13 s are 5 days: longer ones are drawn again.
LOG_GAP = (6.0415 * 1.0519, 0.8531)
LONGEST_LOG_GAP = 13.0

# Jobs over the day follow a gamma density over half-hours that is wrapped around the clock, beginning at 5:00.
DAY_SHAPE = (6.1271, 5.2740)
DAY_BEGINS_AT = 10
HALF_HOURS = 48
HALF_HOUR_S = 1800
DAY_S = HALF_HOURS * HALF_HOUR_S

_MOST_JOBS = 10_000_000
_MOST_USERS = 100_000


def generate(jobs: int, cluster: Cluster, users: int, seed: int, load: float | None = None) -> Workload:
    """Draw `jobs` jobs of `users` users for `cluster`, the first at midnight, second 0.

    `load` sets the offered load, core-seconds of all jobs / (cores x time from first to last submit), by scaling the
    gaps between arrivals, with the daily cycle kept; None leaves them as in the model. Sizes are cores. ValueError
    names the argument and what is allowed.
    """
    for name, value, most in (("jobs", jobs, _MOST_JOBS), ("users", users, _MOST_USERS)):
        if not 1 <= value <= most:
            raise ValueError(f"{name} {value}: must be from 1 to {most:,}")
    if load is not None and not 0 < load <= 100:
        raise ValueError(f"load {load}: must be above 0 and at most 100 (1 fills every core)")
    sizes, runs, gaps, people = (_stream(seed, what) for what in ("sizes", "run times", "gaps", "users"))
    cores = [draw_size(sizes, cluster.cores) for _ in range(jobs)]
    run_s = [draw_run_s(runs, size) for size in cores]
    arrivals = [0.0, *accumulate(draw_gap_s(gaps) for _ in range(jobs - 1))]
    stretch = 1.0
    if load is not None and jobs > 1:
        span_s = sum(size * run for size, run in zip(cores, run_s)) / (cluster.cores * load)
        stretch = DAILY_CYCLE.even_s(span_s) / arrivals[-1]
    population = Users(people, users)
    kinds = _stream(seed, "applications")
    applications = {user.name: f"{kinds.choice(sorted(KINDS))}-{user.name}" for user in population.all}
    drawn = []
    for index, (even_s, size, run) in enumerate(zip(arrivals, cores, run_s)):
        user = population.draw(people)
        drawn.append(
            TraceJob(
                number=index + 1,
                submit_s=round(DAILY_CYCLE.clock_s(even_s * stretch)),
                run_s=run,
                estimate_s=user.estimate_s(people, run),
                cores=size,
                user=user.name,
                group=user.group,
                application=applications[user.name],
            )
        )
    name = f"Lublin-Feitelson, {users} users, seed {seed}" + (f", load {load:g}" if load is not None else "")
    return Workload(name=name, cluster=cluster, jobs=tuple(drawn), generated=True)


def draw_size(random: Random, most_cores: int) -> int:
    """A job's cores: 1, or 2 to the power of a two-stage uniform number, rounded to a power of 2 for most jobs."""
    which = random.random()
    if which < SERIAL or most_cores == 1:
        return 1
    high = math.log2(most_cores)
    bend = max(high - LOG2_BEND_BELOW_HIGH, min(LOG2_LOW, high))
    below = random.random() < BELOW_BEND
    exponent = random.uniform(min(LOG2_LOW, bend), bend) if below else random.uniform(bend, high)
    if which < SERIAL + POWER_OF_2:
        exponent = math.floor(exponent + 0.5)
    return min(round(2**exponent), most_cores)


def short_share(cores: int) -> float:
    """The probability that a job of this size has its run time from the first gamma; it falls with the size."""
    return min(1.0, max(0.0, SHORT_SHARE_PER_CORE * cores + SHORT_SHARE))


def draw_run_s(random: Random, cores: int) -> int:
    """A job's run time in whole seconds, at least 1 and less than two days."""
    share = short_share(cores)
    while True:
        log_run = random.gammavariate(*(SHORT_RUNS if random.random() < share else LONG_RUNS))
        if log_run <= LONGEST_LOG_RUN:
            return int(math.exp(log_run))


def draw_gap_s(random: Random) -> float:
    """Seconds from one job to the next if all hours of the day were alike."""
    while True:
        log_gap = random.gammavariate(*LOG_GAP)
        if log_gap <= LONGEST_LOG_GAP:
            return math.exp(log_gap)


def gamma_cdf(x: float, shape: float, scale: float) -> float:
    """The probability that a gamma variate is at most x, by the series of the lower incomplete gamma function.

    DLMF 8.7.1 with the factor taken out: x^a e^-x / Gamma(a+1) x (1 + x/(a+1) + x^2/((a+1)(a+2)) + ...).
    """
    if x <= 0:
        return 0.0
    x /= scale
    # This far above the mean the rest is nothing to a float, while the series would overflow.
    if x > shape + 10 * math.sqrt(shape) + 40:
        return 1.0
    term = total = 1.0
    step = shape
    while term > total * 1e-16:
        step += 1
        term *= x / step
        total += term
    return total * math.exp(shape * math.log(x) - x - math.lgamma(shape + 1))


class DailyCycle:
    """Converts even time to clock time, in which busy hours have more of the even time and the night less.

    Both start at midnight with 0 and agree at every midnight. `weights` are relative, one for each half-hour.
    """

    def __init__(self, weights: tuple[float, ...]) -> None:
        scale = DAY_S / sum(weights)
        self._begins = (0.0, *accumulate(weight * scale for weight in weights))

    def clock_s(self, even_s: float) -> float:
        """The clock time at which `even_s` seconds of even time have passed."""
        days, rest = divmod(even_s, DAY_S)
        slot = min(bisect_right(self._begins, rest), HALF_HOURS) - 1
        begin, end = self._begins[slot], self._begins[slot + 1]
        return days * DAY_S + (slot + (rest - begin) / (end - begin)) * HALF_HOUR_S

    def even_s(self, clock_s: float) -> float:
        """The even time that has passed at `clock_s`; the inverse of the method `clock_s`."""
        days, rest = divmod(clock_s, DAY_S)
        slot, past = divmod(rest, HALF_HOUR_S)
        begin, end = self._begins[int(slot)], self._begins[int(slot) + 1]
        return days * DAY_S + begin + (end - begin) * past / HALF_HOUR_S


def _day_weights() -> tuple[float, ...]:
    """Each half-hour's share of the jobs, from midnight on: the density around half-hour i, counted from 1."""
    weights = [0.0] * HALF_HOURS
    for half_hour in range(DAY_BEGINS_AT + 1, DAY_BEGINS_AT + 1 + HALF_HOURS):
        share = gamma_cdf(half_hour + 0.5, *DAY_SHAPE) - gamma_cdf(half_hour - 0.5, *DAY_SHAPE)
        weights[(half_hour - 1) % HALF_HOURS] = share
    return tuple(weights)


DAILY_CYCLE = DailyCycle(_day_weights())


def _stream(seed: int, what: str) -> Random:
    # A separate stream for each aspect, so that drawing more of one does not change the others. No secret depends on
    # them.
    return Random(f"{seed} {what}")  # noqa: S311
