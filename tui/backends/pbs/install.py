"""Where this host's PBS is: what ``/etc/pbs.conf`` says, overridden by the environment as PBS's own tools do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT_CONF = "/etc/pbs.conf"


@dataclass(frozen=True)
class PbsPlace:
    """An installed PBS: its programs below ``exec_path``, its state in ``home``, and the server that is asked.
    ``home_server`` is the server whose state ``home`` would hold; empty where nothing says it."""

    exec_path: Path
    home: Path
    server: str
    home_server: str = ""

    def program(self, name: str) -> str:
        """One of PBS's own programs, by its whole path."""
        return str(self.exec_path / "bin" / name)


def find_pbs(environment: Mapping[str, str], server: str = "") -> PbsPlace | None:
    """This host's PBS, for a server other than its own where one is named; None where none is installed."""
    settings = _read(Path(environment.get("PBS_CONF_FILE", DEFAULT_CONF)))
    configured = settings.get("PBS_SERVER", "")
    settings.update({key: environment[key] for key in ("PBS_EXEC", "PBS_HOME", "PBS_SERVER") if environment.get(key)})
    exec_path = Path(settings.get("PBS_EXEC", ""))
    if "PBS_EXEC" not in settings or not os.access(exec_path / "bin" / "qstat", os.X_OK):
        return None
    used = settings.get("PBS_SERVER", "")
    # Where the environment names another home, the server that it names is that home's.
    home_server = used if environment.get("PBS_HOME") else configured
    return PbsPlace(exec_path, Path(settings.get("PBS_HOME", "/var/spool/pbs")), server or used, home_server)


def _read(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line and not line.lstrip().startswith("#"))
    return {key.strip(): value.strip().strip('"') for key, _, value in pairs}
