"""What ``up`` refuses, and what it leaves, whatever hosts are made of: the engine here makes none."""

from __future__ import annotations

import errno
import os
import signal
from collections import namedtuple
from collections.abc import Mapping
from pathlib import Path
from typing import Callable

import pytest

from container import testbed as testbeds
from container.hosts import folder_permissions_and_space as places
from container.hosts.machine_and_host_requirements import SERVER_PROGRAM
from container.pbs.daemons import SETUID_PROGRAMS
from container.testbed_spec import Host, TestbedError, TestbedSpec

_Disk = namedtuple("_Disk", "total used free")


class NoHosts:
    """An engine that does what a test says where hosts would be started."""

    def __init__(self, start: Callable[[Path], None]) -> None:
        self._start = start
        self.kills: list[frozenset[signal.Signals]] = []

    def prepare(self, spec: TestbedSpec, say: Callable[[str], None], /) -> None:
        """Any machine will do."""

    def start_hosts(self, spec: TestbedSpec, testbed: Path, /) -> dict[str, int]:
        self._start(testbed)
        raise TestbedError("no hosts here")

    def furnish_host(self, pid: int, host: Host, covers: Mapping[Path, Path], /) -> None:
        raise AssertionError("there is no host")

    def kill_hosts(self, testbed: Path, /) -> bool:
        self.kills.append(frozenset(signal.Signals(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, ())))
        return False


@pytest.fixture
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What looks like an installed PBS."""
    place = tmp_path_factory.mktemp("pbs")
    for name in (SERVER_PROGRAM, *SETUID_PROGRAMS):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).touch()
    return str(place)


@pytest.fixture
def spec(installed: str) -> TestbedSpec:
    return TestbedSpec(name="t", moms=2, pbs_exec=installed)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder that everybody may enter, whatever is above it; whoever runs the tests counts as root."""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    place = tmp_path.resolve()
    place.chmod(0o755)
    known = places.list_parents
    monkeypatch.setattr(places, "list_parents", lambda folder: [p for p in known(folder) if p.is_relative_to(place)])
    return place


def start_with(monkeypatch: pytest.MonkeyPatch, start: Callable[[Path], None] = lambda _: None) -> NoHosts:
    engine = NoHosts(start)
    monkeypatch.setattr(testbeds, "ENGINES", {"netns": engine})
    return engine


def test_folders_are_open_to_users_whatever_roots_umask(
    spec: TestbedSpec, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    start_with(monkeypatch, lambda folder: modes.extend(p.stat().st_mode for p in (folder, folder.parent)))
    umask = os.umask(0o077)
    try:
        with pytest.raises(TestbedError, match="no hosts here"):
            testbeds.up(spec, state)
        assert os.umask(0o077) == 0o077, "the caller's umask is as it was"
    finally:
        os.umask(umask)
    assert [mode & 0o777 for mode in modes] == [0o755, 0o755]
    assert list(state.iterdir()) == []


@pytest.mark.parametrize(
    ("mode", "why"), [(0o700, "{} is closed to users"), (0o1777, "everybody may write to {}, and PBS trusts no files")]
)
def test_a_state_folder_in_a_wrong_place_is_refused_before_anything_is_made(
    spec: TestbedSpec, state: Path, monkeypatch: pytest.MonkeyPatch, mode: int, why: str
) -> None:
    start_with(monkeypatch)
    wrong = state / "wrong"
    wrong.mkdir()
    wrong.chmod(mode)
    with pytest.raises(TestbedError, match=why.format(wrong)):
        testbeds.up(spec, wrong / "below")
    assert list(wrong.iterdir()) == []


def test_a_state_folder_that_cannot_be_made_is_named(
    spec: TestbedSpec, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_with(monkeypatch)
    (state / "file").touch()
    with pytest.raises(TestbedError, match=rf"{state}/file/.* cannot be made: {os.strerror(errno.ENOTDIR)}"):
        testbeds.up(spec, state / "file")


def test_a_disk_without_room_is_refused_with_what_it_takes(
    spec: TestbedSpec, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_with(monkeypatch)
    monkeypatch.setattr("shutil.disk_usage", lambda _: _Disk(1 << 40, (1 << 40) - (20 << 20), 20 << 20))
    with pytest.raises(TestbedError, match=r"20 MiB of its disk are free, and a testbed of 3 hosts needs \d+; --state"):
        testbeds.up(spec, state)
    assert list(state.iterdir()) == []


def test_who_stops_it_and_is_impatient_still_leaves_nothing(
    spec: TestbedSpec, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: Path) -> None:
        raise KeyboardInterrupt

    engine = start_with(monkeypatch, interrupt)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with pytest.raises(KeyboardInterrupt):
        testbeds.up(spec, state)
    assert {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} <= engine.kills[-1], "what would stop the cleaning waits"
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert list(state.iterdir()) == []


def test_what_tells_a_command_which_testbed_is_meant() -> None:
    assert testbeds.write_options("pbsteer", testbeds.DEFAULT_STATE) == ""
    assert testbeds.write_options("t", testbeds.DEFAULT_STATE) == " --name t"
    assert testbeds.write_options("t", Path("/srv/beds")) == " --name t --state /srv/beds"
