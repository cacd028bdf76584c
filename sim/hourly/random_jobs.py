"""The random jobs of the paper's Tables 1 and 2, in the very order of draws that the reference figures have.

A job is cores, hours, the hour of submission and, on one cluster, a user. Jobs are drawn until together they ask for
``load`` of a cluster's core-hours.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

HORIZON_H = 1000
USERS = 30
Bounds = tuple[int, int]


class HourlyJob(NamedTuple):
    """Submitted at the begin of hour ``submit_h``, for ``hours`` on ``cores`` of any nodes."""

    submit_h: int
    cores: int
    hours: int
    user: int = 0


def draw_clusters(
    run: int, cores: Bounds, hours: Bounds, load: float, weights: Sequence[float], size: int
) -> list[list[HourlyJob]]:
    """The jobs of each cluster in submit order; clusters are drawn one after the other, each with its weight of the
    load."""
    random = _generator(run, cores, hours, load)
    return [_draw(random, cores, hours, weight * load * size * HORIZON_H, users=0) for weight in weights]


def draw_users(run: int, cores: Bounds, hours: Bounds, load: float, size: int) -> list[HourlyJob]:
    """The jobs of one cluster in submit order; each user is as likely to own a job."""
    return _draw(_generator(run, cores, hours, load), cores, hours, load * size * HORIZON_H, USERS)


def _generator(run: int, cores: Bounds, hours: Bounds, load: float) -> Random:
    return Random(f"{run} {cores} {hours} {load}")  # noqa: S311 - reproducible, nothing secret


def _draw(random: Random, cores: Bounds, hours: Bounds, core_hours: float, users: int) -> list[HourlyJob]:
    jobs: list[HourlyJob] = []
    asked = 0
    while asked < core_hours:
        wide, long, submit_h = random.randint(*cores), random.randint(*hours), random.randrange(HORIZON_H)
        jobs.append(HourlyJob(submit_h, wide, long, random.randrange(users) if users else 0))
        asked += wide * long
    return sorted(jobs, key=lambda job: job.submit_h)
