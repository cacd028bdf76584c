"""Ranking (P4) for real: hosts with readings of their own, and jobs that go to the best of them by their mode."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from container.hosts.host_sensors import clear_sensors, write_sensors
from hooks.telemetry.host_reading_format import parse_reading
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.settings.site_settings import Settings
from tests.hooks.deploy_on_testbed import deploy_and_drive, last_pass, quick_settings, wait_for_pass
from tests.pbs.cluster import PbsCluster

SENSORS = (
    {"idle": "0.90", "mem": "60000/64000", "net": "1000/10000", "temp": "80/90"},
    {"idle": "0.30", "mem": "20000/64000", "net": "9000/10000", "temp": "70/90"},
    {"idle": "0.60", "mem": "40000/64000", "net": "5000/10000", "temp": "40/90"},
)
"""The first host has compute and memory, the second its link, the third is cool, and the best of all together."""


@pytest.fixture
def sensors(pbs: PbsCluster) -> Iterator[None]:
    homes = [pbs.testbed.pbs_home(mom) for mom in pbs.spec.mom_hosts]
    for home, parts in zip(homes, SENSORS):
        write_sensors(home, parts)
    yield
    for home in homes:
        clear_sensors(home)


def wait_for_sensors(pbs: PbsCluster) -> None:
    def all_report() -> bool:
        shown = (vnode["resources_available"].get("pbsteer_reading", "") for vnode in pbs.pbsnodes().values())
        readings = [parse_reading(text) for text in shown]
        return all(reading and reading.heat and reading.heat.most == 90 and reading.idle for reading in readings)

    pbs.wait_until(all_report, 120.0, "all hosts to report what they were given")
    wait_for_pass(pbs)


def quick(mode: str = "none", formulas: tuple[tuple[str, str], ...] = ()) -> Settings:
    """Quick reports that are not stale at once where a busy machine delays one."""
    return quick_settings(ranking=RankingSettings(mode=mode, interval_s=2, stale_intervals=60, formulas=formulas))


@pytest.mark.usefixtures("sensors")
def test_each_mode_takes_the_host_that_has_most_of_it(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick())
    wait_for_sensors(pbs)
    for mode, host in (("compute", 0), ("memory", 0), ("network", 1), ("stability", 2), ("composite", 2)):
        job_id = pbs.qsub("alice", options=["-l", f"pbsteer_rank={mode}"])
        at = pbs.wait_for_state(job_id, "R")["exec_vnode"]
        assert at == f"({sorted(pbs.pbsnodes())[host]}:ncpus=1)", mode


@pytest.mark.usefixtures("sensors")
def test_a_formula_of_the_site_decides_in_the_hooks(pbs: PbsCluster) -> None:
    """By the built-in formula of composite the third host comes first."""
    deploy_and_drive(pbs, quick("composite", (("composite", "3 * network - temperature / 10"),)))
    wait_for_sensors(pbs)
    job_id = pbs.qsub("alice")
    assert pbs.wait_for_state(job_id, "R")["exec_vnode"] == f"({sorted(pbs.pbsnodes())[1]}:ncpus=1)"


@pytest.mark.usefixtures("sensors")
def test_a_host_without_a_sensor_that_a_mode_needs_is_named(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick("stability"))
    wait_for_sensors(pbs)
    write_sensors(pbs.testbed.pbs_home(pbs.spec.mom_hosts[2]), {**SENSORS[2], "temp": "none"})
    third = sorted(pbs.pbsnodes())[2]

    def has_none() -> bool:
        reading = parse_reading(pbs.pbsnodes()[third]["resources_available"].get("pbsteer_reading", ""))
        return reading is not None and reading.heat is None

    pbs.wait_until(has_none, 120.0, "the host to report no temperature")
    wait_for_pass(pbs)
    job_id = pbs.qsub("alice")
    assert pbs.wait_for_state(job_id, "R")["exec_vnode"] == f"({sorted(pbs.pbsnodes())[1]}:ncpus=1)"
    assert last_pass(pbs)["no_sensor"] == {"temperature": {"vnodes": 1, "first": [third]}}
