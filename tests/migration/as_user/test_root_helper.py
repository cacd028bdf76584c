"""The helper is run as a program: what it refuses, as whom a deed runs, and that a deed ends with its lifeline."""

from __future__ import annotations

import grp
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from migration.as_user import call_root_helper, root_helper
from migration.as_user.call_root_helper import run_as as do
from migration.as_user.landing_folder import TAKEN
from migration.programs.run import STOPPED, TIMED_OUT

REPO = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def helper_of_this_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "mguser"
    script.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(REPO)!r})\n"
        "from migration.cli.mguser import main\nmain()\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr(call_root_helper, "helper_argv", lambda: [str(script)])


def refused(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    assert root_helper.main(words) == os.EX_NOPERM
    return capfd.readouterr().err


def test_root_system_accounts_unknown_users_and_unknown_deeds_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    rest = ("5", "0", "/", "space", "/")
    assert "at least 1000" in refused(capfd, "root", *rest)
    assert "at least 1000" in refused(capfd, "daemon", *rest)
    assert "no such account" in refused(capfd, "no-such-user", *rest)
    assert "must be the name" in refused(capfd, "-x", *rest)
    assert "deed 'sh'" in refused(capfd, "nobody", "5", "0", "/", "sh", "-c", "id")
    assert "seconds" in refused(capfd, "nobody", "1e3", *rest[1:])
    assert "bytes" in refused(capfd, "nobody", "5", "-1", *rest[2:])
    assert "USER SECONDS" in refused(capfd, "nobody")


def test_the_sites_smallest_user_id_counts_where_it_is_larger(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(
        'this = "a"\n[[cluster]]\nname = "a"\nscheduler = "pbs"\nlanding = "/x"\n[here]\nmin_uid = 70000\n'
    )
    file = root_helper.read_site(tmp_path)
    assert root_helper.find_lowest_uid(file) == 70_000
    with pytest.raises(root_helper.RefusedError, match="at least 70000"):
        root_helper.find_account("nobody", file)
    (tmp_path / "cluster.toml").write_text("this = 3\n")
    with pytest.raises(root_helper.RefusedError, match="this"):
        root_helper.read_site(tmp_path)


def test_members_of_a_refused_group_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.getgrouplist", lambda name, gid: [gid, 4])
    assert grp.getgrgid(4).gr_name == "adm"
    with pytest.raises(root_helper.RefusedError, match="is in group adm: no job runs as its members"):
        root_helper.find_account("nobody", None)
    (tmp_path / "cluster.toml").write_text(
        'this = "a"\n[[cluster]]\nname = "a"\nscheduler = "pbs"\nlanding = "/x"\n[here]\nrefused_groups = []\n'
    )
    with pytest.raises(root_helper.RefusedError, match="is in group adm"):
        root_helper.find_account("nobody", root_helper.read_site(tmp_path))


def test_a_group_of_the_site_is_refused_besides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.getgrouplist", lambda name, gid: [gid, grp.getgrnam("games").gr_gid])
    assert root_helper.find_account("nobody", None).pw_name == "nobody"
    (tmp_path / "cluster.toml").write_text(
        'this = "a"\n[[cluster]]\nname = "a"\nscheduler = "pbs"\nlanding = "/x"\n[here]\nrefused_groups = ["games"]\n'
    )
    with pytest.raises(root_helper.RefusedError, match="is in group games"):
        root_helper.find_account("nobody", root_helper.read_site(tmp_path))


def test_a_build_has_bounds(landing: Path) -> None:
    assert do(["folder", str(landing), "nobody/a"], user="nobody").status == 0
    folder = landing / "nobody/a"
    assert do(["build", "new", "ulimit -t -n -u -f"], user="nobody", cwd=str(folder)).status == 0
    bounds = [line.rpartition(" ")[2] for line in (folder / "mg-build.log").read_text().splitlines()]
    assert bounds == ["3600", "4096", "2000", str(10_240 << 10)]


def test_what_leaves_the_session_of_a_build_ends_with_it(landing: Path) -> None:
    assert do(["folder", str(landing), "nobody/a"], user="nobody").status == 0
    folder = landing / "nobody/a"
    leave = "setsid sh -c 'echo $$ > pid; setsid sleep 62 & sleep 62' & while ! [ -s pid ]; do sleep 0.1; done"
    for command, status in ((leave, 0), (f"{leave}; sleep 62", TIMED_OUT)):
        done = do(["build", "new", command], user="nobody", cwd=str(folder), timeout_s=3)
        assert done.status == status
        pid = (folder / "pid").read_text().strip()
        wait_until(lambda pid=pid: not Path(f"/proc/{pid}").exists())
        assert subprocess.run(["pgrep", "-u", "nobody", "-f", "^sleep 62$"], check=False).returncode == 1
        (folder / "pid").unlink()


def test_a_limit_of_0_seconds_is_none() -> None:
    """Transfers at the source end with their connection alone."""
    words = [*call_root_helper.helper_argv(), "nobody", "0", "-", "/", "manifest", "/proc/self/attr"]
    assert subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60).returncode == 0


def test_a_user_cannot_stop_what_supervises_his_deed(landing: Path) -> None:
    assert do(["folder", str(landing), "nobody/a"], user="nobody").status == 0
    command = "kill -STOP $PPID || echo not allowed; kill -STOP 0; sleep 63"
    done = do(["build", "new", command], user="nobody", cwd=str(landing / "nobody/a"), timeout_s=1)
    assert done.status == TIMED_OUT
    assert "not allowed" in (landing / "nobody/a/mg-build.log").read_text()


def test_a_build_runs_as_the_user_in_its_folder_with_a_clean_environment(
    landing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "of the service")
    made = do(["folder", str(landing), "nobody/a/x"], user="nobody")
    assert made.status == 0, made.problem
    folder = landing / "nobody/a/x"
    assert folder.stat().st_uid == 65534
    assert (landing / "nobody").stat().st_mode & 0o777 == 0o700
    command = 'id -un; id -G; pwd; echo "$SECRET" "$USER"; read line || echo no input; exit 3'
    assert do(["build", "new", command], user="nobody", cwd=str(folder)).status == 3
    assert (folder / "mg-build.log").read_text().splitlines() == [
        "nobody", "65534", str(folder), " nobody", "no input"
    ]  # fmt: skip
    assert do(["build", "more", "echo again"], user="nobody", cwd=str(folder)).status == 0
    assert (folder / "mg-build.log").read_text().endswith("no input\nagain\n")


def test_a_users_folder_that_is_another_users_is_refused(landing: Path) -> None:
    (landing / "nobody").mkdir()
    made = do(["folder", str(landing), "nobody/a"], user="nobody")
    assert made.status == TAKEN
    assert "is a folder of root, mode 0755: an administrator has to remove it" in made.problem
    (landing / "nobody").rmdir()
    (landing / "nobody").symlink_to("/")
    assert "is no folder of root" in do(["folder", str(landing), "nobody/a"], user="nobody").problem
    assert "folder of the user's own" in do(["folder", str(landing), "nobody/a"], user="nobody").problem


def test_a_users_folder_is_closed_to_others_writing(landing: Path) -> None:
    (landing / "nobody").mkdir()
    os.chown(landing / "nobody", 65534, 65534)
    (landing / "nobody").chmod(0o777)
    assert do(["folder", str(landing), "nobody/a"], user="nobody").status == 0
    assert (landing / "nobody").stat().st_mode & 0o777 == 0o755


def test_input_arrives_and_output_returns(landing: Path) -> None:
    do(["folder", str(landing), "nobody/a"], user="nobody")
    path = str(landing / "nobody/a/w")
    data = os.urandom(300_000)
    assert do(["write", path, "755"], user="nobody", stdin=data).status == 0
    assert do(["read", path, "400000"], user="nobody").out == data
    assert do(["read", path, "7"], user="nobody").out == data[:7]
    assert do(["read", path + "x", "7"], user="nobody").status == 2


def test_a_deed_ends_at_its_limit_when_stopped_and_when_its_caller_is_killed(landing: Path) -> None:
    do(["folder", str(landing), "nobody/a"], user="nobody")
    folder = str(landing / "nobody/a")
    began = time.monotonic()
    late = do(["build", "new", "sleep 60"], user="nobody", cwd=folder, timeout_s=1)
    assert late.status == TIMED_OUT
    assert late.problem == "killed after 1 s"
    stopped = do(["build", "new", "sleep 60 & sleep 60"], user="nobody", cwd=folder, stopped=lambda: True)
    assert stopped.status == STOPPED
    assert time.monotonic() - began < 30

    caller = subprocess.Popen(
        [sys.executable, "-c", (
            "from migration.as_user import call_root_helper;"
            f"call_root_helper.helper_argv = lambda: {call_root_helper.helper_argv()!r};"
            f"call_root_helper.run_as(['build', 'new', 'echo $$ > pid; sleep 61'], user='nobody', cwd={folder!r})"
        )],
        cwd=REPO,
    )  # fmt: skip
    pid = Path(folder) / "pid"
    wait_until(lambda: pid.exists() and pid.read_text().strip() != "")
    caller.send_signal(signal.SIGKILL)
    caller.wait()
    wait_until(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists())


def wait_until(holds: object) -> None:
    deadline = time.monotonic() + 30
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_shared_files_have_the_mirrored_path_once_and_later_versions_stand_beside(landing: Path) -> None:
    def shared(size: int, mtime_ns: int) -> tuple[str, bool]:
        done = do(["shared", str(landing), "nobody/a/grid/m.dat", str(size), str(mtime_ns)], user="nobody")
        path, there = json.loads(done.out)
        return path, there

    place = str(landing / "nobody/a/grid/m.dat")
    assert shared(3, 7) == (place, False)
    do(["write", f"{place}.part", "644"], user="nobody", stdin=b"abc")
    os.utime(f"{place}.part", ns=(7, 7))
    assert do(["place", f"{place}.part", place, "3", "8"], user="nobody").status == 3
    assert do(["place", f"{place}.part", place, "3", "7"], user="nobody").status == 0
    assert Path(place).stat().st_mode & 0o777 == 0o444
    assert shared(3, 7) == (place, True)
    assert shared(3, 9) == (f"{place}.mg-9", False)


def test_removing_takes_the_empty_folders_above_but_not_the_users_own(landing: Path) -> None:
    do(["folder", str(landing), "nobody/a/b/c"], user="nobody")
    do(["folder", str(landing), "nobody/a/d"], user="nobody")
    assert do(["remove", str(landing), "nobody/a/b/c"], user="nobody").status == 0
    assert sorted(one.name for one in (landing / "nobody/a").iterdir()) == ["d"]
    assert do(["remove", str(landing), "nobody/../x"], user="nobody").status != 0
