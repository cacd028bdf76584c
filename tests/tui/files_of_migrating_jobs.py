"""Migration's files as tests put them: cluster a with the clusters b and c, and jobs in most states."""

from __future__ import annotations

from pathlib import Path

from migration.passes.source.notes_on_other_clusters import ClusterNotes, Notes
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from policy.migration.job_record_and_copy_updates import Record
from tests.tui.scripted_server import NOON_S

NOW = int(NOON_S)
CLUSTER_FILE = """
this = "a"
[[cluster]]
name = "b"
ssh = "mg@b"
[[cluster]]
name = "c"
ssh = "mg@c"
[[cluster]]
name = "a"
ssh = "mg@a"
scheduler = "pbs"
landing = "/scratch/mg"
"""


def a_record(gid: str, state: str, **more: object) -> Record:
    own = {
        "user": "alice", "src": "a", "name": "case01", "cores": 64, "prog": "./solver", "args": ("input.dat",),
        "dir": "/home/alice/wing/case01", "created": NOW - 600, "since": NOW - 120,
    }  # fmt: skip
    return Record(**{"gid": gid, "state": state, **own, **more})  # type: ignore[arg-type]


WAITING = a_record("a.3", "Requested", reason="a: short by 60 cores (4 of 64); b: short by 12 cores (52 of 64)")
AT_B = a_record(
    "a.1", "Submitted", dst="b", localid="8123", dstdir="/scratch/mg/alice/a/home/alice/wing/case01",
    uploaded_bytes=3 << 20, shared_bytes=200 << 20,
)  # fmt: skip
ON_THE_WAY = a_record("a.2", "Uploading", dst="b", user="bob", uploaded_bytes=2048)
UNCONFIRMED = a_record("a.4", "Offered", dst="c", offered=NOW - 300)
IN_PLACE = a_record("a.5", "Submitted", dst="a", localid="12.hpc1")
GUEST = a_record("b.7", "Submitted", src="b", dst="a", user="carol", localid="14.hpc1")
ENDED = a_record("a.6", "End", dst="b", exit="3", since=NOW - 7200, downloaded_bytes=5 << 30)
LONG_ENDED = a_record("a.9", "End", dst="b", since=NOW - 200_000)


def put_files(folder: Path, *, notes: bool = True) -> Spool:
    """A spool with these jobs, and what the last pass has learnt of the clusters."""
    folder.mkdir()
    (folder / "cluster.toml").write_text(CLUSTER_FILE)
    spool = Spool(folder)
    with spool.change() as change:
        change.put_all(Queue.REQUEST, [WAITING])
        change.put_all(Queue.SENT, [AT_B, ON_THE_WAY, UNCONFIRMED, IN_PLACE])
        change.put_all(Queue.RECEIVED, [GUEST])
        change.put_all(Queue.DONE, [ENDED, LONG_ENDED])
    if notes:
        answer = {"avail": 216, "cores": 1000}
        known = {
            "b": ClusterNotes(heard=NOW - 12, answered=NOW - 12, answer=answer),
            "c": ClusterNotes(failures=3, text="ssh: connect to host c: No route to host", heard=NOW - 300),
        }
        Notes(number=4, ended=NOW - 12, clusters=known).write(folder)
    return spool
