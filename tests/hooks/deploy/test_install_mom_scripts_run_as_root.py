"""The scripts for hosts: what is installed, where it may be, and that it runs as root only with nothing of a user's."""

from __future__ import annotations

import ast
import collections
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hooks.deploy.install_mom_scripts_run_as_root import install_scripts, read_script
from hooks.scripts.root_only_path import why_not_root_only

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
NOBODY = 65534


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The checkpoint script as it is installed."""
    list(install_scripts(tmp_path / "pbsteer", Path("/opt/pbs"), None))
    return tmp_path / "pbsteer" / "checkpoint.py"


def run(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_the_script_is_one_file_in_which_no_name_is_given_twice() -> None:
    body = ast.parse(read_script("checkpoint.py")).body
    names = [node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    names += [target.id for node in body if isinstance(node, ast.Assign) for target in node.targets
              if isinstance(target, ast.Name)]  # fmt: skip
    assert [name for name, count in collections.Counter(names).items() if count > 1] == []
    imported = [node.module or "" for node in body if isinstance(node, ast.ImportFrom)]
    assert not [name for name in imported if name.startswith(("hooks", "policy"))]


def test_both_lines_isolate_python(tmp_path: Path) -> None:
    for criu in (None, "criu"):
        lines = list(install_scripts(tmp_path / "pbsteer", Path("/opt/pbs"), criu))
        assert len(lines) == 2
        assert all(f"!/opt/pbs/bin/pbs_python -I {tmp_path}/pbsteer/checkpoint.py" in line for line in lines)


def test_the_script_does_nothing_where_python_is_not_isolated_and_says_what_to_change(script: Path) -> None:
    done = run(sys.executable, str(script), "save", "1.s", "1", "1", "/nowhere/at/all")
    assert done.returncode == 1
    assert "put -I behind pbs_python in both $action lines of mom_priv/config" in done.stderr


def test_what_a_user_has_put_into_the_home_directory_is_not_run(script: Path, tmp_path: Path) -> None:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = tmp_path / "home" / ".local" / "lib" / version / "site-packages"
    site.mkdir(parents=True)
    (site / "usercustomize.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    # Debian's own python3 looks there, as PBS's does; one of a virtual environment never does.
    python = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable
    done = run(
        python, "-I", str(script), "save", "1.s", str(2**22), "1", "/nowhere/at/all", HOME=str(tmp_path / "home")
    )
    assert (done.returncode, (tmp_path / "ran").exists()) == (1, False)
    assert "has no process to ask" in done.stderr


def test_the_script_closes_what_it_inherits(tmp_path: Path) -> None:
    inherited = os.open(tmp_path, os.O_RDONLY)
    close = "from hooks.scripts.harden_root_script import close_inherited; close_inherited()"
    code = f"{close}; import os; print(os.listdir('/proc/self/fd'))"
    argv = [sys.executable, "-c", code]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True, pass_fds=[inherited]).stdout
    os.close(inherited)
    # The fourth is the one by which they are listed.
    assert ast.literal_eval(shown) == ["0", "1", "2", "3"]


def test_the_script_has_a_bound_of_memory_and_the_jobs_process_has_none() -> None:
    code = "from hooks.scripts.harden_root_script import bound_memory, lift_memory_bound\n"
    code += "bound_memory()\ntry:\n    bytearray(2 << 30)\nexcept MemoryError:\n    print('bounded')\n"
    code += "lift_memory_bound()\nbytearray(2 << 30)\nprint('lifted')\n"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["bounded", "lifted"]


def test_the_script_opens_what_a_mom_has_closed(tmp_path: Path) -> None:
    code = "import sys\nfrom hooks.scripts.harden_root_script import close_inherited as c\nc()\nimport os\n"
    code += "names = [os.readlink(f'/proc/self/fd/{n}') for n in (0, 1, 2)]\n"
    code += f"open({str(tmp_path / 'shown')!r}, 'w').write(' '.join(names))"
    subprocess.run(["/bin/sh", "-c", f'exec "{sys.executable}" -c "$0" <&- >&- 2>&-', code], check=True)
    assert (tmp_path / "shown").read_text() == " ".join([os.devnull] * 3)


@pytest.mark.parametrize("mode", [0o777, 0o757])
@pytest.mark.parametrize("below", ["", "sub", "sub/sub"])
def test_no_script_is_put_where_others_may_write(tmp_path: Path, mode: int, below: str) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(ValueError, match=f"{folder} has mode {mode:o}: everybody may write to it"):
        list(install_scripts(folder / below, Path("/opt/pbs"), None))
    assert list(folder.iterdir()) == []


def test_no_criu_is_named_that_others_could_exchange(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(ValueError, match="everybody may write to it"):
        list(install_scripts(tmp_path / "pbsteer", Path("/opt/pbs"), str(folder / "criu")))
    assert not (tmp_path / "pbsteer").exists()


def test_a_link_does_not_hide_where_a_script_is(tmp_path: Path) -> None:
    folder, link = tmp_path / "open", tmp_path / "link"
    folder.mkdir()
    folder.chmod(0o777)
    link.symlink_to(folder)
    assert f"{folder} has mode 777" in why_not_root_only(link / "pbsteer")
    assert not why_not_root_only(tmp_path / "pbsteer")


def test_a_folder_with_the_sticky_bit_may_be_above_but_not_the_place_itself(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    assert not why_not_root_only(tmp_path / "pbsteer")
    assert "everybody may write" in why_not_root_only(tmp_path)


@needs_root
def test_the_script_does_nothing_where_its_own_place_is_somebody_else_s(script: Path) -> None:
    os.chown(script.parent, NOBODY, NOBODY)
    done = run(sys.executable, "-I", str(script), "save", "1.s", "1", "1", "/nowhere/at/all")
    assert done.returncode == 1
    assert f"{script.parent} belongs to user {NOBODY}; allowed is root" in done.stderr


@needs_root
def test_a_folder_of_a_group_of_users_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "pbsteer"
    folder.mkdir()
    os.chown(folder, 0, NOBODY)
    folder.chmod(0o775)
    assert f"group {NOBODY} may write to it" in why_not_root_only(folder)
