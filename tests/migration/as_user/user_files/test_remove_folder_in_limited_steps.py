"""Folders that their user has made hard to remove: closed, deep, large, mounted upon, with others' files in them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from migration.as_user import root_helper_command
from migration.as_user.call_root_helper import run_as as do
from migration.as_user.user_files import remove_folder_in_limited_steps, user_files_in_landing_folder
from migration.as_user.user_files.user_files_in_landing_folder import PARTLY
from tests.migration.as_user.root_helper_for_test_account import build
from tests.migration.fake_user_account import UID

DEEP = """python3 -c '
import os
for number in range(3000):
    os.mkdir("d")
    os.chdir("d")
open("f", "w").close()
'"""


def folder_of(landing: Path, command: str) -> Path:
    """The user's folder, after a command of his in it."""
    assert do(["folder", str(landing), "guest/a/j"], user="guest").status == 0
    assert build(landing / "guest/a/j", command).status == 0
    return landing / "guest/a/j"


@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p x/y/z; touch x/y/f; chmod 000 x/y/z x/y x",
        "mkdir x; touch x/f; chmod 500 x; chmod 000 .",
        DEEP,
        "mkdir x; ln -s / x/root; ln -s ../x x/loop; mkfifo x/p; mkdir -p .mg-left-1/a .mg-left-2; touch .mg-left-1/f",
    ],
    ids=["closed folders", "closed itself", "deep", "links and names of ours"],
)
def test_what_is_the_users_own_is_removed(landing: Path, command: str) -> None:
    folder = folder_of(landing, command)
    done = do(["remove", str(landing), "guest/a/j"], user="guest")
    for _ in range(20):
        # On a busy host a deep tree takes more than the time of one call.
        done = do(["remove", str(landing), "guest/a/j"], user="guest") if done.status == PARTLY else done
    assert (done.status, done.err) == (0, b"")
    assert not os.path.lexists(folder.parent)
    assert (landing / "guest").exists()


def test_what_cannot_be_removed_is_counted_and_named_and_the_rest_is_gone(landing: Path) -> None:
    folder = folder_of(landing, "mkdir -p x/y; touch x/a x/b y")
    (folder / "x/others").mkdir()
    (folder / "x/others/f").touch()
    done = do(["remove", str(landing), "guest/a/j"], user="guest")
    assert done.status == 1
    assert "guest/a/j: 1 entries cannot be removed, such as 'x/others': " in done.problem
    assert [str(one.relative_to(folder)) for one in sorted(folder.rglob("*"))] == ["x", "x/others", "x/others/f"]


@pytest.mark.parametrize("mounted", [".", "x/y"])
def test_nothing_that_is_mounted_there_is_emptied(landing: Path, mounted: str) -> None:
    folder = folder_of(landing, "mkdir -p x/y; touch f")
    remove = " ".join(
        [*root_helper_command.helper_argv(), "guest", "60", "0", "/", "remove", str(landing), "guest/a/j"]
    )
    script = f"mount -t tmpfs -o uid={UID} none {folder}/{mounted}; touch {folder}/{mounted}/kept; {remove} </dev/zero"
    script += f"; echo $?; ls {folder}/{mounted}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "1\nkept\n"
    assert "busy" in done.stderr
    assert (folder / "f").exists() == (mounted == ".")


def test_a_call_has_its_bounds_and_the_next_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remove_folder_in_limited_steps, "MOST_ENTRIES", 10)
    for number in range(3):
        (tmp_path / f"u/j/{number}/x").mkdir(parents=True)
        for name in range(4):
            (tmp_path / f"u/j/{number}/x/{name}").touch()
    left, calls = [sum(1 for _ in (tmp_path / "u/j").rglob("*"))], []
    while (tmp_path / "u/j").exists():
        calls.append(user_files_in_landing_folder.remove([str(tmp_path), "u/j"]))
        left.append(sum(1 for _ in (tmp_path / "u/j").rglob("*")) if (tmp_path / "u/j").exists() else 0)
    assert calls == [PARTLY, PARTLY, 0]
    assert all(before - after <= 10 for before, after in zip(left, left[1:]))
    monkeypatch.setattr(remove_folder_in_limited_steps, "WITHIN_S", 0.0)
    (tmp_path / "u/j").mkdir()
    (tmp_path / "u/j/f").touch()
    assert user_files_in_landing_folder.remove([str(tmp_path), "u/j"]) == PARTLY


def test_no_link_in_the_path_is_followed(landing: Path) -> None:
    folder_of(landing, "mkdir -p kept/j; touch kept/j/f; ln -s kept link")
    assert do(["remove", str(landing), "guest/a/j/link/j"], user="guest").status == 1
    assert (landing / "guest/a/j/kept/j/f").exists()
    assert do(["remove", str(landing), "guest/a/j/link"], user="guest").status == 0
    assert (landing / "guest/a/j/kept/j/f").exists()
    assert do(["remove", str(landing), "guest/a/none/j"], user="guest").status == 0


def test_files_are_unlinked_in_the_users_own_folder_alone_and_through_no_link(landing: Path) -> None:
    do(["folder", str(landing), "guest/a/b"], user="guest")
    place = landing / "guest/a/b"
    for name in ("f", "g"):
        do(["write", f"{place}/{name}", "644"], user="guest", stdin=b"x")
    assert build(place, "ln -s b ../way; chmod 775 .").status == 0
    assert do(["unlink", str(landing / "guest/a/way"), "f"], user="guest").status != 0
    assert do(["unlink", str(landing / "guest/a"), "b/f"], user="guest").status != 0
    assert do(["unlink", str(landing), "f"], user="guest").status != 0
    assert sorted(one.name for one in place.iterdir()) == ["f", "g", "mg-build.log"]
    assert do(["unlink", str(place), "f", "none"], user="guest").status == 0
    assert sorted(one.name for one in place.iterdir()) == ["g", "mg-build.log"]
    assert place.stat().st_mode & 0o7777 == 0o775
