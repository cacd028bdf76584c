"""Pictures put together from differences: patched, shared where nothing changed, and never half."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from hooks.reader.apply_status_differences import Assembly

REST = {
    "time_s": 1.0,
    "server": {"name": "hpc1"},
    "queues": {"workq": {"enabled": "True"}},
    "resources": {},
    "scheds": {},
    "reservations": {},
}
WHOLE = (
    {"anew": True},
    {"keys": ["job_state", "queue", "comment"]},
    {"jobs": [[0, "1.s", "R", "workq", "one"], [0, "2.s", "Q", "workq", "two"]]},
    {"keys": ["state"]},
    {"vnodes": [[1, "v1", "free"], [1, "v2", "offline"]]},
    {"rest": REST},
)


def status_after(assembly: Assembly, *parts: Any) -> Any:
    server_status = None
    for part in parts:
        assert server_status is None
        server_status = assembly.take(json.loads(json.dumps(part)))
    return server_status


def test_a_whole_answer_is_a_picture() -> None:
    server_status = status_after(Assembly(), *WHOLE)
    assert server_status.jobs == {
        "1.s": {"job_state": "R", "queue": "workq", "comment": "one"},
        "2.s": {"job_state": "Q", "queue": "workq", "comment": "two"},
    }
    assert server_status.vnodes == {"v1": {"state": "free"}, "v2": {"state": "offline"}}
    assert (server_status.server["name"], server_status.time_s) == ("hpc1", 1.0)


def test_differences_patch_it_and_leave_the_picture_before_alone() -> None:
    assembly = Assembly()
    before = status_after(assembly, *WHOLE)
    after = status_after(
        assembly,
        {"jobs": [[0, "2.s", "R", "workq", "two"], [0, "3.s", "Q", "workq", "new"]]},
        {"gone": {"jobs": ["1.s"], "vnodes": ["v2"]}},
        {"rest": REST},
    )
    assert {job: texts["job_state"] for job, texts in after.jobs.items()} == {"2.s": "R", "3.s": "Q"}
    assert list(after.vnodes) == ["v1"]
    assert {job: texts["job_state"] for job, texts in before.jobs.items()} == {"1.s": "R", "2.s": "Q"}


def test_what_did_not_change_is_the_same_object_also_in_a_whole_answer() -> None:
    assembly = Assembly()
    first = status_after(assembly, *WHOLE)
    second = status_after(assembly, {"jobs": [[0, "1.s", "R", "workq", "one"]]}, {"rest": REST})
    third = status_after(assembly, *WHOLE)
    assert first.jobs["1.s"] is second.jobs["1.s"] is third.jobs["1.s"]


def test_a_whole_answer_drops_what_it_does_not_tell() -> None:
    assembly = Assembly()
    status_after(assembly, *WHOLE)
    server_status = status_after(
        assembly, {"anew": True}, {"keys": ["job_state"]}, {"jobs": [[0, "9.s", "Q"]]}, {"rest": REST}
    )
    assert server_status.jobs == {"9.s": {"job_state": "Q"}}
    assert server_status.vnodes == {}


def test_differences_to_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="without a whole answer"):
        status_after(Assembly(), {"rest": REST})


@pytest.mark.parametrize(
    "part",
    [
        {"jobs": [[7, "1.s"]]},
        {"jobs": [[0, "1.s", "R"]]},
        {"jobs": [[0, "1.s", "R", 5, "x"]]},
        {"jobs": [[0, ["1.s"], "R", "workq", "x"]]},
        {"jobs": "1.s"},
        {"nodes": [[0, "1.s", "R", "workq", "x"]]},
        {"keys": [1]},
        {"gone": {"jobs": []}},
        {"rest": {"time_s": 1.0}},
        {"rest": {**REST, "time_s": "noon"}},
    ],
)
def test_what_is_no_answer_is_an_error_and_never_a_picture(part: Any) -> None:
    assembly = Assembly()
    status_after(assembly, *WHOLE)
    with pytest.raises((KeyError, IndexError, TypeError, ValueError)):
        status_after(assembly, part)


def test_objects_with_the_same_attributes_do_not_each_hold_their_names() -> None:
    names = [f"Resource_List.r{number}" for number in range(25)]
    values = [str(number) for number in range(25)]
    rows = [[2, f"{number}.s", *values] for number in range(20, 30)]
    more = [f"Resource_List.m{number}" for number in range(100)]
    server_status = status_after(
        Assembly(), *WHOLE[:3], {"keys": ["state"]}, {"keys": names}, {"jobs": rows},
        {"keys": more}, {"jobs": [[3, "11.s", *map(str, range(100))]]}, {"rest": REST},
    )  # fmt: skip
    job = server_status.jobs["27.s"]
    assert job == dict(zip(names, values))
    assert sys.getsizeof(job) < sys.getsizeof(dict(job.items())) / 2
    assert server_status.jobs["11.s"] == dict(zip(more, map(str, range(100))))
    assert server_status.jobs["1.s"]["comment"] == "one"
