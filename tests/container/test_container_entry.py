"""A container knows from its environment and host name which host it is, and refuses to be another."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from container.container_entry import read_spec
from container.testbed_spec import TestbedError, TestbedSpec


def test_the_environment_shapes_the_testbed_and_the_host_name_says_who() -> None:
    environ = {"PBSTEER_NAME": "t", "PBSTEER_MOMS": "5", "PBSTEER_CORES": "2", "PBSTEER_VNODES": "3", "PBS_EXEC": "/p"}
    spec, host = read_spec(["mom"], environ, "t-m4")
    assert spec == TestbedSpec(name="t", moms=5, cores=2, vnodes=3, pbs_exec="/p")
    assert host == spec.mom_hosts[3]


def test_an_environment_that_says_nothing_means_the_default_testbed() -> None:
    assert read_spec(["server"], {}, "pbsteer") == (TestbedSpec(), TestbedSpec().server)


@pytest.mark.parametrize(("words", "host_name"), [(["mom"], "pbsteer"), (["server"], "pbsteer-m1"), ([], "pbsteer")])
def test_a_role_that_is_not_the_hosts_is_refused(words: list[str], host_name: str) -> None:
    with pytest.raises(TestbedError, match=f"host {host_name} is the testbed's"):
        read_spec(words, {}, host_name)


def test_a_host_of_no_testbed_is_refused_with_those_that_are() -> None:
    with pytest.raises(TestbedError, match="no host 'stray'; it has server, m1, m2, m3"):
        read_spec(["mom"], {}, "stray")


def test_a_number_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(TestbedError, match="PBSTEER_MOMS is 'many'"):
        read_spec(["server"], {"PBSTEER_MOMS": "many"}, "pbsteer")


REAP = """
import os, signal, sys, time
from container.container_entry import reap_for
def work():
    {work}
sys.exit(reap_for(work))
"""


def start(work: str) -> subprocess.Popen[str]:
    code = REAP.format(work=work)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_the_works_exit_status_is_the_containers() -> None:
    assert start("return 7").wait(30.0) == 7


def test_a_signal_to_stop_reaches_the_work() -> None:
    process = start("print('up', flush=True); time.sleep(600)")
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(30.0) == 128 + signal.SIGTERM


def test_the_works_own_programs_keep_their_exit_statuses_and_take_signals_as_usual() -> None:
    process = start("import subprocess; return subprocess.run(['sh', '-c', 'kill -TERM $$; exit 3']).returncode + 100")
    assert process.wait(30.0) == 100 - signal.SIGTERM


def test_a_daemons_orphan_does_not_stay_a_zombie() -> None:
    # Under a subreaper the process takes in orphans as the first process of a container does.
    subreaper = "import ctypes; ctypes.CDLL(None).prctl(36, 1)"
    orphan = "pid = os.fork(); (os.fork() and os._exit(0) or (time.sleep(0.2), os._exit(0))) if pid == 0 else None"
    code = subreaper + REAP.format(
        work=f"{orphan}; os.waitpid(pid, 0); print(os.getppid(), flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert int(process.stdout.readline()) == process.pid
    deadline = time.monotonic() + 60
    while len(list_children(process.pid)) > 1 or "Z" in list_children(process.pid).values():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.wait(30.0)


def list_children(parent: int) -> dict[int, str]:
    """Process -> state, of a process's children."""
    found = {}
    for folder in Path("/proc").iterdir():
        try:
            state, ppid = (folder / "stat").read_text().rpartition(") ")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if folder.name.isdigit() and int(ppid) == parent:
            found[int(folder.name)] = state
    return found
