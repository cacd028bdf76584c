"""What commands share: failures are one line, progress is silent off a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.cli.replay_options import (
    CommandError,
    find_policies,
    load_trace,
    progress,
    replay_each,
)
from sim.replay.named_policies import PolicyError
from sim.workload.windows_of_given_reservations import Reservation
from sim.workload.workload import Cluster, Workload
from tests.sim.small_jobs_and_replays import a_job, swf_record, swf_text


def test_an_error_is_data_on_the_terminal() -> None:
    assert CommandError("a\x1b[2J\nb").message == "a?[2J?b"
    assert CommandError(PolicyError("first\n", "second\x1b")).message == "first?\nsecond?"


def test_no_progress_is_shown_off_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with progress("easy", 10) as show:
        assert show is None
    assert capfd.readouterr() == ("", "")


def test_the_cluster_given_goes_before_that_of_the_trace(tmp_path: Path) -> None:
    trace = tmp_path / "a.swf"
    trace.write_text(swf_text(swf_record()))
    assert load_trace([trace], None)[1] == Cluster(100, 1)
    assert load_trace([trace], "8x2")[1] == Cluster(8, 2)
    with pytest.raises(CommandError, match="--cluster: cluster '8by2'"):
        load_trace([trace], "8by2")


def test_each_policy_is_replayed_in_its_turn(capfd: pytest.CaptureFixture[str]) -> None:
    workload = Workload("two", Cluster(1, 1), (a_job(1), a_job(2)), {"not 18 fields": 1}, {"not 18 fields": (7,)})
    policies = [build(workload, Cluster(1, 1)) for build in find_policies(["easy", "fcfs"])]
    assert [result.policy for result in replay_each(workload, Cluster(1, 1), policies)] == ["easy", "fcfs"]
    assert capfd.readouterr().err == "two: 1 left out: 1 not 18 fields (line 7)\n"


def test_contention_is_refused_where_something_is_reserved() -> None:
    cluster = Cluster(1, 1, (Reservation("R1", (1,), 0, 10),))
    workload = Workload("one", cluster, (a_job(1),))
    with pytest.raises(CommandError, match=r"^--contention: not with --reservations: "):
        list(replay_each(workload, cluster, [find_policies(["easy"])[0](workload, cluster)], contention=True))
