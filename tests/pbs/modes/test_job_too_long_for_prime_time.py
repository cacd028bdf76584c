"""A job that no prime or non-prime time is long enough for, on a real server: it keeps no job behind it from its
reservation, and nothing says when it would start.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from tests.hooks.deploy_on_testbed import deploy_and_drive, quick_settings
from tests.pbs.cluster import PbsCluster
from tests.pbs.console.test_console_backend_and_commands import pbsteer
from tests.pbs.modes.cycles_of_pbs_sched import hang_up

_FROM_NOW_H = (-3, 3)
"""Prime time begins and ends each day so many hours from now, so that no job is near its end."""


@pytest.fixture
def kept_to_prime_time(pbs: PbsCluster) -> Iterator[None]:
    folder = pbs.server_home / "sched_priv"
    before = {name: (folder / name).read_bytes() for name in ("sched_config", "holidays")}
    (folder / "sched_config").write_bytes(before["sched_config"] + b"\nbackfill_prime: True ALL\n")
    times = " ".join(time.strftime("%H00", time.localtime(time.time() + 3600 * each)) for each in _FROM_NOW_H)
    days = "".join(f"{day} {times}\n" for day in ("weekday", "saturday", "sunday"))
    (folder / "holidays").write_text(f"YEAR {time.localtime().tm_year}\n{days}")
    hang_up(pbs)
    yield
    for name, data in before.items():
        (folder / name).write_bytes(data)
    hang_up(pbs)


def reason_of(pbs: PbsCluster, job: str) -> str:
    return str(pbs.job(job).get("comment", ""))


@pytest.mark.usefixtures("kept_to_prime_time")
def test_it_waits_without_a_date_and_jobs_behind_it_have_their_reservation(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    whole = pbs.spec.cores * len(pbs.mom_names)
    running = pbs.qsub("alice", select="1:ncpus=1", walltime="00:03:00")
    pbs.wait_for_state(running, "R")
    endless = pbs.qsub("bob", select="1:ncpus=1", walltime=None)
    longer = pbs.qsub("bob", select="1:ncpus=1", walltime="30:00:00")
    wide = pbs.qsub("carol", select=f"{whole}:ncpus=1", walltime="00:02:00")
    pbs.wait_until(lambda: "first in line" in reason_of(pbs, wide), 60.0, f"{wide} is head: {reason_of(pbs, wide)!r}")
    assert "it has no walltime, and jobs of its queue must end before prime" in reason_of(pbs, endless)
    assert "its estimate of 30:00:00 is too long: jobs of its queue must end before" in reason_of(pbs, longer)
    for job in (endless, longer):
        found = json.loads(pbsteer(pbs, "when", job, "--fresh", "--json"))
        assert found["starts_half_s"] is None
        assert "no start in the coming days leaves more than" in found["waits_for"]
