"""A state that a server changed without the job's ``mtime``, as it may when it starts, is not believed for ever."""

from __future__ import annotations

from collections.abc import Mapping

from tests.torque.fake_torque import FakeTorque
from torque.read.believe_job_list import ReadingUser
from torque.read.known_jobs import WHOLE_S, KnownJobs


def read(known: KnownJobs, torque: FakeTorque) -> Mapping[str, Mapping[str, str]]:
    return known.read(torque, torque.read_server()[1], torque.nodes)


def test_a_state_that_changed_in_silence_is_known_after_a_minute() -> None:
    now_s = 5.0
    known = KnownJobs(ReadingUser("root", "tq"), lambda: now_s)
    job = {"Job_Name": "a", "Job_Owner": "bob@tq", "queue": "batch", "mtime": "100", "qtime": "90"}
    torque = FakeTorque(jobs={"1.tq": {**job, "job_state": "R"}, "2.tq": {**job, "job_state": "Q", "mtime": "200"}})
    assert read(known, torque)["1.tq"]["job_state"] == "R"
    torque.jobs["1.tq"] = {**job, "job_state": "Q"}
    now_s += WHOLE_S - 1
    assert read(known, torque)["1.tq"]["job_state"] == "R"
    now_s += 1
    assert read(known, torque)["1.tq"]["job_state"] == "Q"
