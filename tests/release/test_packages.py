"""What ``make dist`` builds: the same bytes each time, complete, installed and used once in a clean place.

Slow: everything is built twice, and a small Debian is set up to install the packages in.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from hooks.deploy.bundle_hook import VERSION, source_digest
from release.pbsteer.launch import PROGRAMS
from tests.release.conftest import ROOT, build
from tui.cli.main import COMMANDS

pytestmark = pytest.mark.slow

GENERIC = ("policy", "hooks", "migration", "sim", "torque", "tui", "container")
USES = """\
set -e
cd /root
pbsteer() { %(program)s "$@"; }
pbsteer --version
printf '[quota]\\ndelay_s = 30\\n' > policy.toml
pbsteer check policy.toml
pbsteer doctor --json --settings policy.toml || true
printf 'PBS_EXEC=/opt/pbs\\nPBS_HOME=/var/spool/pbs\\nPBS_SERVER=s\\n' > pbs.conf
pbsteer hooks scripts --to scripts --pbs-conf pbs.conf
ls scripts
pbsteer status --demo
pbsteer testbed status || test $? = 1
"""


def run(*argv: object) -> str:
    done = subprocess.run([str(word) for word in argv], check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{argv}\n{done.stdout}{done.stderr}"
    return done.stdout


def in_root(root: Path, script: str) -> str:
    """What a shell script prints that runs with ``root`` as its whole file system."""
    inside = f'mount -t proc proc {root}/proc; exec chroot {root} /bin/sh -c "$0"'
    return run("unshare", "--mount", "--pid", "--fork", "sh", "-c", inside, script)


def demand_it_was_used(printed: str) -> None:
    """That the uses in ``USES`` did what they are there for, with the same hooks as from the checkout."""
    assert f"version {VERSION}" in printed
    assert f"pbsteer {VERSION} {source_digest()}, Python 3" in printed
    for words in ("checkpoint.py", "profile.sh", "SIMULATED", "there is no testbed pbsteer"):
        assert words in printed, words


FINDS_ITS_PROGRAMS = """\
/usr/bin/python3 -IS -c '
import sys
sys.path[:0] = ["/usr/lib/pbsteer/site-packages", "/usr/lib/pbsteer/site-packages/pbsteer/tree"]
sys.argv = ["/usr/bin/mgsched"]
from migration.programs.program_search_path import own_program
print(own_program("mguser"))'
"""
"""What a pass of migration calls, as it was installed."""


def one(dist: Path, pattern: str) -> Path:
    (found,) = dist.glob(pattern)
    return found


def test_a_second_build_gives_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    build(tmp_path / "again", TZ="Asia/Tokyo", HOME=str(tmp_path))
    files = {path.name: path.read_bytes() for path in dist.iterdir()}
    again = {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()}
    assert sorted(files) == sorted(again)
    assert [name for name in files if files[name] != again[name]] == []


def test_checksums_and_the_list_of_parts_are_complete(dist: Path) -> None:
    lines = (line.split("  ") for line in (dist / "SHA256SUMS").read_text().splitlines())
    sums = {name: digest for digest, name in lines}
    assert sums == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in dist.iterdir() if path.name != "SHA256SUMS"
    }
    assert {Path(name).suffix for name in sums} == {".whl", ".gz", ".pyz", ".deb", ".rpm", ".json"}
    listed = json.loads(one(dist, "*.cdx.json").read_text())
    parts = {(part["name"], part["version"]) for part in listed["components"]}
    pinned = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements-packages.txt").read_text(), re.M)
    assert parts == set(pinned)
    assert listed["metadata"]["component"]["version"] == VERSION


def test_a_wheel_installs_one_package_and_works_in_an_environment_of_others(dist: Path, tmp_path: Path) -> None:
    wheel = one(dist, "*.whl")
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert tops == {"pbsteer", wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"}
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    programs = tmp_path / "venv/bin"
    run(programs / "python", "-m", "pip", "install", "-q", wheel)
    for name in GENERIC:
        code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is not None)"
        run(programs / "python", "-I", "-c", code)
    script = (USES % {"program": programs / "pbsteer"}).replace("cd /root", f"cd {tmp_path}")
    demand_it_was_used(run("sh", "-c", script))
    for name in PROGRAMS:
        assert (programs / name).exists()
    assert "Usage: mgstat" in run(programs / "mgstat", "--help")
    assert f"version {VERSION}" in run(programs / "python", "-m", "pbsteer", "--version")


def test_the_deb_is_installed_used_and_removed(dist: Path, clean_root: Path) -> None:
    shutil.copy(one(dist, "*.deb"), clean_root / "root/pbsteer.deb")
    before = set(clean_root.rglob("*"))
    in_root(clean_root, "dpkg -i /root/pbsteer.deb && dpkg --verify pbsteer")
    demand_it_was_used(in_root(clean_root, USES % {"program": "/usr/bin/pbsteer"}))
    demand_isolation(clean_root)
    assert in_root(clean_root, FINDS_ITS_PROGRAMS).split() == ["/usr/bin/mguser"]
    in_root(clean_root, "cd /root; rm -rf policy.toml pbs.conf scripts; dpkg -P pbsteer")
    left = sorted(str(path) for path in set(clean_root.rglob("*")) - before if "pbsteer" in str(path))
    assert left == []


def test_the_rpm_is_installed_used_and_removed(dist: Path, clean_root: Path) -> None:
    package = one(dist, "*.rpm")
    assert "digests OK" in run("rpm", "-K", package)
    listed = run("rpm", "-qpl", package).splitlines()
    assert {f"/usr/bin/{name}" for name in PROGRAMS} <= set(listed)
    assert "/usr/share/zsh/site-functions/_pbsteer" in listed
    assert run("rpm", "-qp", "--requires", package).splitlines()[0] == "/bin/sh"
    assert "python3 >= 3.9" in run("rpm", "-qp", "--requires", package)
    run("rpm", "--root", clean_root, "--nodeps", "-i", package)
    demand_it_was_used(in_root(clean_root, USES % {"program": "/usr/bin/pbsteer"}))
    demand_isolation(clean_root)
    run("rpm", "--root", clean_root, "-e", "pbsteer")
    assert not (clean_root / "usr/lib/pbsteer").exists()
    assert not (clean_root / "usr/bin/pbsteer").exists()


def demand_isolation(root: Path) -> None:
    """No other program of this root can import anything of ours, and ours import nothing of others."""
    for name in ("pbsteer", *GENERIC):
        in_root(root, f'! python3 -c "import {name}" 2>/dev/null')
    (root / "root/click.py").write_text("raise SystemExit('imported from the working directory')\n")
    in_root(root, "cd /root && PYTHONPATH=/root pbsteer --version")
    (root / "root/click.py").unlink()


def test_the_one_file_program_runs_in_a_clean_root_and_unpacks_where_others_cannot_write(
    dist: Path, clean_root: Path
) -> None:
    shutil.copy(one(dist, "*.pyz"), clean_root / "root/pbsteer.pyz")
    cache = clean_root / "root/.cache"
    demand_it_was_used(in_root(clean_root, USES % {"program": "python3 /root/pbsteer.pyz"}))
    (unpacked,) = (cache / "pbsteer").iterdir()
    assert unpacked.stat().st_mode & 0o077 == 0
    # What others may write to is not run: a folder of an unpacked version that is another user's, or open to others.
    (unpacked / "site-packages/pbsteer/launch.py").write_text("raise SystemExit('run from an untrusted folder')\n")
    for change in ("chown 12345", "chmod 0777"):
        script = f"{change} /root/.cache/pbsteer/{unpacked.name} && python3 /root/pbsteer.pyz --version"
        assert in_root(clean_root, script).strip() == f"pbsteer, version {VERSION}, policy from source"
        in_root(clean_root, f"chown 0 /root/.cache/pbsteer/{unpacked.name}")
    assert not list((clean_root / "tmp").glob("pbsteer-*"))
    (clean_root / "root/mgstat").symlink_to("pbsteer.pyz")
    assert "Usage: mgstat" in in_root(clean_root, "python3 /root/mgstat --help")


def unpacked_deb(dist: Path, target: Path) -> Path:
    run("dpkg-deb", "-x", one(dist, "*.deb"), target)
    return target


def test_man_pages_completion_units_and_examples_are_in_the_packages(dist: Path, tmp_path: Path) -> None:
    root = unpacked_deb(dist, tmp_path / "deb")
    pages = {path.name.removesuffix(".1.gz"): path for path in (root / "usr/share/man/man1").iterdir()}
    assert {f"pbsteer-{name}" for name in COMMANDS} | {"pbsteer", "pbsteer-hooks-apply", "mgsub", "mgstat"} <= set(
        pages
    )
    text = gzip.decompress(pages["pbsteer-hooks-apply"].read_bytes()).decode()
    assert "\\-\\-partition" in text
    assert "COMMANDS" in gzip.decompress(pages["pbsteer"].read_bytes()).decode()
    share = root / "usr/share"
    for path, words in (
        ("bash-completion/completions/pbsteer", "_PBSTEER_COMPLETE=bash_complete"),
        ("zsh/vendor-completions/_pbsteer", "#compdef pbsteer"),
        ("fish/vendor_completions.d/pbsteer.fish", "complete --no-files --command pbsteer"),
        ("doc/pbsteer/examples/quota.toml", ""),
        ("doc/pbsteer/docs/guide.md", "observe"),
        ("../lib/systemd/system/mgrecv.service", "ExecStart=/usr/bin/mgrecv"),
        ("../lib/systemd/system/mgsched.timer", "OnUnit"),
    ):
        assert words in (share / path).read_text(encoding="utf-8"), path
    run("bash", "-n", share / "bash-completion/completions/pbsteer")


def test_completion_answers_as_the_shells_ask(dist: Path, clean_root: Path) -> None:
    shutil.copy(one(dist, "*.deb"), clean_root / "root/pbsteer.deb")
    in_root(clean_root, "dpkg -i /root/pbsteer.deb")
    asked = "COMP_WORDS='pbsteer hooks a' COMP_CWORD=2 _PBSTEER_COMPLETE=bash_complete pbsteer"
    assert sorted(in_root(clean_root, asked).split()) == ["plain,alert", "plain,apply"]


def texts_of(dist: Path, target: Path) -> Sequence[bytes]:
    """The bytes of each file in the packages that are archives of one kind or another."""
    root = unpacked_deb(dist, target)
    texts = [path.read_bytes() for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    with tarfile.open(one(dist, "*.tar.gz")) as archive:
        members = [archive.extractfile(member) for member in archive if member.isfile()]
        texts += [member.read() for member in members if member is not None]
    return [*texts, one(dist, "*.cdx.json").read_bytes()]


def test_no_path_of_the_machine_that_built_them_is_in_the_packages(dist: Path, tmp_path: Path) -> None:
    paths = (str(ROOT), sys.prefix, str(dist))
    texts = texts_of(dist, tmp_path / "deb")
    assert len(texts) > 2000
    assert [path for path in paths if any(path.encode() in text for text in texts)] == []
