"""Results take their places in the user's folder: kept changes, links, names and rights."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from migration.as_user.call_root_helper import run_as as do
from migration.as_user.user_files import (
    folder_tree_listing,
    place_results_without_overwrite,
    user_files_in_landing_folder,
)
from migration.as_user.user_files.folder_tree_listing import Entry
from migration.programs.run_external_program_with_limits import Finished
from tests.migration.fake_user_account import UID

REPO = Path(__file__).parents[4]


def put(path: Path, text: str, mtime_ns: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(mtime_ns, mtime_ns))


def results(folder: Path) -> dict[str, str]:
    return {str(one.relative_to(folder)): one.read_text() for one in sorted(folder.rglob("*")) if one.is_file()}


def test_results_take_their_places_and_what_the_user_changed_is_kept(tmp_path: Path) -> None:
    stage = tmp_path / f"{folder_tree_listing.STAGE}a.1"
    put(tmp_path / "in", "uploaded", 1)
    put(tmp_path / "edited", "by the user", 5)
    put(tmp_path / "d/mine", "new at the source", 5)
    put(stage / "in", "from the job", 9)
    put(stage / "edited", "also from the job", 9)
    put(stage / "d/mine", "the job's", 9)
    put(stage / "new/deep", "result", 9)
    uploaded = {"in": Entry("in", "f", 8, 1), "edited": Entry("edited", "f", 3, 1)}
    kept = place_results_without_overwrite.settle(str(tmp_path), "a.1", uploaded)
    assert kept == [("d/mine", "d/mine.mg-a.1"), ("edited", "edited.mg-a.1")]
    after = {
        "in": "from the job", "edited": "by the user", "edited.mg-a.1": "also from the job",
        "d/mine": "new at the source", "d/mine.mg-a.1": "the job's", "new/deep": "result",
    }  # fmt: skip
    assert results(tmp_path) == after
    assert not stage.exists()
    put(stage / "edited", "also from the job", 9)
    put(stage / "in", "from the job", 9)
    assert place_results_without_overwrite.settle(str(tmp_path), "a.1", uploaded) == [("edited", "edited.mg-a.1")]
    assert results(tmp_path) == after


def test_a_file_of_the_same_size_and_time_with_another_content_is_kept(tmp_path: Path) -> None:
    """Such as the result of another job of the same folder, which ended within the same tick of the clock."""
    stage = tmp_path / f"{folder_tree_listing.STAGE}a.2"
    put(tmp_path / "result", "one", 9)
    for _ in range(2):
        put(stage / "result", "two", 9)
        kept = place_results_without_overwrite.settle(str(tmp_path), "a.2", {})
        assert kept == [("result", "result.mg-a.2")]
        assert results(tmp_path) == {"result": "one", "result.mg-a.2": "two"}
    put(tmp_path / "result.mg-a.2", "own", 9)
    put(stage / "result", "two", 9)
    assert place_results_without_overwrite.settle(str(tmp_path), "a.2", {}) == [("result", "result.mg-a.2.2")]
    assert results(tmp_path) == {"result": "one", "result.mg-a.2": "own", "result.mg-a.2.2": "two"}


def test_names_as_long_as_names_may_be_are_kept_and_their_links_are_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File names of 255 bytes, of which two begin alike."""
    stage = tmp_path / f"{folder_tree_listing.STAGE}a.1"
    names = ["n" * 255, "n" * 254 + "m", "é" * 127]
    for name in names:
        put(tmp_path / name, f"own {name[-1]}", 5)
        put(stage / name, f"result {name[-1]}", 9)
    link = "l" * 255
    (stage / link).symlink_to("/rsyncd-munged/in")
    for _ in range(2):
        kept = place_results_without_overwrite.settle(str(tmp_path), "a.1", {})
        assert [one.path for one in kept] == sorted(names)
        for path, beside in kept:
            assert ((tmp_path / path).read_text(), (tmp_path / beside).read_text()) == (
                f"own {path[-1]}", f"result {path[-1]}",
            )  # fmt: skip
            assert beside.endswith(".mg-a.1")
        for name in names:
            put(stage / name, f"result {name[-1]}", 9)
        assert str((tmp_path / link).readlink()) == "in"
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps([link, "/land/m"]) + "\n"))
    user_files_in_landing_folder.set_links([str(tmp_path)])
    assert str((tmp_path / link).readlink()) == "/land/m"


def test_entries_of_a_newer_target_are_read_without_what_it_has_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in", "as uploaded", 5)
    put(tmp_path / f"{folder_tree_listing.STAGE}a.1" / "in", "from the job", 9)
    monkeypatch.setattr(sys, "stdin", io.StringIO('["in", "f", 11, 5, "", "0644"]\n'))
    place_results_without_overwrite.print_settled([str(tmp_path), "a.1"])
    assert json.loads(capsys.readouterr().out) == []
    assert results(tmp_path) == {"in": "from the job"}


def test_a_folder_that_the_user_replaced_by_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "job/out").symlink_to("../elsewhere")
    put(tmp_path / "job" / f"{folder_tree_listing.STAGE}a.1" / "out/r", "result", 9)
    place_results_without_overwrite.settle(str(tmp_path / "job"), "a.1", {"out": Entry("out", "d")})
    assert results(tmp_path / "elsewhere") == {}
    assert (tmp_path / "job/out.mg-a.1/r").read_text() == "result"


def test_links_that_arrived_are_links_again_only_in_their_place(tmp_path: Path) -> None:
    stage = tmp_path / f"{folder_tree_listing.STAGE}a.1"
    (stage / "new").mkdir(parents=True)
    (stage / "new/l").symlink_to("/rsyncd-munged/../elsewhere")
    (stage / "l").symlink_to("/rsyncd-munged/in")
    (tmp_path / "l").symlink_to("in")
    assert place_results_without_overwrite.settle(str(tmp_path), "a.1", {}) == []
    assert [str((tmp_path / name).readlink()) for name in ("l", "new/l")] == ["in", "../elsewhere"]


def settle_as_guest(folder: Path) -> Finished:
    for path in (folder, *folder.rglob("*")):
        os.lchown(path, UID, UID)
    return do(["settle", str(folder), "a.1"], user="guest", stdin=b"")


def make_guests_folder(landing: Path) -> tuple[Path, Path]:
    """A folder of guest's, and the stage in it."""
    assert do(["folder", str(landing), "guest/a"], user="guest").status == 0
    folder = landing / "guest/a"
    return folder, folder / f"{folder_tree_listing.STAGE}a.1"


def test_folders_that_are_closed_for_writing_keep_no_result_back(landing: Path) -> None:
    folder, stage = make_guests_folder(landing)
    put(stage / "ro/deep/r", "result", 9)
    put(stage / "there/r", "result", 9)
    put(stage / "other", "result", 9)
    (folder / "there").mkdir()
    closed = (stage / "ro/deep", stage / "ro", stage / "there", folder / "there")
    for one in closed:
        one.chmod(0o555)
    done = settle_as_guest(folder)
    assert (done.status, done.text) == (0, "[]\n")
    assert results(folder) == {"ro/deep/r": "result", "there/r": "result", "other": "result"}
    assert not stage.exists()
    assert [(folder / name).stat().st_mode & 0o777 for name in ("ro", "ro/deep", "there")] == [0o555] * 3


def test_a_settle_that_fails_leaves_no_link_that_something_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = tmp_path / f"{folder_tree_listing.STAGE}a.1"
    stage.mkdir()
    (stage / "l").symlink_to("/rsyncd-munged/../elsewhere")

    def refuse(*_: object) -> None:
        raise PermissionError("rename")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError):
        place_results_without_overwrite.settle(str(tmp_path), "a.1", {})
    assert [str(one.readlink()) for one in stage.iterdir()] == ["/rsyncd-munged/../elsewhere"]


def test_a_stage_that_arrived_as_a_result_is_not_settled(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("k")
    folder = tmp_path / "job"
    (folder / ".mg-stage-a.1").mkdir(parents=True)
    (folder / ".mg-stage-a.1/.mg-stage-a.2").symlink_to(secret)
    assert place_results_without_overwrite.settle(str(folder), "a.1", {}) == []
    assert list(folder.iterdir()) == []
    (folder / ".mg-stage-a.2").symlink_to(secret)
    with pytest.raises(OSError, match="must be a folder"):
        place_results_without_overwrite.settle(str(folder), "a.2", {})
    assert (secret / "key").read_text() == "k"


def test_no_result_is_setuid(tmp_path: Path) -> None:
    stage = tmp_path / ".mg-stage-a.1"
    stage.mkdir()
    (stage / "shell").write_text("x")
    (stage / "shell").chmod(0o4755)
    place_results_without_overwrite.settle(str(tmp_path), "a.1", {})
    assert (tmp_path / "shell").stat().st_mode & 0o7777 == 0o755


def test_no_result_is_more_open_than_what_it_replaces_and_folders_get_no_rights_of_a_group(tmp_path: Path) -> None:
    stage = tmp_path / ".mg-stage-a.1"
    put(stage / "private", "result", 9)
    put(stage / "program", "result", 9)
    put(stage / "new", "result", 9)
    put(stage / "d/r", "result", 9)
    put(tmp_path / "private", "in", 1)
    put(tmp_path / "program", "in", 1)
    for path, mode in {
        "private": 0o600, "program": 0o644, ".mg-stage-a.1/private": 0o666, ".mg-stage-a.1/program": 0o4755,
        ".mg-stage-a.1/new": 0o640, ".mg-stage-a.1/d": 0o7750,
    }.items():  # fmt: skip
        (tmp_path / path).chmod(mode)
    uploaded = {name: Entry(name, "f", 2, 1) for name in ("private", "program")}
    assert place_results_without_overwrite.settle(str(tmp_path), "a.1", uploaded) == []
    modes = {name: (tmp_path / name).stat().st_mode & 0o7777 for name in ("private", "program", "new", "d")}
    assert modes == {"private": 0o600, "program": 0o744, "new": 0o640, "d": 0o750}


def test_nothing_that_arrives_is_setuid_at_any_moment(tmp_path: Path) -> None:
    """The other end of rsync is started as a job's key allows it, and is not asked for more."""
    sent, job = tmp_path / "sent", tmp_path / "job"
    (sent / "d").mkdir(parents=True)
    (sent / "shell").write_text("x")
    (sent / "shell").chmod(0o6755)
    (sent / "d").chmod(0o2775)
    job.mkdir()
    (tmp_path / "ssh").write_text(
        f"#!{sys.executable}\nimport os, sys\nsys.path.insert(0, {str(REPO)!r})\n"
        "from migration.as_user.helper import operations_as_user\nfrom migration.config.cluster_file import Here\n"
        "from migration.transfer.allowed_rsync_commands import read_command\n"
        "from policy.migration.job_record_and_copy_updates import Record\n"
        f"operation = read_command(' '.join(sys.argv[2:]), Record(gid='a.1', dir={str(job)!r}), Here())\n"
        "operations_as_user.OPERATIONS[operation[0]](operation[1:])\n"
    )
    (tmp_path / "ssh").chmod(0o755)
    argv = ["rsync", "-a", "--partial-dir=.mg-part", "-e", str(tmp_path / "ssh"), f"{sent}/", "x:stage/"]
    subprocess.run(argv, check=True, timeout=60)
    stage = job / f"{folder_tree_listing.STAGE}a.1"
    assert [(stage / name).stat().st_mode & 0o7777 for name in ("shell", "d")] == [0o755, 0o775]
