"""`pbsteer simulate` as its user sees it: what it prints and writes, and one clear line with status 2 otherwise."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sim.cli.simulate import simulate
from tests.sim.call_command import Invoked
from tests.sim.small_jobs_and_replays import swf_record, swf_text

# Two cores; the second job waits 50 s for the first, the third is too large.
STORY = swf_text(
    swf_record(1, 0, run=100, requested=2, estimate=100, user="=1+1"),
    swf_record(2, 50, run=10, requested=1, estimate=10),
    swf_record(3, 60, run=10, requested=3),
    nodes=2,
    procs=2,
)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "story.swf"
    path.write_text(STORY)
    return path


INVOKED = Invoked(simulate)
run, refused = INVOKED.run, INVOKED.refused


def test_fcfs_and_easy_are_compared_by_default(trace: Path) -> None:
    result = run(trace)
    assert result.exit_code == 0
    title, _, head, *rows = result.stdout.splitlines()
    assert title == "story.swf: 2 jobs on 2 nodes of 1 core, 1 left out"
    assert head.split() == ["fcfs", "easy"]
    assert rows[0].split() == ["mean", "wait", "25.0", "s", "25.0", "s"]


def test_json_is_one_object_for_each_policy(trace: Path) -> None:
    result = run(trace, "--json", "--policy", "easy", "--policy", "fcfs")
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["policy"], second["policy"]) == ("easy", "fcfs")
    assert (first["jobs"], first["skipped"], first["mean_wait_s"], first["makespan_s"]) == (2, 1, 25, 110)
    assert first["utilization"] == pytest.approx(210 / 220)


def test_an_accounting_log_is_a_trace() -> None:
    result = run(Path(__file__).parents[1] / "accounting_log", "--cluster", "2x8", "--policy", "fcfs", "--json")
    values = json.loads(result.stdout)
    assert values["jobs"]
    assert values["makespan_s"]
    assert f"{values['skipped']:,} left out" in result.stderr


def test_the_files_of_one_log_are_one_trace_and_two_traces_are_none(trace: Path) -> None:
    assert trace.name in refused(trace, trace, "--cluster", "3x1")


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_what_was_left_out_is_reported_on_stderr(trace: Path, options: tuple[str, ...]) -> None:
    output = run(trace, "--policy", "fcfs", *options).stderr
    assert output == "story.swf: 1 left out: 1 more cores than the cluster has (line 5)\n"


def test_a_trace_without_estimates_is_said_to_have_none(tmp_path: Path) -> None:
    path = tmp_path / "blind.swf"
    path.write_text(swf_text(*(swf_record(number, requested=1, estimate=-1) for number in (1, 2)), nodes=2, procs=2))
    output = run(path, "--policy", "fcfs").stderr
    assert output.startswith("blind.swf: 2 of 2 jobs have no estimate, and count with their run time: nothing that")


def test_nothing_is_said_of_progress_where_stderr_is_no_terminal(trace: Path) -> None:
    assert "of 3 jobs" not in run(trace, "--cluster", "3x1").stderr
    assert not run(trace, "--cluster", "3x1").stderr


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo-terminals")
def test_progress_is_a_bar_for_each_policy_on_stderr(trace: Path) -> None:
    terminal, stderr = os.openpty()
    program = "from sim.cli.simulate import simulate; simulate()"
    with os.fdopen(terminal, "rb", buffering=0) as screen:
        result = subprocess.run(
            [sys.executable, "-c", program, str(trace), "--cluster", "3x1", "--policy", "fcfs", "--policy", "easy"],
            stdout=subprocess.PIPE,
            stderr=stderr,
            check=True,
        )
        os.close(stderr)
        shown = screen.read(4096)
    assert b"\r" not in result.stdout
    for policy in (b"fcfs", b"easy"):
        assert re.search(policy + rb"  \[#+\]  3/3", shown)


def test_a_cluster_that_is_given_goes_before_the_header(trace: Path) -> None:
    values = json.loads(run(trace, "--cluster", "1x4", "--policy", "fcfs", "--json").stdout)
    assert (values["jobs"], values["skipped"], values["mean_wait_s"]) == (3, 0, pytest.approx(40 / 3))


def test_one_policys_jobs_are_written_to_the_file(trace: Path, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    assert run(trace, "--policy", "fcfs", "--jobs-csv", path).exit_code == 0
    with path.open(newline="") as file:
        rows = {row["job"]: row for row in csv.DictReader(file)}
    assert list(rows["1"]) == ["job", "submit", "start", "end", "cores", "user", "preemptions", "vnodes"]
    assert (float(rows["2"]["start"]), float(rows["2"]["end"])) == (100, 110)
    assert rows["1"]["user"] == "=1+1"


def test_each_of_several_policies_has_a_file(trace: Path, tmp_path: Path) -> None:
    assert run(trace, "--jobs-csv", tmp_path / "jobs.csv").exit_code == 0
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["jobs-easy.csv", "jobs-fcfs.csv"]


def test_a_picture_is_drawn(trace: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
    assert run(trace, "--plot", tmp_path / "story.svg").exit_code == 0
    assert "<svg" in (tmp_path / "story.svg").read_text()


def test_a_workload_can_be_drawn_instead_of_read() -> None:
    arguments = ("--generate", 40, "--cluster", "8x2", "--users", 3, "--seed", 5, "--load", 0.8, "--policy", "fcfs")
    first, again = (json.loads(run(*arguments, "--json").stdout) for _ in range(2))
    assert first["jobs"] == 40
    assert first["mean_wait_s"] == again["mean_wait_s"]


@pytest.mark.parametrize(("applications", "better"), [("memory,compute", "striped"), ("communication", "packed")])
def test_layouts_are_compared_where_jobs_share_memory_bandwidth(applications: str, better: str) -> None:
    campaign = ("--generate", 60, "--cluster", "8x8", "--applications", applications, "--contention", "--json")
    lines = run(*campaign, *(word for name in ("packed", "striped") for word in ("--policy", name))).stdout.splitlines()
    ends = {figures["policy"]: figures["makespan_s"] for figures in map(json.loads, lines)}
    assert min(ends, key=ends.__getitem__) == better


def test_the_title_says_what_is_shared() -> None:
    campaign = ("--generate", 4, "--cluster", "4x4", "--applications", "memory,mixed", "--load", 0.5, "--contention")
    title = "campaign of memory and mixed, load 0.5, sharing memory bandwidth: 4 jobs on 4 nodes of 4 cores"
    assert run(*campaign).stdout.splitlines()[0] == title


def test_ranking_is_compared_on_nodes_that_differ() -> None:
    campaign = ("--generate", 60, "--cluster", "8x8", "--applications", "compute", "--load", 0.4, "--readings", 1)
    policies = [word for name in ("packed", "ranked") for word in ("--policy", name)]
    title = "campaign of compute, load 0.4, sharing memory bandwidth on uneven nodes (seed 1): 60 jobs on 8 nodes"
    assert run(*campaign, *policies).stdout.startswith(title)
    lines = run(*campaign, *policies, "--json").stdout.splitlines()
    waits = {figures["policy"]: figures["mean_wait_s"] for figures in map(json.loads, lines)}
    assert waits["ranked"] < waits["packed"]


# What is refused


def test_a_trace_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert "absent.swf: cannot be read: No such file" in refused(tmp_path / "absent.swf")
    assert "no accounting files in it" in refused(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"; MaxNodes: 4\n", b"hello\n", b"\0\1\2", gzip.compress(STORY.encode(), mtime=0)[:60], b"\x1f\x8bnot gzip"],
)
def test_a_file_that_is_no_trace_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "story.swf.gz"
    path.write_bytes(content)
    assert str(path) in refused(path)


def test_a_header_without_a_whole_cluster_asks_for_one(tmp_path: Path) -> None:
    path = tmp_path / "story.swf"
    path.write_text(swf_text(swf_record(), nodes=3, procs=100))
    assert "--cluster NODESxCORES" in refused(path)
    assert run(path, "--cluster", "25x4").exit_code == 0


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--cluster", "many"), "--cluster: cluster 'many': must be NODESxCORES"),
        (("--cluster", "0x4"), "--cluster: cluster: 0 nodes"),
        (("--policy", "no-such-policy"), "no-such-policy"),
        (("--policy", "absent.toml"), "absent.toml"),
        (("--plot", "story.pdf"), "--plot: plot file story.pdf: must end in .svg or .png"),
        (("--jobs-csv", "absent/jobs.csv"), "--jobs-csv absent/jobs.csv: must be a file in a folder that exists"),
        (("--jobs-csv", "a.csv", "--runs-csv", "./a.csv"), "--runs-csv a.csv: --jobs-csv writes this file too"),
        (("--plot", "absent/story.svg"), "--plot absent/story.svg: must be a file in a folder that exists"),
        (("--seed", "3"), "--seed 3: only with --generate"),
        (("--load", "0"), "--load: load 0.0: must be above 0"),
        (("--resample", "3"), "--resample: story.swf: is shorter than two weeks"),
        (("--replicates", "3"), "--replicates 3: only with --generate JOBS or --resample SEED"),
        (("--resample", "1", "--replicates", "2", "--jobs-csv", "a.csv"), "--jobs-csv: not with --replicates"),
        (("--applications", "memory"), "--applications memory: only with --generate"),
        (("--generate", "5"), "--generate 5 and TRACE"),
    ],
)
def test_options_that_make_no_sense_are_named(trace: Path, options: tuple[str, ...], names: str) -> None:
    assert names in refused(trace, *options)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ((), "no workload: give a TRACE"),
        (("--generate", "5"), "--generate 5: needs --cluster"),
        (("--generate", "0", "--cluster", "4x4"), "jobs 0: must be from 1"),
        (("--generate", "5", "--cluster", "4x4", "--users", "0"), "users 0: must be from 1"),
        (("--generate", "5", "--cluster", "4x4", "--applications", "wrf"), "application 'wrf': must be one of"),
        (("--generate", "5", "--cluster", "4x4", "--applications", "memory", "--seed", "2"), "--seed 2: not with"),
        (("--generate", "5", "--cluster", "4x4", "--load", "nan"), "load nan: must be above 0"),
    ],
)
def test_a_workload_that_cannot_be_drawn_is_refused(options: tuple[str, ...], names: str) -> None:
    assert names in refused(*options)


def test_names_in_errors_cannot_steer_the_terminal(tmp_path: Path) -> None:
    assert "?[2J" in refused(tmp_path / "\x1b[2J.swf")


def test_a_missing_matplotlib_is_said_before_the_replay(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    assert "install pbsteer's extra 'plots' (docs/simulate.md)" in refused(trace, "--plot", "story.svg")


RESERVED = '[[reservation]]\nnodes = "1-2"\nstart = 20\nduration = 100\n'


def test_reservations_hold_for_every_policy_and_are_in_the_answers(trace: Path, tmp_path: Path) -> None:
    file = tmp_path / "reservations.toml"
    file.write_text(RESERVED)
    title, _, _, *rows = run(trace, "--reservations", file).stdout.splitlines()
    assert title == "story.swf: 2 jobs on 2 nodes of 1 core, 1 reservation, 1 left out"
    assert ["reserved", "0.1", "core-h", "0.1", "core-h"] in [row.split() for row in rows]
    for line in run(trace, "--reservations", file, "--json").stdout.splitlines():
        # The first waits for the reservation's end, the second for the first's.
        assert json.loads(line)["mean_wait_s"] == (120 + 170) / 2
        assert json.loads(line)["reserved_core_s"] == 200
    assert "reserved_core_s" not in run(trace, "--json").stdout


def test_reservations_that_cannot_be_read_are_one_line(trace: Path, tmp_path: Path) -> None:
    file = tmp_path / "reservations.toml"
    file.write_text(RESERVED.replace("1-2", "1-3"))
    line = refused(trace, "--reservations", file)
    assert line.endswith(
        "reservations.toml: reservation 1: nodes: '1-3': must be numbers and ranges from 1 to 2, such as '1-4,7'"
    )


# Other workloads from one


DRAWN = ("--generate", 60, "--cluster", "4x4", "--users", 4, "--load", 0.9, "--policy", "easy-sjbf")


def test_replicates_are_drawn_with_one_seed_after_the_other() -> None:
    (told,) = map(json.loads, run(*DRAWN, "--seed", 5, "--replicates", 3, "--json").stdout.splitlines())
    alone = [json.loads(run(*DRAWN, "--seed", seed, "--json").stdout) for seed in (5, 6, 7)]
    for figure in ("mean_wait_s", "mean_bounded_slowdown", "jain_index"):
        assert told["figures"][figure]["mean"] == pytest.approx(sum(each[figure] for each in alone) / 3)
    gains = [each["gain_over"]["easy"]["wait"]["gain"] for each in alone]
    assert [each["easy"]["wait"] for each in told["gain_over_in_each"]] == gains
    assert told["gain_over"]["easy"]["wait"]["gain"] == pytest.approx(sum(gains) / 3)


def test_replicates_are_shown_as_means_with_intervals() -> None:
    text = run(*DRAWN, "--policy", "fcfs", "--replicates", 4).stdout
    assert text.startswith("Lublin-Feitelson, 4 users, seed 1, load 0.9 and 3 more: 60 jobs on 4x4\n")
    assert re.search(r"\nmean wait +[0-9,]+ s ± [0-9,]+ +[0-9,]+ s ± [0-9,]+\n", text)
    assert "over 4 replicates (Student's t; gains are paired)" in text


@pytest.fixture
def month(tmp_path: Path) -> Path:
    path = tmp_path / "month.swf"
    records = [
        swf_record(day * 10 + job, day * 86_400 + job * 600, run=3000, requested=1 + job, user=job % 4)
        for day in range(29)
        for job in range(4)
    ]
    path.write_text(swf_text(*records, nodes=4, procs=4))
    return path


def test_a_trace_is_replayed_at_another_load(month: Path) -> None:
    half, full = (json.loads(run(month, "--load", load, "--policy", "easy", "--json").stdout) for load in (0.5, 1))
    assert half["mean_wait_s"] < full["mean_wait_s"]
    assert half["makespan_s"] == pytest.approx(2 * full["makespan_s"], rel=0.1)
    assert "month.swf, load 0.5: 116 jobs" in run(month, "--load", 0.5).stdout


def test_a_trace_is_resampled_and_replicated(month: Path) -> None:
    text = run(month, "--resample", 3, "--policy", "easy", "--policy", "fcfs", "--replicates", 2).stdout
    assert re.match(
        r"month.swf, resampled with seed 3 \(load [\d.]+, recorded [\d.]+\) and 1 more: 116 jobs on 4x1\n", text
    )
    assert "month.swf, resampled with seed 9 (load " in run(month, "--resample", 9).stdout


def test_users_of_a_trace_may_wait_for_their_jobs(tmp_path: Path) -> None:
    """2 came 60 s after 1 had ended. Under the recorded schedule 1 waited 500 s; here it waits none, and 2 comes
    sooner. 3 came a day later by itself."""
    path = tmp_path / "waits.swf"
    records = [swf_record(1, 0, run=100), swf_record(2, 660, run=100), swf_record(3, 90_000, run=100)]
    path.write_text(
        swf_text(records[0].replace(" -1 ", " 500 ", 1), *(r.replace(" -1 ", " 0 ", 1) for r in records[1:]))
    )
    jobs = tmp_path / "jobs.csv"
    text = run(path, "--policy", "easy", "--think-times", "--jobs-csv", jobs).stdout
    assert "waits.swf, 1 jobs a think time after their user's last batch in the session: 3 jobs" in text
    with jobs.open(newline="") as file:
        assert [(row["submit"], row["start"]) for row in csv.DictReader(file)] == [
            ("0", "0"),
            ("160", "160"),
            ("90000", "90000"),
        ]
    assert "policy conservative: not with think times" in refused(path, "--think-times", "--policy", "conservative")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ((*DRAWN, "--resample", 2), "--resample 2: only with a TRACE"),
        ((*DRAWN, "--think-times"), "--think-times: not with --load 0.9"),
        ((*DRAWN[:4], "--think-times"), "has no recorded waits of known users"),
        ((*DRAWN, "--clusters", 2, "--replicates", 2), "--replicates: not with --clusters"),
        ((*DRAWN, "--clusters", 2, "--trim", 5), "--trim: not with --clusters"),
    ],
)
def test_what_does_not_go_together_is_refused(options: tuple[object, ...], names: str) -> None:
    assert names in refused(*options)
