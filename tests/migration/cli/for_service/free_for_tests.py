"""A scheduler with eight idle cores for a process of ``mgserve``, whatever its cluster file says."""

from __future__ import annotations

from typing import Any

from migration.target_job import service_context
from tests.migration.target_job.fake_target import FakeScheduler


def give_scheduler(_: Any) -> None:
    """Have it in this process."""
    vars(service_context)["open_scheduler"] = lambda *_: FakeScheduler()
