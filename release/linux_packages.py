"""The DEB and the RPM: pbsteer with an environment of its own in ``/usr/lib/pbsteer``, made by dpkg-deb and rpmbuild.

Both contain the same files. No other Python program has them on its path: each of ours isolates its interpreter (``-I
-S``) and adds that folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from hooks.deploy.bundle_hook import VERSION
from release.pbsteer.launch import PROGRAMS

PREFIX = "usr/lib/pbsteer"
_LAUNCHER = f"""\
#!/usr/bin/python3 -IS
import sys

if sys.version_info < (3, 9):
    sys.exit("pbsteer needs Python 3.9 or newer, this is " + sys.version.split()[0])
sys.path.insert(0, "/{PREFIX}/site-packages")
from pbsteer.launch import main

if __name__ == "__main__":
    main()
"""
_COMPILE = f"/usr/bin/python3 -IS -m compileall -q /{PREFIX}/site-packages || true"
_FORGET = f"find /{PREFIX} -name __pycache__ -type d -prune -exec rm -rf {{}} + 2>/dev/null || true"
_SUMMARY = "Scheduling policy for PBS as hooks, with a console and a simulator"
_DESCRIPTION = """\
Soft quotas with preemption, priorities, backfilling with checkpoints, ranked
vnodes and striping for PBS Professional and OpenPBS, decided in hooks inside
the server; a terminal console for administrators, and a simulator that tries a
policy on recorded workloads first. Every queue begins in a mode that only
observes."""
_UNITS = ("examples/migration", "examples/torque")
_UNITS_PROGRAMS = "/opt/pbsteer/.venv/bin/"


def lay_out(packages: Path, root: Path, sources: Path) -> None:
    """Lay the files of both packages out below ``root``. ``packages``: the unpacked wheels; ``sources``: the
    checkout."""
    shutil.copytree(packages, root / PREFIX / "site-packages")
    launcher = root / PREFIX / "launch"
    launcher.write_text(_LAUNCHER, encoding="utf-8")
    launcher.chmod(0o755)
    (root / "usr/bin").mkdir(parents=True)
    for name in PROGRAMS:
        (root / "usr/bin" / name).symlink_to(f"../lib/pbsteer/{launcher.name}")
    documents = root / "usr/share/doc/pbsteer"
    shutil.copytree(sources / "docs", documents / "docs", ignore=shutil.ignore_patterns("developing.md"))
    shutil.copytree(sources / "examples", documents / "examples", ignore=shutil.ignore_patterns("migration", "torque"))
    for name in ("README.md", "CHANGELOG.md"):
        shutil.copy(sources / name, documents)
    units = root / "usr/lib/systemd/system"
    units.mkdir(parents=True)
    for unit in sorted(path for folder in _UNITS for path in (sources / folder).iterdir()):
        text = unit.read_text(encoding="utf-8").replace(_UNITS_PROGRAMS, "/usr/bin/")
        (units / unit.name).write_text(text, encoding="utf-8")
    settings = root / "etc/pbsteer"
    settings.mkdir(parents=True)
    path = os.pathsep.join((str(packages), str(packages / "pbsteer/tree"), str(sources)))
    argv = [sys.executable, "-m", "release.man_pages_and_completion", str(root)]
    subprocess.run(argv, check=True, cwd=sources, env={**os.environ, "PYTHONPATH": path})
    for page in sorted((root / "usr/share/man/man1").iterdir()):
        subprocess.run(["gzip", "-9n", str(page)], check=True)


def build_deb(root: Path, target: Path) -> None:
    """Write the DEB into ``target``."""
    control = root / "DEBIAN"
    control.mkdir()
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    size_kib = sum(-(-path.stat().st_size // 1024) for path in files)
    description = "\n".join(f" {line}" for line in _DESCRIPTION.splitlines())
    (control / "control").write_text(
        f"Package: pbsteer\nVersion: {_version()}\nArchitecture: all\nSection: admin\nPriority: optional\n"
        f"Maintainer: the pbsteer project <pbsteer@localhost>\nInstalled-Size: {size_kib}\n"
        f"Depends: python3 (>= 3.9)\nDescription: {_SUMMARY}\n{description}\n",
        encoding="utf-8",
    )
    sums = (f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n" for path in files)  # noqa: S324
    (control / "md5sums").write_text("".join(sums), encoding="utf-8")
    for name, line in (("postinst", _COMPILE), ("prerm", _FORGET)):
        (control / name).write_text(f"#!/bin/sh\nset -e\n{line}\n", encoding="utf-8")
        (control / name).chmod(0o755)
    argv = ["dpkg-deb", "--build", "--root-owner-group", "-Zxz", str(root), str(target)]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(control)


def _version() -> str:
    """The version as dpkg and rpm sort it: a development version comes before its release."""
    return VERSION.replace(".dev", "~dev")


def build_rpm(root: Path, target: Path, scratch: Path, moment_s: int) -> None:
    """Write the RPM into ``target``. ``scratch``: a folder for rpmbuild, which is made; ``moment_s``: the time of the
    build."""
    scratch.mkdir()
    # Where zsh of this family looks for completions.
    (root / "usr/share/zsh/vendor-completions").rename(root / "usr/share/zsh/site-functions")
    entries = "\n".join(_rpm_entries(root))
    spec = scratch / "pbsteer.spec"
    spec.write_text(
        f"Name: pbsteer\nVersion: {_version()}\nRelease: 1\nSummary: {_SUMMARY}\n"
        "License: LicenseRef-none-stated\nBuildArch: noarch\nRequires: python3 >= 3.9\nAutoReqProv: no\n"
        f"%description\n{_DESCRIPTION}\n%install\ncp -a {root}/. %{{buildroot}}/\n"
        f"%posttrans\n{_COMPILE}\n%preun\n{_FORGET}\n%files\n{entries}\n",
        encoding="utf-8",
    )
    macros = {
        "_topdir": scratch,
        "_tmppath": scratch,  # rpmbuild's own scripts; else they lie in /var/tmp for a while
        "_rpmdir": target,
        "_rpmfilename": "%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm",
        "_buildhost": "reproducible",
        "use_source_date_epoch_as_buildtime": 1,
        "clamp_mtime_to_source_date_epoch": 1,
        "_binary_payload": "w6.xzdio",
        "__os_install_post": "%{nil}",
        "_build_id_links": "none",
    }
    defined = [word for name, value in macros.items() for word in ("--define", f"{name} {value}")]
    argv = ["rpmbuild", "-bb", "--quiet", *defined, str(spec)]
    subprocess.run(argv, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": str(moment_s)})


def _rpm_entries(root: Path) -> list[str]:
    """The lines of ``%files``: our own folders whole, and each file in a folder that others use too."""
    whole = ("usr/lib/pbsteer", "usr/share/doc/pbsteer", "etc/pbsteer")
    lines = ["%defattr(-,root,root,-)", *(f"/{folder}" for folder in whole)]
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if (path.is_symlink() or path.is_file()) and not name.startswith(tuple(f"{folder}/" for folder in whole)):
            lines.append(f"/{name}")
    return lines
