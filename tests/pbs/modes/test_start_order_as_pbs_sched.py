"""The site's own order on a real server: pbs_sched and a pass get the same jobs, and start them in the same order.

The vnodes are offline while jobs are submitted, so that one cycle, and one pass, sees them all. The order of starts is
read from the server's log.
"""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import OrderSettings, Settings
from tests.hooks.deploy_on_testbed import (
    deploy_and_drive,
    is_scheduling,
    last_pass,
    notes,
    quick_settings,
    set_mode,
    wait_for_pass,
)
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.cycles_of_pbs_sched import hang_up, make_cycle

JOBS = 40
"""Jobs of each setting. ``python -m tests.bench_pbs order`` tries 500."""
LONG_PASSES = ScheduleSettings(interval_s=10, budget_s=120)
"""One pass has time to start all jobs, as one cycle has, also on a busy machine: the next pass begins a round anew."""
CLOSE_S = 15
"""Within a pass, a report of the host, and a cycle."""
USERS = ("alice", "bob", "carol")
_STARTED = re.compile(r";Job;([0-9]+)\.[^;]*;Job Run at request of")


class Asked(NamedTuple):
    """A job to be submitted: the same numbers for pbs_sched and for the pass. ``eligible_s`` is far from whole hours,
    since it grows while the other jobs are submitted."""

    user: str
    cores: int
    priority: int
    walltime_s: int
    eligible_s: int
    queue: str


class Case(NamedTuple):
    """A setting: lines of qmgr, lines of the ``sched_config`` and of the ``resource_group``, and usage by ``pbsfs``."""

    qmgr: Sequence[str] = ()
    config: Sequence[str] = ()
    groups: Sequence[str] = ()
    usage: Sequence[tuple[str, int]] = ()
    queues: Sequence[str] = ("workq",)


_TREE = ("chem 10 root 60", "phys 20 root 40", "alice 11 chem 10", "bob 12 chem 20", "carol 21 phys 10")
CASES = {
    "formula": Case(
        (
            "set server eligible_time_enable = True",
            "set server job_sort_formula = '5*job_priority + 3*(eligible_time//3600) - ncpus*walltime/3600.0'",
        )
    ),
    "formula-with-threshold": Case(
        (
            "set server job_sort_formula = 'ncpus*10 if walltime > 300 else sqrt(walltime) - 10'",
            "set sched default job_sort_formula_threshold = 5",
        )
    ),
    "sort-keys": Case((), ('job_sort_key: "job_priority HIGH" ALL', 'job_sort_key: "walltime LOW" ALL')),
    "by-queue": Case(
        ("set queue workq Priority = 10", "set queue night Priority = 20"), queues=("workq", "night", "other")
    ),
    "queues-together": Case((), ("by_queue: False ALL",), queues=("workq", "night", "other")),
    "round-robin": Case(
        ("set queue other Priority = 50",),
        ("by_queue: False ALL", "round_robin: True ALL"),
        queues=("workq", "night", "other"),
    ),
    "express-queue": Case(
        ("set queue night Priority = 160",), ("by_queue: False ALL",), queues=("workq", "night", "other")
    ),
    "fair-share": Case(
        (),
        ("fair_share: True ALL", "fairshare_usage_res: ncpus*walltime", "by_queue: False ALL"),
        _TREE,
        (("alice", 3000), ("bob", 1500), ("carol", 9000)),
    ),
    "fair-share-by-queue-and-key": Case(
        ("set queue night Priority = 20",),
        ("fair_share: True ALL", "fairshare_usage_res: ncpus", 'job_sort_key: "ncpus HIGH" ALL'),
        _TREE,
        (("alice", 300), ("carol", 30)),
        ("workq", "night"),
    ),
    "formula-of-fair-share": Case(
        ("set server job_sort_formula = '1000*fairshare_factor + 10*fairshare_perc + ncpus'",),
        ("fair_share: True ALL", "unknown_shares: 10"),
        _TREE[:-1],
        (("alice", 3000), ("bob", 1500)),
    ),
}


@contextlib.contextmanager
def keep_files(pbs: PbsCluster) -> Iterator[Path]:
    """The scheduler's folder; its files are as before afterwards."""
    folder = pbs.server_home / "sched_priv"
    names = ("sched_config", "resource_group", "holidays", "usage", "usage.touch")
    before = {name: (folder / name).read_bytes() if (folder / name).exists() else None for name in names}
    try:
        yield folder
    finally:
        for name, data in before.items():
            if data is None:
                (folder / name).unlink(missing_ok=True)
            else:
                (folder / name).write_bytes(data)
        hang_up(pbs)


@pytest.fixture
def sched_priv(pbs: PbsCluster) -> Iterator[Path]:
    with keep_files(pbs) as folder:
        yield folder


def configure(pbs: PbsCluster, case: Case, folder: Path) -> None:
    for queue in case.queues:
        if queue != "workq":
            pbs.qmgr(f"create queue {queue} queue_type = execution, enabled = True, started = True")
    set_offline(pbs, *pbs.mom_names)
    pbs.qmgr(f"set node {pbs.mom_names[0]} resources_available.ncpus = 2000")
    pbs.qmgr(*case.qmgr)
    kept = [line for line in (folder / "sched_config").read_text().splitlines() if not line.startswith("by_queue")]
    own = [] if any(line.startswith("by_queue") for line in case.config) else ["by_queue: True ALL"]
    (folder / "sched_config").write_text("\n".join([*kept, *own, *case.config, ""]))
    (folder / "resource_group").write_text("\n".join([*case.groups, ""]))
    (folder / "usage").unlink(missing_ok=True)
    hang_up(pbs)
    set_usage(pbs, case)


def set_offline(pbs: PbsCluster, *vnodes: str) -> None:
    pbs.run(["pbsnodes", "-o", *vnodes]).demand_success()


def open_vnode(pbs: PbsCluster) -> None:
    """Let jobs start, all on the first vnode."""
    pbs.run(["pbsnodes", "-r", pbs.mom_names[0]]).demand_success()


def set_usage(pbs: PbsCluster, case: Case) -> None:
    for entity, usage in case.usage:
        pbs.run(["pbsfs", "-s", entity, str(usage)]).demand_success()


def draw(case: Case, count: int = JOBS) -> list[Asked]:
    chance = random.Random(7)
    return [
        Asked(
            chance.choice(USERS),
            chance.randint(1, 4),
            chance.randint(-3, 3),
            60 * chance.randint(1, 20),
            3600 * chance.randint(0, 5) + 1200,
            chance.choice(case.queues),
        )
        for _ in range(count)
    ]


def submit(pbs: PbsCluster, jobs: Sequence[Asked], case: Case) -> list[str]:
    """Submit the jobs in their order; returns their numbers."""
    numbers = []
    for job in jobs:
        options = ["-p", str(job.priority)]
        submitted = pbs.qsub(
            job.user,
            ("/bin/true",),
            select=f"1:ncpus={job.cores}",
            walltime=str(job.walltime_s),
            queue=job.queue,
            options=options,
        )
        numbers.append(submitted.partition(".")[0])
        if any("eligible_time_enable" in line for line in case.qmgr):
            hours, rest = divmod(job.eligible_s, 3600)
            text = f"{hours:02d}:{rest // 60:02d}:00"
            pbs.run(["qalter", "-W", f"eligible_time={text}", submitted]).demand_success()
    return numbers


def starts_of(pbs: PbsCluster, jobs: Sequence[str]) -> list[int]:
    """Which of the jobs have started, as their places in the list, in the order of their starts."""
    places = {number: place for place, number in enumerate(jobs)}
    return [places[number] for number in _STARTED.findall(pbs.server_log()) if number in places]


def wait_for_starts(pbs: PbsCluster, jobs: Sequence[str], count: int) -> list[int]:
    pbs.wait_until(lambda: len(starts_of(pbs, jobs)) >= count, 300.0, f"{count} starts")
    return starts_of(pbs, jobs)


@pytest.mark.parametrize("name", sorted(CASES))
def test_jobs_start_in_the_order_of_pbs_sched(name: str, pbs: PbsCluster, sched_priv: Path) -> None:
    case = CASES[name]
    configure(pbs, case, sched_priv)
    asked = draw(case)
    jobs = submit(pbs, asked, case)
    allowed = JOBS if "threshold" not in name else sum(job.walltime_s >= 240 for job in asked)
    open_vnode(pbs)
    # That alone brings no cycle.
    pbs.qmgr("set server scheduling = True")
    of_sched = wait_for_starts(pbs, jobs, allowed)
    set_offline(pbs, pbs.mom_names[0])
    pbs.run(["qdel", "-W", "force", "-x", *jobs])
    pbs.wait_until(lambda: not pbs.run(["qselect"]).stdout.strip(), 120.0, "no jobs left")
    (sched_priv / "usage").unlink(missing_ok=True)
    set_usage(pbs, case)
    hang_up(pbs)

    # What pbsteer makes of a user's own priority where the site says nothing is not PBS's.
    deploy_and_drive(pbs, Settings(order=OrderSettings("none"), schedule=LONG_PASSES), *case.queues)
    jobs = submit(pbs, asked, case)
    open_vnode(pbs)
    of_pass = wait_for_starts(pbs, jobs, allowed)
    assert last_pass(pbs)["failures"] == [], notes(pbs)
    assert of_pass == of_sched


def used_s(pbs: PbsCluster, job_id: str) -> int:
    """The walltime that a running job has used, as the server knows it."""
    hours, minutes, seconds = pbs.job(job_id).get("resources_used", {}).get("walltime", "0:0:0").split(":")
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds)


def usage(pbs: PbsCluster, entity: str) -> float:
    """What ``pbsfs`` says that an entity has used."""
    shown = pbs.run(["pbsfs", "-g", entity]).demand_success().stdout
    found = re.search(r"^usage\s*: (\d+)", shown, re.MULTILINE)
    assert found is not None, shown
    return float(found.group(1))


@pytest.mark.takes(90)
def test_usage_is_charged_once_whoever_starts_the_jobs(pbs: PbsCluster, sched_priv: Path) -> None:
    """alice's job runs since before the queue is driven, bob's since then; both go on when it is handed back."""
    case = Case((), ("fair_share: True ALL", "fairshare_usage_res: ncpus*walltime"), _TREE)
    configure(pbs, case, sched_priv)
    alices = pbs.qsub("alice")
    open_vnode(pbs)
    pbs.qmgr("set server scheduling = True")
    pbs.wait_for_state(alices, "R")
    deploy_and_drive(pbs, quick_settings())
    bobs = pbs.qsub("bob")
    pbs.wait_for_state(bobs, "R")
    pbs.wait_until(lambda: used_s(pbs, bobs) > 20, 300.0, "use of bob's job that the server knows of")
    wait_for_pass(pbs)
    wait_for_pass(pbs)
    known_s = used_s(pbs, bobs)
    assert abs(usage(pbs, "bob") - 1 - known_s) <= CLOSE_S
    # What alice's job uses meanwhile is left to the scheduler, which remembers it.
    assert usage(pbs, "alice") < used_s(pbs, alices)

    set_mode(pbs, "observe")
    pbs.wait_until(lambda: is_scheduling(pbs), 120.0, "the scheduler on again")
    pbs.wait_until(lambda: used_s(pbs, alices) > known_s + 30, 300.0, "more use")
    for _ in range(2):
        make_cycle(pbs)
    for user, job_id in (("alice", alices), ("bob", bobs)):
        charged, used = usage(pbs, user), used_s(pbs, job_id)
        assert used - CLOSE_S <= charged <= used + CLOSE_S, (user, charged, used)
