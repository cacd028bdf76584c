"""A trace is read as what its content says it is, and every error is one kind of error."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.traces.read_trace import TraceError, read_trace, read_traces
from sim.workload.workload import Cluster
from tests.sim.accounting_builders import NOON_S, ended, write_log
from tests.sim.small_jobs_and_replays import swf_record, swf_text


def test_swf_is_read_with_the_cluster_it_names(tmp_path: Path) -> None:
    path = tmp_path / "20251231"
    path.write_text(swf_text(swf_record(5)))
    workload = read_trace(path)
    assert ([job.number for job in workload.jobs], workload.cluster) == ([5], Cluster(100, 1))


def test_accounting_is_read_from_a_file_a_folder_or_several_files(tmp_path: Path) -> None:
    first = write_log(tmp_path / "20251231", *ended(1, NOON_S, NOON_S + 60))
    second = write_log(tmp_path / "20260101", *ended(2, NOON_S + 86_400, NOON_S + 86_460))
    cluster = Cluster(4, 4)
    assert [job.number for job in read_trace(first, cluster).jobs] == [1]
    whole = read_trace(tmp_path, cluster)
    assert [job.number for job in whole.jobs] == [1, 2]
    assert read_traces([second, first], cluster).jobs == whole.jobs


def test_accounting_without_a_cluster_asks_for_one(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="give --cluster NODESxCORES"):
        read_trace(write_log(tmp_path / "20251231", *ended(1, NOON_S, NOON_S + 60)))


@pytest.mark.parametrize("content", ["", "nonsense\n", "; MaxNodes: 4\n"])
def test_what_is_neither_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "log"
    path.write_text(content)
    with pytest.raises(TraceError, match=str(path)):
        read_trace(path, Cluster(4, 4))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="absent: cannot be read: No such file"):
        read_trace(tmp_path / "absent")
