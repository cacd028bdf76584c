"""Whose changes the server's log tells of: managers' requests with all their attributes, and nothing that passes do."""

from __future__ import annotations

import pytest

from hooks.audit.admin_changes_in_server_log import read_changes

DAY = "11/22/2026 15:30:5"
MANAGERS = ("alice@*", "carol@login1.site")


def commands(*lines: str) -> list[tuple[str, str, str]]:
    log = "".join(f"{DAY}{number % 10};0004;Server@hpc1;{line}\n" for number, line in enumerate(lines)).encode()
    return [(change.user, change.host, change.command) for change in read_changes(log, MANAGERS)]


@pytest.mark.parametrize(
    ("lines", "command"),
    [
        (
            ("Que;workq;attributes set:  at request of alice@m1",
             "Que;workq;attributes set: max_run_res_soft.ncpus + [u:bob=4]"),
            "set queue workq max_run_res_soft.ncpus += [u:bob=4]",
        ),
        (
            ("Que;workq;attributes unset:  at request of alice@m1",
             "Que;workq;attributes unset: max_run_res_soft.ncpus = "),
            "unset queue workq max_run_res_soft.ncpus",
        ),
        (
            ("Node;v1;attributes set:  at request of alice@m1", "Node;v1;attributes set: resources_available.mem = 8gb",
             "Node;v1;attributes set: comment = a ;multi word = x"),
            "set node v1 resources_available.mem = 8gb, comment = a ;multi word = x",
        ),
        (("Que;q2;deleted at request of alice@m1",), "delete queue q2"),
        (
            ("Que;q2;created at request of alice@m1", "Que;q2;attributes set: queue_type = execution"),
            "create queue q2 queue_type = execution",
        ),
        (
            ("Svr;Server@hpc1;attributes set:  at request of alice@m1",
             "Svr;Server@hpc1;attributes set: managers + eve@*"),
            "set server managers += eve@*",
        ),
        (("Job;7.hpc1;Job to be deleted at request of alice@m1",), "qdel 7.hpc1"),
        (("Job;7.hpc1;Holds os set at request of alice@m1",), "qhold -h os 7.hpc1"),
        (("Job;7.hpc1;Job moved to long at request of alice@m1",), "qmove long 7.hpc1"),
        (("Job;7.hpc1;suspend job by alice@m1",), "qsig -s suspend 7.hpc1"),
    ],
)  # fmt: skip
def test_a_request_of_a_manager_is_one_change(lines: tuple[str, ...], command: str) -> None:
    assert commands(*lines) == [("alice", "m1", command)]


def test_requests_that_follow_each_other_are_distinguished() -> None:
    assert commands(
        "Que;a;attributes set:  at request of root@hpc1",
        "Que;a;attributes set: started = True",
        "Que;b;attributes set:  at request of alice@m1",
        "Que;b;attributes set: started = False",
        "Req;;Type 9 request received from alice@m1, sock=17",
        "Que;b;attributes set: enabled = False",
    ) == [("root", "hpc1", "set queue a started = True"), ("alice", "m1", "set queue b started = False")]


@pytest.mark.parametrize(
    "line",
    [
        "Job;7.hpc1;Job to be deleted at request of bob@m1",
        "Job;7.hpc1;Holds s set at request of root@hpc1",
        "Job;7.hpc1;Holds s released at request of root@hpc1.site",
        "Job;7.hpc1;Job Rerun at request of root@hpc1",
        "Job;7.hpc1;Job Modified at request of root@hpc1",
        "Job;7.hpc1;Job Queued at request of alice@m1, owner = alice@m1, job name = X, queue = workq",
        "Job;7.hpc1;Job Run at request of Scheduler@hpc1 on exec_vnode (v1:ncpus=1)",
        "Hook;pbsteer;attributes set:  at request of",
        "Svr;Server@hpc1;nothing at request of alice@m1",
    ],
)
def test_what_users_schedulers_and_passes_do_is_none(line: str) -> None:
    assert commands(line) == []


def test_what_root_does_by_hand_is_one() -> None:
    assert commands("Job;7.hpc1;Job to be deleted at request of root@hpc1") == [("root", "hpc1", "qdel 7.hpc1")]
    by_hand = (
        "Sched;Server@hpc1;attributes set:  at request of root@hpc1",
        "Sched;Server@hpc1;attributes set: scheduling = true",
    )
    assert commands(*by_hand) == [("root", "hpc1", "set sched scheduling = true")]
    by_pass = (by_hand[0], "Sched;Server@hpc1;attributes set: scheduling = y")
    assert commands(*by_pass) == []


def test_other_lines_and_bytes_are_nothing() -> None:
    assert (
        read_changes(b"\xff\xfe at request of alice@m1\n\n;;;;;\nno date;0004;s;Que;q;created at request of a@b\n", ())
        == []
    )
    log = "11/22/2026 15:30:51.123456;0004;Server@hpc1;Que;q\u00fc;created at request of root@hpc1\n".encode("latin-1")
    (change,) = read_changes(log, ())
    assert (change.command, change.offset, change.end) == ("create queue q\ufffd", 0, len(log))
