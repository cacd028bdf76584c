"""The sensors, on root folders made for the purpose: whole hosts, containers, and drivers that say nonsense."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.telemetry.host_reading_format import Amount, Heat, HostReading
from hooks.telemetry.host_sensors import (
    Counts,
    load_counts,
    read_counts,
    read_heat,
    read_host,
    read_memory,
    read_speeds,
    save_counts,
)

NET = """Inter-|   Receive                            |  Transmit
 face |bytes packets errs drop fifo frame compr mcast|bytes packets errs drop fifo colls carrier compr
    lo: 10379 103 0 0 0 0 0 0 10379 103 0 0 0 0 0 0
  eth0: {received} 41316 0 0 0 0 0 0 {sent} 25449 0 0 0 0 0 0
"""


def write(root: Path, **files: str) -> Path:
    """Files by path, ``__`` for a slash."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def furnish(root: Path, *, idle: int = 1000, busy: int = 3000, received: int = 0, sent: int = 0) -> Path:
    """A usual host."""
    return write(
        root,
        proc__stat=f"cpu  {busy} 0 0 {idle} 0 0 0 0 7 7\ncpu0 1 2 3 4\n",
        proc__net__dev=NET.format(received=received, sent=sent),
        proc__meminfo="MemTotal:       24684084 kB\nMemFree:        21493472 kB\nMemAvailable:   20682808 kB\n",
        sys__class__net__eth0__speed="10000\n",
        sys__class__net__eth0__device__vendor="x",
        sys__class__net__lo__speed="10000\n",
    )


def look(root: Path, before: Counts | None, uptime_s: float) -> HostReading:
    return read_host(root, before, read_counts(root, uptime_s), 1000.0)


def test_a_host_reports_what_is_left_of_it_since_the_last_run(tmp_path: Path) -> None:
    before = read_counts(furnish(tmp_path), 100.0)
    # 60 s later: 6,000 ticks more, 4,500 of them idle; 30 GB in, 3 GB out: 4,000 Mbit/s in use.
    furnish(tmp_path, idle=5500, busy=4500, received=30_000_000_000, sent=3_000_000_000)
    reading = look(tmp_path, before, 160.0)
    assert reading == HostReading(1000.0, 0.75, Amount(20198, 24105), Amount(6000, 10000), None)
    assert reading.show() == "t=1000;idle=0.75;mem=20198/24105;net=6000/10000"


def test_the_first_run_and_one_that_follows_at_once_know_no_rates(tmp_path: Path) -> None:
    before = read_counts(furnish(tmp_path), 100.0)
    for counts in (None, before._replace(uptime_s=159.9), before._replace(uptime_s=500.0)):
        reading = look(tmp_path, counts, 160.0)
        assert (reading.idle, reading.network_mbit) == (None, None)
        assert reading.memory_mib is not None


def test_counts_that_went_backwards_say_nothing(tmp_path: Path) -> None:
    before = read_counts(furnish(tmp_path, idle=9000, received=10**12), 100.0)
    furnish(tmp_path, idle=10, busy=10, received=5)
    reading = look(tmp_path, before, 200.0)
    assert (reading.idle, reading.network_mbit) == (None, None)


def test_a_link_that_is_busier_than_its_speed_has_nothing_left(tmp_path: Path) -> None:
    before = read_counts(furnish(tmp_path), 100.0)
    furnish(tmp_path, idle=2000, sent=10**15)
    assert look(tmp_path, before, 110.0).network_mbit == Amount(0, 10000)


def test_a_host_without_sensors_reports_nothing_but_the_time(tmp_path: Path) -> None:
    reading = look(tmp_path, read_counts(tmp_path, 0.0), 100.0)
    assert reading == HostReading(1000.0)
    assert reading.show() == "t=1000"


HUGE = "9" * 5000


@pytest.mark.parametrize(
    "nonsense", ["", "\0\xff\n", "-1", HUGE, "nan", "Infinity 1e999", "cpu\ncpu a b c d\n", "٣" * 9]
)
def test_nonsense_in_every_file_is_absent_and_never_raises(tmp_path: Path, nonsense: str) -> None:
    root = furnish(tmp_path)
    write(
        root,
        sys__class__thermal__thermal_zone0__temp="50000",
        sys__class__hwmon__hwmon0__temp1_input="50000",
        sys__class__thermal__thermal_zone0__trip_point_0_type="critical",
    )
    for path in [path for path in root.rglob("*") if path.is_file()]:
        path.write_text(nonsense)
    reading = look(root, Counts(1.0, 5, 10, {"eth0": (1, 1)}), 100.0)
    assert reading._replace(heat=None) == HostReading(1000.0)
    assert reading.heat is None or reading.heat == Heat(-0.001)
    for garbage in (f"cpu  {nonsense} 1 2 3 4 5 6 7", f"MemTotal: {nonsense} kB", f"eth0: {nonsense}"):
        for name in ("proc/stat", "proc/meminfo", "proc/net/dev"):
            (root / name).write_text(garbage)
        assert look(root, None, 100.0).idle is None


def test_a_folder_where_a_file_belongs_is_absent(tmp_path: Path) -> None:
    for path in ("proc/stat", "proc/meminfo", "proc/net/dev", "sys/class/net/eth0/speed"):
        (tmp_path / path).mkdir(parents=True)
    assert look(tmp_path, None, 100.0) == HostReading(1000.0)


def test_links_with_hardware_count_and_bridges_bonds_and_sleeping_ones_do_not(tmp_path: Path) -> None:
    write(
        tmp_path,
        sys__class__net__eth0__speed="25000\n", sys__class__net__eth0__device__x="",
        sys__class__net__eth1__speed="25000\n", sys__class__net__eth1__device__x="",
        sys__class__net__eth2__speed="-1\n", sys__class__net__eth2__device__x="",
        sys__class__net__bond0__speed="50000\n", sys__class__net__bond0__lower_eth0__x="",
        sys__class__net__veth7__speed="10000\n",
    )  # fmt: skip
    assert read_speeds(tmp_path) == {"eth0": 25000, "eth1": 25000}


def test_in_a_container_the_links_that_stand_on_no_other_count(tmp_path: Path) -> None:
    write(
        tmp_path,
        sys__class__net__eth0__speed="10000\n",
        sys__class__net__br0__speed="10000\n", sys__class__net__br0__lower_eth0__x="",
        sys__class__net__lo__speed="10000\n",
    )  # fmt: skip
    assert read_speeds(tmp_path) == {"eth0": 10000}


@pytest.mark.parametrize(
    "text", ["MemTotal: 2000000 kB\n", "MemTotal: 0 kB\nMemAvailable: 0 kB\n", "MemAvailable: 5 kB\n"]
)
def test_memory_of_which_one_half_is_missing_is_not_known(tmp_path: Path, text: str) -> None:
    assert read_memory(write(tmp_path, proc__meminfo=text)) is None


def chip(number: int, name: str, **readings: int) -> dict[str, str]:
    """A monitoring chip, for `write`: its name and what its files say."""
    texts = {"name": name, **readings}
    return {f"sys__class__hwmon__hwmon{number}__{file}": f"{value}\n" for file, value in texts.items()}


def zone(kind: str, temp: int, **trips: int) -> dict[str, str]:
    """A thermal zone, for `write`: its type, its temperature, and its trip points by their type."""
    texts: dict[str, object] = {"type": kind, "temp": temp}
    for number, (trip, limit) in enumerate(trips.items()):
        texts.update({f"trip_point_{number}_type": trip, f"trip_point_{number}_temp": limit})
    return {f"sys__class__thermal__thermal_zone0__{file}": f"{value}\n" for file, value in texts.items()}


FAN = {"sys__class__thermal__cooling_device0__type": "Fan\n"}
DISK = chip(0, "nvme", temp1_input=83_000)
PROCESSOR = chip(
    1,
    "coretemp",
    temp1_input=51_000,
    temp1_crit=100_000,
    temp1_max=84_000,
    temp2_input=57_000,
    temp2_max=90_000,
    temp3_input=255_000_000,
)


@pytest.mark.parametrize(
    ("files", "heat"),
    [
        pytest.param(DISK | PROCESSOR, Heat(57, 90), id="the processor's hottest sensor counts with its own limit"),
        pytest.param(
            zone("acpitz", 48_500, passive=80_000, critical=105_000) | FAN,
            Heat(48.5, 105),
            id="a thermal zone is limited by its critical trip",
        ),
        pytest.param(zone("x", 40_000), Heat(40), id="a temperature without a limit has none"),
    ],
)
def test_heat_is_read_from_what_the_host_has(tmp_path: Path, files: dict[str, str], heat: Heat) -> None:
    assert read_heat(write(tmp_path, **files)) == heat


def test_counts_outlive_a_run_as_root_s_own_file(tmp_path: Path) -> None:
    counts = read_counts(furnish(tmp_path, received=10**18), 12.5)
    path = tmp_path / "counts.json"
    for _ in range(2):
        save_counts(path, counts)
    assert load_counts(path) == counts
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"links": 5}', '{"uptime_s": 1e999, "idle": 0}', "[" * 100_000]
)
def test_counts_that_cannot_be_read_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "counts.json"
    path.write_text(text)
    assert load_counts(path) is None
    assert load_counts(tmp_path / "missing.json") is None


def test_nobody_s_link_is_followed_when_counts_are_saved(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / ".counts.json.new").symlink_to(victim)
    save_counts(tmp_path / "counts.json", Counts(1.0, 1, 2, {}))
    assert victim.read_text() == "mine"
