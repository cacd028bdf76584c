"""Random batches of jobs, the setting in which soft quotas were first compared with hard limits (docs/policies.md, P1).

3,000 cores, 30 users with 100 cores each, and jobs of a week that request on average 90 % of its core-hours; README.md
has how they are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from sim.workload.workload import Cluster, TraceJob, Workload

CLUSTER = Cluster(3000, 1)
USERS = 30
HORIZON_H = 168
LOAD = 0.9
OWNERS = ("equal", "uneven")

_HOUR_S = 3600


@dataclass(frozen=True)
class Setting:
    """The bounds, both included, of a job's cores and hours, and how owners are drawn: one of `OWNERS`."""

    cores: tuple[int, int]
    hours: tuple[int, int]
    owners: str

    def jobs(self, cluster: Cluster, horizon_h: int) -> int:
        """How many jobs request `LOAD` of the cluster's core-hours up to the horizon, on average; at least 1."""
        mean_core_h = sum(self.cores) / 2 * sum(self.hours) / 2
        return max(1, round(LOAD * cluster.cores * horizon_h / mean_core_h))


# A user's hard limit is 100 cores, so no job may request more.
SETTINGS = tuple(
    Setting(cores, hours, owners)
    for owners in OWNERS
    for cores in ((1, 20), (20, 100))
    for hours in ((1, 10), (10, 40))
)


def draw_batch(setting: Setting, number: int, cluster: Cluster = CLUSTER, horizon_h: int = HORIZON_H) -> Workload:
    """One batch, of users `u01` to `u30`. The same arguments give the same jobs."""
    random = Random(f"{setting} {number}")  # noqa: S311 - reproducible, nothing secret
    users = [f"u{user:02}" for user in range(1, USERS + 1)]
    weights = [1.0 if setting.owners == "equal" else 1.0 - random.random() for _ in users]
    count = setting.jobs(cluster, horizon_h)
    jobs = []
    for index, submit_s in enumerate(sorted(random.randrange(horizon_h * _HOUR_S) for _ in range(count))):
        run_s = random.randint(*setting.hours) * _HOUR_S
        user = random.choices(users, weights)[0]
        jobs.append(TraceJob(index + 1, submit_s, run_s, run_s, random.randint(*setting.cores), user, "all"))
    return Workload(f"batch {number} of {setting}", cluster, tuple(jobs), generated=True)
