"""A scratch folder is gone with whoever made it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sim.demo.scratch_folder import Scratch

PATIENCE_S = 60.0
MAKER = """
import signal, sys, time
from sim.demo.scratch_folder import Scratch
number = int(sys.argv[1])
if number != signal.SIGKILL:
    signal.signal(number, signal.SIG_DFL)
scratch = Scratch("pbsteer-test-")
(scratch.path / "kept.txt").write_text("something")
print(scratch.path, flush=True)
time.sleep(600)
"""


def test_it_goes_when_it_is_closed_and_a_second_time_does_nothing() -> None:
    scratch = Scratch("pbsteer-test-")
    (scratch.path / "below").mkdir()
    scratch.close()
    assert not scratch.path.exists()
    scratch.close()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_it_goes_however_its_process_ends(number: signal.Signals) -> None:
    argv = [sys.executable, "-c", MAKER, str(int(number))]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as maker:
        assert maker.stdout is not None
        folder = Path(maker.stdout.readline().decode().strip())
        assert (folder / "kept.txt").exists()
        maker.send_signal(number)
        maker.wait(PATIENCE_S)
    deadline = time.monotonic() + PATIENCE_S
    while folder.exists():
        assert time.monotonic() < deadline, f"{folder} is still there"
        time.sleep(0.05)
