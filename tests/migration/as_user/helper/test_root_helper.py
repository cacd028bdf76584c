"""The helper is run as a program: what it refuses, as whom an operation runs, and that it ends with its lifeline."""

from __future__ import annotations

import grp
import json
import os
import pwd
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from migration.as_user import root_helper_command
from migration.as_user.call_root_helper import run_as as do
from migration.as_user.helper import refused_accounts, root_helper
from migration.as_user.user_files.user_files_in_landing_folder import TAKEN
from migration.programs.run_external_program_with_limits import STOPPED, TIMED_OUT
from tests.migration.as_user.root_helper_for_test_account import build, use_helper
from tests.migration.fake_user_account import UID

REPO = Path(__file__).parents[4]


def runs(command: str) -> bool:
    """Whether the user runs it."""
    return subprocess.run(["pgrep", "-u", str(UID), "-f", f"^{command}$"], check=False).returncode == 0


def refused(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    assert root_helper.main(words) == os.EX_NOPERM
    return capfd.readouterr().err


def test_root_system_accounts_unknown_users_and_unknown_operations_are_refused(
    capfd: pytest.CaptureFixture[str],
) -> None:
    rest = ("5", "0", "/", "space", "/")
    assert "at least 1000" in refused(capfd, "root", *rest)
    assert "at least 1000" in refused(capfd, "daemon", *rest)
    assert "no such account" in refused(capfd, "no-such-user", *rest)
    assert "must be the name" in refused(capfd, "-x", *rest)
    assert "operation 'sh'" in refused(capfd, "guest", "5", "0", "/", "sh", "-c", "id")
    assert "seconds" in refused(capfd, "guest", "1e3", *rest[1:])
    assert "bytes" in refused(capfd, "guest", "5", "-1", *rest[2:])
    assert "USER SECONDS" in refused(capfd, "guest")


@pytest.mark.parametrize(
    ("name", "uid", "shell", "rule"),
    [
        ("nobody", 2000, "/bin/bash", "'nobody' is the account of a service: no job runs as it.*here.refused_accounts"),
        ("munge", 2000, "/bin/bash", "'munge' is the account of a service"),
        ("slurm", 2000, "/bin/bash", "'slurm' is the account of a service"),
        ("pbsdata", 2000, "/bin/bash", "'pbsdata' is the account of a service"),
        ("postgres", 2000, "/bin/bash", "'postgres' is the account of a service"),
        ("someone", 65_534, "/bin/bash", "'someone' is the account of a service"),
        ("robot", 2000, "/usr/sbin/nologin", "'robot' has the shell /usr/sbin/nologin.*here.refuse_without_login"),
        ("robot", 2000, "/bin/false", "'robot' has the shell /bin/false"),
        ("alice", 1999, "/bin/bash", "'alice' has user id 1999.*at least 2000 .UID_MIN of .*min_uid of cluster.toml"),
    ],
)
def test_accounts_of_services_are_refused_with_the_rule(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, uid: int, shell: str, rule: str
) -> None:
    (tmp_path / "login.defs").write_text("UID_MIN 2000\n")
    monkeypatch.setattr(refused_accounts, "_LOGIN_DEFS", tmp_path / "login.defs")
    monkeypatch.setattr("pwd.getpwnam", lambda _: pwd.struct_passwd((name, "x", uid, uid, "", "/", shell)))
    with pytest.raises(root_helper.RefusedError, match=rule):
        root_helper.find_account(name, None)
    (tmp_path / "cluster.toml").write_text(
        'this = "a"\n[[cluster]]\nname = "a"\nscheduler = "pbs"\nlanding = "/x"\n[here]\nrefused_accounts = []\n'
    )
    with pytest.raises(root_helper.RefusedError, match=rule):
        root_helper.find_account(name, root_helper.read_site(tmp_path))


def test_without_a_system_file_accounts_begin_at_1000(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(refused_accounts, "_LOGIN_DEFS", tmp_path / "none")
    assert root_helper.find_lowest_uid(None) == 1000


def test_a_site_adds_accounts_and_may_take_those_without_a_shell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cluster.toml").write_text(
        'this = "a"\n[[cluster]]\nname = "a"\nscheduler = "pbs"\nlanding = "/x"\n[here]\n'
        'refused_accounts = ["robot"]\nrefuse_without_login = false\n'
    )
    file = root_helper.read_site(tmp_path)
    for name, is_refused in (("robot", True), ("alice", False)):
        monkeypatch.setattr(
            "pwd.getpwnam", lambda name: pwd.struct_passwd((name, "x", 2000, 2000, "", "/", "/sbin/nologin"))
        )
        if is_refused:
            with pytest.raises(root_helper.RefusedError, match="'robot' is the account of a service"):
                root_helper.find_account(name, file)
        else:
            assert root_helper.find_account(name, file).pw_name == "alice"


def test_the_sites_smallest_user_id_counts_where_it_is_larger(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(
        'this = "a"\n[[cluster]]\nname = "a"\nscheduler = "pbs"\nlanding = "/x"\n[here]\nmin_uid = 70000\n'
    )
    file = root_helper.read_site(tmp_path)
    assert root_helper.find_lowest_uid(file) == 70_000
    with pytest.raises(root_helper.RefusedError, match="at least 70000"):
        root_helper.find_account("guest", file)
    (tmp_path / "cluster.toml").write_text("this = 3\n")
    with pytest.raises(root_helper.RefusedError, match="this"):
        root_helper.read_site(tmp_path)


def test_members_of_a_refused_group_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.getgrouplist", lambda name, gid: [gid, 4])
    assert grp.getgrgid(4).gr_name == "adm"
    with pytest.raises(root_helper.RefusedError, match="is in group adm: no job runs as its members"):
        root_helper.find_account("guest", None)
    (tmp_path / "cluster.toml").write_text(
        'this = "a"\n[[cluster]]\nname = "a"\nscheduler = "pbs"\nlanding = "/x"\n[here]\nrefused_groups = []\n'
    )
    with pytest.raises(root_helper.RefusedError, match="is in group adm"):
        root_helper.find_account("guest", root_helper.read_site(tmp_path))


def test_a_group_of_the_site_is_refused_besides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.getgrouplist", lambda name, gid: [gid, grp.getgrnam("games").gr_gid])
    assert root_helper.find_account("guest", None).pw_name == "guest"
    (tmp_path / "cluster.toml").write_text(
        'this = "a"\n[[cluster]]\nname = "a"\nscheduler = "pbs"\nlanding = "/x"\n[here]\nrefused_groups = ["games"]\n'
    )
    with pytest.raises(root_helper.RefusedError, match="is in group games"):
        root_helper.find_account("guest", root_helper.read_site(tmp_path))


def test_a_build_has_bounds(landing: Path) -> None:
    assert do(["folder", str(landing), "guest/a"], user="guest").status == 0
    folder = landing / "guest/a"
    assert build(folder, "ulimit -c -t -n -u -f -d; cat /proc/self/oom_score_adj; nice").status == 0
    bounds = [line.rpartition(" ")[2] for line in (folder / "mg-build.log").read_text().splitlines()]
    assert bounds == [
        "0",
        "3600",
        "4096",
        "2000",
        str(10_240 << 10),
        str(8_192 << 10),
        "800",
        str(min(19, os.nice(0) + 10)),
    ]


def test_a_build_that_takes_too_much_memory_is_ended(
    landing: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = (
        "from migration.config.cluster_file import Limits\n"
        "Limits.__init__.__defaults__ = tuple(256 if one == 8192 else one for one in Limits.__init__.__defaults__)"
    )
    use_helper(monkeypatch, tmp_path, before)
    do(["folder", str(landing), "guest/a"], user="guest")
    take = 'python3 -c \'print(len(b"x" * (int("%d") << 20)))\''
    assert build(landing / "guest/a", take % 100).status == 0
    assert build(landing / "guest/a", take % 500).status == 1
    assert "MemoryError" in (landing / "guest/a/mg-build.log").read_text()


LEAVE = "setsid sh -c 'setsid sleep 62 & touch left; sleep 62' & while ! [ -e left ]; do sleep 0.1; done"


@pytest.mark.parametrize(
    "before",
    ["", "from migration.as_user.helper import run_in_own_pid_namespace as own; own._NEW_PIDS = 1"],
    ids=["namespace", "where the kernel refuses one"],
)
def test_what_leaves_the_session_of_a_build_ends_with_it(
    landing: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, before: str
) -> None:
    use_helper(monkeypatch, tmp_path, before)
    assert do(["namespace"], user="guest").text == ("none\n" if before else "own\n")
    assert do(["folder", str(landing), "guest/a"], user="guest").status == 0
    folder = landing / "guest/a"
    for command, status in ((LEAVE, 0), (f"{LEAVE}; sleep 62", TIMED_OUT)):
        done = build(folder, command, timeout_s=3)
        assert done.status == status
        assert not runs("sleep 62")
        (folder / "left").unlink()


def test_what_leaves_an_operation_ends_also_where_the_helper_is_killed(landing: Path) -> None:
    do(["folder", str(landing), "guest/a"], user="guest")
    words = [
        *root_helper_command.helper_argv(),
        "guest",
        "600",
        str(len(LEAVE) + 10),
        str(landing / "guest/a"),
        "build",
        "new",
    ]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as helper:
        assert helper.stdin is not None
        helper.stdin.write(f"{LEAVE}; sleep 62".encode())
        helper.stdin.flush()
        wait_until(lambda: (landing / "guest/a/left").exists() and runs("sleep 62"))
        helper.kill()
    wait_until(lambda: not runs("sleep 62"))


def test_an_operation_sees_its_own_processes_and_its_end_says_how_it_ended(landing: Path) -> None:
    do(["folder", str(landing), "guest/a"], user="guest")
    command = "sleep 60 & until pkill -x sleep; do :; done; wait; ls -d /proc/$$/fd; ps -A | wc -l; kill -9 $$"
    assert build(landing / "guest/a", command).status == 128 + signal.SIGKILL
    *_, own, count = (landing / "guest/a/mg-build.log").read_text().splitlines()
    assert own.startswith("/proc/")
    assert int(count) < 9


def test_an_operation_inherits_no_file_and_its_user_reaches_no_file_of_it(landing: Path, tmp_path: Path) -> None:
    do(["folder", str(landing), "guest/a"], user="guest")
    (tmp_path / "secret").write_text("x")
    with (tmp_path / "secret").open() as inherited:
        os.set_inheritable(inherited.fileno(), True)
        command = "ls -l /proc/*/fd /proc/1/environ; cat /proc/1/environ; ulimit -c"
        argv = [
            *root_helper_command.helper_argv(),
            "guest",
            "60",
            str(len(command)),
            str(landing / "guest/a"),
            "build",
            "new",
        ]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, close_fds=False) as helper:
            assert helper.stdin is not None
            helper.stdin.write(command.encode())
            helper.stdin.flush()
            # Standard input stays open: its end would be the operation's.
            helper.wait(timeout=60)
    log = (landing / "guest/a/mg-build.log").read_text()
    assert "secret" not in log
    assert "/proc/1/environ: Permission denied" in log
    assert log.endswith("\n0\n")


def test_an_operation_cannot_be_traced_before_it_is_a_program(
    landing: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also where fs.suid_dumpable is 1, which the helper of this test stands in for."""
    before = (
        "import ctypes, os\nreal = os.setuid\n"
        "def setuid(uid):\n    real(uid)\n    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)\nos.setuid = setuid"
    )
    use_helper(monkeypatch, tmp_path, before)
    do(["folder", str(landing), "guest/a"], user="guest")
    with subprocess.Popen(
        [*root_helper_command.helper_argv(), "guest", "60", "-", "/", "state", str(landing / "guest/a")],
        stdin=subprocess.PIPE,
    ) as helper:
        wait_until(lambda: len(own_processes(helper.pid)) == 3)
        owners = [Path(f"/proc/{pid}/environ").stat().st_uid for pid in own_processes(helper.pid)]
    assert owners == [0, 0, 0]


def own_processes(pid: int) -> list[int]:
    """The process and all below it."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
    return [pid, *(below for one in found for below in own_processes(int(one)))]


def test_no_list_of_processes_shows_a_builds_command(landing: Path) -> None:
    do(["folder", str(landing), "guest/a"], user="guest")
    command = "secret=of-alice; until [ -e go ]; do :; done"
    words = [
        *root_helper_command.helper_argv(),
        "guest",
        "60",
        str(len(command)),
        str(landing / "guest/a"),
        "build",
        "new",
    ]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as helper:
        assert helper.stdin is not None
        helper.stdin.write(command.encode())
        helper.stdin.flush()
        wait_until(lambda: len(own_processes(helper.pid)) > 2)
        time.sleep(0.5)
        shown = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in own_processes(helper.pid)]
        (landing / "guest/a/go").touch()
    assert any(b"bash" in one for one in shown)
    assert not any(b"of-alice" in one for one in shown)


def test_a_limit_of_0_seconds_is_none() -> None:
    """Transfers at the source end with their connection alone."""
    words = [*root_helper_command.helper_argv(), "guest", "0", "-", "/", "manifest", "/etc/default"]
    assert subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60).returncode == 0


def test_a_user_cannot_stop_what_supervises_his_operation(landing: Path) -> None:
    assert do(["folder", str(landing), "guest/a"], user="guest").status == 0
    command = "kill -STOP $PPID || echo not allowed; kill -STOP 0; sleep 63"
    done = build(landing / "guest/a", command, timeout_s=1)
    assert done.status == TIMED_OUT
    assert "not allowed" in (landing / "guest/a/mg-build.log").read_text()


def test_a_build_runs_as_the_user_in_its_folder_with_a_clean_environment(
    landing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "of the service")
    made = do(["folder", str(landing), "guest/a/x"], user="guest")
    assert made.status == 0, made.problem
    folder = landing / "guest/a/x"
    assert folder.stat().st_uid == UID
    assert (landing / "guest").stat().st_mode & 0o777 == 0o700
    command = 'id -u; id -G; pwd; echo "$SECRET" "$USER"; read line || echo no input; exit 3'
    assert build(folder, command).status == 3
    assert (folder / "mg-build.log").read_text().splitlines() == [
        str(UID), str(UID), str(folder), " guest", "no input"
    ]  # fmt: skip
    assert build(folder, "echo again", "more").status == 0
    assert (folder / "mg-build.log").read_text().endswith("no input\nagain\n")
    assert build(folder, "touch made").status == 0
    closed = (folder / "made", folder / "mg-build.log", folder, folder.parent)
    assert [one.stat().st_mode & 0o777 for one in closed] == [0o600, 0o600, 0o700, 0o700]


def test_a_users_folder_that_is_another_users_is_refused(landing: Path) -> None:
    (landing / "guest").mkdir()
    made = do(["folder", str(landing), "guest/a"], user="guest")
    assert made.status == TAKEN
    assert "is a folder of root, mode 0755: an administrator has to remove it" in made.problem
    (landing / "guest").rmdir()
    (landing / "guest").symlink_to("/")
    assert "is no folder of root" in do(["folder", str(landing), "guest/a"], user="guest").problem
    assert "folder of the user's own" in do(["folder", str(landing), "guest/a"], user="guest").problem


def test_a_users_folder_is_closed_to_others_writing(landing: Path) -> None:
    (landing / "guest").mkdir()
    os.chown(landing / "guest", UID, UID)
    (landing / "guest").chmod(0o777)
    assert do(["folder", str(landing), "guest/a"], user="guest").status == 0
    assert (landing / "guest").stat().st_mode & 0o777 == 0o755


def test_input_arrives_and_output_returns(landing: Path) -> None:
    do(["folder", str(landing), "guest/a"], user="guest")
    path = str(landing / "guest/a/w")
    data = os.urandom(300_000)
    assert do(["write", path, "755"], user="guest", stdin=data).status == 0
    assert do(["read", path, "400000"], user="guest").out == data
    assert do(["read", path, "7"], user="guest").out == data[:7]
    assert do(["read", path + "x", "7"], user="guest").status == 2


def test_an_operation_ends_at_its_limit_when_stopped_and_when_its_caller_is_killed(landing: Path) -> None:
    do(["folder", str(landing), "guest/a"], user="guest")
    folder = str(landing / "guest/a")
    began = time.monotonic()
    late = build(folder, "sleep 60", timeout_s=1)
    assert late.status == TIMED_OUT
    assert late.problem == "killed after 1 s"
    stopped = build(folder, "sleep 60 & sleep 60", stopped=lambda: True)
    assert stopped.status == STOPPED
    assert time.monotonic() - began < 30

    caller = subprocess.Popen(
        [sys.executable, "-c", (
            "from migration.as_user import call_root_helper, root_helper_command;"
            f"root_helper_command.helper_argv = lambda: {root_helper_command.helper_argv()!r};"
            f"call_root_helper.run_as(['build', 'new'], user='guest', cwd={folder!r}, stdin=b'sleep 61')"
        )],
        cwd=REPO,
    )  # fmt: skip
    wait_until(lambda: runs("sleep 61"))
    caller.send_signal(signal.SIGKILL)
    caller.wait()
    wait_until(lambda: not runs("sleep 61"))


def wait_until(holds: object) -> None:
    deadline = time.monotonic() + 30
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_shared_files_have_the_mirrored_path_once_and_later_versions_stand_beside(landing: Path) -> None:
    def shared(size: int, mtime_ns: int) -> tuple[str, bool]:
        done = do(["shared", str(landing), "guest/a/grid/m.dat", str(size), str(mtime_ns)], user="guest")
        path, there = json.loads(done.out)
        return path, there

    place = str(landing / "guest/a/grid/m.dat")
    assert shared(3, 7) == (place, False)
    do(["write", f"{place}.part", "644"], user="guest", stdin=b"abc")
    os.utime(f"{place}.part", ns=(7, 7))
    assert do(["place", f"{place}.part", place, "3", "8"], user="guest").status == 3
    assert do(["place", f"{place}.part", place, "3", "7"], user="guest").status == 0
    assert Path(place).stat().st_mode & 0o777 == 0o444
    assert shared(3, 7) == (place, True)
    assert shared(3, 9) == (f"{place}.mg-9", False)


def test_removing_takes_the_empty_folders_above_but_not_the_users_own(landing: Path) -> None:
    do(["folder", str(landing), "guest/a/b/c"], user="guest")
    do(["folder", str(landing), "guest/a/d"], user="guest")
    assert do(["remove", str(landing), "guest/a/b/c"], user="guest").status == 0
    assert sorted(one.name for one in (landing / "guest/a").iterdir()) == ["d"]
    assert do(["remove", str(landing), "guest/../x"], user="guest").status != 0
