"""Reservations that recur, on a real server in the mode that interferes least: those by which its server or scheduler
would come to a standstill are refused to users at once, ordinary ones are confirmed within a moment."""

from __future__ import annotations

import time

from tests.hooks.deploy_on_testbed import deploy, quick_settings
from tests.pbs.ask_by_pbs_library import ask_by_library
from tests.pbs.cluster import PbsCluster

ZONE = "Europe/Berlin"


def ask_for(pbs: PbsCluster, rule: str, *more: str, user: str = "alice", length_s: int = 60) -> str:
    return ask_in_zone(pbs, rule, f"reserve_timezone={ZONE}", *more, user=user, length_s=length_s)


def ask_in_zone(pbs: PbsCluster, rule: str, zone: str, *more: str, user: str = "alice", length_s: int = 60) -> str:
    """``zone``: the attribute, or nothing for none."""
    begin = int(time.time() / 60) * 60 + 7200
    asked = [f"reserve_start={begin}", f"reserve_end={begin + length_s}", "Resource_List.select=1:ncpus=1"]
    recurs = [f"reserve_rrule={rule}", "reserve_standing=1", *filter(None, [zone]), "interactive=60"]
    return ask_by_library(pbs, user, "reserve", "", *asked, *recurs, f"Variable_List=PBS_TZID={ZONE}", *more)


def test_a_users_reservation_recurs_only_as_often_as_pbs_can_bear(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("observe"))
    names = []
    try:
        for rule in ("FREQ=SECONDLY;COUNT=20000000", "FREQ=MINUTELY;COUNT=10000", "FREQ=YEARLY;COUNT=400"):
            begun_s = time.monotonic()
            assert "allowed are 400 occurrences within 1,830 days" in ask_for(pbs, rule, length_s=1), rule
            assert time.monotonic() - begun_s < 20
        for name in ("reserve_count", "reserve_index", "reserve_execvnodes", "reserve_retry"):
            assert f"its {name} is set by PBS alone" in ask_for(pbs, "FREQ=DAILY;COUNT=3", f"{name}=2")
        for zone in ("", "reserve_timezone=\udcff"):
            assert "needs a reserve_timezone" in ask_in_zone(pbs, "FREQ=DAILY;COUNT=3", zone)
        for rule in ("FREQ=DAILY;COUNT=400", "FREQ=DAILY;BYDAY=MO;COUNT=260", "FREQ=WEEKLY;BYDAY=MO,FR;COUNT=8"):
            told = ask_for(pbs, rule)
            assert "CONFIRMED" in told and "UNCONFIRMED" not in told, (rule, told)
            names.append(told.split()[0])
        for change in ("reserve_count=2000000000", "reserve_index=5", "reserve_rrule=FREQ=HOURLY;COUNT=9999"):
            told = ask_by_library(pbs, "alice", "alter", names[0], change)
            assert f"its {change.partition('=')[0]} can not be altered" in told
        check_commands(pbs, names)
        job = pbs.qsub("bob")
        pbs.wait_for_state(job, "R")
    finally:
        for name in names:
            pbs.run(["pbs_rdel", name])


def check_commands(pbs: PbsCluster, names: list[str]) -> None:
    """PBS's own commands make and alter a reservation that recurs, as before."""
    begin = time.strftime("%Y%m%d%H%M.%S", time.localtime(time.time() + 3600))[2:]
    rule = ["-R", begin, "-D", "600", "-r", "FREQ=DAILY;COUNT=4", "-l", "select=1:ncpus=1"]
    made = pbs.run(["env", f"PBS_TZID={ZONE}", "pbs_rsub", "-I", "60", *rule], user="alice").demand_success()
    names.append(made.stdout.split()[0])
    assert "reserve_count = 4" in pbs.run(["pbs_rstat", "-f", names[-1]]).stdout
    pbs.run(["pbs_ralter", "-N", "later", names[-1]], user="alice").demand_success()
