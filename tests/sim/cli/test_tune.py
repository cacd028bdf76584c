"""`pbsteer tune` as its user sees it, on a small history of eleven weeks."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from policy.model.jobs_runs_vnodes_queues import Queue
from policy.settings.site_settings import Settings
from sim.cli.tune import tune
from sim.tune.candidate_settings import grid
from sim.workload.read_toml_file import read_toml
from tests.sim.accounting_builders import NOON_S, ended, write_log
from tests.sim.call_command import Invoked
from tests.sim.small_jobs_and_replays import swf_record, swf_text

DAY_S = 86_400
WEEKS = 11


INVOKED = Invoked(tune, "--workers", "1")
run, refused = INVOKED.run, INVOKED.refused


def history(*, weeks: int = WEEKS) -> list[str]:
    """Each day a long job beside a wide head that has to wait, and short jobs whose users ask for far too much."""
    records = []
    for day in range(weeks * 7 + 1):
        start = day * DAY_S
        number = 100 * day
        records += [
            swf_record(number + 1, start, run=20_000, requested=3, estimate=20_000, user="long"),
            swf_record(number + 2, start + 10, run=20_000, requested=4, estimate=20_000, user="wide"),
        ]
        records += [
            swf_record(number + 3 + job, start + 20 + job, run=300, requested=1, estimate=40_000, user="short")
            for job in range(8)
        ]
    return records


def named(told: dict[str, Any], name: str) -> dict[str, Any]:
    """One of the settings in what --json says."""
    (setting,) = (setting for setting in told["settings"] if setting["name"] == name)
    return dict(setting)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("site") / "site.swf"
    path.write_text(swf_text("; UnixStartTime: 1767182400", *history(), nodes=4, procs=4))
    return path


@pytest.fixture(scope="module")
def result(trace: Path) -> Result:
    return run(trace)


def test_a_setting_that_must_win_is_recommended_with_its_price(result: Result) -> None:
    assert result.exit_code == 0
    assert "Recommended: p 0." in result.stdout
    assert "better than EASY in 8 of 8 judged weeks" in result.stdout
    assert "Its price over all weeks: " in result.stdout
    assert '[backfill]\nkind = "checkpoint"' in result.stdout


def test_every_setting_and_every_judged_week_has_its_line(result: Result) -> None:
    lines = result.stdout.splitlines()
    assert lines[0] == f"site.swf: weeks 2 to 11, {10 * 7 * 10} jobs on 4 nodes of 1 core"
    for number, candidate in enumerate(grid(120), 1):
        assert any(line.startswith(f"{number:2}  {candidate.name}  ") for line in lines)
    judged = [line.split()[:2] for line in lines if re.match("([4-9]|1[01]) +20", line)]
    assert judged[:3] == [["4", "2026-01-21"], ["5", "2026-01-28"], ["6", "2026-02-04"]]
    assert len(judged) == 8


def test_gains_have_intervals_over_both_references(trace: Path, result: Result) -> None:
    answer = json.loads(run(trace, "--json").stdout)
    for over in ("gain_over_easy", "gain_over_easy_sjbf"):
        assert answer[over]["low"] <= answer[over]["gain"] <= answer[over]["high"]
        assert answer[over]["weeks"] == 8
        assert named(answer, answer["recommended"])[over]["weeks"] == 10
    assert answer["shrunk_gain"] <= named(answer, answer["recommended"])["gain_over_easy"]["gain"]
    assert "shrunk to what such a choice gains on other weeks" in result.stdout
    assert "over easy-sjbf" in result.stdout
    assert "Promises that moved" not in result.stdout


def test_nothing_is_wider_than_a_common_terminal(result: Result) -> None:
    assert max(map(len, result.stdout.splitlines())) <= 105


def test_the_written_settings_are_the_recommended_ones(trace: Path, tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    answer = json.loads(run(trace, "--json", "--write", site).stdout)
    settings = Settings.from_data(read_toml(site), str(site))
    assert named(answer, answer["recommended"])["settings"] == answer["settings_to_use"]
    for table, values in answer["settings_to_use"].items():
        for key, value in values.items():
            assert getattr(getattr(settings, table), key) == value
    assert site.read_text().startswith("# Recommended: p 0.")


def test_json_has_gain_and_price(trace: Path) -> None:
    answer = json.loads(run(trace, "--json", "--checkpoint-cost", "60").stdout)
    assert (answer["trace"], answer["cluster"], answer["weeks"]) == ("site.swf", "4x1", list(range(2, 12)))
    assert not answer["keep_easy"]
    assert 0 < answer["gain"] <= answer["best_gain"] < 1
    chosen = named(answer, answer["recommended"])
    assert chosen["mean_bounded_slowdown"] < answer["settings"][0]["mean_bounded_slowdown"]
    assert chosen["overhead_core_s"] == pytest.approx(60 * chosen["cut_jobs"])
    assert chosen["max_head_delay_s"] <= 0


def test_csv_has_a_row_for_each_week_and_setting(trace: Path, tmp_path: Path) -> None:
    path = tmp_path / "weeks.csv"
    answer = json.loads(run(trace, "--json", "--csv", path).stdout)
    rows = list(csv.DictReader(path.open(newline="")))
    assert len(rows) == 10 * len(grid(120))
    chosen = {int(row["week"]): row for row in rows if row["chosen"] == "1"}
    assert {week: row["setting"] for week, row in chosen.items()} == {
        fold["week"]: fold["chosen"] for fold in answer["judged"]
    }
    assert float(chosen[4]["mean_bounded_slowdown"]) == answer["judged"][0]["figures"]["mean_bounded_slowdown"]


def test_easy_is_kept_where_nothing_ever_waits(tmp_path: Path) -> None:
    path = tmp_path / "idle.swf"
    records = [swf_record(day + 1, day * DAY_S, requested=1) for day in range(WEEKS * 7 + 1)]
    path.write_text(swf_text(*records, nodes=4, procs=4))
    site = tmp_path / "site.toml"
    output = run(path, "--write", site).stdout
    assert "Keep EASY: no setting had a lower mean bounded slowdown over all 10 weeks." in output
    assert read_toml(site) == {"backfill": {"kind": "easy", "order": "first-come"}}


def test_accounting_files_are_read_and_what_was_left_out_is_reported(tmp_path: Path) -> None:
    for week in range(WEEKS + 2):
        lines = [line for day in range(7) for line in ended(10 * week + day, *run_of(week * 7 + day))]
        write_log(tmp_path / f"202601{week + 1:02}", *lines)
    assert "its jobs held at most 4 cores at once" in refused(tmp_path)
    (tmp_path / "20260101").write_text((tmp_path / "20260101").read_text() + "odd\n")
    whole = run(tmp_path, "--cluster", "2x4")
    assert whole.stderr == f"{tmp_path.name}: 1 left out: 1 not an accounting record, first in 20260101 (line 22)\n"
    assert "weeks 2 to 12, 77 jobs on 2 nodes of 4 cores" in whole.stdout
    some = run(*sorted(tmp_path.iterdir())[1:], "--cluster", "2x4", "--weeks", "11")
    assert "20260102 and 11 more: weeks 2 to 11, 70 jobs" in some.stdout


def run_of(day: int) -> tuple[int, int]:
    start = NOON_S + day * DAY_S
    return start, start + 600


# What is refused


def test_a_short_history_says_what_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "short.swf"
    path.write_text(swf_text(*history(weeks=7), nodes=4, procs=4))
    assert "short.swf: too short to tune on: it has 7 full weeks of submissions; needed are 11" in refused(path)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--cluster", "many"), "--cluster: cluster 'many': must be NODESxCORES"),
        (("--checkpoint-cost", "-1"), "--checkpoint-cost: checkpoint.cost_s = -1.0; allowed is a number from 0"),
        (("--checkpoint-cost", "nan"), "--checkpoint-cost: checkpoint.cost_s = nan; allowed is a number from 0"),
        (("--write", "absent/site.toml"), "--write absent/site.toml: must be a file in a folder that exists"),
        (("--csv", "absent/weeks.csv"), "--csv absent/weeks.csv: must be a file in a folder that exists"),
    ],
)
def test_options_that_make_no_sense_are_named(trace: Path, options: tuple[str, ...], names: str) -> None:
    assert names in refused(trace, *options)


@pytest.mark.parametrize("options", [("--weeks", "10"), ("--workers", "0"), ("--checkpoint-cost", "much")])
def test_numbers_out_of_range_are_refused(trace: Path, options: tuple[str, str]) -> None:
    asked = run(trace, *options)
    assert asked.exit_code == 2
    assert options[0] in asked.stderr


def test_a_trace_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert "absent: cannot be read: No such file" in refused(tmp_path / "absent")


def test_quotas_are_tried_with_their_delays_and_caps_where_they_are_given(tmp_path: Path) -> None:
    """The short jobs' user is within quota, and preempts the long job: at once, or after a while."""
    path, quotas, site = tmp_path / "site.swf", tmp_path / "quotas.toml", tmp_path / "out.toml"
    rows = tmp_path / "weeks.csv"
    whole = [record.replace(" 3 20000 ", " 4 20000 ") for record in history()]
    path.write_text(swf_text(*whole, nodes=4, procs=4))
    quotas.write_text('[[queue]]\nname = "workq"\nquotas = "[u:short=4],[u:long=0],[u:wide=0]"\n')
    answer = json.loads(run(path, "--quotas", quotas, "--json").stdout)
    tried = {each["name"]: each for each in answer["settings"] if each["name"].startswith("quotas")}
    assert list(tried) == [each.name for each in grid(120, quotas=Queue("workq"))[10:]]
    assert tried["quotas, sjbf"]["cut_jobs"] > 0
    assert tried["quotas, sjbf"]["settings"]["quota"] == {"preempt": True, "delay_s": 0}
    waits_s = [tried[name]["mean_wait_s"] for name in ("quotas, sjbf", "quotas, delay 10 min, sjbf")]
    assert waits_s[0] < waits_s[1] < named(answer, "easy-sjbf")["mean_wait_s"]
    tells = run(path, "--quotas", quotas, "--csv", rows).stdout
    delayed = tried["quotas, delay 10 min, sjbf"]
    price = f"13 quotas, delay 10 min, sjbf {delayed['moved_promises']} {delayed['max_moved_delay_s']:,.0f} s"
    assert price in [" ".join(line.split()) for line in tells.splitlines()]
    assert delayed["max_head_delay_s"] <= 0 < delayed["max_moved_delay_s"]
    assert "Promises moved 560 times for jobs within quota" in tells
    moved = [row for row in csv.DictReader(rows.open(newline="")) if row["setting"] == "quotas, delay 10 min, sjbf"]
    assert sum(int(row["moved_promises"]) for row in moved) == delayed["moved_promises"]
    assert max(map(len, tells.splitlines())) <= 105
    shares = json.loads(run(path, "--quotas", "shares", "--json", "--write", site).stdout)
    assert len(shares["settings"]) == len(answer["settings"])


def test_a_file_without_quotas_is_refused(trace: Path, tmp_path: Path) -> None:
    settings = tmp_path / "plain.toml"
    settings.write_text('[backfill]\nkind = "easy"\n')
    assert f"--quotas {settings}: has no [[queue]] with quotas; shares takes" in refused(trace, "--quotas", settings)
    assert "policy 'absent' is not known" in refused(trace, "--quotas", "absent")
