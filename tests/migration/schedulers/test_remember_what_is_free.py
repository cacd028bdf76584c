"""What is free is asked once for offers that come at once, and anew once it may have changed."""

from __future__ import annotations

from typing import cast

import pytest

from migration.schedulers.remember_what_is_free import RememberedFree
from migration.schedulers.scheduler_interface import LocalScheduler
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
