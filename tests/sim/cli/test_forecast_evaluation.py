"""`pbsteer forecast --evaluate` as its user sees it: a table or JSON, and one clear line with status 2 otherwise."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from sim.cli.forecast_evaluation import forecast
from tests.sim.accounting_builders import NOON_S, ended, write_log
from tests.sim.call_command import Invoked
from tests.sim.small_jobs_and_replays import swf_record, swf_text

STORY = swf_text(
    *(swf_record(number, number * 10, run=100, requested=2, estimate=1000) for number in range(1, 9)),
    nodes=2,
    procs=2,
)
INVOKED = Invoked(forecast)
run, refused = INVOKED.run, INVOKED.refused


def trace(folder: Path) -> Path:
    path = folder / "story.swf"
    path.write_text(STORY)
    return path


def test_json_is_one_object_for_each_policy(tmp_path: Path) -> None:
    result = run(trace(tmp_path), "--evaluate", "--json", "--draws", "3")
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["policy"], second["policy"]) == ("easy", "checkpoint-sjbf")
    assert first["forecasts"] > 0
    # No run has ended at the last submission, so both go by the requested walltimes.
    assert first["median_abs_error_s"] == first["walltime_median_abs_error_s"]


def test_the_same_seed_prints_the_same(tmp_path: Path) -> None:
    words = ("--evaluate", "--policy", "easy", "--draw-seed", "5", "--arrivals")
    assert run(trace(tmp_path), *words).stdout == run(trace(tmp_path), *words).stdout


def test_the_table_has_a_line_for_each_class_of_wait(tmp_path: Path) -> None:
    lines = run(trace(tmp_path), "--evaluate", "--policy", "easy").stdout.splitlines()
    assert lines[0].startswith("easy: ")
    assert [line.split("  ")[0] for line in lines[2:-1]] == [
        "wait", "below 1 h", "below 4 h", "below 24 h", "longer", "all",
    ]  # fmt: skip


def test_an_accounting_log_is_a_trace() -> None:
    log = Path(__file__).parents[1] / "accounting_log"
    result = run(log, "--cluster", "1x8", "--evaluate", "--json", "--policy", "easy", "--moments", "10")
    assert json.loads(result.stdout)["policy"] == "easy"


def test_jobs_without_walltime_are_judged_too(tmp_path: Path) -> None:
    lines: list[str] = []
    for job in range(1, 9):
        lines += ended(job, NOON_S + 600 * job, NOON_S + 600 * (job + 1), created=NOON_S + job, walltime=None)
    write_log(tmp_path / "20251231", *lines)
    result = run(tmp_path, "--cluster", "1x4", "--evaluate", "--json", "--policy", "easy")
    assert json.loads(result.stdout)["forecasts"] > 0


def test_a_file_cut_off_is_refused_and_says_where(tmp_path: Path) -> None:
    path = tmp_path / "cut.swf.gz"
    path.write_bytes(gzip.compress(STORY.encode())[:-20])
    assert "cut.swf.gz: line" in refused(path, "--evaluate")


def test_without_evaluate_it_says_what_to_say(tmp_path: Path) -> None:
    assert "--evaluate" in refused(trace(tmp_path))


def test_an_unknown_policy_is_refused_before_the_trace_is_read(tmp_path: Path) -> None:
    assert "fifo" in refused(tmp_path / "none.swf", "--evaluate", "--policy", "fifo")
