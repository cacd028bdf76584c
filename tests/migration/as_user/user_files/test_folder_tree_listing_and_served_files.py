"""The survey of a job's folder, and the files of it that are served to other clusters."""

from __future__ import annotations

import io
import json
import os
import socket
from pathlib import Path

import pytest

from migration.as_user.call_root_helper import run_as as do
from migration.as_user.helper import operations_as_user
from migration.as_user.user_files import (
    folder_tree_listing,
    place_results_without_overwrite,
    user_files_in_landing_folder,
)
from migration.as_user.user_files.folder_tree_listing import CLOSED, Entry
from tests.migration.fake_user_account import UID


def survey(folder: Path, capsys: pytest.CaptureFixture[str], **more: list[str]) -> dict[str, object]:
    asked = {
        "dir": [str(folder)], "allowed_roots": [str(folder.parent)], "share_roots": [str(folder.parent)],
        "exclude": [], "shared": [], **more,
    }  # fmt: skip
    folder_tree_listing.print_survey([json.dumps(asked)])
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_a_survey_tells_sizes_shared_input_and_what_cannot_travel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, grid = tmp_path / "job", tmp_path / "grid/mesh.dat"
    grid.parent.mkdir()
    grid.write_text("mesh")
    (folder / "in").mkdir(parents=True)
    (folder / "in/a").write_text("12345")
    (folder / "in/mesh").symlink_to("../../grid/mesh.dat")
    (folder / "in/loop").symlink_to("a")
    (folder / "out.tmp").write_text("x" * 100)
    named = socket.socket(socket.AF_UNIX)
    named.bind(str(folder / "s"))
    (folder / "passwd").symlink_to("/etc/passwd")
    found = survey(folder, capsys, exclude=["*.tmp"], shared=[str(grid), f"{tmp_path}/none"])
    one = {"path": str(grid), "size": 4, "mtime_ns": grid.stat().st_mtime_ns}
    assert found["bytes"] == 5
    assert found["shared"] == [{"link": "in/mesh", **one}, {"link": "", **one}]
    assert found["refused"] == [
        "passwd: leads to /etc/passwd, outside the job's folder",
        "s: neither a file, a folder nor a link",
        f"{tmp_path}/none: no readable file",
    ]
    named.close()


def test_what_its_user_cannot_open_is_refused_with_its_path_unless_it_is_excluded(landing: Path) -> None:
    """rsync could not send it either, however often it is tried."""
    assert do(["folder", str(landing), "guest/a"], user="guest").status == 0
    folder = landing / "guest/a"
    for name in ("closed", "d/in", "private/in", "open"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    for path in folder.rglob("*"):
        os.chown(path, UID, UID)
    for name in ("closed", "d", "private"):
        (folder / name).chmod(0)
    asked = {"dir": [str(folder)], "allowed_roots": [str(landing)], "share_roots": [], "shared": []}
    found = json.loads(do(["survey", json.dumps({**asked, "exclude": ["private"]})], user="guest").out)
    assert found["refused"] == ["closed: cannot be opened by its user", "d: cannot be opened by its user"]
    listed = do(["manifest", str(folder)], user="guest").text.splitlines()
    assert {path: kind for path, kind, *_ in map(json.loads, listed)} == {
        "closed": CLOSED, "d": CLOSED, "open": "f", "private": CLOSED,
    }  # fmt: skip
    found = json.loads(
        do(["survey", json.dumps({**asked, "exclude": ["private/", "d/", "closed/"]})], user="guest").out
    )
    assert found["refused"] == ["closed: cannot be opened by its user"], "it is no folder"
    folder.chmod(0)
    found = json.loads(do(["survey", json.dumps({**asked, "exclude": []})], user="guest").out)
    assert found["problem"] == f"{folder}: cannot be opened by its user"


@pytest.mark.parametrize("pattern", ["logs/pipe", "*/pipe", "logs/**", "/*/pipe"])
def test_what_a_pattern_with_slashes_leaves_out_does_not_refuse_the_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pattern: str
) -> None:
    folder = tmp_path / "job"
    (folder / "logs").mkdir(parents=True)
    os.mkfifo(folder / "logs/pipe")
    assert survey(folder, capsys, exclude=[pattern])["refused"] == []
    assert survey(folder, capsys, exclude=[f"/x{pattern}"])["refused"] != []


def test_a_folder_through_a_link_another_users_or_outside_the_roots_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "link").symlink_to("job")
    assert "through links" in str(survey(tmp_path / "link", capsys)["problem"])
    assert "No such file" in str(survey(tmp_path / "none", capsys)["problem"])
    assert "not below /x" in str(survey(tmp_path / "job", capsys, allowed_roots=["/x"])["problem"])


def test_the_manifest_has_every_entry_once_and_survives_names_that_are_no_utf_8(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = os.fsdecode(b"a\n\xff b")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / odd).write_text("x")
    (tmp_path / "l").symlink_to("nowhere")
    (tmp_path / folder_tree_listing.PART).mkdir()
    (tmp_path / f"{folder_tree_listing.STAGE}a.1").mkdir()
    folder_tree_listing.print_manifest([str(tmp_path)])
    entries = [Entry(*json.loads(line)) for line in capsys.readouterr().out.splitlines()]
    mtime_ns = (tmp_path / "d" / odd).stat().st_mtime_ns
    assert entries == [Entry("d", "d"), Entry(f"d/{odd}", "f", 1, mtime_ns), Entry("l", "l", target="nowhere")]


@pytest.mark.parametrize("operation", ["state", "settle"])
def test_a_line_without_end_and_input_without_end_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    class Endless:
        """Standard input of a cluster that never stops; a read without a bound would take all memory."""

        def __init__(self, end: str) -> None:
            self.end = end

        def readline(self, size: int) -> str:
            return f'"{"x" * (size - 1)}' if not self.end else f'"x"{self.end}'

    if operation == "settle":
        monkeypatch.setattr(place_results_without_overwrite, "Entry", lambda *_: Entry("x", "f"))
    words = [str(tmp_path), "a.1"] if operation == "settle" else [str(tmp_path)]
    monkeypatch.setattr("sys.stdin", Endless(""))
    with pytest.raises(ValueError, match="must be shorter than 65,536 characters"):
        operations_as_user.OPERATIONS[operation](words)
    monkeypatch.setattr(folder_tree_listing, "_MOST_INPUT", 100)
    monkeypatch.setattr("sys.stdin", Endless("\n"))
    with pytest.raises(ValueError, match="standard input: must be at most"):
        operations_as_user.OPERATIONS[operation](words)


def test_a_survey_of_very_many_links_has_an_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    (tmp_path / "mesh").write_text("x")
    for number in range(5):
        (folder / f"l{number}").symlink_to("../mesh")
    monkeypatch.setattr(folder_tree_listing, "_MOST_SHARED", 4)
    assert survey(folder, capsys)["problem"] == f"{folder}: has more than 4 links to shared input"
    for number in range(12):
        os.mkfifo(folder / f"a{number:02}")
    assert len(survey(folder, capsys)["refused"]) == 10  # type: ignore[arg-type]


def test_a_file_that_no_survey_names_is_not_served(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    secret = tmp_path / "secret"
    secret.write_text("x")
    asked = {"dir": [str(tmp_path / "job")], "allowed_roots": [str(tmp_path)], "share_roots": [str(tmp_path)]}
    with pytest.raises(ValueError, match="no shared input"):
        operations_as_user.OPERATIONS["rsync-shared"](
            [json.dumps({**asked, "exclude": [], "shared": []}), "--server", ".", str(secret)]
        )


def test_a_named_file_must_be_what_was_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, secret = tmp_path / "job", tmp_path / "secret"
    folder.mkdir()
    secret.mkdir()
    (secret / "mesh").write_text("private")
    (tmp_path / "grid").symlink_to("secret")
    (secret / "link").symlink_to("mesh")
    named = [f"{tmp_path}/grid/mesh", f"{secret}/link", f"{tmp_path}/job/../secret/mesh"]
    found = survey(folder, capsys, shared=named)
    assert found["shared"] == []
    assert found["refused"] == [f"{one}: leads elsewhere through links" for one in named]


def test_no_component_of_a_path_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real/below").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    os.close(folder_tree_listing.open_folder(f"{tmp_path}/real/below"))
    for path in ("link", "link/below", "real/../real"):
        with pytest.raises(ValueError, match=r"links|must be relative"):
            folder_tree_listing.open_folder(f"{tmp_path}/{path}")


def test_rsync_works_in_the_folder_that_was_opened_and_only_in_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: list[tuple[str, list[str]]] = []
    monkeypatch.setattr("os.execvp", lambda _, words: began.append((str(Path.cwd()), words)))
    monkeypatch.chdir(tmp_path)
    job, mesh = tmp_path / "job", tmp_path / "mesh"
    job.mkdir()
    mesh.write_text("x")
    operations_as_user.OPERATIONS["rsync-server"](["--server", ".", f"{job}/"])
    operations_as_user.OPERATIONS["rsync-server"](["--server", ".", f"{job}/{folder_tree_listing.STAGE}a.1/"])
    asked = {
        "dir": [str(job)],
        "allowed_roots": [str(tmp_path)],
        "share_roots": [],
        "exclude": [],
        "shared": [str(mesh)],
    }
    operations_as_user.OPERATIONS["rsync-shared"]([json.dumps(asked), "--server", ".", str(mesh)])
    assert began == [
        (str(job), ["rsync", "--server", ".", "./"]),
        (str(job), ["rsync", "--server", ".", f"./{folder_tree_listing.STAGE}a.1/"]),
        (str(tmp_path), ["rsync", "--server", ".", "./mesh"]),
    ]
    (job / f"{folder_tree_listing.STAGE}a.2").symlink_to("/")
    with pytest.raises(ValueError, match="must be a folder"):
        operations_as_user.OPERATIONS["rsync-server"](["--server", ".", f"{job}/{folder_tree_listing.STAGE}a.2/"])


def test_folders_side_by_side_are_sent_from_the_folder_above_as_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: list[tuple[str, list[str]]] = []
    monkeypatch.setattr("os.execvp", lambda _, words: began.append((str(Path.cwd()), words)))
    monkeypatch.chdir(tmp_path)
    for name in ("c1", "c2", "other/c3"):
        (tmp_path / name).mkdir(parents=True)
    send = operations_as_user.OPERATIONS["rsync-folders"]
    send([json.dumps([f"{tmp_path}/c1", f"{tmp_path}/c2"]), "--server", "--sender", "."])
    assert began == [(str(tmp_path), ["rsync", "--server", "--sender", ".", "./c1", "./c2"])]
    with pytest.raises(ValueError, match="2 folders above"):
        send([json.dumps([f"{tmp_path}/c1", f"{tmp_path}/other/c3"]), "--server", "."])
    (tmp_path / "c4").symlink_to("/etc")
    with pytest.raises(ValueError, match="through links"):
        send([json.dumps([f"{tmp_path}/c1", f"{tmp_path}/c4"]), "--server", "."])
    (tmp_path / "around").symlink_to(".")
    with pytest.raises(ValueError, match="through links"):
        send([json.dumps([f"{tmp_path}/around/c1"]), "--server", "."])
    monkeypatch.setattr("os.getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(ValueError, match="belongs to another user"):
        send([json.dumps([f"{tmp_path}/c1"]), "--server", "."])
    assert len(began) == 1


def test_several_surveys_are_each_named_by_the_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c1").mkdir()
    asked = {"allowed_roots": [str(tmp_path)], "share_roots": [], "exclude": [], "shared": []}
    jobs = {gid: {**asked, "dir": [f"{tmp_path}/{name}"]} for gid, name in (("a.1", "c1"), ("a.2", "gone"))}
    operations_as_user.OPERATIONS["surveys"]([json.dumps(jobs)])
    found = dict(map(json.loads, capsys.readouterr().out.splitlines()))
    assert (found["a.1"]["problem"], found["a.2"]["problem"]) == ("", f"{tmp_path}/gone: No such file or directory")


def test_another_users_folder_is_refused_at_each_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: tmp_path.stat().st_uid + 1)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    for operation, *words in (
        ("state", str(tmp_path)), ("settle", str(tmp_path), "a.1"), ("rsync-server", "--server", ".", f"{tmp_path}/"),
        ("rsync-server", "--server", ".", f"{tmp_path}/{folder_tree_listing.STAGE}a.1/"),
        ("write", f"{tmp_path}/x", "700"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="belongs to another user"):
            operations_as_user.OPERATIONS[operation](words)


def test_a_home_is_no_jobs_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "homes/alice/job").mkdir(parents=True)
    (tmp_path / "home").symlink_to("homes")
    monkeypatch.setenv("HOME", f"{tmp_path}/home/alice")
    assert survey(tmp_path / "homes/alice/job", capsys)["problem"] == ""
    assert "a job needs a folder of its own" in str(survey(tmp_path / "homes/alice", capsys)["problem"])
    assert "a job needs a folder of its own" in str(survey(tmp_path / "homes", capsys)["problem"])


def test_paths_that_lead_out_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in ("../x", "/etc/passwd", "a//b", "", "a/./b", "a\0b"):
        monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(path) + "\n"))
        with pytest.raises(ValueError, match="must be relative"):
            folder_tree_listing.print_state([str(tmp_path)])


def test_links_lead_to_the_version_that_the_job_was_submitted_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mesh").symlink_to("old")
    for _ in range(2):
        monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(["mesh", "/landing/mesh.mg-7"]) + "\n"))
        user_files_in_landing_folder.set_links([str(tmp_path)])
        assert str((tmp_path / "mesh").readlink()) == "/landing/mesh.mg-7"
