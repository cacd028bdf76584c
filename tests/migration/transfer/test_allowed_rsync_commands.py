"""The commands are those that rsync 3.5 sends; each is answered with the record's own paths."""

import json

import pytest

from migration.config.cluster_file import Here
from migration.transfer.allowed_rsync_commands import NotAllowedError, read_command
from migration.transfer.ssh_and_rsync_to_source import shared_word
from policy.migration.job_record_and_copy_updates import Record

RECORD = Record(gid="a.7", user="alice", src="a", dst="b", dir="/home/alice/a b", shared=("../x/m",))
HERE = Here(share_roots=("/data",))
SEND = "rsync --server --sender -logDtpre.iLsfxCIvu --timeout=120 --bwlimit=100 . "
TAKE = "rsync --server -logDtpRe.LsfxCIvu --timeout=120 --stats --partial-dir .mg-part . "
DRY = "rsync --server -nlogDtpRe.LsfxCIvu --log-format=%i --timeout=120 --stats --partial-dir .mg-part . "


def read(command: str) -> list[str]:
    return read_command(command, RECORD, HERE)


def test_our_own_transfers_pass_with_the_path_of_the_record() -> None:
    assert read(SEND + "job/")[-2:] == [".", "/home/alice/a b/"]
    assert read(SEND + "job/")[:4] == ["rsync-server", "--server", "--sender", "-logDtpre.iLsfxCIvu"]
    assert read(TAKE + "stage/")[-1] == "/home/alice/a b/.mg-stage-a.7/"
    assert read(DRY + "job/")[-1] == "/home/alice/a b/"
    assert read(DRY.replace("pR", "pcR") + "job/")[1:3] == ["--server", "-nlogDtpcRe.LsfxCIvu"]
    assert read(TAKE + "stage/")[:3] == ["rsync-server", "--server", "--munge-links"]
    shared = read(SEND + shared_word("/data/grid 1/\udcffü"))
    assert (shared[0], shared[-1]) == ("rsync-shared", "/data/grid 1/\udcffü")


@pytest.mark.parametrize(
    "command",
    [
        "", "sh", "rsync", "mg avail", "mg state x", TAKE + "job/", SEND + "stage/", SEND + "/etc/passwd",
        SEND + "shared/data/../etc/passwd", TAKE + "shared/data/x", SEND + "'unclosed",
        "rsync --server --sender -slogDtpre.iLsfxCIvu . job/", "rsync --server --sender -logDtpr --rsync-path=x . job/",
        "rsync --server -logDtpr --partial-dir /etc . stage/", "rsync --server -logDtpr --delete . stage/",
        "rsync --server --daemon . stage/", "rsync --server --sender -logDtpr --files-from=/etc/passwd . job/",
        "rsync --server --sender -logDtpr . job/ job/", "rsync --server -logDtpr --temp-dir=/x . stage/",
        "rsync --server -logDtpr --log-file=/x . stage/", "rsync --server --sender --copy-links -r . job/",
        "rsync --server --sender -Lr . job/", "rsync --server -logDtpre . stage/",
        "rsync --server - -logDtpr . stage/", "rsync --server -logDtpr - . stage/", "rsync --server --sender - . job/",
        "rsync --server -logDtpr --partial-dir . stage/",
        "rsync --server -logDtpRe --dry-run . job/", "rsync --server -le3 --dry-run . job/",
    ],
)  # fmt: skip
def test_everything_else_is_refused(command: str) -> None:
    with pytest.raises(NotAllowedError):
        read(command)


OTHERS = {
    "a.8": Record(gid="a.8", user="alice", src="a", dst="b", dir="/home/alice/c8", exclude=("x",)),
    "a.9": Record(gid="a.9", user="alice", src="a", dst="b", dir="/home/alice/c 9"),
}


def test_folders_of_other_jobs_that_the_key_gives_are_read_together_by_their_names() -> None:
    def read_all(command: str) -> list[str]:
        return read_command(command, RECORD, HERE, OTHERS.get)

    words = read_all(SEND + "job/a.8/c8")
    assert words[:4] == ["rsync-folders", '["/home/alice/c8"]', "--server", "--sender"]
    assert words[-1] == "."
    operation, asked = read_all("mg surveys a.8 a.77 a.9")
    assert (operation, list(json.loads(asked))) == ("surveys", ["a.8", "a.9"])
    assert json.loads(asked)["a.8"]["exclude"] == ["x"]
    for refused in (
        SEND + "job/a.77/c8", SEND + "job/a.8/c9", SEND + "job/a.8/..", SEND + "job/a.8/", SEND + "job/a.8",
        SEND + "job/a.8/c8 job/", SEND + "job/a.8/c8 shared/data/x", SEND + "job/a.8/c8 /etc", SEND + "'job/a.9/c 9'",
        TAKE + "job/a.8/c8", DRY + "job/a.8/c8", SEND + "job/a.8/c8/../c8",
    ):  # fmt: skip
        with pytest.raises(NotAllowedError):
            read_all(refused)


def test_the_verbs_are_about_the_job_alone() -> None:
    assert read("mg state") == ["state", "/home/alice/a b"]
    assert read("mg settle") == ["settle", "/home/alice/a b", "a.7"]
    assert read("mg survey")[0] == "survey"
