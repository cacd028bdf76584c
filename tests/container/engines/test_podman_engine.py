"""The podman engine takes down by label all there is of a testbed and nothing else; a program stands in for podman."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from container.engines import podman_engine
from container.testbed_spec import TestbedError, TestbedSpec

TESTBED = Path("/var/lib/pbsteer-testbed/t")


@pytest.fixture
def calls(podman_program: Path) -> Path:
    """Where a program called podman, first on the path, notes its arguments, a call a line."""
    return podman_program.with_name("calls")


def answer(calls: Path, containers: str, networks: str) -> None:
    """Make podman list these ids."""
    cases = f'*" ps "*) echo {containers};; *" network ls "*) echo {networks};;'
    (calls.parent / "podman").write_text(f'#!/bin/sh\necho "$*" >> {calls}\ncase " $* " in {cases} esac\n')


def read(calls: Path) -> list[str]:
    return [line.removeprefix("--log-level=error ") for line in calls.read_text().splitlines()]


def test_what_has_the_testbeds_label_is_removed_containers_before_their_network(calls: Path) -> None:
    answer(calls, "c1 c2", "n1")
    assert podman_engine.kill_hosts(TESTBED)
    label = f"--filter label=pbsteer.testbed={TESTBED}"
    assert read(calls) == [
        f"ps --all {label} --quiet",
        "rm --force --time 0 c1 c2",
        f"network ls {label} --quiet",
        "network rm --force n1",
    ]


def test_where_there_is_nothing_nothing_is_removed(calls: Path) -> None:
    answer(calls, "", "")
    assert not podman_engine.kill_hosts(TESTBED)
    assert not [call for call in read(calls) if " rm " in f" {call}"]


def test_a_machine_without_podman_has_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not podman_engine.kill_hosts(TESTBED)


def test_a_podman_that_is_still_making_a_host_is_waited_for(calls: Path) -> None:
    answer(calls, "", "")
    words = ["run", "--label", f"pbsteer.testbed={TESTBED}", "image"]
    argv = ["podman", "-c", "import sys; sys.stdin.read()", *words]
    with subprocess.Popen(argv, executable=sys.executable, stdin=subprocess.PIPE) as at_work:
        # Linux says that a program was started a moment before it shows its words.
        while not Path(f"/proc/{at_work.pid}/cmdline").read_bytes():
            time.sleep(0.01)
        with pytest.raises(TestbedError, match=f"podman is still starting hosts of the testbed in {TESTBED}"):
            podman_engine.kill_hosts(TESTBED, timeout_s=0.2)
        at_work.communicate()
    assert not podman_engine.kill_hosts(TESTBED)


def test_a_folder_to_share_that_is_not_there_is_refused_before_anything_is_made(calls: Path) -> None:
    spec = TestbedSpec(name="t", engine="podman", shares=(str(calls.parent), "/nowhere/at/all"))
    with pytest.raises(TestbedError, match="'/nowhere/at/all': there is no such folder"):
        podman_engine.prepare(spec, lambda _: None)
    assert not calls.exists()
