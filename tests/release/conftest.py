"""What the tests of packages share: one build of all of them, and a clean root to install them in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ("dpkg-deb", "rpmbuild")
SUITE = os.environ.get("PBSTEER_CLEAN_ROOT", "bookworm")
"""The release of Debian whose Python runs the packages: bullseye has 3.9, bookworm 3.11, trixie 3.13."""

BUILD_S, DEBOOTSTRAP_S = 900, 900


def build(target: Path, **environment: str) -> None:
    argv = [sys.executable, "-m", "release.build_distribution", str(target)]
    subprocess.run(argv, check=True, cwd=ROOT, env={**os.environ, **environment}, timeout=BUILD_S)


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All packages, built once for the run."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"no package can be built here: {', '.join(missing)} not installed")
    target = tmp_path_factory.mktemp("dist")
    build(target)
    return target


@pytest.fixture(scope="session")
def clean_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A Debian with Python and nothing else, as a folder to enter with chroot."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("no clean root can be made here: that needs root, and debootstrap")
    root = tmp_path_factory.mktemp("root") / SUITE
    argv = ["debootstrap", "--variant=minbase", "--include=python3", SUITE, str(root)]
    made = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=DEBOOTSTRAP_S)
    if made.returncode:
        pytest.skip(f"no clean root can be made here: {' '.join(argv)}: {made.stdout.splitlines()[-1:]}")
    yield root
    shutil.rmtree(root, ignore_errors=True)
