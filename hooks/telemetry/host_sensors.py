"""A host's sensors: cores, memory, network links and temperature, from /proc and /sys below any root folder.

A sensor that is missing or invalid is absent, never zero, and nothing here raises for it. Rates are computed from two
counts, the earlier one from a file of the last run: a hook on a MoM is a new process each time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from hooks.store.atomic_file import replace_file
from hooks.store.bounded_json import parse_json
from hooks.telemetry.host_reading_format import Amount, Heat, HostReading, make_heat

_LEAST_S = 1.0
"""Seconds; counts less than this apart give no rate."""

_BITS_OF_A_MBIT = 1_000_000
_FASTEST_MBIT = 10_000_000
_MOST_BYTES = 1 << 16
_OF_PROCESSORS = frozenset({"coretemp", "k10temp", "zenpower", "cpu_thermal", "x86_pkg_temp", "cpu-thermal", "cpu"})
_TRIPS = frozenset({"critical", "hot"})


class Counts(NamedTuple):
    """What a host has counted since it started: idle and all ticks of its cores, and each link's bytes received and
    sent. ``uptime_s`` is the host's monotonic clock, which cannot be set."""

    uptime_s: float
    idle: int
    ticks: int
    links: Mapping[str, tuple[int, int]]


def read_host(root: Path, before: Counts | None, now: Counts, time_s: float) -> HostReading:
    """What is left of the host, on average since ``before``; without that there are no rates."""
    return HostReading(
        time_s,
        _find_idle(before, now),
        read_memory(root),
        _find_network(read_speeds(root), before, now),
        read_heat(root),
    )


def read_counts(root: Path, uptime_s: float) -> Counts:
    """What the host has counted; 0 ticks and no links where it cannot be read."""
    idle = ticks = 0
    words = _read(root / "proc/stat").partition("\n")[0].split()
    numbers = [_whole(word) for word in words[1:9]]
    if words[:1] == ["cpu"] and len(numbers) >= 4 and None not in numbers:
        known = [number or 0 for number in numbers]
        # Waiting for a disk counts as idle: another process can use the core meanwhile.
        idle, ticks = sum(known[3:5]), sum(known)
    links = {}
    for line in _read(root / "proc/net/dev").splitlines():
        name, colon, rest = line.partition(":")
        columns = [_whole(word) for word in rest.split()]
        if colon and len(columns) >= 9:
            received, sent = columns[0], columns[8]
            if received is not None and sent is not None:
                links[name.strip()] = (received, sent)
    return Counts(uptime_s, idle, ticks, links)


def read_memory(root: Path) -> Amount | None:
    """MiB that programs can have without swapping, and MiB in all."""
    kib = {}
    for line in _read(root / "proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        number = _whole(rest.split()[0]) if rest.split() else None
        if number is not None:
            kib[name] = number
    total, left = kib.get("MemTotal", 0), kib.get("MemAvailable")
    return Amount(min(left, total) // 1024, total // 1024) if left is not None and total >= 1024 else None


def read_speeds(root: Path) -> dict[str, int]:
    """The speeds in Mbit/s of the links that carry the host's traffic: those with hardware behind them or, if none has
    (in a container), those that stand on no other link. Bridges and bonds would count twice."""
    hardware: dict[str, int] = {}
    others: dict[str, int] = {}
    for link in _list(root / "sys/class/net"):
        speed = _whole(_read(link / "speed"))
        if link.name == "lo" or speed is None or not 0 < speed <= _FASTEST_MBIT:
            continue
        if (link / "device").exists():
            hardware[link.name] = speed
        elif not any(part.name.startswith("lower_") for part in _list(link)):
            others[link.name] = speed
    return hardware or others


def read_heat(root: Path) -> Heat | None:
    """The hottest sensor, among the processors' own if there are any, with its own limit."""
    sensors = [*_read_zones(root), *_read_monitors(root)]
    processors = [heat for name, heat in sensors if name in _OF_PROCESSORS]
    return max(processors or [heat for _, heat in sensors], key=lambda heat: heat.now, default=None)


def load_counts(path: Path) -> Counts | None:
    """The counts that :func:`save_counts` wrote; None if there are none that can be read."""
    try:
        data = parse_json(_read(path))
        links = {str(name): (int(received), int(sent)) for name, (received, sent) in data["links"].items()}
        return Counts(float(data["uptime_s"]), int(data["idle"]), int(data["ticks"]), links)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def save_counts(path: Path, counts: Counts) -> None:
    """Keep the counts for the next run, readable by root only. Raises OSError."""
    replace_file(path, json.dumps(counts._asdict()).encode("ascii"), sync=False)


def _find_idle(before: Counts | None, now: Counts) -> float | None:
    if before is None or now.uptime_s - before.uptime_s < _LEAST_S or now.ticks <= before.ticks:
        return None
    return min(1.0, max(0.0, (now.idle - before.idle) / (now.ticks - before.ticks)))


def _find_network(speeds: Mapping[str, int], before: Counts | None, now: Counts) -> Amount | None:
    """What is left of the links together, by the busier direction of each."""
    if before is None or now.uptime_s - before.uptime_s < _LEAST_S:
        return None
    left = total = 0.0
    for name, speed in speeds.items():
        counted = [counts.links.get(name) for counts in (before, now)]
        if counted[0] is None or counted[1] is None:
            continue
        grown = max(counted[1][0] - counted[0][0], counted[1][1] - counted[0][1])
        if min(counted[1][0] - counted[0][0], counted[1][1] - counted[0][1]) < 0:
            continue  # the link began to count anew
        used = grown * 8 / _BITS_OF_A_MBIT / (now.uptime_s - before.uptime_s)
        left += max(0.0, speed - used)
        total += speed
    return Amount(left, total) if total else None


def _read_zones(root: Path) -> Iterable[tuple[str, Heat]]:
    for zone in _list(root / "sys/class/thermal"):
        if not zone.name.startswith("thermal_zone"):
            continue
        trips = [
            _degrees(zone / f"trip_point_{kind.name[len('trip_point_') : -len('_type')]}_temp")
            for kind in _list(zone)
            if kind.name.startswith("trip_point_") and kind.name.endswith("_type") and _read(kind).strip() in _TRIPS
        ]
        heat = make_heat(
            _degrees(zone / "temp"), min((trip for trip in trips if trip is not None and trip > 0), default=None)
        )
        if heat is not None:
            yield _read(zone / "type").strip(), heat


def _read_monitors(root: Path) -> Iterable[tuple[str, Heat]]:
    for monitor in _list(root / "sys/class/hwmon"):
        name = _read(monitor / "name").strip()
        for sensor in _list(monitor):
            if sensor.name.startswith("temp") and sensor.name.endswith("_input"):
                stem = sensor.name[: -len("input")]
                limits = [make_heat(0.0, _degrees(monitor / f"{stem}{kind}")) for kind in ("crit", "max")]
                most = next((limit.most for limit in limits if limit is not None and limit.most is not None), None)
                heat = make_heat(_degrees(sensor), most)
                if heat is not None:
                    yield name, heat


def _degrees(path: Path) -> float | None:
    number = _whole(_read(path))
    return number / 1000 if number is not None else None


def _whole(text: str) -> int | None:
    """A whole number of at most 19 digits, as the kernel prints them."""
    text = text.strip()
    if not text.lstrip("-").isdecimal() or not text.isascii() or len(text) > 20:
        return None
    try:
        return int(text)
    except ValueError:
        return None


def _read(path: Path) -> str:
    """The beginning of a file; empty if it cannot be read. Drivers fail with all kinds of errors."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _list(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
