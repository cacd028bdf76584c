"""The readings that a testbed gives its hosts: parts kept and checked, never a value that the hook could not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from container.hosts.host_sensors import clear_sensors, read_sensors, write_sensors
from container.testbed_spec import TestbedError
from hooks.telemetry import site_sensor_file
from hooks.telemetry.host_reading_format import Amount, Heat, HostReading


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "mom_priv").mkdir()
    return tmp_path


def test_what_is_given_is_what_the_host_s_hook_reads(home: Path) -> None:
    assert read_sensors(home) == {}
    write_sensors(home, {"idle": "0.25", "mem": "2048/65536", "net": "none", "temp": "85/95"})
    measured = HostReading(1000.0, 0.9, None, Amount(1, 2), None)
    given = HostReading(1000.0, 0.25, Amount(2048, 65536), None, Heat(85, 95))
    assert site_sensor_file.put_site_sensors(home, measured, 60) == (given, "")
    assert (home / site_sensor_file.FILE).stat().st_mode & 0o777 == 0o600


def test_they_are_shown_changed_and_taken_back(home: Path) -> None:
    write_sensors(home, {"temp": "85/95"})
    write_sensors(home, {**read_sensors(home), "idle": "1"})
    assert read_sensors(home) == {"temp": "85/95", "idle": "1"}
    clear_sensors(home)
    clear_sensors(home)
    assert read_sensors(home) == {}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("idle", "1.5"),
        ("idle", "-1"),
        ("mem", "12"),
        ("net", "1/2/3"),
        ("temp", "hot"),
        ("temp", "1/2;idle=0"),
        ("idle", ""),
    ],
)
def test_a_value_that_is_none_is_refused_and_nothing_is_written(home: Path, part: str, value: str) -> None:
    with pytest.raises(TestbedError, match=f"^{part} .*allowed is "):
        write_sensors(home, {part: value})
    assert read_sensors(home) == {}
