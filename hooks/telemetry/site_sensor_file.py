"""A site's own sensors for one host: parts of a reading, in a file that the site writes, in place of the measured ones.

``idle=0.40;net=12000/100000;temp=none`` in ``PBS_HOME/mom_priv/pbsteer_sensors``: the parts of a reading
(:mod:`hooks.telemetry.host_reading_format`); ``none`` is a sensor that the host does not have. With a time ``t`` the
file counts only until it is stale, so that a program that stopped writing it is not believed for ever.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hooks.telemetry.host_reading_format import HostReading, parse_reading

FILE = "mom_priv/pbsteer_sensors"
"""Below PBS_HOME."""

NONE = "none"
_FIELDS = {"idle": "idle", "mem": "memory_mib", "net": "network_mbit", "temp": "heat"}
_MOST_BYTES = 4096
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def put_site_sensors(home: Path, measured: HostReading, stale_s: float) -> tuple[HostReading, str]:
    """The reading with the parts of the host's file in place of its own, and a sentence if something is wrong with the
    file, or empty. Never raises; a part that cannot be used is as measured."""
    path = home / FILE
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            is_safe = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE
            text = os.read(descriptor, _MOST_BYTES).decode("ascii", "replace").strip() if is_safe else ""
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return measured, ""
    except OSError as error:
        return measured, f"{path}: {error.strerror}: it is not used"
    if not is_safe:
        return measured, f"{path}: must be a file of root's that nobody else can write: it is not used"
    texts = {name: value for name, _, value in (word.partition("=") for word in text.split(";") if word)}
    given = parse_reading(text if "t" in texts else f"t={measured.time_s};{text}")
    if given is None:
        return measured, f"{path}: t is {texts['t'][:40]!r}, which is no time: it is not used"
    if not measured.time_s - stale_s <= given.time_s <= measured.time_s + stale_s:
        return measured, f"{path}: was written for {given.time_s:.0f}, too long before or after now: it is not used"
    wrong = [f"{name}={texts[name][:40]!r}" for name in texts if name not in {*_FIELDS, "t"}]
    for name, field in _FIELDS.items():
        value = getattr(given, field)
        if name in texts and (value is not None or texts[name] == NONE):
            measured = measured._replace(**{field: value})
        elif name in texts:
            wrong.append(f"{name}={texts[name][:40]!r}")
    return measured, f"{path}: cannot be read: {', '.join(wrong)}" if wrong else ""
