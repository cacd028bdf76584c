"""Whether PBS's scheduler goes by the priorities it is given."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.control.pbs_scheduler.scheduler_sorts_by_priority import find_unsorted
from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import EDITED
from tests.hooks.sample_server_statuses import queue, server_status

BY_PRIORITY = 'job_sort_key: "job_priority HIGH"\tALL\nby_queue: False ALL\n'
ON = {"scheduling": "True", "partition": "pbs-default", "state": "idle"}
TWO = {"workq": queue("advise"), "other": queue("advise")}


def find(text: str | None, **parts: Any) -> str:
    files = {"default": {} if text is None else {"sched_config": text}}
    parts = {"queues": {"workq": queue("advise")}, "scheds": {"default": ON}, **parts}
    return find_unsorted(server_status(**parts), ["workq"], files).get("workq", "")


def test_a_scheduler_that_sorts_by_priority_first_goes_by_it() -> None:
    assert find(BY_PRIORITY) == find(BY_PRIORITY, queues=TWO) == ""
    assert find("by_queue: True ALL\n" + BY_PRIORITY) == ""
    assert find(None, server={"name": "s", "job_sort_formula": " job_priority "}) == ""


@pytest.mark.parametrize(
    ("text", "parts", "words"),
    [
        ("by_queue: True ALL\n", {}, "does not sort jobs by priority"),
        ('job_sort_key: "ncpus LOW" ALL\n' + BY_PRIORITY, {}, "does not sort jobs by priority"),
        ('job_sort_key: "job_priority LOW" ALL\n', {}, "does not sort jobs by priority"),
        (BY_PRIORITY + "fair_share: true ALL\n", {}, "sorts jobs by fair_share"),
        (BY_PRIORITY + "by_queue: True prime\n", {"queues": TWO}, "takes its queues one by one"),
        (
            BY_PRIORITY,
            {"server": {"name": "s", "job_sort_formula": "ncpus"}},
            r"sorts jobs by job_sort_formula \(ncpus\)",
        ),
        (None, {}, "cannot be read on this host"),
        (BY_PRIORITY, {"scheds": {"default": {**ON, "scheduling": "False"}}}, "does not run, or is switched off"),
        (BY_PRIORITY, {"scheds": {"default": {**ON, "state": "down"}}}, "does not run, or is switched off"),
        (BY_PRIORITY, {"queues": {"workq": queue("advise", partition="P")}}, "no scheduler serves it"),
    ],
)
def test_what_it_goes_by_instead_is_named(text: str | None, parts: dict[str, Any], words: str) -> None:
    import re

    assert re.search(words, find(text, **parts))


def test_a_file_that_its_scheduler_has_not_read_since_it_was_edited_is_not_believed() -> None:
    files = {"default": {"sched_config": BY_PRIORITY, EDITED: "12:03:10"}}
    seen = server_status(queues={"workq": queue("advise")}, scheds={"default": ON})
    (told,) = find_unsorted(seen, ["workq"], files).values()
    assert told.startswith("the sched_config of scheduler default was edited at 12:03:10 and not read since")
