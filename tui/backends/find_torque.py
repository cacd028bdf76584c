"""Finds this host's Torque: the first ``qstat`` of PATH has ``libtorque.so.2`` beside it.

PBS's programs have the same names, so the ``qstat`` that a shell would run decides which of the two this host uses. The
server's name is in ``server_name`` of Torque's home, as there is no ``pbs.conf``.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LIBRARY = "libtorque.so.2"
_HOMES = ("/var/spool/torque", "/var/lib/torque")
_LIBRARIES = ("lib", "lib64", "lib/x86_64-linux-gnu")


@dataclass(frozen=True)
class TorquePlace:
    """An installed Torque: programs below ``prefix``, its ``library`` (None where it is missing), its ``home``, and
    the ``server`` to connect to; empty if no file names one."""

    prefix: Path
    library: Path | None
    home: Path
    server: str

    def program(self, name: str) -> str:
        """The full path of one of Torque's programs."""
        return str(self.prefix / "bin" / name)


def find_torque(environment: Mapping[str, str], server: str = "") -> TorquePlace | None:
    """This host's Torque, to be used with ``server`` if one is given, else with its own; None if its ``qstat`` is not
    Torque's."""
    found = shutil.which("qstat", path=environment.get("PATH", ""))
    if found is None:
        return None
    prefix = Path(found).resolve().parent.parent
    library = next((path for folder in _LIBRARIES if (path := prefix / folder / LIBRARY).exists()), None)
    # momctl is of Torque alone.
    if library is None and not (prefix / "sbin" / "momctl").exists():
        return None
    home = _home(environment)
    named = environment.get("PBS_DEFAULT", "") or environment.get("PBS_SERVER", "")
    return TorquePlace(prefix, library, home, server or named or _named_in(home))


def _home(environment: Mapping[str, str]) -> Path:
    if environment.get("PBS_HOME"):
        return Path(environment["PBS_HOME"])
    return next((path for path in map(Path, _HOMES) if path.is_dir()), Path(_HOMES[0]))


def _named_in(home: Path) -> str:
    """The server of ``server_name``, the first of several, without a port."""
    with contextlib.suppress(OSError):
        text = (home / "server_name").read_text(encoding="utf-8", errors="replace")
        return text.strip().partition(",")[0].strip()
    return ""
