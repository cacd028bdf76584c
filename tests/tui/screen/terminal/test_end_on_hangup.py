"""A console whose terminal is gone is gone too, also where it was started to ignore that."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PATIENCE_S = 60.0
CONSOLE = """
import fcntl, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGHUP, signal.Handlers(int(sys.argv[1])))
from tui.cli.main import main
main(["--demo"])
"""
"""A session with the terminal as its own, and what becomes of a hang-up's signal, before the console begins."""


@pytest.mark.slow
@pytest.mark.parametrize("before", [signal.SIG_DFL, signal.SIG_IGN], ids=["as ever", "ignoring hang-ups"])
def test_a_console_ends_with_its_terminal(before: signal.Handlers, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "TERM": "xterm-256color"}
    with subprocess.Popen(
        [sys.executable, "-c", CONSOLE, str(int(before))], start_new_session=True,
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment,
    ) as console:  # fmt: skip
        os.close(theirs)
        try:
            seen = b""
            while b"READ-ONLY" not in seen:
                seen += os.read(ours, 65536)
            assert list(tmp_path.glob("pbsteer-demo-*"))
            os.close(ours)
            assert console.wait(PATIENCE_S) == -signal.SIGHUP
        finally:
            console.kill()
    deadline = time.monotonic() + PATIENCE_S
    while left := list(tmp_path.glob("pbsteer-demo-*")):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
