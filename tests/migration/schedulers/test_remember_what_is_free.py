"""What is free, and whether a job would start, is asked once for offers that come at once, and anew once it may have
changed.
"""

from __future__ import annotations

from typing import cast

import pytest

from migration.schedulers.remember_what_is_free import RememberedFree
from migration.schedulers.scheduler_interface import LocalJob, LocalScheduler, Verdict
from policy.migration.job_demand import Demand
from tests.migration.target_job.fake_target import FakeScheduler


def test_it_is_asked_once_until_a_job_is_counted_or_a_moment_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler, counted, now_s = FakeScheduler(), frozenset[str](), 100.0
    monkeypatch.setattr("time.monotonic", lambda: now_s)
    remembered = RememberedFree(cast(LocalScheduler, scheduler), lambda: counted)
    assert remembered.free() == remembered.free()
    assert scheduler.calls == ["free"]
    counted = frozenset({"a.1"})
    remembered.free()
    remembered.free()
    assert scheduler.calls == ["free"] * 2
    now_s += 3
    remembered.free()
    assert scheduler.calls == ["free"] * 3
    assert remembered.find_by_name("x", "alice") is None


def test_that_a_job_would_start_is_tested_once_for_equal_jobs_and_that_it_would_not_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tested: list[LocalJob] = []
    now_s = 100.0

    class Tested(FakeScheduler):
        def would_start_now(self, job: LocalJob) -> Verdict:
            tested.append(job)
            return self.verdict

    monkeypatch.setattr("time.monotonic", lambda: now_s)
    scheduler = Tested()
    remembered = RememberedFree(cast(LocalScheduler, scheduler), frozenset[str])
    one = LocalJob("mg_a.1_1", "alice", Demand(4, walltime_s=60), "/", "/w1", "", "")
    equal = one._replace(name="mg_a.2_1", wrapper="/w2")
    unequal = [one._replace(user="bob"), one._replace(demand=Demand(5, walltime_s=60))]

    def ask(*jobs: LocalJob) -> int:
        """The tests that are made for these offers."""
        tested.clear()
        for job in jobs:
            remembered.free()
            assert remembered.would_start_now(job) == scheduler.verdict
        return len(tested)

    scheduler.verdict = Verdict(now=False, text="would start in 300 s")
    assert ask(one, equal) == 2
    scheduler.verdict = Verdict(now=True)
    assert ask(one, equal, *unequal) == 3
    assert ask(one, equal, *unequal) == 0
    now_s += 3
    assert ask(one, equal) == 1
