"""``make dist``: builds everything that is released into one folder, the same bytes from the same sources.

The time in all archives is that of ``SOURCE_DATE_EPOCH``, else that of the last commit. DEB and RPM need Debian's
``dpkg-deb`` and ``rpmbuild``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hooks.deploy.bundle_hook import VERSION
from release.linux_packages import build_deb, build_rpm, lay_out
from release.unpack_dependencies import download_wheels, set_times, unpack_wheels
from release.zipapp_file import build_zipapp

ROOT = Path(__file__).resolve().parents[1]
SUMS = "SHA256SUMS"


def build(target: Path) -> list[Path]:
    """Build everything into ``target``, which is emptied first; returns the files.

    Raises SystemExit with what is missing, or if the folder has other files than an earlier build's;
    :class:`subprocess.CalledProcessError` for a tool that fails; OSError.
    """
    _demand_tools()
    moment_s = begin(target)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(target)], cwd=ROOT, check=True)
    (wheel,) = target.glob("*.whl")
    with tempfile.TemporaryDirectory(prefix="pbsteer-dist-") as scratch:
        packages = Path(scratch) / "site-packages"
        unpack_wheels([wheel, *download_wheels(ROOT / "requirements-packages.txt", Path(scratch) / "wheels")], packages)
        set_times(packages, moment_s)
        build_zipapp(packages, target / f"pbsteer-{VERSION}.pyz")
        root = Path(scratch) / "root"
        lay_out(packages, root, ROOT)
        set_times(root, moment_s)
        build_deb(root, target)
        build_rpm(root, target, Path(scratch) / "rpmbuild", moment_s)
    _write_sbom(target / f"pbsteer-{VERSION}.cdx.json")
    return write_sums(target)


def begin(target: Path) -> int:
    """Empty the folder of an earlier build, or make it, and set the environment that gives the same bytes each time;
    returns the time of all archives, in seconds since 1970. Raises SystemExit if the folder has other files."""
    moment_s = _find_moment()
    os.environ.update(SOURCE_DATE_EPOCH=str(moment_s), TZ="UTC", LC_ALL="C.UTF-8", PYTHONHASHSEED="0")
    time.tzset()
    if target.exists() and any(target.iterdir()) and not (target / SUMS).is_file():
        raise SystemExit(f"{target}: has files that no earlier build made; name an empty or a new folder")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    return moment_s


def write_sums(target: Path) -> list[Path]:
    """Write the checksums of the folder's files; returns all files."""
    files = sorted(target.iterdir())
    sums = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    (target / SUMS).write_text(sums, encoding="ascii")
    return [*files, target / SUMS]


def _find_moment() -> int:
    """The time of all archives, in seconds since 1970."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if given:
        return int(given)
    argv = ["git", "log", "-1", "--format=%ct"]
    found = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True, text=True)
    if found.returncode:
        raise SystemExit(f"{ROOT} is no git checkout: set SOURCE_DATE_EPOCH to the time that the archives are to have")
    return int(found.stdout)


def _demand_tools() -> None:
    missing = [name for name in ("dpkg-deb", "rpmbuild", "gzip") if shutil.which(name) is None]
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)}; in Debian they are in the packages dpkg, rpm and gzip")


def _write_sbom(path: Path) -> None:
    """The parts that are in the packages, as CycloneDX."""
    argv = [sys.executable, "-m", "cyclonedx_py", "requirements", "requirements-packages.txt"]
    argv += ["--pyproject", "pyproject.toml", "--output-reproducible", "--of", "JSON", "-o", str(path)]
    subprocess.run(argv, cwd=ROOT, check=True)


def main(build_into: Callable[[Path], list[Path]], description: str | None) -> None:
    """Build into the folder that the command line names, and list the files."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("target", type=Path, help="The folder to write into; what is in it is deleted.")
    for file in build_into(parser.parse_args().target.absolute()):
        sys.stdout.write(f"{file.stat().st_size:>10,} {file.name}\n")


if __name__ == "__main__":
    main(build, __doc__)
