"""How many of the same jobs pbs_sched and the passes start in the same order, for each way that a site can order them.

The jobs come while nothing may start. Then, in rounds, the queues are opened for one cycle or pass, and what runs is
deleted before the next round: no job's own length, and no slow machine, decides what starts next.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Callable, NamedTuple

from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import OrderSettings, Settings
from tests.bench_pbs.benchmark_result import Figure
from tests.bench_pbs.testbed import calling, job_attributes, open_site, script, without_hooks
from tests.hooks.deploy_on_testbed import deploy_and_drive, last_pass, notes, wait_for_due_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes import test_start_order_as_pbs_sched as order_test
from tests.pbs.modes.cycles_of_pbs_sched import hang_up, make_cycle
from tests.pbs.modes.test_start_order_as_pbs_sched import CASES, USERS, Asked, Case

JOBS = 500
_AT_MOST_PERCENT = 1.0
_PASSES = ScheduleSettings(interval_s=5, budget_s=120, look_s=0)
"""Without early passes, which on a busy machine have no time for all starts of a round: the next pass begins with the
head, which was promised its start after these."""
_LISTED = 20
_ALWAYS_PRIME = ("YEAR 2026", *(f"{day} all none" for day in ("weekday", "saturday", "sunday")))


class Setting(NamedTuple):
    """``cores``: of each vnode, all of which are open where it is not 0; ``tokens``: what a program of the site's says
    is free before each round, of which jobs ask for as many as they ask for cores; 0 where there is no such program."""

    case: Case
    holidays: Sequence[str] = ()
    cores: int = 0
    tokens: int = 0


_EACH_VNODE = ("m-1", "m-2", "m-3")
"""Stand for the names of the testbed's vnodes."""
SETTINGS: Mapping[str, Setting] = {
    **{name: Setting(case) for name, case in CASES.items()},
    "eligible-time": Setting(
        Case(("set server eligible_time_enable = True", "set server job_sort_formula = eligible_time"))
    ),
    "prime-time": Setting(
        Case((), ('job_sort_key: "ncpus HIGH" prime', 'job_sort_key: "walltime LOW" non_prime'),
             queues=("workq", "p_work", "np_work")),
        _ALWAYS_PRIME,
    ),
    # The jobs do not all fit at once, and a pass always has a head, as PBS's scheduler does with strict_ordering.
    "placement-sets": Setting(
        Case((
            "create resource rack type=string,flag=h",
            *(f"set node {vnode} resources_available.rack = r{place // 2}" for place, vnode in enumerate(_EACH_VNODE)),
            "set server node_group_key = rack",
            "set server node_group_enable = True",
        ), ("strict_ordering: True ALL",)),
        cores=60,
    ),
    "dynamic-resource": Setting(Case(("create resource tokens type=long",)), tokens=100),
    "vnode-limits": Setting(
        Case(tuple(
            f"set node {vnode} {limit}" for vnode in _EACH_VNODE for limit in ("max_user_run = 10", "max_running = 25")
        )),
        cores=200,
    ),
}  # fmt: skip


def measure(names: Sequence[str] = (), jobs: int = JOBS) -> list[Figure]:
    """For each setting, the percentage of starts that are not in pbs_sched's order."""
    with open_site() as pbs:
        return [_compare(pbs, name, jobs) for name in names or SETTINGS]


def _compare(pbs: PbsCluster, name: str, count: int) -> Figure:
    setting = SETTINGS[name]
    case = setting.case
    asked = order_test.draw(case, count)
    with without_hooks(pbs), order_test.keep_files(pbs) as folder:
        _configure(pbs, setting, folder)
        of_sched = _start_all(pbs, setting, asked, lambda: make_cycle(pbs))
        (folder / "usage").unlink(missing_ok=True)
        order_test.set_usage(pbs, case)
        hang_up(pbs)
        # What pbsteer makes of a user's own priority where the site says nothing is not PBS's.
        deploy_and_drive(pbs, Settings(order=OrderSettings("none"), schedule=_PASSES), *case.queues)
        of_pass = _start_all(pbs, setting, asked, lambda: _pass(pbs))
    kept = set(same_order(of_sched, of_pass))
    others = [place for place in of_pass if place not in kept] + [place for place in of_sched if place not in of_pass]
    share = 100 * (1 - len(kept) / max(1, len(of_sched), len(of_pass)))
    listed = "; ".join(_describe(place, asked[place], of_sched, of_pass) for place in others[:_LISTED])
    more = f"; and {len(others) - _LISTED} more" if len(others) > _LISTED else ""
    note = f"{len(of_sched)} and {len(of_pass)} of {count} jobs started. {listed}{more}".rstrip()
    return Figure(f"order, {name}: starts not in pbs_sched's order", share, "%", _AT_MOST_PERCENT, note)


def same_order(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """The most items of both that come in one order: the longest increasing run of the one's places in the other."""
    place_of = {item: place for place, item in enumerate(first)}
    items = [item for item in second if item in place_of]
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for index, item in enumerate(items):
        length = bisect_left(ends, place_of[item])
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1], last[length : length + 1] = [place_of[item]], [index]
    found = []
    index = last[-1] if last else -1
    while index >= 0:
        found.append(items[index])
        index = before[index]
    return found[::-1]


def _describe(place: int, asked: Asked, of_sched: Sequence[int], of_pass: Sequence[int]) -> str:
    theirs, ours = (str(starts.index(place) + 1) if place in starts else "no" for starts in (of_sched, of_pass))
    return f"job {place} of {asked.user} in {asked.queue}, {asked.cores} cores: start {ours} instead of {theirs}"


def _configure(pbs: PbsCluster, setting: Setting, folder: Path) -> None:
    lines = setting.case.qmgr
    for stands, vnode in zip(_EACH_VNODE, pbs.mom_names):
        lines = [line.replace(f" {stands} ", f" {vnode} ") for line in lines]
    order_test.configure(pbs, setting.case._replace(qmgr=lines), folder)
    if setting.cores:
        pbs.qmgr(*(f"set node {vnode} resources_available.ncpus = {setting.cores}" for vnode in pbs.mom_names))
    if setting.holidays:
        (folder / "holidays").write_text("\n".join([*setting.holidays, ""]))
    if setting.tokens:
        program = pbs.server_home / "tokens"
        used = f"{pbs.spec.pbs_exec}/bin/qselect -s R -l tokens.eq.$tokens | wc -l"
        program.write_text(
            f"#!/bin/sh\nfree={setting.tokens}\nfor tokens in 1 2 3 4; do\n"
            f"  free=$((free - tokens * $({used})))\ndone\necho $free\n"
        )
        program.chmod(0o755)
        config = (folder / "sched_config").read_text().replace('resources: "ncpus', 'resources: "tokens, ncpus')
        (folder / "sched_config").write_text(config + f'server_dyn_res: "tokens !{program}"\n')
    hang_up(pbs)


def _start_all(pbs: PbsCluster, setting: Setting, asked: Sequence[Asked], make: Callable[[], None]) -> list[int]:
    """The places of the jobs that started, in the order of their starts, after as many rounds as start something."""
    queues = setting.case.queues
    vnodes = pbs.mom_names if setting.cores else pbs.mom_names[:1]
    _open(pbs, queues, opened=False)
    numbers = _submit(pbs, setting, asked)
    pbs.run(["pbsnodes", "-r", *vnodes]).demand_success()
    found: list[int] = []
    while True:
        before = len(found)
        _open(pbs, queues, opened=True)
        make()
        found = order_test.starts_of(pbs, numbers)
        if len(found) in (before, len(asked)):
            break
        _open(pbs, queues, opened=False)
        _delete(pbs, pbs.run(["qselect", "-s", "R"]).stdout.split())
    order_test.set_offline(pbs, *vnodes)
    _delete(pbs, pbs.run(["qselect"]).stdout.split())
    return found


def _pass(pbs: PbsCluster) -> None:
    wait_for_due_pass(pbs)
    if last_pass(pbs)["failures"]:
        raise RuntimeError(f"a pass had failures: {last_pass(pbs)['failures']}; {notes(pbs)}")


def _open(pbs: PbsCluster, queues: Sequence[str], *, opened: bool) -> None:
    # In one request, so that no cycle and no pass sees some of them open.
    pbs.qmgr(f"set queue {','.join(queues)} started = {opened}")


def _delete(pbs: PbsCluster, jobs: Sequence[str]) -> None:
    for first in range(0, len(jobs), 100):
        pbs.run(["qdel", "-W", "force", "-x", *jobs[first : first + 100]])
    pbs.wait_until(
        lambda: all(not vnode.get("jobs") for vnode in pbs.pbsnodes().values()), 120.0, "no job on any vnode"
    )


def _submit(pbs: PbsCluster, setting: Setting, asked: Sequence[Asked]) -> list[str]:
    """Submit the jobs in their order; returns their numbers."""
    ids: list[str] = []
    with calling(pbs, USERS[0]) as alice, calling(pbs, USERS[1]) as bob, calling(pbs, USERS[2]) as carol:
        caller_of = dict(zip(USERS, (alice, bob, carol)))
        for job in asked:
            more: list[tuple[str, str | None, str]] = [("Priority", None, str(job.priority))]
            if setting.tokens:
                more.append(("Resource_List", "tokens", str(job.cores)))
            attributes = job_attributes(f"1:ncpus={job.cores}", str(job.walltime_s), more)
            request = {"attributes": attributes, "count": 1, "script": script(pbs, 3600), "queue": job.queue}
            ids += caller_of[job.user].ask("submit", **request)["ids"]
    if any("eligible_time_enable" in line for line in setting.case.qmgr):
        with calling(pbs) as root:
            for eligible_s in sorted({job.eligible_s for job in asked}):
                jobs = [each for each, job in zip(ids, asked) if job.eligible_s == eligible_s]
                text = f"{eligible_s // 3600:02d}:{eligible_s % 3600 // 60:02d}:00"
                root.ask("alter", name="eligible_time", resource=None, value=text, jobs=jobs)
    return [each.partition(".")[0] for each in ids]
