"""Dynamic server resources on a real server: by what a program prints, pbs_sched and a pass start the same jobs.

The queue is stopped while jobs are submitted, so that one cycle, and one pass, sees them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import Settings
from tests.hooks.deploy_on_testbed import deploy_and_drive, last_pass, notes, wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.cycles_of_pbs_sched import hang_up, outcome_by_sched

LICENCES = "$((3 - $(count 1) - 2 * $(count 2)))"
"""As a licence server has it: 3, without those of jobs that run."""


class Case(NamedTuple):
    """What the program prints, and what each job asks for; ``unsafe``: everybody may change the program."""

    printed: str
    asked: Sequence[str]
    unsafe: bool = False


CASES: Mapping[str, Case] = {
    "some-free": Case(LICENCES, ["tokens=2", "tokens=2", "tokens=1", "", "tokens=1"]),
    "none-free": Case("0", ["tokens=1", "", "tokens=0"]),
    "all-free": Case("100", ["tokens=50", "tokens=50"]),
    "below-zero": Case("-4", ["tokens=1", ""]),
    "no-number": Case("licence server down", ["tokens=1", ""]),
    "nothing": Case("", ["tokens=1", ""]),
    "unsafe": Case("9", ["tokens=1", ""], unsafe=True),
    "size": Case("3", ["space=11gb", "space=10gb", "", "tokens=1"]),
}


@pytest.fixture
def licensed(pbs: PbsCluster) -> Iterator[PbsCluster]:
    """Two resources that programs of the site's know of: ``tokens`` as each case has it, and 10 GB of ``space``."""
    config = sched_config(pbs)
    before = config.read_text()
    lines = [
        line.replace('"ncpus', '"tokens, space, ncpus') if line.startswith("resources:") else line
        for line in before.splitlines()
    ]
    assert any("tokens" in line for line in lines), before
    try:
        pbs.qmgr("create resource tokens type=long", "create resource space type=size")
        print_as(pbs, Case("0", ()))
        write(pbs.server_home / "space", "echo 10gb")
        for name in ("tokens", "space"):
            lines.append(f'server_dyn_res: "{name} !{pbs.server_home / name} -v"')
        config.write_text("\n".join(lines) + "\n")
        hang_up(pbs)
        yield pbs
    finally:
        config.write_text(before)
        hang_up(pbs)


def sched_config(pbs: PbsCluster) -> Path:
    return pbs.server_home / "sched_priv" / "sched_config"


def write(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def print_as(pbs: PbsCluster, case: Case) -> None:
    path = pbs.server_home / "tokens"
    count = f"count() {{ {pbs.spec.pbs_exec}/bin/qselect -s R -l tokens.eq.$1 | wc -l; }}"
    write(path, f'{count}\n[ "$1" = -v ] && echo "{case.printed}"')
    if case.unsafe:
        path.chmod(0o777)


def submit(pbs: PbsCluster, case: Case) -> list[str]:
    pbs.qmgr("set queue workq started = False")
    print_as(pbs, case)
    jobs = [
        pbs.qsub("alice", select="1:ncpus=1", walltime="3600", options=["-l", asked] if asked else [])
        for asked in case.asked
    ]
    pbs.qmgr("set queue workq started = True")
    return jobs


def started_of(pbs: PbsCluster, jobs: Sequence[str]) -> list[bool]:
    shown = pbs.qstat_json()
    return [shown[job]["job_state"] == "R" for job in jobs]


def clear(pbs: PbsCluster, jobs: Sequence[str]) -> None:
    pbs.run(["qdel", "-W", "force", "-x", *jobs])
    pbs.wait_until(lambda: not pbs.run(["qselect"]).stdout.strip(), 120.0, "no jobs left")
    pbs.wait_until(lambda: all(not v.get("jobs") for v in pbs.pbsnodes().values()), 120.0, "no job on any vnode")


def by_sched(pbs: PbsCluster, case: Case) -> list[bool]:
    jobs = submit(pbs, case)
    found = outcome_by_sched(pbs, lambda: started_of(pbs, jobs))
    pbs.qmgr("set server scheduling = False")
    clear(pbs, jobs)
    return found


def by_pass(pbs: PbsCluster, case: Case) -> tuple[list[bool], str]:
    jobs = submit(pbs, case)
    wait_for_pass(pbs)
    assert last_pass(pbs)["failures"] == [], notes(pbs)
    found, said = started_of(pbs, jobs), notes(pbs)
    clear(pbs, jobs)
    return found, said


@pytest.mark.takes(100)
def test_the_same_jobs_start_by_what_a_program_prints(licensed: PbsCluster) -> None:
    of_sched = {name: by_sched(licensed, case) for name, case in CASES.items()}
    settings = Settings(schedule=ScheduleSettings(interval_s=5, budget_s=60, look_s=0))
    deploy_and_drive(licensed, settings)
    of_pass = {name: by_pass(licensed, case) for name, case in CASES.items()}
    assert {name: started for name, (started, _) in of_pass.items()} == of_sched
    assert not all(of_sched["some-free"]) and any(of_sched["some-free"])
    assert "printed no first line" in of_pass["nothing"][1]
    assert "is writable for others than root" in of_pass["unsafe"][1]
