"""The story of a lost job: what every log has of it, in the order of the clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.lost_job_timeline import find_jobs, order_lines


@pytest.mark.parametrize(
    ("words", "jobs"),
    [
        ("1006.pbst-7-faults of alice ended with status 85", ["1006.pbst-7-faults"]),
        ("8[2].s and 8[2].s, 9[].s", ["8[2].s", "9[].s"]),
        ("3 passes began since, and none came to its end within 0.5 s", []),
    ],
)
def test_the_jobs_of_a_loss_are_found(words: str, jobs: list[str]) -> None:
    assert find_jobs(words) == jobs


def test_lines_of_all_logs_are_in_the_order_of_the_clock(tmp_path: Path) -> None:
    server, mom = tmp_path / "server", tmp_path / "mom"
    server.write_text(
        "11/22/2026 00:00:01;0008;Server;Job;1.s;Job Run\n"
        "11/22/2026 00:00:01;0008;Server;Job;11.s;Job Run\n"
        "no line of a log\n"
        "11/22/2026 00:00:05;0008;Server;Job;1.s;Exit_status=85\n"
        "11/22/2026 00:00:08;0100;Server;Job;1.s;enqueuing into workq, state F hop 1\n"
        "11/22/2026 00:00:08;0086;Server;Job;1.s;Requeueing job, substate: 93 Requeued in queue: workq\n"
    )
    mom.write_text(
        "11/22/2026 00:00:00.500000;0002;pbs_mom;Svr;pbs_mom;HELLO sent to server\n"
        "11/22/2026 00:00:03.250000;0100;pbs_mom;Job;1.s;Obit sent\n"
        "11/22/2026 00:00:03.500000;0001;pbs_python;Hook;pbs_python;pbsteer: the execjob_epilogue hook failed\n"
        "11/22/2026 00:00:04.000000;0002;pbs_mom;Svr;pbs_mom;ReplyHello from server\n"
        "11/22/2026 00:00:09.000000;0002;pbs_mom;Svr;pbs_mom;ReplyHello from server\n"
    )
    told = order_lines([("server", server), ("m1", mom)], {"1.s"})
    assert [line.rpartition(";")[2] for line in told] == [
        "Job Run", "Obit sent", "pbsteer: the execjob_epilogue hook failed", "ReplyHello from server",
        "Exit_status=85",
    ]  # fmt: skip
    assert [line.partition(":")[0] for line in told] == ["server", "m1", "m1", "m1", "server"]
