"""The bundled hook of submissions wakes the process of the pass for jobs that a pass may start, and for no others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from hooks.store.event_hook_summary import SUMMARY
from hooks.store.wake_up_fifo import FIFO, open_fifo
from tests.hooks.entries.submission_alteration_settings import summary_of
from tests.hooks.run_bundled_hook import Hook, submit


@pytest.fixture
def fifo(hook: Hook) -> Iterator[int]:
    os.mkfifo(hook.state.path / FIFO, 0o600)
    descriptor = open_fifo(str(hook.state.path))
    assert descriptor is not None
    yield descriptor
    os.close(descriptor)


def count_wake_ups(hook: Hook, fifo: int, mode: str, *events: dict[str, Any]) -> int:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    answer = hook.run("queuejob", events=list(events))
    assert answer["logged"] == []
    try:
        return len(os.read(fifo, 1 << 16))
    except BlockingIOError:
        return 0


@pytest.mark.parametrize(("mode", "wake_ups"), [("observe", 0), ("advise", 0), ("drive", 2)])
def test_submissions_to_a_driven_queue_wake_the_pass(hook: Hook, fifo: int, mode: str, wake_ups: int) -> None:
    assert count_wake_ups(hook, fifo, mode, submit(), {"queue": None, "Resource_List": {"ncpus": "1"}}) == wake_ups


@pytest.mark.parametrize(("mode", "wake_ups"), [("observe", 0), ("advise", 0), ("drive", 1)])
def test_a_queue_that_may_route_to_a_driven_one_wakes_the_pass_too(
    hook: Hook, fifo: int, mode: str, wake_ups: int
) -> None:
    assert count_wake_ups(hook, fifo, mode, {**submit(), "queue": "route"}) == wake_ups


def test_a_submission_that_is_refused_wakes_nobody(hook: Hook, fifo: int) -> None:
    assert count_wake_ups(hook, fifo, "drive", submit(select="1:ncpus=9")) == 0


def test_where_nobody_waits_the_job_is_accepted_all_the_same(hook: Hook) -> None:
    hook.state.publish(SUMMARY, summary_of("drive"), shared=False)
    for name in ("no FIFO", "no reader", "a folder"):
        if name == "no reader":
            os.mkfifo(hook.state.path / FIFO, 0o600)
        elif name == "a folder":
            (hook.state.path / FIFO).unlink()
            (hook.state.path / FIFO).mkdir()
        answer = hook.run("queuejob", events=[submit()])
        assert (answer["verdicts"], answer["logged"]) == ([None], []), name
