"""A record is read from its line as it was written; a line that is none is refused with the reason."""

import subprocess
from dataclasses import replace

import pytest
from hypothesis import given

from migration.spool.record_as_key_value_line import LineError, decode, encode, from_line, to_line
from policy.migration.job_record_and_copy_updates import Record
from tests.migration.spool.record_strategies import RECORDS, TEXTS

RECORD = Record(gid="a.1", user="alice", src="a", dir="/home/alice/run 1", prog="./p", args=("-n", "", "a,b"), cores=8)


def test_a_line_is_one_that_awk_reads() -> None:
    assert to_line(RECORD) == (
        "v=1\tgid=a.1\tuser=alice\tsrc=a\tdst=\tdir=/home/alice/run 1\tprog=./p\targs=-n,%00,a%2Cb\tcores=8\t"
        "attempt=1\tstate=Requested\trev=1"
    )
    found = subprocess.run(
        ["awk", "-F\t", '{for (i = 1; i <= NF; i++) if ($i ~ /^cores=/) print substr($i, 7)}'],
        input=to_line(RECORD), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout == "8\n"


@given(RECORDS)
def test_a_record_is_read_as_it_was_written(record: Record) -> None:
    line = to_line(record)
    assert from_line(line) == record
    assert line.isascii()
    assert "\n" not in line


@given(TEXTS)
def test_a_value_is_decoded_as_it_was_encoded(text: str) -> None:
    assert decode(encode(text)) == text
    assert not set("\t\n=,") & set(encode(text))


def test_keys_of_newer_versions_are_kept() -> None:
    line = f"{to_line(RECORD)}\tcolour=light%09blue"
    assert from_line(line).more == {"colour": "light\tblue"}
    assert to_line(from_line(line)) == line


def test_the_old_spelling_of_a_state_is_read() -> None:
    assert from_line(to_line(RECORD).replace("Requested", "Stoped")).state == "Stopped"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "must be key=value"),
        ("gid=a.1", "v: must be the first key, and 1"),
        ("v=2\tgid=a.1", "v: must be"),
        ("v=1", "job id ''"),
        ("v=1\tgid=../x.1", "job id '../x.1'"),
        ("v=1\tgid=a.1\tcores=-1", "cores: '-1': must be a whole number"),
        ("v=1\tgid=a.1\tcores=1e3", "cores: '1e3'"),
        ("v=1\tgid=a.1\tcores=1\tcores=2", "cores: stands twice"),
        ("v=1\tgid=a.1\tstate=Gone", "state 'Gone'"),
        ("v=1\tgid=a.1\tdir=%zz", "a % must begin a code"),
        ("v=1\tgid=a.1\tdir=/\x1b[2J", "outside printable ASCII"),
        ("v=1\tgid=a.1\tdir=/é", "outside printable ASCII"),
        ("v=1\tgid=a.1\tX Y=1", "must be key=value"),
        ("v=1\tgid=a.1\tdir=" + "x" * 300_000, "at most 262,144 are allowed"),
        ("v=1\tgid=a.1\targs=" + "," * 20_000, "20001 elements"),
    ],
)
def test_a_line_that_is_none_is_refused_with_the_reason(line: str, problem: str) -> None:
    with pytest.raises(LineError) as raised:
        from_line(line)
    assert problem in str(raised.value)


def test_a_record_that_is_too_long_is_not_written() -> None:
    with pytest.raises(LineError, match=r"a\.1: the record has"):
        to_line(replace(RECORD, args=("x" * 300_000,)))
