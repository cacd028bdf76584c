"""What pbs_sched starts of the jobs that wait, and when it has read its files: told by its own log, never by a time.

On a busy machine a cycle may pause for longer than any fixed wait between two of its starts.
"""

from __future__ import annotations

import re
from typing import Callable, TypeVar

from tests.pbs.cluster import PbsCluster

_READS = ";reconfigure;Scheduler is reconfiguring"
_BEGINS, _ENDS = ";Starting Scheduling Cycle", ";Leaving Scheduling Cycle"
_DECIDED = re.compile(r";Job;([^;]+);Job run$", re.MULTILINE)
_SUBMITTED = re.compile(r";Job;([^;]+);Job Queued at request of")
_DONE = re.compile(r";Job;([^;]+);Job Run at request of")

Outcome = TypeVar("Outcome")


def hang_up(pbs: PbsCluster) -> None:
    """Have pbs_sched read its files again: its cycles from now on go by them."""
    read_before = sched_log(pbs).count(_READS)
    number = (pbs.server_home / "sched_priv" / "sched.lock").read_text().strip()
    pbs.run(["kill", "-HUP", number]).demand_success()
    # A cycle under way goes to its end first.
    pbs.wait_until(lambda: sched_log(pbs).count(_READS) > read_before, 120.0, "pbs_sched reads its files")


def outcome_by_sched(pbs: PbsCluster, outcome: Callable[[], Outcome]) -> Outcome:
    """The outcome once a whole cycle of pbs_sched, begun after all that was set until now, changes nothing of it."""
    make_cycle(pbs)
    before = outcome()
    while True:
        make_cycle(pbs)
        now = outcome()
        if now == before:
            return now
        before = now


def make_cycle(pbs: PbsCluster) -> None:
    """Have pbs_sched make a cycle; returns when it is over and the server has done what it asked for."""
    begun_before = sched_log(pbs).count(_BEGINS)
    pbs.qmgr("set server scheduling = True")

    def is_over() -> bool:
        log = sched_log(pbs)
        begun = log.count(_BEGINS)
        if begun <= begun_before or log.count(_ENDS) < begun:
            return False
        # The scheduler does not wait for the server's answer to a start. Of earlier tests the server's log has nothing.
        done = pbs.server_log()
        return set(_DECIDED.findall(log)) & set(_SUBMITTED.findall(done)) <= set(_DONE.findall(done))

    pbs.wait_until(is_over, 120.0, "a cycle of pbs_sched that began after now")


def sched_log(pbs: PbsCluster) -> str:
    """The scheduler's log since the testbed came up."""
    logs = sorted((pbs.server_home / "sched_logs").iterdir())
    return "".join(log.read_text(encoding="utf-8", errors="replace") for log in logs)
