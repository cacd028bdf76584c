"""The console's plan keeps the closures that the last pass read, which the server's status does not show."""

from __future__ import annotations

import time

from policy import Ledger, Settings
from policy.model.jobs_runs_vnodes_queues import Window
from tests.tui.scripted_server import NOON_S, a_job, a_server_status, changed
from tui.backends.pass_journal import Passes
from tui.state.cluster_view import ClusterView, see
from tui.state.snapshot_with_closures import translate_with_closures

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
        found = translate_with_closures(night, Settings(), closed).snapshot.cluster().queues["np_night"].closed
        assert len(found) == windows
