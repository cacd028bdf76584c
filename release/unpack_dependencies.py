"""Unpacks the packages that pbsteer needs, as wheels of the pinned versions, into one folder.

All are pure Python, in versions for Python 3.9 that run on every newer one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

_PURE = ("--platform", "any", "--implementation", "py", "--abi", "none", "--python-version", "3.9")


def download_wheels(requirements: Path, folder: Path) -> list[Path]:
    """The wheels of these requirements, each with the hash that is pinned there. Raises
    :class:`subprocess.CalledProcessError`."""
    argv = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
    argv += ["--require-hashes", "--only-binary", ":all:", *_PURE, "-r", str(requirements), "-d", str(folder)]
    subprocess.run(argv, check=True)
    return sorted(folder.glob("*.whl"))


def unpack_wheels(wheels: Iterable[Path], folder: Path) -> None:
    """Unpack wheels side by side, without programs of their own."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)


def set_times(folder: Path, moment_s: int) -> None:
    """Give all files and folders the same time, and the modes 0644 and 0755 (a file that may be run keeps 0755)."""
    for path in (*folder.rglob("*"), folder):
        if not path.is_symlink():
            is_program = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if is_program else 0o644)
        os.utime(path, (moment_s, moment_s), follow_symlinks=False)
