"""Reading traces: what a record means, what is left out and counted, what is refused with which words."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.traces.read_swf import SwfError, read_swf
from sim.workload.workload import Cluster, TraceJob, Workload
from tests.sim.small_jobs_and_replays import CURIE, KTH, needs, swf_record, swf_text


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "trace.swf"


def read(path: Path, text: str | bytes, cluster: Cluster | None = None) -> Workload:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_swf(path, cluster)


def only_job(path: Path, record: str) -> TraceJob:
    (job,) = read(path, swf_text(record)).jobs
    return job


def refused(path: Path, text: str | bytes, cluster: Cluster | None = None) -> str:
    with pytest.raises(SwfError) as caught:
        read(path, text, cluster)
    assert str(path) in str(caught.value)
    return str(caught.value)


# What a record means


def test_a_record_becomes_a_job(trace: Path) -> None:
    job = only_job(trace, swf_record(15, 599850, run=3477, used=3, requested=4, estimate=53940, user=12, group=34))
    assert job == TraceJob(15, 599850, 3477, 53940, 4, "12", "34")


def test_whole_numbers_stay_ints_and_fractions_stay_fractions(trace: Path) -> None:
    whole = only_job(trace, swf_record(submit=5, run=7))
    assert (type(whole.submit_s), type(whole.run_s), type(whole.estimate_s)) == (int, int, int)
    fraction = only_job(trace, swf_record(submit="5.25", run="7.5", estimate="1e2"))
    assert (fraction.submit_s, fraction.run_s, fraction.estimate_s) == (5.25, 7.5, 100.0)


@pytest.mark.parametrize(("requested", "used", "cores"), [(8, 4, 8), (-1, 4, 4), (0, 4, 4), ("8.0", 4, 8)])
def test_cores_are_the_requested_else_the_used(trace: Path, requested: object, used: object, cores: int) -> None:
    assert only_job(trace, swf_record(requested=requested, used=used)).cores == cores


@pytest.mark.parametrize(
    ("requested", "run", "estimate_s"), [(300, 100, 300), (-1, 100, 100), (0, 100, 100), (-1, 0, 1), ("0.5", 0, 1)]
)
def test_the_estimate_is_the_requested_time_else_the_run_time_at_least_a_second(
    trace: Path, requested: object, run: int, estimate_s: int
) -> None:
    assert only_job(trace, swf_record(run=run, estimate=requested)).estimate_s == estimate_s


def test_a_job_is_killed_at_its_estimate(trace: Path) -> None:
    assert only_job(trace, swf_record(run=500, estimate=200)).run_s == 200


def test_the_recorded_end_of_a_job_that_outran_its_estimate_is_kept(trace: Path) -> None:
    job = only_job(trace, swf_record(submit=1000, run=500, estimate=200).replace(" 1000 -1 ", " 1000 60 "))
    assert job.waited_s is not None
    assert job.submit_s + job.waited_s + job.run_s == 1000 + 60 + 500


@pytest.mark.parametrize("status", [0, 1, 5, -1])
def test_a_failed_or_empty_run_is_a_job_like_any_other(trace: Path, status: int) -> None:
    assert only_job(trace, swf_record(run=0, status=status)).run_s == 0


def test_jobs_are_in_order_of_submit_time_then_number(trace: Path) -> None:
    records = (swf_record(9, 10), swf_record(2, 20), swf_record(3, 10), swf_record(1, 30))
    assert [job.number for job in read(trace, swf_text(*records)).jobs] == [3, 9, 2, 1]


@pytest.mark.parametrize(("executable", "application"), [(3, "3"), (0, "0"), (-1, ""), ("-1.0", "")])
def test_the_application_is_the_executables_number(trace: Path, executable: object, application: str) -> None:
    assert only_job(trace, swf_record(executable=executable)).application == application


def test_users_need_not_be_numbers(trace: Path) -> None:
    job = only_job(trace, swf_record(user="=cmd()", group="r\u00f6ntgen"))
    assert (job.user, job.group) == ("=cmd()", "r\u00f6ntgen")


def test_all_whom_a_trace_does_not_know_are_one(trace: Path) -> None:
    job = only_job(trace, swf_record(user=-1, group=-1))
    assert (job.user, job.group) == ("unknown", "unknown")
    assert only_job(trace, swf_record(user="-1x")).user == "-1x"


def test_what_many_jobs_lack_is_said_and_what_few_lack_is_not(trace: Path) -> None:
    known = [swf_record(number, estimate=60, user="u1") for number in range(1, 100)]
    few = swf_text(*known, swf_record(100, estimate=-1, user=-1))
    assert read(trace, few).assumed == ()
    many = swf_text(*known[:98], swf_record(99, estimate=-1, user="u1"), swf_record(100, estimate=0, user=-1))
    (estimates,) = read(trace, many).assumed
    assert estimates.startswith("2 of 100 jobs have no estimate, and count with their run time")
    alone = swf_text(*known[:98], swf_record(99, estimate=60, user=-1), swf_record(100, estimate=60, user=-1))
    assert read(trace, alone).assumed == ("2 of 100 jobs are of unknown users, and count as those of one",)


def test_users_that_are_not_utf_8_stay_different_people(trace: Path) -> None:
    records = swf_text(swf_record(1, user="\u00e4"), swf_record(2, user="\u00f6")).encode("latin-1")
    first, second = read(trace, records).jobs
    assert first.user != second.user


# The header


@pytest.mark.parametrize(
    "header",
    [
        "; MaxNodes: 10\n; MaxProcs: 40\n",
        ";MaxNodes:10\n;MaxProcs:40\n",
        "  ;;  maxnodes  :  10  \n;\tMAXPROCS :\t40 (four each)\n",
        "; MaxNodes: 10\r\n; MaxProcs: 40\r\n",
        "\ufeff; MaxNodes: 10\n; MaxProcs: 40\n; MaxProcs: 99\n",
    ],
)
def test_the_cluster_comes_from_the_header(trace: Path, header: str) -> None:
    assert read(trace, header + swf_record() + "\n").cluster == Cluster(10, 4)


def test_a_cluster_that_is_given_goes_before_the_header(trace: Path) -> None:
    assert read(trace, swf_text(swf_record(), nodes="many"), Cluster(2, 8)).cluster == Cluster(2, 8)


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("", "no MaxNodes"),
        ("; MaxNodes: 10\n", "no MaxProcs"),
        ("; MaxNodes: 5544\n; MaxProcs: 93312\n", "93312 is no whole multiple of MaxNodes 5544"),
        ("; MaxNodes: ten\n; MaxProcs: 40\n", "line 1: MaxNodes is 'ten'"),
        ("; MaxNodes: 1\n; MaxProcs: 1,024\n", "line 2: MaxProcs is '1,024'"),
        ("; MaxNodes: 0\n; MaxProcs: 40\n", "line 1: MaxNodes is '0'"),
        ("; MaxNodes: -4\n; MaxProcs: 40\n", "line 1: MaxNodes is '-4'"),
        ("; MaxNodes: 99999999999\n; MaxProcs: 99999999999\n", "99999999999 nodes"),
    ],
)
def test_a_header_without_a_whole_cluster_asks_for_one(trace: Path, header: str, names: str) -> None:
    message = refused(trace, header + swf_record() + "\n")
    assert names in message
    assert "--cluster NODESxCORES" in message


def test_comments_among_the_records_are_not_the_header(trace: Path) -> None:
    text = swf_text(swf_record(1), "; MaxNodes: 3", "", swf_record(2))
    workload = read(trace, text)
    assert (workload.cluster, len(workload.jobs), dict(workload.skipped)) == (Cluster(100, 1), 2, {})


def test_the_start_of_the_trace_is_read(trace: Path) -> None:
    assert read(trace, "; UnixStartTime: 843480031\n" + swf_text(swf_record())).start_epoch == 843480031
    assert read(trace, "; UnixStartTime: unknown\n" + swf_text(swf_record())).start_epoch is None


# What is left out, and counted


@pytest.mark.parametrize(
    ("record", "cause"),
    [
        (swf_record().rsplit(" ", 1)[0], "not 18 fields"),
        (swf_record() + " -1", "not 18 fields"),
        ("hello", "not 18 fields"),
        (swf_record(submit="soon"), "a field that is no number"),
        (swf_record(submit="1_000"), "a field that is no number"),
        (swf_record(run="0x10"), "a field that is no number"),
        (swf_record(run="nan"), "a field that is no number"),
        (swf_record(estimate="inf"), "a field that is no number"),
        (swf_record(used="١", requested=-1), "a field that is no number"),
        (swf_record(run="1e999"), "a number beyond all sense"),
        (swf_record(requested="9" * 5000), "a number beyond all sense"),
        (swf_record(submit=10**17), "a time of more than 100 years"),
        (swf_record(estimate="1e30"), "a time of more than 100 years"),
        (swf_record(submit=-1), "submit time negative or unknown"),
        (swf_record(run=-1), "run time negative or unknown"),
        (swf_record(used=-1, requested=-1), "number of cores unknown"),
        (swf_record(requested="2.5"), "number of cores not whole"),
        (swf_record(number=-3), "job number negative, not whole or too large"),
        (swf_record(number="1.5"), "job number negative, not whole or too large"),
        (swf_record(number="1e300"), "job number negative, not whole or too large"),
        (swf_record(requested=101), "more cores than the cluster has"),
        (swf_record(requested=10**15), "more cores than the cluster has"),
        (swf_record(number=77), "job number seen before"),
    ],
)
def test_a_senseless_record_is_left_out_and_counted_with_its_line(trace: Path, record: str, cause: str) -> None:
    workload = read(trace, swf_text(swf_record(77), record, swf_record(78)))
    assert [job.number for job in workload.jobs] == [77, 78]
    assert workload.skipped == {cause: 1}
    assert workload.skipped_lines == {cause: (4,)}


def test_further_fields_are_passed_over_where_every_record_has_as_many(trace: Path) -> None:
    longer = [swf_record(number) + " {1,1} q_1d" for number in (1, 2)]
    workload = read(trace, swf_text(longer[0], swf_record(3), longer[1]))
    assert [job.number for job in workload.jobs] == [1, 2]
    assert workload.skipped == {"not 20 fields": 1}
    assert workload.assumed == ("each record has 20 fields, of which the first 18 count",)


def test_only_the_first_lines_of_a_cause_are_named(trace: Path) -> None:
    workload = read(trace, swf_text(swf_record(), *("x",) * 10))
    assert workload.skipped == {"not 18 fields": 10}
    assert workload.skipped_lines == {"not 18 fields": (4, 5, 6)}


def test_a_job_as_large_as_the_cluster_stays(trace: Path) -> None:
    assert len(read(trace, swf_text(swf_record(requested=100))).jobs) == 1


@given(st.lists(st.lists(st.sampled_from(["-1", "0", "3", "1e9", "nan", "x", "4.5", ";", "99999"]), max_size=20)))
def test_every_record_is_a_job_or_counted(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    path = tmp_path_factory.mktemp("swf") / "trace.swf"
    records = [" ".join(row) for row in rows]
    workload = read(path, swf_text(swf_record(10**6), *records))
    meant = sum(bool(row) and row[0] != ";" for row in rows)
    assert len(workload.jobs) + sum(workload.skipped.values()) == 1 + meant


# Files that are something else


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("swf") / "trace.swf"
    path.write_bytes(content)
    with pytest.raises(SwfError, match=r"trace\.swf: "):
        read_swf(path, Cluster(100, 1))


@pytest.mark.parametrize("text", ["", "\n\n", "; only a comment\n"])
def test_a_file_without_records_says_so(trace: Path, text: str) -> None:
    assert "no usable job in it: it has no records" in refused(trace, text)


def test_a_text_that_is_no_trace_says_what_its_lines_are(trace: Path) -> None:
    message = refused(trace, "# Read me\n\nThis is a text.\n")
    assert "no usable job in it: 2 left out: 2 not 18 fields (lines 1, 3)" in message


def test_a_cluster_too_small_for_every_job_says_so(trace: Path) -> None:
    assert "1 more cores than the cluster has (line 3)" in refused(trace, swf_text(swf_record()), Cluster(1, 1))


def test_binary_data_is_refused(trace: Path) -> None:
    assert "line 4: binary data" in refused(trace, swf_text(swf_record()).encode() + b"\0\1\2")


def test_an_endless_line_is_refused(trace: Path) -> None:
    assert "line 4: longer than" in refused(trace, swf_text(swf_record()) + "1" * 3_000_000)


def test_gzip_is_known_by_its_first_bytes_not_by_its_name(tmp_path: Path) -> None:
    text = swf_text(swf_record()).encode()
    packed, plain = tmp_path / "packed.swf", tmp_path / "plain.swf.gz"
    packed.write_bytes(gzip.compress(text))
    plain.write_bytes(text)
    assert read_swf(packed).jobs == read_swf(plain).jobs


def test_a_truncated_gzip_is_refused(trace: Path) -> None:
    packed = gzip.compress(swf_text(*(swf_record(number) for number in range(2000))).encode())
    assert "damaged or incomplete gzip data" in refused(trace, packed[: len(packed) // 2])
    assert "damaged or incomplete gzip data" in refused(trace, packed[:-4])


def test_a_damaged_gzip_is_refused(trace: Path) -> None:
    packed = bytearray(gzip.compress(os.urandom(5000)))
    packed[2000:2100] = b"?" * 100
    refused(trace, bytes(packed))
    assert "Not a gzipped file" in refused(trace, gzip.compress(swf_text(swf_record()).encode()) + b"more")


def test_a_folder_a_missing_file_and_a_forbidden_one_are_named(tmp_path: Path) -> None:
    with pytest.raises(SwfError, match="cannot be read: Is a directory"):
        read_swf(tmp_path)
    with pytest.raises(SwfError, match=r"absent\.swf: cannot be read: No such file"):
        read_swf(tmp_path / "absent.swf")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_a_forbidden_file_is_named(trace: Path) -> None:
    trace.touch(mode=0)
    with pytest.raises(SwfError, match="cannot be read: Permission denied"):
        read_swf(trace)


def test_a_pipe_can_be_read() -> None:
    program = (
        "from pathlib import Path; from sim.traces.read_swf import read_swf;"
        " print(len(read_swf(Path('/dev/stdin')).jobs))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=gzip.compress(swf_text(swf_record(1), swf_record(2)).encode()),
        stdout=subprocess.PIPE,
        check=True,
    )
    assert done.stdout == b"2\n"


# The shared traces: figures that a count over their raw lines gives as well


def raw_records(path: Path) -> list[bytes]:
    return [line for line in gzip.decompress(path.read_bytes()).splitlines() if line and not line.startswith(b";")]


@needs(KTH)
def test_kth_is_read_whole() -> None:
    workload = read_swf(KTH)
    records = raw_records(KTH)
    assert workload.cluster == Cluster(100, 1)
    assert len(workload.jobs) == len(records)
    assert sum(job.cores for job in workload.jobs) == sum(int(line.split()[7]) for line in records)


@needs(CURIE)
def test_curie_asks_for_its_cluster_and_then_is_read() -> None:
    with pytest.raises(SwfError, match=r"93312 is no whole multiple of MaxNodes 5544.*--cluster"):
        read_swf(CURIE)
    workload = read_swf(CURIE, Cluster(5832, 16))
    assert len(workload.jobs) + sum(workload.skipped.values()) == len(raw_records(CURIE))
    assert set(workload.skipped) == {"number of cores unknown"}
