"""Dedicated time: what the scheduler's file says, and which queues run when."""

from __future__ import annotations

import math
import time

import pytest

from hooks.translate.closures.dedicated_time import DEDICATED, OTHER, close_queue, is_dedicated, read_dedicated_time
from hooks.translate.snapshot import translate
from policy.model.jobs_runs_vnodes_queues import Window
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import queue, server_status

FILE = """
# FROM              TO
04/15/2090 16:00 04/15/2090 16:40
 4/15/2090 12:00  4/15/90 15:30   # two digits of a year from 90 on are of the last century
"""


def at_s(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%d %H:%M"))


def test_times_are_read_in_order() -> None:
    found = read_dedicated_time("04/15/2090 16:00 04/15/2090 16:40\n4/15/2090 12:00 4/15/2090 15:30 # noon\n\n#\n")
    assert found.times == (
        (at_s("2090-04-15 12:00"), at_s("2090-04-15 15:30")),
        (at_s("2090-04-15 16:00"), at_s("2090-04-15 16:40")),
    )
    assert found.unread == ""


def test_times_that_touch_or_overlap_are_one() -> None:
    text = "01/01/2030 10:00 01/01/2030 12:00\n01/01/30 12:00 01/01/30 13:00\n01/01/2030 12:30 01/01/2030 12:40\n"
    assert read_dedicated_time(text).times == ((at_s("2030-01-01 10:00"), at_s("2030-01-01 13:00")),)


@pytest.mark.parametrize(
    "line", ["tomorrow", "01/01/2090 12:00 01/01/2090 10:00", "13/01/2090 12:00 13/01/2090 14:00", "01/01/2090 12:00"]
)
def test_a_line_that_cannot_be_read_is_reported(line: str) -> None:
    assert read_dedicated_time(f"# so:\n{line}\n").unread == line


def test_two_digits_of_a_year_from_90_on_are_of_the_last_century() -> None:
    assert read_dedicated_time(FILE).unread.startswith("4/15/2090 12:00  4/15/90 15:30")


def test_ordinary_queues_are_closed_in_it_and_dedicated_ones_outside_it() -> None:
    times = read_dedicated_time("01/01/2030 10:00 01/01/2030 12:00\n01/02/2030 10:00 01/02/2030 12:00\n")
    first, second = times.times
    assert close_queue(times, dedicated=False) == (Window(*first, DEDICATED), Window(*second, DEDICATED))
    assert close_queue(times, dedicated=True) == (
        Window(0, first[0], OTHER),
        Window(first[1], second[0], OTHER),
        Window(second[1], math.inf, OTHER),
    )
    assert close_queue(read_dedicated_time(""), dedicated=True) == (Window(0, math.inf, OTHER),)


def test_a_queue_is_dedicated_by_the_prefix_of_its_scheduler() -> None:
    assert is_dedicated("dedicated_gpu", {})
    assert is_dedicated("maint_q", {"dedicated_prefix": ["maint"]})
    assert not is_dedicated("dedq", {"dedicated_prefix": ["maint"]})
    assert is_dedicated("workq", {"dedicated_prefix": [""]})


def test_each_queue_follows_its_own_schedulers_files() -> None:
    scheds = {
        "default": {"scheduling": "False", "partition": "pbs-default"},
        "second": {"scheduling": "False", "partition": "P"},
    }
    seen = server_status(
        queues={"workq": queue(), "dedq": queue(), "other": queue(partition="P"), "dedother": queue(partition="P")},
        scheds=scheds,
    )
    files = {
        "default": {"sched_config": "dedicated_prefix: ded\n", "dedicated_time": "01/01/2030 10:00 01/01/2030 12:00"},
        "second": {"dedicated_time": ""},
    }
    queues = translate(seen, Settings(), files).snapshot.queues
    assert [window.name for window in queues["workq"].closed] == [DEDICATED]
    assert [window.name for window in queues["dedq"].closed] == [OTHER, OTHER]
    # Of a scheduler whose options cannot be seen from here nobody knows which queues are dedicated.
    assert queues["other"].closed == queues["dedother"].closed == ()
