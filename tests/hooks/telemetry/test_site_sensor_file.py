"""Parts of a host's reading that its site gives in place of measured ones; what is wrong is said and never used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hooks.telemetry.host_reading_format import Amount, Heat, HostReading
from hooks.telemetry.site_sensor_file import FILE, put_site_sensors

MEASURED = HostReading(1000.0, 0.9, Amount(100, 200), Amount(5000, 10000), Heat(40, 95))
STALE_S = 180.0


def put(home: Path, text: str | None) -> tuple[HostReading, str]:
    if text is not None:
        (home / FILE).parent.mkdir()
        (home / FILE).write_text(text)
        (home / FILE).chmod(0o600)
    return put_site_sensors(home, MEASURED, STALE_S)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (None, {}),
        ("", {}),
        ("idle=0.25\n", {"idle": 0.25}),
        ("mem=10/64;temp=80/90", {"memory_mib": Amount(10, 64), "heat": Heat(80, 90)}),
        ("net=none;temp=none", {"network_mbit": None, "heat": None}),
        ("t=900;idle=0.5", {"idle": 0.5}),
    ],
)
def test_given_parts_take_the_place_of_measured_ones(
    tmp_path: Path, text: str | None, changed: dict[str, object]
) -> None:
    assert put(tmp_path, text) == (MEASURED._replace(**changed), "")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "used", "said"),
    [
        ("t=800;idle=0.5", MEASURED, "too long before or after now"),
        ("t=2000;idle=0.5", MEASURED, "too long before or after now"),
        ("t=soon;idle=0.5", MEASURED, "t is 'soon', which is no time"),
        ("idle=1.5;temp=80/90", MEASURED._replace(heat=Heat(80, 90)), "cannot be read: idle='1.5'"),
        ("load=3", MEASURED, "cannot be read: load='3'"),
        ("temp=lots", MEASURED, "cannot be read: temp='lots'"),
    ],
)
def test_what_cannot_be_used_is_reported_and_measured_instead(
    tmp_path: Path, text: str, used: HostReading, said: str
) -> None:
    reading, problem = put(tmp_path, text)
    assert reading == used
    assert said in problem


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_can_write_is_not_used(tmp_path: Path, mode: int) -> None:
    put(tmp_path, "idle=0.1")
    (tmp_path / FILE).chmod(mode)
    reading, problem = put(tmp_path, None)
    assert reading == MEASURED
    assert "nobody else can write" in problem


def test_neither_a_link_nor_a_pipe_nor_a_folder_is_followed(tmp_path: Path) -> None:
    put(tmp_path, "idle=0.1")
    (tmp_path / "own").write_text("idle=0.1")
    for make in (
        lambda path: path.symlink_to(tmp_path / "own"),
        lambda path: os.mkfifo(path, 0o600),
        lambda path: path.mkdir(),
    ):
        (tmp_path / FILE).unlink()
        make(tmp_path / FILE)
        reading, problem = put(tmp_path, None)
        assert reading == MEASURED
        assert problem
