"""The testbed itself, of either engine: PBS on it runs jobs on several hosts; it goes without a trace, also after a
crash part-way.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Callable

import pytest

from container import testbed as testbeds
from container.testbed_spec import ENGINES, TestbedError, TestbedSpec
from tests.pbs.cluster import PbsCluster


@pytest.fixture(params=ENGINES)
def testbed(request: pytest.FixtureRequest, testbed_of: Callable[[str], PbsCluster]) -> PbsCluster:
    """The testbed of each engine in turn."""
    return testbed_of(request.param)


@pytest.fixture
def pbs(testbed: PbsCluster) -> PbsCluster:
    """That testbed with nothing of an earlier test."""
    testbed.reset()
    return testbed


@pytest.fixture
def second(testbed: PbsCluster) -> Iterator[TestbedSpec]:
    """A testbed of one MoM to be, beside the session's; taken down whatever the test did."""
    spec = replace(testbed.spec, name=f"{testbed.spec.name}-b", moms=1, cores=2)
    yield spec
    testbeds.down(spec.name)


def list_traces(spec: TestbedSpec) -> dict[str, list[str]]:
    """All that the machine shows of a testbed, by kind; every list is empty when it is down."""
    folder = str(testbeds.find_folder(spec.name, testbeds.DEFAULT_STATE))
    return {
        "processes": [
            path.parent.name for path in Path("/proc").glob("[0-9]*/environ") if folder in read_if_alive(path)
        ],
        "files": [folder] if Path(folder).exists() else [],
        "mounts": [line for line in Path("/proc/self/mounts").read_text().splitlines() if folder in line],
        "containers": ask_podman("ps", "--all", "--filter", f"label=pbsteer.testbed={folder}"),
        "networks": ask_podman("network", "ls", "--filter", f"label=pbsteer.testbed={folder}"),
    }


def ask_podman(*words: str) -> list[str]:
    """The ids that podman lists, none where there is no podman."""
    if shutil.which("podman") is None:
        return []
    return subprocess.run(["podman", *words, "--quiet"], capture_output=True, check=True, text=True).stdout.split()


def read_if_alive(path: Path) -> str:
    """A file of a process that may have ended meanwhile."""
    try:
        return os.fsdecode(path.read_bytes())
    except OSError:
        return ""


def list_namespaces(spec: TestbedSpec) -> set[str]:
    """The namespaces of a running testbed's hosts, apart from those they share with the machine."""
    pids = [host.pid for host in testbeds.status(spec.name).hosts]
    kinds = ("net", "uts", "ipc", "mnt", "pid")
    return {str(Path(f"/proc/{pid}/ns/{kind}").readlink()) for pid in pids for kind in kinds}


def list_holders(namespaces: set[str]) -> set[tuple[str, str]]:
    """The processes that are in these namespaces, by number and start: a namespace's own number is soon used again."""
    holders = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it may end meanwhile
            if any(str(link.readlink()) in namespaces for link in (folder / "ns").iterdir()):
                holders.add((folder.name, (folder / "stat").read_text().rpartition(") ")[2].split()[19]))
    return holders


def list_machine() -> dict[str, object]:
    """What of the machine itself a testbed might have touched and left changed.

    Podman's own links and mounts, which come and go with anybody's containers, do not count: `list_traces` asks podman.
    """
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    return {
        "links": sorted(path.name for path in Path("/sys/class/net").iterdir() if not belongs_to_podman(path)),
        "accounts": [Path(f"/etc/{name}").read_text() for name in ("passwd", "group", "shadow", "hosts")],
        "etc": sorted(path.name for path in Path("/etc").iterdir()),
        "mounts": [line for line in mounts if "/containers/" not in line and "/run/netns/" not in line],
        "shared memory": sorted(path.name for path in Path("/dev/shm").iterdir()),  # noqa: S108
        "scratch": sorted(path.name for path in Path("/var/tmp").iterdir()),  # noqa: S108
    }


def demand_unchanged(pbs: PbsCluster, machine: Mapping[str, object]) -> None:
    """Fail if the machine stays another one than it was. Other tests mount and unmount beside this one."""
    with suppress(AssertionError):
        pbs.wait_until(lambda: list_machine() == machine, 60.0, "the machine as it was")
    assert list_machine() == machine


def belongs_to_podman(link: Path) -> bool:
    """Whether a link is one of podman's bridges, or hangs on one, or has gone meanwhile."""
    bridge = (link / "master").resolve().name if (link / "master").exists() else link.name
    return bridge.startswith("podman") or not link.exists()


def start_up_command(spec: TestbedSpec) -> subprocess.Popen[bytes]:
    code = "from container.cli import testbed; testbed()"
    words = [
        "up",
        "--name",
        spec.name,
        "--moms",
        str(spec.moms),
        "--cores",
        str(spec.cores),
        "--pbs-exec",
        spec.pbs_exec,
        "--engine",
        spec.engine,
    ]
    project = Path(testbeds.__file__).parents[1]
    return subprocess.Popen([sys.executable, "-c", code, *words], cwd=project, stderr=subprocess.PIPE)


def test_all_vnodes_are_free_with_their_cores(pbs: PbsCluster) -> None:
    vnodes = pbs.pbsnodes()
    assert sorted(vnodes) == sorted(pbs.mom_names)
    for vnode in vnodes.values():
        assert vnode["state"] == "free"
        assert vnode["resources_available"]["ncpus"] == pbs.spec.cores


def test_a_users_job_runs_on_a_mom_as_that_user(pbs: PbsCluster) -> None:
    job_id = pbs.qsub("alice", "hostname; id -un; id -gn; exit 7")
    ended = pbs.wait_for_state(job_id, "F")
    host, user, group = pbs.read_output("alice", job_id).split()
    assert ended["Exit_status"] == 7
    assert host in pbs.mom_names
    assert host in ended["exec_vnode"]
    assert (user, group) == ("alice", "chem")


def test_two_jobs_that_fill_a_vnode_each_run_on_two_hosts(pbs: PbsCluster) -> None:
    jobs = [pbs.qsub(user, select=f"1:ncpus={pbs.spec.cores}") for user in ("alice", "bob")]
    vnodes = [pbs.wait_for_state(job_id, "R")["exec_vnode"] for job_id in jobs]
    assert vnodes[0] != vnodes[1]


def test_hosts_have_their_own_names_and_processes(pbs: PbsCluster) -> None:
    names = [pbs.run(["hostname"], host=host).stdout.strip() for host in ("server", "m1", "m3")]
    assert names == [pbs.spec.server.name, pbs.mom_names[0], pbs.mom_names[2]]
    assert pbs.run(["pgrep", "-x", "pbs_mom"], host="m1").status == 0
    assert pbs.run(["pgrep", "-x", "pbs_mom"], host="server").status == 1


def test_the_machines_other_users_come_to_no_setuid_program_of_a_testbed(pbs: PbsCluster) -> None:
    copies = [path for path in pbs.testbed.folder.rglob("*") if path.is_file() and path.stat().st_mode & stat.S_ISUID]
    for copy in copies:
        seen = subprocess.run(
            ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--", "ls", str(copy)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "Permission denied" in seen.stderr
    assert pbs.run(["qstat", "-B"], user="alice").status == 0, "PBS's own programs need them"


def test_what_root_leaves_on_a_host_is_in_the_testbeds_folder(pbs: PbsCluster) -> None:
    state = pbs.run(["sh", "-c", "echo $XDG_STATE_HOME"]).stdout.strip()
    assert Path(state).is_relative_to(pbs.testbed.folder)


def test_a_command_that_does_not_end_is_ended_and_named(pbs: PbsCluster) -> None:
    with pytest.raises(TestbedError, match="sleep 3333 did not end within 1 s"):
        pbs.run(["sleep", "3333"], host="m1", timeout_s=1.0)
    pbs.wait_until(lambda: pbs.run(["pgrep", "-f", "sleep 3333"], host="m1").status == 1, 120.0, "the command's end")


def test_a_running_job_survives_a_restart_of_the_server(pbs: PbsCluster) -> None:
    job_id = pbs.qsub("alice")
    pbs.wait_for_state(job_id, "R")
    pbs.stop_server()
    assert pbs.run(["qstat", "-B"]).status != 0
    pbs.start_server()
    pbs.wait_for_state(job_id, "R")
    assert pbs.job(job_id)["run_count"] == 1


def test_reset_replaces_a_scheduler_that_reads_nothing_any_more(pbs: PbsCluster) -> None:
    before = pbs.run(["pgrep", "-x", "pbs_sched"]).stdout
    log = max((pbs.server_home / "sched_logs").iterdir())
    with log.open("a", encoding="utf-8") as file:
        file.write("11/29/2026 12:28:01;0002;pbs_sched;Svr;;Problem with creating server data structure\n")
    pbs.reset()
    assert pbs.run(["pgrep", "-x", "pbs_sched"]).demand_success().stdout != before
    pbs.wait_for_state(pbs.qsub("alice"), "R")


def test_reset_leaves_nothing_of_a_test(pbs: PbsCluster) -> None:
    clean = pbs.qmgr("print server", "print node @default", "list hook")
    pbs.qmgr(
        "create queue short queue_type=execution,enabled=true,started=true",
        "set queue workq max_run_res_soft.ncpus = '[u:alice=2],[u:bob=3]'",
        "set server scheduling = false",
        f"set node {pbs.mom_names[0]} resources_available.ncpus = 1",
        "create hook noise",
    )
    pbs.qsub("alice", queue="short")
    pbs.run(["pbsnodes", "-o", "-C", "broken", pbs.mom_names[1]]).demand_success()
    pbs.reset()
    assert pbs.qmgr("print server", "print node @default", "list hook") == clean
    assert pbs.qstat_json() == {}
    assert not any("comment" in vnode for vnode in pbs.pbsnodes().values())


def test_up_of_a_running_testbed_says_so_and_leaves_it(pbs: PbsCluster) -> None:
    before = testbeds.status(pbs.spec.name)
    again, came_up = testbeds.up(pbs.spec)
    assert not came_up
    assert again == pbs.testbed
    assert testbeds.status(pbs.spec.name) == before


def test_up_of_a_running_testbed_with_another_shape_is_refused(pbs: PbsCluster) -> None:
    other = replace(pbs.spec, moms=1)
    with pytest.raises(TestbedError, match="take it down first"):
        testbeds.up(other)
    assert testbeds.status(pbs.spec.name).is_up


@pytest.mark.slow
def test_a_second_testbed_stands_beside_the_first_and_goes_without_a_trace(
    pbs: PbsCluster, second: TestbedSpec
) -> None:
    machine = list_machine()
    umask = os.umask(0o077)
    try:
        built, came_up = testbeds.up(second)
    finally:
        os.umask(umask)
    assert came_up
    other = PbsCluster(built)
    job_id = other.qsub("dave", "id -un; sleep 600", select="1:ncpus=2")
    other.wait_for_state(job_id, "R")
    assert pbs.qstat_json() == {}
    namespaces = list_namespaces(second)
    assert len(namespaces) == 10
    holders = list_holders(namespaces)
    assert len(holders) > 6
    assert testbeds.down(second.name)
    assert not holders & list_holders(namespaces)
    assert not any(list_traces(second).values())
    demand_unchanged(pbs, machine)
    assert not testbeds.down(second.name)
    assert testbeds.status(pbs.spec.name).is_up


@pytest.mark.slow
@pytest.mark.parametrize("step", ["starting", "making", "waiting"])
def test_an_up_that_was_killed_is_cleaned_by_down(pbs: PbsCluster, second: TestbedSpec, step: str) -> None:
    machine = list_machine()
    command = start_up_command(second)
    assert command.stderr is not None
    for line in command.stderr:
        if line.decode().startswith(step):
            break
    command.send_signal(signal.SIGKILL)
    command.wait()
    with pytest.raises(TestbedError, match="not whole"):
        testbeds.up(second)
    assert testbeds.down(second.name)
    assert not any(list_traces(second).values())
    demand_unchanged(pbs, machine)
    assert testbeds.status(pbs.spec.name).is_up


def test_an_up_that_is_told_twice_to_stop_leaves_nothing(pbs: PbsCluster, second: TestbedSpec) -> None:
    machine = list_machine()
    command = start_up_command(second)
    assert command.stderr is not None
    for line in command.stderr:
        if line.startswith(b"making"):
            command.send_signal(signal.SIGTERM)
        if line.startswith(b"taking down"):
            command.send_signal(signal.SIGTERM)
    assert command.wait() != 0
    assert not any(list_traces(second).values())
    demand_unchanged(pbs, machine)
    assert testbeds.status(pbs.spec.name).is_up


def test_down_needs_no_record_of_what_up_did(pbs: PbsCluster, second: TestbedSpec) -> None:
    command = start_up_command(second)
    folder = testbeds.find_folder(second.name, testbeds.DEFAULT_STATE)
    pbs.wait_until((folder / second.mom_hosts[0].name).exists, 120.0, "the second testbed's MoM host")
    command.send_signal(signal.SIGKILL)
    command.wait()
    (folder / "spec.json").write_text("{")
    assert testbeds.status(second.name).exists
    assert testbeds.down(second.name)
    assert not any(list_traces(second).values())


def test_an_up_that_fails_takes_down_what_it_made(second: TestbedSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise TestbedError("no cable")

    monkeypatch.setattr(f"container.engines.{second.engine}_engine.furnish_host", fail)
    with pytest.raises(TestbedError, match="no cable"):
        testbeds.up(second)
    assert not any(list_traces(second).values())


def test_status_of_a_stopped_server_says_that_it_does_not_answer(pbs: PbsCluster) -> None:
    pbs.stop_server()
    found = testbeds.status(pbs.spec.name)
    assert (found.exists, found.is_up, found.server_answers) == (True, False, False)


@pytest.mark.slow
def test_four_who_take_one_down_at_once_all_succeed(testbed: PbsCluster, tmp_path: Path) -> None:
    for turn in range(5):
        name = f"gone{turn}"
        for number in range(2000):
            file = testbeds.find_folder(name, tmp_path) / f"{number % 40}" / f"{number}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda name: testbeds.down(name, tmp_path), [name] * 4))
        assert not testbeds.find_folder(name, tmp_path).exists()
