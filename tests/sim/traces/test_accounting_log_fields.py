"""What the records of an accounting log say of a job: cores, walltime, and names that mean harm."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.traces.accounting_log import NO_WALLTIME_S, read_log
from tests.sim.accounting_builders import (
    NOON_S,
    ended,
    only,
    only_traced,
    record,
)


@pytest.mark.parametrize(
    ("cores", "after", "taken"),
    [
        (6, "Resource_List.select=2:ncpus=1", 6),
        (None, "Resource_List.select=2:ncpus=3:mem=2gb+1", 7),
        (None, """Resource_List.select='1:ncpus=4:app="a ncpus=9 b"'""", 4),
        (None, "resources_used.ncpus=5", 5),
        (None, "exec_vnode=(v1:ncpus=2:mem=1048576kb)+(v2:ncpus=1+v3:ncpus=1)", 4),
        (4, "resource_assigned.ncpus=32", 32),
        (0, "resources_used.ncpus=2", 2),
    ],
)
def test_cores_are_found_where_they_are(tmp_path: Path, cores: int | None, after: str, taken: int) -> None:
    assert only(tmp_path, *ended(1, NOON_S, NOON_S + 60, cores=cores, after=after)).cores == taken


def test_the_cores_of_an_exclusive_job_come_from_its_start(tmp_path: Path) -> None:
    queued, _, end = ended(1, NOON_S, NOON_S + 60)
    start = ended(1, NOON_S, NOON_S + 60, after="resource_assigned.ncpus=32")[1]
    assert only(tmp_path, queued, start, end).cores == 32


def test_cores_altered_while_queued_are_the_later_ones(tmp_path: Path) -> None:
    queued = ended(1, NOON_S, NOON_S + 60, cores=64)[0]
    assert only(tmp_path, queued, *ended(1, NOON_S, NOON_S + 60, cores=8)[1:]).cores == 8


def test_a_job_without_walltime_is_expected_to_run_five_years(tmp_path: Path) -> None:
    job = only_traced(tmp_path, *ended(1, NOON_S, NOON_S + 60, walltime=None))
    assert (job.estimate_s, job.run_s) == (NO_WALLTIME_S, 60)


def test_a_run_is_cut_at_its_walltime(tmp_path: Path) -> None:
    assert only_traced(tmp_path, *ended(1, NOON_S, NOON_S + 65, walltime="00:01:00")).run_s == 60


def test_users_of_different_bytes_stay_different(tmp_path: Path) -> None:
    path = tmp_path / "20251231"
    lines = [*ended(1, NOON_S, NOON_S + 60, user="a?"), *ended(2, NOON_S, NOON_S + 60, user="a!")]
    path.write_bytes("\n".join(lines).encode().replace(b"a?", b"a\xe9").replace(b"a!", b"a\xe8"))
    assert len({job.user for job in read_log([path]).jobs}) == 2


@pytest.mark.parametrize(
    "account",
    [
        'account="two words"', 'account="a b=c; d "q""', "account=\"it's\"", 'account="Resource_List.ncpus =9"',
        'project="with space" accounting_id="x y"', 'account=""', 'account="first\nsecond"',
        'account="the end=5 of"', "project='start=5 \"x\" end=6'",
    ],
)  # fmt: skip
def test_what_users_write_into_a_record_changes_nothing_else(tmp_path: Path, account: str) -> None:
    plain = only(tmp_path, *ended(1, NOON_S, NOON_S + 60))
    assert only(tmp_path, *ended(1, NOON_S, NOON_S + 60, before=account)) == plain


PIECES = [
    '"',
    "'",
    " ",
    "\n",
    "=",
    ";",
    "x",
    " user=mallory",
    " end=5",
    "start=7 ",
    " Resource_List.ncpus=999",
    "jobname=",
]
PIECES += [
    f"{record('E', 77, NOON_S)}user=mallory",
    record("D", 2, NOON_S),
    " exec_vnode=(v:ncpus=9)",
    "\xe9",
    "\x1b[2J",
]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=12).map("".join))
@settings(max_examples=1000)
def test_no_account_makes_another_job_nor_alters_this_one(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Whatever an account holds, its job is read as it is or left out."""
    path = tmp_path_factory.mktemp("log") / "20251231"
    lines = [*ended(1, NOON_S, NOON_S + 60, before=f'account="{text}"'), *ended(2, NOON_S, NOON_S + 90)]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
    plain = {f"{number}.hpc1": (end, "alice", 4) for number, end in ((1, NOON_S + 60), (2, NOON_S + 90))}
    read = {job.id: (job.end_s, job.user, job.cores) for job in read_log([path]).jobs}
    assert read.items() <= plain.items()
    assert "2.hpc1" in read
