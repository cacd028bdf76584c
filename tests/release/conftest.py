"""What the tests of packages share: one build of all of them, and a clean root to install them in.

Workers that run side by side share both, since each takes minutes to make.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ("dpkg-deb", "rpmbuild")
SUITE = os.environ.get("PBSTEER_CLEAN_ROOT", "bookworm")
"""The release of Debian whose Python runs the packages: bullseye has 3.9, bookworm 3.11, trixie 3.13."""

BUILD_S, DEBOOTSTRAP_S = 3600, 3600
"""Only end what hangs: behind the tests of a real server these may get no processor for minutes."""


def build(target: Path, **environment: str) -> None:
    argv = [sys.executable, "-m", "release.build_distribution", str(target)]
    subprocess.run(argv, check=True, cwd=ROOT, env={**os.environ, **environment}, timeout=BUILD_S)


@contextmanager
def made_once(folder: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """A folder that the first worker makes and all use; the last one that leaves it removes it."""
    with folder.with_suffix(".lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            part = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            make(part)
            part.rename(folder)
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield folder
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all workers of this run have in common."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


@pytest.fixture(scope="session")
def dist(shared_folder: Path) -> Iterator[Path]:
    """All packages, built once for the run."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"no package can be built here: {', '.join(missing)} not installed")
    with made_once(shared_folder / "dist", build) as target:
        yield target


@pytest.fixture(scope="session")
def pristine_root(shared_folder: Path) -> Iterator[Path]:
    """A Debian with Python and nothing else; tests change copies of it."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("no clean root can be made here: that needs root, and debootstrap")
    with made_once(shared_folder / SUITE, debootstrap) as root:
        yield root


@pytest.fixture
def clean_root(pristine_root: Path, tmp_path: Path) -> Iterator[Path]:
    """A Debian with Python and nothing else, as a folder to enter with chroot."""
    root = tmp_path / "root"
    subprocess.run(["cp", "-a", str(pristine_root), str(root)], check=True)
    yield root
    shutil.rmtree(root, ignore_errors=True)


def debootstrap(root: Path) -> None:
    argv = ["debootstrap", "--variant=minbase", "--include=python3", SUITE, str(root)]
    made = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=DEBOOTSTRAP_S)
    if made.returncode:
        pytest.skip(f"no clean root can be made here: {' '.join(argv)}: {made.stdout.splitlines()[-1:]}")
