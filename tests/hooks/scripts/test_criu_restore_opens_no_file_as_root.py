"""A real CRIU, run as the job's user: what it opens as it restores, it opens with that user's rights.

Skipped where there is none that works: $PBSTEER_CRIU, else criu in the PATH.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.scripts import criu, session_processes

NOBODY = pwd.getpwnam("nobody")


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> str:
    found = shutil.which(os.environ.get("PBSTEER_CRIU", "criu"))
    if (
        os.geteuid() != 0
        or found is None
        or subprocess.run([found, "check"], capture_output=True, check=False).returncode
    ):
        pytest.skip(f"no CRIU that works here, as root ($PBSTEER_CRIU, or criu in the PATH): {found}")
    monkeypatch.setenv("UID", str(NOBODY.pw_uid))
    monkeypatch.setenv("GID", str(NOBODY.pw_gid))
    return found


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder of the job's user."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    os.chown(folder, NOBODY.pw_uid, NOBODY.pw_gid)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("swap", ["link", "fifo", "file"])
def test_what_was_exchanged_while_a_job_was_held_is_not_opened_as_root(
    tmp_path: Path, program: str, home: Path, swap: str
) -> None:
    code = "import time; f = open('data'); print(flush=True); f.read(); time.sleep(600)"
    (home / "data").write_text("mine")
    os.chown(home / "data", NOBODY.pw_uid, NOBODY.pw_gid)
    secret = tmp_path / "secret"
    secret.write_text("root")
    secret.chmod(0o600)
    with (home / "out").open("w") as out:
        os.chown(home / "out", NOBODY.pw_uid, NOBODY.pw_gid)
        job = subprocess.Popen(
            ["/usr/bin/python3", "-c", code], start_new_session=True, user=NOBODY.pw_uid, group=NOBODY.pw_gid,
            extra_groups=[], cwd=home, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env={},
        )  # fmt: skip
    deadline = time.monotonic() + 30.0
    while not (home / "out").read_text():
        assert time.monotonic() < deadline, "the job begins"
        time.sleep(0.05)
    images = tmp_path / "00000001"
    assert criu.dump("1.s", job.pid, images, tmp_path, program) == 0
    assert job.wait(60) == -signal.SIGKILL
    (home / "data").unlink()
    if swap == "link":
        (home / "data").symlink_to(secret)
    elif swap == "fifo":
        os.mkfifo(home / "data", 0o600)
    else:
        (home / "data").write_text("root")
        (home / "data").chmod(0o600)
    assert criu.restore(job.pid, images, program) == 1
    log = (images / "images" / "restore.log").read_text(errors="replace")
    assert "/data" in log and "Permission denied" in log, log[-2000:]
    deadline = time.monotonic() + 30.0
    while session_processes.list_session(job.pid):
        assert time.monotonic() < deadline, "nothing of it runs"
        time.sleep(0.05)
