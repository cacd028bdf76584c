"""What is written out: an aligned table, JSON with the promised keys, CSV that any reader takes apart again."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.replay.metrics import measure
from sim.report.replay_table_json_and_csv import csv_paths, printable, to_json, to_table, write_jobs_csv
from sim.workload.workload import Cluster, Workload
from tests.sim.small_jobs_and_replays import a_job, a_replay, ran

KEYS = (
    "policy jobs skipped measured_jobs mean_wait_s p95_wait_s p99_wait_s max_wait_s area_weighted_wait_s "
    "mean_bounded_slowdown p99_bounded_slowdown max_bounded_slowdown jain_index users "
    "utilization idle_ratio makespan_s "
    "preempted_jobs preemptions checkpoint_core_s lost_core_s max_head_delay_s cpu_s jobs_per_cpu_s "
    "moved_promises max_moved_delay_s every_job_ran"
)
NODES = Cluster(4, 1)


def a_workload(name: str = "trace.swf") -> Workload:
    return Workload(name, NODES, (a_job(),), {"not 18 fields": 1234})


def test_json_has_the_promised_keys_in_their_order_on_one_line() -> None:
    line = to_json(
        measure(a_replay(ran(a_job(), (0, 100)), skipped={"too large": 2, "not 18 fields": 1})), a_workload()
    )
    assert "\n" not in line
    values = json.loads(line)
    assert list(values) == KEYS.split()
    assert (values["policy"], values["jobs"], values["skipped"], values["max_head_delay_s"]) == ("easy", 1, 3, None)


def test_the_table_is_aligned_with_its_numbers_to_the_right() -> None:
    slow = a_replay(ran(a_job(), (1_234_567, 1_234_667)), policy="fcfs")
    fast = a_replay(ran(a_job(), (3, 103)), policy="easy-sjbf")
    title, blank, head, *rows = to_table(a_workload(), NODES, [measure(slow), measure(fast)]).split("\n")
    assert title == "trace.swf: 1 job on 4 nodes of 1 core, 1,234 left out"
    assert not blank
    assert head.split() == ["fcfs", "easy-sjbf"]
    assert rows[0].split("  ")[0] == "mean wait"
    assert rows[0].split()[2:] == ["1,234,567.0", "s", "3.0", "s"]
    assert {len(row) for row in rows} == {len(head)}


def test_a_table_with_nothing_left_out_does_not_mention_it() -> None:
    workload = Workload("trace.swf", None, (a_job(),))
    assert "left out" not in to_table(workload, NODES, [measure(a_replay(ran(a_job(), (0, 100))))])


def test_what_only_warms_up_and_cools_down_is_reported() -> None:
    workload = Workload("trace.swf", NODES, tuple(a_job(number) for number in range(3)))
    replay = a_replay(*(ran(a_job(number), (0, 100)) for number in range(3)))
    expected_text = "waits and slowdowns of 1 jobs: the first and last submitted only warm up and cool down"
    assert to_table(workload, NODES, [measure(replay, {1})]).split("\n")[1] == expected_text
    assert "warm up" not in to_table(workload, NODES, [measure(replay)])


def test_policies_that_ran_different_jobs_are_said_not_to_be_comparable() -> None:
    workload = Workload("trace.swf", NODES, (a_job(1), a_job(2)))
    both = measure(a_replay(ran(a_job(1), (0, 100)), ran(a_job(2), (0, 100))))
    one = measure(a_replay(ran(a_job(1), (0, 100)), policy="hard-limit"))
    warning = (
        "NOT COMPARABLE where marked *: of 2 jobs ran under easy 2, hard-limit* 1, under all of them 1; each column"
        " counts only the jobs that ran"
    )
    table = to_table(workload, NODES, [both, one]).split("\n")
    assert table[1] == warning
    assert table[3].split() == ["easy", "hard-limit*"]
    assert "NOT COMPARABLE" not in to_table(workload, NODES, [both, both])
    assert [json.loads(to_json(each, workload))["every_job_ran"] for each in (both, one)] == [True, False]


def test_a_policy_that_is_named_alone_is_marked_where_it_left_jobs_out() -> None:
    workload = Workload("trace.swf", NODES, (a_job(1), a_job(2)))
    one = measure(a_replay(ran(a_job(1), (0, 100)), policy="hard-limit"))
    table = to_table(workload, NODES, [one]).split("\n")
    assert table[1] == (
        "NOT COMPARABLE where marked *: of 2 jobs ran under hard-limit* 1; each column counts only the jobs that ran"
    )
    assert table[3].split() == ["hard-limit*"]


def test_a_formula_has_a_short_head_and_stands_in_full_above() -> None:
    """The head would have to be cut, and two formulas that begin alike would be one."""
    workload = Workload("trace.swf", NODES, (a_job(1),))

    def table(*policies: str) -> list[str]:
        replays = [a_replay(ran(a_job(1), (0, 100)), policy=policy) for policy in policies]
        return to_table(workload, NODES, list(map(measure, replays))).split("\n")

    long = "formula:eligible_time / 3600 - ncpus * 2"
    assert table("easy", long)[1] == "formula: eligible_time / 3600 - ncpus * 2"
    assert table("easy", long)[3].split() == ["easy", "formula"]
    assert table(long, "formula:ncpus\x1b[2J")[1:3] == [f"formula 1: {long[8:]}", "formula 2: ncpus?[2J"]
    assert table(long, "formula:ncpus")[4].split() == ["formula", "1", "formula", "2"]


def test_policies_that_left_out_as_many_jobs_but_others_are_not_comparable() -> None:
    workload = Workload("trace.swf", NODES, (a_job(1), a_job(2), a_job(3)))
    parts = (("p1", (1, 2)), ("p2", (2, 3)))
    replays = [a_replay(*(ran(a_job(job), (0, 100)) for job in jobs), policy=name) for name, jobs in parts]
    warning = (
        "NOT COMPARABLE where marked *: of 3 jobs ran under p1* 2, p2* 2, under all of them 1; each column counts only"
        " the jobs that ran"
    )
    assert to_table(workload, NODES, list(map(measure, replays))).split("\n")[1] == warning


def test_names_cannot_steer_the_terminal_or_break_the_table() -> None:
    replay = a_replay(ran(a_job(), (0, 100)), policy="\x1b[2Jlong\n" + "x" * 100)
    table = to_table(a_workload("a\x1b]0;t\x07\u202e.swf"), NODES, [measure(replay)])
    assert "a?]0;t??.swf" in table
    assert "\x1b" not in table
    assert "?[2Jlong?xxxxxxxxxxxxxx…" in table.split("\n")[2]


@given(st.text())
def test_what_is_printable_stays_in_place_and_nothing_else_is_left(text: str) -> None:
    shown = printable(text)
    assert len(shown) == len(text)
    assert shown.isprintable()


def test_a_row_says_when_and_where_a_job_ran(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    write_jobs_csv(path, [ran(a_job(7, 5, 100.5, cores=3), (10, 20), (30, 130.5), vnodes=("v1", "v2"))])
    assert path.read_text() == ("job,submit,start,end,cores,user,preemptions,vnodes\n7,5,10,130.5,3,alice,1,v1+v2\n")


# A trace's fields hold everything but white space.
@given(user=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\v\f\r "), min_size=1))
def test_any_user_comes_back_from_the_csv(tmp_path_factory: pytest.TempPathFactory, user: str) -> None:
    path = tmp_path_factory.mktemp("csv") / "jobs.csv"
    write_jobs_csv(path, [ran(a_job(user=user), (0, 100))])
    with path.open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["user"] == user


def test_one_policy_writes_the_file_itself() -> None:
    assert csv_paths(Path("out/jobs.csv"), ["easy"]) == [Path("out/jobs.csv")]


def test_several_policies_write_a_file_each() -> None:
    paths = csv_paths(Path("out/jobs.csv"), ["fcfs", "easy", "my/../policy", "easy", "easy-2"])
    names = ["jobs-fcfs.csv", "jobs-easy.csv", "jobs-my_.._policy.csv", "jobs-easy-2.csv", "jobs-easy-2-2.csv"]
    assert paths == [Path("out", name) for name in names]


def test_the_file_of_a_formula_has_a_short_name() -> None:
    whole = "formula:ncpus" + " + 0 * ncpus" * 25
    assert [path.name for path in csv_paths(Path("jobs.csv"), [whole, "fcfs"])] == ["jobs-formula.csv", "jobs-fcfs.csv"]
    two = [path.name for path in csv_paths(Path("jobs.csv"), [whole, "formula:walltime"])]
    assert two == ["jobs-formula_1.csv", "jobs-formula_2.csv"]
