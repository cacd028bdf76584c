"""Tables 1 and 2 against the reference figures of the same draws, to 1.5 points."""

from statistics import mean

import pytest
from click.testing import CliRunner

from sim.figures.quota_paper_tables import (
    ClustersRow,
    Setting,
    Variant,
    clusters_run,
    clusters_text,
    quota_run,
    tables,
)
from sim.hourly.clusters_with_migration import ClustersOutcome, Migration

NEAR = 1.5
RUNS = range(1, 11)


@pytest.mark.parametrize(
    ("cores", "hours", "load", "separate", "migrating"),
    [
        ((1, 500), (1, 50), 0.9, 16.2, 12.3),
        ((1, 500), (1, 50), 1.0, 12.7, 8.5),
        ((1, 500), (1, 200), 0.9, 24.2, 17.0),
        ((1, 500), (1, 200), 1.0, 20.5, 13.8),
        ((1, 50), (1, 200), 1.0, 9.4, 7.7),
    ],
)
def test_table_2(
    cores: tuple[int, int], hours: tuple[int, int], load: float, separate: float, migrating: float
) -> None:
    found = [clusters_run(Setting(cores, hours, load), run, Variant()) for run in RUNS]
    assert 100 * mean(alone.idle for alone, _ in found) == pytest.approx(separate, abs=NEAR)
    assert 100 * mean(together.idle for _, together in found) == pytest.approx(migrating, abs=NEAR)


@pytest.mark.parametrize(
    ("cores", "hours", "load", "hard", "soft"),
    [
        ((20, 100), (10, 100), 0.9, 31.5, 12.2),
        ((20, 100), (10, 100), 1.0, 28.0, 4.9),
        ((20, 100), (1, 50), 0.9, 25.9, 10.2),
        ((1, 20), (10, 100), 0.9, 16.4, 12.8),
    ],
)
def test_table_1(cores: tuple[int, int], hours: tuple[int, int], load: float, hard: float, soft: float) -> None:
    found = [quota_run(Setting(cores, hours, load), run) for run in RUNS]
    assert 100 * mean(one.idle for one, _ in found) == pytest.approx(hard, abs=NEAR)
    assert 100 * mean(one.idle for _, one in found) == pytest.approx(soft, abs=NEAR)


def test_uneven_load_gains_more_by_migration() -> None:
    setting = Setting((1, 500), (1, 50), 0.9)
    even = [clusters_run(setting, run, Variant()) for run in (1, 2)]
    uneven = [clusters_run(setting, run, Variant(Migration(), uneven=True)) for run in (1, 2)]
    gains = [mean(alone.idle - together.idle for alone, together in both) for both in (even, uneven)]
    assert gains[1] > gains[0]


def test_the_text_says_in_how_many_rows_r_is_lower() -> None:
    row = ClustersRow(
        Setting((1, 50), (1, 10), 1.0), [ClustersOutcome(0.012, 0, 6.4)], [ClustersOutcome(0.006, 0.11, 2.2)]
    )
    assert clusters_text([row]).splitlines() == [
        "cores  hours  load  R separate %  R migrating %  moved %  wait h  wait h, migrating",
        "1-50    1-10     1           1.2            0.6       11     6.4                2.2",
        "",
        "R lower with migration in 1 of 1 rows",
    ]


def test_the_command_prints_rows_of_ones_own() -> None:
    result = CliRunner().invoke(tables, ["--runs", "1", "--row", "100-500:50-200", "--load", "0.5"])
    assert result.exit_code == 0
    assert "Table 1: 3,000 cores, 30 users of 100 cores each, 1,000 h, means of 1 runs" in result.stdout
    assert sum(line.startswith("100-500  50-200   0.5") for line in result.stdout.splitlines()) == 2
    wrong = CliRunner().invoke(tables, ["--row", "5-1:1-10"])
    assert wrong.exit_code == 2
    assert "'5-1:1-10': must be CORES:HOURS, both from-to, such as 1-500:1-50" in wrong.stderr


def test_the_event_driven_table_follows_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[int] = []
    monkeypatch.setattr("sim.figures.quota_paper_tables.print_table", printed.append)
    few = ["--runs", "1", "--table", "2", "--row", "400-500:100-200", "--load", "0.1"]
    assert "event by event" not in CliRunner().invoke(tables, few).stdout
    assert CliRunner().invoke(tables, [*few, "--events"]).stdout.endswith("\nTable 1, event by event\n\n")
    assert printed == [1]
