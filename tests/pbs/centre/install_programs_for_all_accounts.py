"""The programs of migration in a folder that every account can use, as an installed site has them.

A developer's Python often stands in a home that is closed to others; then the system's Python runs the same programs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from container.centre.centre_spec import Programs
from container.centre.find_closed_folder_above_program import find_closed_folder
from container.testbed import DEFAULT_STATE

REPO = Path(__file__).parents[3]
CLOCK_FILE = Path("/etc/pbsteer-clock-ahead")
"""Seconds by which the clock of these programs is ahead on a host with this file."""

_PACKAGES = ("container", "hooks", "migration", "policy", "sim", "tui")
_SYSTEM_PYTHON = Path("/usr/bin/python3")
_SHIFT_CLOCK = f"""import time
from contextlib import suppress
with suppress(OSError, ValueError):
    with open({str(CLOCK_FILE)!r}) as file:
        ahead_s, real = int(file.read()), time.time
    time.time = lambda: real() + ahead_s
"""


@contextmanager
def usable_programs(name: str) -> Iterator[Programs]:
    """The programs, in a folder that is removed afterwards if it had to be made."""
    own = Path(sysconfig.get_path("scripts"))
    if not (own / "mguser").exists():
        pytest.skip("the project's programs are not installed: make dev")
    python = Path(sys.executable).resolve()
    if find_closed_folder(python) is not None:
        python = _SYSTEM_PYTHON
    if not python.exists():
        pytest.skip(f"{sys.executable} is closed to other users, and there is no {_SYSTEM_PYTHON}")
    folder = DEFAULT_STATE / f"pbsteer-programs-{name}"
    try:
        subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True, timeout=120)
        site = next(folder.glob("lib/python3.*/site-packages"))
        # As a wheel has them; the tests' own programs import the packages too.
        tree, without_compiled = site / "pbsteer" / "tree", shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPO / "release" / "pbsteer", site / "pbsteer", ignore=without_compiled)
        for package in _PACKAGES:
            shutil.copytree(REPO / package, tree / package, ignore=without_compiled)
        (site / "pbsteer.pth").write_text(f"{sysconfig.get_path('purelib')}\n{tree}\nimport shift_clock\n")
        (site / "shift_clock.py").write_text(_SHIFT_CLOCK)
        # The accounts that run the programs could not keep what they compile.
        subprocess.run([python, "-m", "compileall", "-q", site], check=True, timeout=240)
        for script in own.iterdir():
            if script.name.startswith("mg") or script.name in ("findavl", "pbsteer"):
                body = script.read_text().split("\n", 1)[1]
                (folder / "bin" / script.name).write_text(f"#!{folder}/bin/python\n{body}")
                (folder / "bin" / script.name).chmod(0o755)
        yield Programs(folder / "bin")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
