"""Prime and non-prime time on a real server: pbs_sched and a pass get the same jobs, and start the same ones.

The queues are stopped while jobs are submitted, so that one cycle, and one pass, sees them all.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import OrderSettings, Settings
from tests.hooks.deploy_on_testbed import (
    deploy_and_drive,
    last_pass,
    notes,
    wait_for_due_pass,
    wait_until_driven,
)
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.cycles_of_pbs_sched import hang_up, outcome_by_sched

QUEUES = ("workq", "p_work", "np_work")
MINUTE_S = 60
_STARTED = re.compile(r";Job;([0-9]+)\.[^;]*;Job Run at request of")


class Asked(NamedTuple):
    queue: str
    minutes: int | None
    cores: int = 1


OF_ALL_LENGTHS = tuple(Asked(queue, minutes) for queue in QUEUES for minutes in (10, 90, 300, None))


class Case(NamedTuple):
    """``holidays``: lines of the file, in which ``{now-60}`` is the time of day an hour ago; ``config``: lines of the
    ``sched_config``."""

    holidays: Sequence[str]
    config: Sequence[str] = ()
    jobs: Sequence[Asked] = OF_ALL_LENGTHS


ALWAYS, NEVER = ("all", "none"), ("none", "all")


def each_day(prime: str, non_prime: str) -> list[str]:
    return ["YEAR 2026", *(f"{day} {prime} {non_prime}" for day in ("weekday", "saturday", "sunday"))]


AN_HOUR_OF_PRIME = each_day("{now-60}", "{now+60}")
AN_HOUR_OF_OTHER = each_day("{now+60}", "{now-60}")
KEPT = "backfill_prime: True ALL"
SIZES = tuple(Asked("workq", 10, cores) for cores in (1, 3, 2))
CASES: Mapping[str, Case] = {
    "installed": Case(()),
    "always-prime": Case(each_day(*ALWAYS)),
    "never-prime": Case(each_day(*NEVER)),
    "prime-now": Case(AN_HOUR_OF_PRIME),
    "non-prime-now": Case(AN_HOUR_OF_OTHER),
    "holiday": Case([*each_day(*ALWAYS), "{today} Today off"]),
    "kept-to-prime": Case(AN_HOUR_OF_PRIME, (KEPT,)),
    "kept-to-non-prime": Case(AN_HOUR_OF_OTHER, (KEPT,)),
    "kept-to-the-other-only": Case(AN_HOUR_OF_PRIME, ("backfill_prime: True non_prime", "backfill_prime: False prime")),
    "spill": Case(AN_HOUR_OF_PRIME, (KEPT, 'prime_spill: "1:00:00" non_prime', 'prime_spill: "0:00:00" prime')),
    "spill-into-prime": Case(AN_HOUR_OF_OTHER, (KEPT, 'prime_spill: "1:00:00" prime')),
    "any-time-queues-exempt": Case(AN_HOUR_OF_PRIME, (KEPT, "prime_exempt_anytime_queues: True")),
    "own-prefixes": Case(AN_HOUR_OF_PRIME, ("primetime_prefix: np_", "nonprimetime_prefix: wo")),
    "order-of-prime": Case(each_day(*ALWAYS), ('job_sort_key: "ncpus HIGH" prime',), SIZES),
    "order-of-non-prime": Case(each_day(*NEVER), ('job_sort_key: "ncpus HIGH" prime',), SIZES),
}


@pytest.fixture
def sched_priv(pbs: PbsCluster) -> Iterator[Path]:
    """The scheduler's folder; its files are as before afterwards."""
    folder = pbs.server_home / "sched_priv"
    before = {name: (folder / name).read_bytes() for name in ("sched_config", "holidays")}
    yield folder
    for name, data in before.items():
        (folder / name).write_bytes(data)
    hang_up(pbs)


def fill_in(line: str, now_s: float) -> str:
    def at(match: re.Match[str]) -> str:
        return time.strftime("%H%M", time.localtime(now_s + int(match.group(1)) * MINUTE_S))

    return re.sub(r"\{now([+-]\d+)\}", at, line).replace("{today}", str(time.localtime(now_s).tm_yday))


def configure(pbs: PbsCluster, case: Case, folder: Path, installed: str) -> None:
    now_s = time.time()
    names = {line.partition(":")[0] for line in case.config}
    kept = [line for line in installed.splitlines() if line.partition(":")[0] not in names]
    (folder / "sched_config").write_text("\n".join([*kept, *case.config, ""]))
    (folder / "holidays").write_text("\n".join([*(fill_in(line, now_s) for line in case.holidays), ""]))
    hang_up(pbs)


def submit(pbs: PbsCluster, case: Case) -> list[str]:
    """Submit the jobs to stopped queues."""
    pbs.qmgr(*(f"set queue {queue} started = False" for queue in QUEUES))
    numbers = []
    for job in case.jobs:
        walltime = None if job.minutes is None else str(job.minutes * MINUTE_S)
        submitted = pbs.qsub("alice", select=f"1:ncpus={job.cores}", walltime=walltime, queue=job.queue)
        numbers.append(submitted.partition(".")[0])
    return numbers


def starts_of(pbs: PbsCluster, jobs: Sequence[str]) -> list[int]:
    """Which of the jobs have started, as their places in the list, in the order of their starts."""
    places = {number: place for place, number in enumerate(jobs)}
    return [places[number] for number in _STARTED.findall(pbs.server_log()) if number in places]


def clear(pbs: PbsCluster, jobs: Sequence[str]) -> None:
    pbs.run(["qdel", "-W", "force", "-x", *jobs])
    pbs.wait_until(lambda: not pbs.run(["qselect"]).stdout.strip(), 120.0, "no jobs left")
    pbs.wait_until(lambda: all(not v.get("jobs") for v in pbs.pbsnodes().values()), 120.0, "no job on any vnode")


def by_sched(pbs: PbsCluster, case: Case) -> list[int]:
    jobs = submit(pbs, case)
    pbs.qmgr(*(f"set queue {queue} started = True" for queue in QUEUES))
    found = outcome_by_sched(pbs, lambda: starts_of(pbs, jobs))
    clear(pbs, jobs)
    return found


def by_pass(pbs: PbsCluster, case: Case) -> list[int]:
    jobs = submit(pbs, case)
    # A pass may have come before pbs_sched had read the files that were just written.
    wait_until_driven(pbs, *QUEUES)
    pbs.qmgr(*(f"set queue {queue} started = True" for queue in QUEUES))
    # An early pass may have no time for all of them.
    wait_for_due_pass(pbs)
    assert last_pass(pbs)["failures"] == [], notes(pbs)
    found = starts_of(pbs, jobs)
    clear(pbs, jobs)
    return found


@pytest.mark.takes(95)
@pytest.mark.parametrize("part", [0, 1])
def test_the_same_jobs_start_in_prime_and_non_prime_time_as_by_pbs_sched(
    pbs: PbsCluster, sched_priv: Path, part: int
) -> None:
    pbs.qmgr(
        *(f"create queue {queue} queue_type = execution, enabled = True, started = True" for queue in QUEUES[1:]),
    )
    installed = (sched_priv / "sched_config").read_text()
    cases = dict(list(CASES.items())[part::2])
    of_sched = {}
    for name, case in cases.items():
        configure(pbs, case, sched_priv, installed)
        of_sched[name] = by_sched(pbs, case)
    assert any(len(starts) < len(cases[name].jobs) for name, starts in of_sched.items()), of_sched
    schedule = ScheduleSettings(interval_s=3, budget_s=120)
    deploy_and_drive(pbs, Settings(order=OrderSettings("none"), schedule=schedule), *QUEUES)
    wrong = []
    for name, case in cases.items():
        configure(pbs, case, sched_priv, installed)
        of_pass = by_pass(pbs, case)
        # The queues are stopped and started one by one: an early pass may begin with any of them.
        ordered = case.jobs is SIZES
        if (of_sched[name] if ordered else sorted(of_sched[name])) != (of_pass if ordered else sorted(of_pass)):
            wrong.append(f"{name}: pbs_sched {of_sched[name]}, a pass {of_pass} {notes(pbs)}")
    assert not wrong, "\n".join(wrong)
