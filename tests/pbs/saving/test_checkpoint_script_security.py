"""What a job's user gets at through PBS's own checkpoint, which runs a script as root, on a real server: nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pbs.cluster import PbsCluster
from tests.pbs.saving.checkpointing_test_jobs import reread, with_actions

pytestmark = pytest.mark.slow

TELLS = """
import json, os, resource, signal, sys, time
signal.signal(signal.SIGUSR2, lambda *_: sys.exit(0))
os.umask(mask := os.umask(0))
paths = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
paths = [path for path in paths if os.path.exists(path)]
limits = [name for name in dir(resource) if name.startswith("RLIMIT_")]
told = {
    "descriptors": [os.readlink(path) for path in paths],
    "numbers": sorted(int(os.path.basename(path)) for path in paths),
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in limits},
    "groups": open("/proc/self/cgroup").read(), "umask": mask, "users": os.getresuid() + os.getresgid(),
    "sid": os.getsid(0), "capabilities": [line for line in open("/proc/self/status") if line.startswith("Cap")],
}
with open("told", "a") as file:
    file.write(json.dumps(told) + "\\n")
while True:
    time.sleep(0.2)
"""
"""A program that tells what it finds each time it begins."""

CLAIMS = """
import ctypes, mmap, os, signal, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
size = 64 << 20
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
start = libc.mmap(None, size, 3, 0x4022, -1, 0)
words = open("/proc/self/stat").read().rpartition(")")[2].split()
stat = [0, 0, 0] + [int(word) if word.lstrip("-").isdigit() else 0 for word in words[1:]]
class Map(ctypes.Structure):
    names = "start_code end_code start_data end_data start_brk brk start_stack arg_start arg_end env_start env_end auxv"
    _fields_ = [(name, ctypes.c_uint64) for name in names.split()]
    _fields_ += [("auxv_size", ctypes.c_uint32), ("exe_fd", ctypes.c_uint32)]
start_code, end_code, start_stack = int(words[23]), int(words[24]), int(words[25])
start_data, end_data, start_brk, arg_start, arg_end = (int(word) for word in words[42:47])
brk = libc.sbrk
brk.restype, brk.argtypes = ctypes.c_void_p, [ctypes.c_long]
wanted = Map(start_code, end_code, start_data, end_data, start_brk, brk(0), start_stack, arg_start, arg_end,
             start, start + size, 0, 0, 0xFFFFFFFF)
done = libc.prctl(35, 14, ctypes.byref(wanted), ctypes.sizeof(wanted), 0)
with open("claimed", "w") as file:
    file.write("yes" if done == 0 else os.strerror(ctypes.get_errno()))
signal.signal(signal.SIGUSR2, lambda *_: sys.exit(0))
while True:
    time.sleep(0.2)
"""
"""A program that declares 64 MiB of memory, which it never touches, to be its environment (PR_SET_MM_MAP)."""


@pytest.fixture
def cluster(pbs: PbsCluster) -> Iterator[PbsCluster]:
    """One vnode, and the checkpoint script in its MoM's configuration; PBS's own scheduler starts jobs."""
    for vnode in pbs.mom_names[1:]:
        pbs.run(["pbsnodes", "-o", vnode]).demand_success()
    with with_actions(pbs, "save", "restart"):
        yield pbs


def submit(pbs: PbsCluster, program: str, *options: str) -> str:
    home = Path(pbs.testbed.home("alice"))
    for name in ("told", "claimed"):
        (home / name).unlink(missing_ok=True)
    (home / "program.py").write_text(program, encoding="utf-8")
    job = pbs.qsub("alice", ("/usr/bin/python3", str(home / "program.py")), options=options)
    # A job that is about to run is held and not checkpointed.
    pbs.wait_until(lambda: pbs.job(job).get("substate") == 42, 120.0, f"{job} runs")
    return job


def read_told(pbs: PbsCluster) -> list[dict[str, Any]]:
    path = Path(pbs.testbed.home("alice")) / "told"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def hold(pbs: PbsCluster, job: str) -> None:
    pbs.run(["qhold", job], user="alice").demand_success()
    pbs.wait_for_state(job, "H")


def release(pbs: PbsCluster, job: str) -> None:
    pbs.run(["qrls", job], user="alice").demand_success()


def restart_once(pbs: PbsCluster, *options: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a job's program found before and after it was saved and restarted."""
    job = submit(pbs, TELLS, *options)
    pbs.wait_until(lambda: len(read_told(pbs)) == 1, 120.0, "the program begins")
    hold(pbs, job)
    release(pbs, job)
    pbs.wait_until(lambda: len(read_told(pbs)) == 2, 120.0, "the program begins again")
    before, after = read_told(pbs)
    assert before["sid"] == after["sid"]
    return before, after


@pytest.fixture
def planted(pbs: PbsCluster) -> Iterator[Path]:
    """What Python runs by itself before any script, in alice's home directory; it tells who ran it, in this file."""
    home = Path(pbs.testbed.home("alice"))
    ran = home / "ran"
    code = f"import os; open({str(ran)!r}, 'a').write(f'{{os.geteuid()}} ')"
    version = pbs.run(["python3", "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"]).stdout.strip()
    site = home / ".local" / "lib" / version / "site-packages"
    site.mkdir(parents=True, exist_ok=True)
    (site / "usercustomize.py").write_text(f"{code}\n", encoding="utf-8")
    (site / "planted.pth").write_text(f"{code}\n", encoding="utf-8")
    yield ran
    for path in (site / "usercustomize.py", site / "planted.pth", ran):
        path.unlink(missing_ok=True)


def test_nothing_that_a_user_has_planted_runs_as_root(cluster: PbsCluster, planted: Path) -> None:
    python = f"{cluster.spec.pbs_exec}/bin/pbs_python"
    home = cluster.testbed.home("alice")
    cluster.run(["env", f"HOME={home}", python, "-c", ""], host=cluster.mom_names[0]).demand_success()
    assert set(planted.read_text().split()) == {"0"}, "it is planted where PBS's Python looks"
    planted.unlink()
    cluster.run(["env", f"HOME={home}", python, "-I", "-c", ""], host=cluster.mom_names[0]).demand_success()
    assert not planted.exists()
    restart_once(cluster)
    # The job's own program is alice's, and may run what alice likes.
    assert "0" not in planted.read_text().split()


def test_lines_of_old_that_do_not_isolate_python_save_nothing_and_the_job_runs_on(cluster: PbsCluster) -> None:
    config = cluster.testbed.pbs_home(cluster.spec.mom_hosts[0]) / "mom_priv" / "config"
    config.write_text(config.read_text().replace("pbs_python -I ", "pbs_python "))
    reread(cluster, 1)
    job = submit(cluster, TELLS)
    cluster.wait_until(lambda: len(read_told(cluster)) == 1, 120.0, "the program begins")
    sid = read_told(cluster)[0]["sid"]
    cluster.run(["qhold", job], user="alice")
    cluster.wait_until(lambda: "checkpoint failed" in cluster.mom_log(), 120.0, "a script that refuses")
    assert is_there(cluster, sid)
    assert cluster.job_state(job) == "R"


def is_there(pbs: PbsCluster, pid: int) -> bool:
    return pbs.run(["kill", "-0", str(pid)], host=pbs.mom_names[0]).status == 0


def test_a_restarted_job_has_its_own_descriptors_rights_and_limits_and_no_other(cluster: PbsCluster) -> None:
    before, after = restart_once(cluster, "-l", "file=1gb,cput=100", "-W", "umask=027")
    assert after["numbers"] == [0, 1, 2]
    assert not [path for path in after["descriptors"] if "mom_logs" in path]
    assert before["limits"]["RLIMIT_FSIZE"] == [1 << 30, 1 << 30]
    for what in ("limits", "umask", "users", "capabilities", "groups"):
        assert after[what] == before[what], what


def test_a_job_that_is_saved_makes_root_read_no_more_than_is_right(cluster: PbsCluster) -> None:
    job = submit(cluster, CLAIMS)
    claimed = Path(cluster.testbed.home("alice")) / "claimed"
    cluster.wait_until(lambda: claimed.exists() and claimed.read_text(), 120.0, "the program claims its environment")
    if claimed.read_text() != "yes":
        pytest.skip(f"this kernel refuses PR_SET_MM_MAP: {claimed.read_text()}")
    failed = cluster.mom_log().count("checkpoint failed")
    cluster.run(["qhold", job], user="alice")
    most_kib, deadline = 0, time.monotonic() + 60.0
    while cluster.mom_log().count("checkpoint failed") == failed:
        assert time.monotonic() < deadline, "the script refuses"
        shown = cluster.run(["ps", "-eo", "rss,args"], host=cluster.mom_names[0]).stdout.splitlines()
        most_kib = max([most_kib, *(int(line.split()[0]) for line in shown if "checkpoint.py save" in line)])
    assert most_kib < 200 * 1024
    assert cluster.job_state(job) == "R"


@pytest.fixture
def group(pbs: PbsCluster) -> Iterator[Path]:
    """A control group of the host's, as PBS's own cgroups hook makes one for each job."""
    path = Path("/sys/fs/cgroup/pids" if Path("/sys/fs/cgroup/pids").is_dir() else "/sys/fs/cgroup") / pbs.spec.name
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield path
    pbs.reset()
    if path.exists():
        pbs.wait_until(lambda: not (path / "cgroup.procs").read_text(), 120.0, "an empty control group")
        path.rmdir()


def put_into(group: Path, pbs: PbsCluster) -> int:
    """Put the job that told into the control group; the session, by its own number."""
    pbs.wait_until(lambda: len(read_told(pbs)) == 1, 120.0, "the program begins")
    sid = int(read_told(pbs)[0]["sid"])
    joins = f"echo {sid} > {group}/cgroup.procs"
    pbs.run(["sh", "-c", joins], host=pbs.mom_names[0]).demand_success()
    return sid


def test_a_restarted_job_is_in_its_control_group_again(cluster: PbsCluster, group: Path) -> None:
    job = submit(cluster, TELLS)
    put_into(group, cluster)
    hold(cluster, job)
    assert (group / "cgroup.procs").read_text() == ""
    release(cluster, job)
    cluster.wait_until(lambda: len(read_told(cluster)) == 2, 120.0, "the program begins again")
    assert f"/{group.name}" in read_told(cluster)[1]["groups"]


def test_a_job_whose_control_group_is_gone_is_not_restarted_outside_of_it(cluster: PbsCluster, group: Path) -> None:
    job = submit(cluster, TELLS)
    sid = put_into(group, cluster)
    hold(cluster, job)
    cluster.wait_until(lambda: not (group / "cgroup.procs").read_text(), 120.0, "an empty control group")
    group.rmdir()
    release(cluster, job)
    cluster.wait_until(lambda: "restart script" in cluster.mom_log(), 120.0, "a restart that fails")
    cluster.wait_until(lambda: cluster.job_state(job) in "QFRH", 120.0, "it is told of")
    assert not any(told["sid"] == sid and f"/{group.name}" not in told["groups"] for told in read_told(cluster)[1:])
