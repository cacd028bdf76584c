"""What is in a folder, and results that come back into one that has changed."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from migration.as_user.helper import operations_as_user
from migration.as_user.user_files import (
    folder_tree_listing,
    place_results_without_overwrite,
    user_files_in_landing_folder,
)
from migration.as_user.user_files.folder_tree_listing import Entry

REPO = Path(__file__).parents[4]


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
