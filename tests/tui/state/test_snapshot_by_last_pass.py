"""The console's plan has the order of jobs and the closures that the last pass read, which the server's status does not
show."""

from __future__ import annotations

import time

from policy import Ledger, Settings
from policy.model.jobs_runs_vnodes_queues import Window
from tests.tui.scripted_server import NOON_S, a_job, a_server_status, changed, running
from tui.backends.pass_journal import Passes
from tui.state.cluster_view import ClusterView, see
from tui.state.snapshot_by_last_pass import translate_by_last_pass

SOON = Window(NOON_S + 300, NOON_S + 900, "dedicated time")
WAITS = changed(a_server_status(), jobs={"13.hpc1": a_job("bob", 4)})
"""A job of two hours that fits now."""


def decided(passes: Passes) -> ClusterView:
    return see(WAITS, Settings(), Ledger(), 0.1, passes=passes).decided(time.perf_counter)


def test_a_job_that_would_run_into_dedicated_time_is_not_planned_to_start() -> None:
    open_now, closed_soon = decided(Passes()).decision, decided(Passes(closed={"workq": (SOON,)})).decision
    assert open_now is not None
    assert closed_soon is not None
    assert set(open_now.starts) == {"13.hpc1"}
    assert not closed_soon.starts
    found = closed_soon.reason_of("13.hpc1")
    assert found is not None
    assert "dedicated time" in found[1].sentence(found[0], NOON_S, {})


def test_a_queue_of_non_prime_time_is_open_where_the_last_pass_found_it_open() -> None:
    """Without the file `holidays` it is always prime time, in which queues that begin with np_ start nothing."""
    night = changed(a_server_status(), queues={"np_night": a_server_status().queues["workq"]})
    for closed, windows in ((None, 1), ({}, 0), ({"np_night": (SOON,)}, 1)):
        found = translate_by_last_pass(night, Settings(), Passes(closed=closed)).snapshot.cluster().queues["np_night"]
        assert len(found.closed) == windows


def ordered_by(sched_config: str) -> Passes:
    return Passes(orders={"default": {"sched_config": sched_config}})


def test_a_job_of_an_express_queue_preempts_whatever_its_users_quota() -> None:
    """PBS's scheduler has express queues as installed, and so have passes."""
    express = {**a_server_status().queues["workq"], "Priority": "200"}
    runs = {"11.hpc1": running("bob", 8, "v1"), "12.hpc1": running("bob", 8, "v2")}
    full = changed(
        a_server_status(),
        queues={**a_server_status().queues, "express": express},
        jobs={**runs, "13.hpc1": a_job("carol", 4, queue="express")},
    )
    for passes, preempts in ((Passes(), False), (ordered_by("preemptive_sched: True"), True)):
        decision = see(full, Settings(), Ledger(), 0.1, passes=passes).decided(time.perf_counter).decision
        assert decision is not None
        assert bool(decision.preempts) is preempts


def test_jobs_are_in_line_as_the_sites_formula_has_them() -> None:
    small_and_wide = changed(
        a_server_status(),
        server={**a_server_status().server, "job_sort_formula": "ncpus"},
        jobs={
            "13.hpc1": a_job("bob", 5, **{"Resource_List.ncpus": "5"}),
            "14.hpc1": a_job("bob", 6, **{"Resource_List.ncpus": "6"}),
        },
    )
    for passes, line in ((Passes(), ["13.hpc1", "14.hpc1"]), (ordered_by("by_queue: True"), ["14.hpc1", "13.hpc1"])):
        decision = see(small_and_wide, Settings(), Ledger(), 0.1, passes=passes).decided(time.perf_counter).decision
        assert decision is not None
        assert decision.queue_order == line
