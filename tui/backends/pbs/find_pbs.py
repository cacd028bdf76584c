"""Finds this host's PBS: from ``/etc/pbs.conf``, overridden by the environment as in PBS's own tools."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT_CONF = "/etc/pbs.conf"


@dataclass(frozen=True)
class PbsPlace:
    """An installed PBS: programs below ``exec_path``, state in ``home``, and the ``server`` to connect to.
    ``home_server`` is the server whose state ``home`` would hold; empty if unknown."""

    exec_path: Path
    home: Path
    server: str
    home_server: str = ""

    def program(self, name: str) -> str:
        """The full path of one of PBS's programs."""
        return str(self.exec_path / "bin" / name)


def find_pbs(environment: Mapping[str, str], server: str = "") -> PbsPlace | None:
    """This host's PBS, to be used with ``server`` if one is given, else with its own; None if none is installed."""
    settings: dict[str, str] = {}
    with contextlib.suppress(OSError):
        settings = read_conf(Path(environment.get("PBS_CONF_FILE", DEFAULT_CONF)))
    configured = settings.get("PBS_SERVER", "")
    settings.update({key: environment[key] for key in ("PBS_EXEC", "PBS_HOME", "PBS_SERVER") if environment.get(key)})
    exec_path = Path(settings.get("PBS_EXEC", ""))
    if "PBS_EXEC" not in settings or not os.access(exec_path / "bin" / "qstat", os.X_OK):
        return None
    used = settings.get("PBS_SERVER", "")
    # If the environment sets PBS_HOME, the server in use (the environment's, if set) is that home's.
    home_server = used if environment.get("PBS_HOME") else configured
    return PbsPlace(exec_path, Path(settings.get("PBS_HOME", "/var/spool/pbs")), server or used, home_server)


def no_pbs(environment: Mapping[str, str]) -> str:
    """Why :func:`find_pbs` found none, for the user."""
    conf = environment.get("PBS_CONF_FILE", DEFAULT_CONF)
    return f"no PBS on this host: {conf} names no PBS_EXEC with a bin/qstat"


def read_conf(path: Path) -> dict[str, str]:
    """The settings in a ``pbs.conf``, without quotes. Raises OSError."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line and not line.lstrip().startswith("#"))
    return {key.strip(): value.strip().strip("\"'") for key, _, value in pairs}
