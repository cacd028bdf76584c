"""What pbsteer migrate check finds wrong between clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Callable

import pytest

from migration.config.cluster_file import Cluster
from migration.passes.check_setup_with_other_clusters import check_pairs
from migration.programs.run_external_program_with_limits import Finished
from migration.spool.queue_file import Queue
from migration.target_job.folder_not_yet_removed import Unremoved, write_unremoved
from policy.migration.job_record_and_copy_updates import Record
from tests.migration.passes.simulated_centre import Centre

ANSWERS: dict[str, Finished] = {}
"""Of operations, by name."""
KEY = "ssh-ed25519 " + "A" * 60


def run(
    argv: Sequence[str],
    *,
    user: str | None = None,
    cwd: str | None = None,
    stdin: bytes = b"",
    timeout_s: float = 60,
    env: Mapping[str, str] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Finished:
    """A host without a scheduler, on which ``bob`` cannot write into the landing folder."""
    if argv[0] in ("folder", "remove"):
        return Finished(0, b"", b"") if user == "alice" else Finished(1, b"", b"Permission denied")
    return ANSWERS.get(argv[0]) or Finished(1, b"", b"cannot connect to server")


@pytest.fixture
def centre(tmp_path: Path) -> Centre:
    centre = Centre(tmp_path)
    others = (Cluster("b", "mg@b", key=KEY), Cluster("c", "mg@c", send=False))
    centre.file = replace(centre.file, others=others)
    return centre


def check(centre: Centre, user: str = "alice") -> dict[tuple[str, str], tuple[bool, str]]:
    return {(one.cluster, one.what): (one.good, one.text) for one in check_pairs(centre.source(), run, user)}


def test_each_cluster_is_tried(centre: Centre) -> None:
    found = check(centre)
    assert found["b", "answers"][0]
    assert found["a", "landing folder"] == (True, "/scratch: alice can write there")
    assert found["a", "queue of guests"][0] is False
    assert found["c", "key"] == (False, "cluster.toml has no key of it: it cannot send jobs here")
    assert found["b", "landing folder"] == (True, "alice can write there")
    assert ("c", "answers") not in found


def test_it_says_whether_processes_of_users_are_in_a_namespace(centre: Centre, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no PID namespace, which this kernel refuses" in check(centre)["a", "processes as users"][1]
    monkeypatch.setitem(ANSWERS, "namespace", Finished(0, b"own\n", b""))
    assert check(centre)["a", "processes as users"] == (
        True, "a PID namespace of their own: nothing of them is left at their end"
    )  # fmt: skip


def test_folders_that_could_not_be_removed_are_named(centre: Centre) -> None:
    source = centre.source()
    with source.spool.change() as change:
        for number in range(1, 13):
            gid = f"b.{number}"
            change.put(Queue.DONE, Record(gid=gid, src="b", dst="a", state="End", account="alice", user="alice"))
            source.spool.job_folder(gid).mkdir(parents=True)
            noted = Unremoved(2, int(source.clock()) + 60, "/x/j: 3 entries cannot be removed, such as 'k': No")
            write_unremoved(source.spool.job_folder(gid), noted)
    lines = [one for one in check_pairs(centre.source(), run, "alice") if "not removed" in one.what]
    assert len(lines) == 11
    assert lines[0] == (
        "a", "folder not removed", False,
        "b.1 of alice, tried 2 times, again in 60 s: /x/j: 3 entries cannot be removed, such as 'k': No",
    )  # fmt: skip
    assert lines[-1].text == "12 jobs that are over have folders that could not be removed"


def test_the_other_clusters_landing_folder_is_tried_there(centre: Centre) -> None:
    centre.targets["b"].landing = "/x/alice: is a folder of bob"
    assert check(centre)["b", "landing folder"] == (False, "/x/alice: is a folder of bob")
    centre.targets["b"].landing = ""
    assert check(centre)["b", "landing folder"] == (False, "b does not say: its pbsteer is older")


def test_what_is_wrong_is_reported(centre: Centre) -> None:
    centre.cut.add("b")
    found = check(centre, "bob")
    assert found["b", "answers"] == (False, "mg@b: timed out")
    assert found["a", "landing folder"] == (False, "/scratch: Permission denied")


def test_a_clock_and_a_version_that_differ(centre: Centre) -> None:
    found = check(centre)
    assert found["b", "clock"][0] is False
    assert found["b", "version"][0] is False


def test_pauses_are_shown_and_are_no_mistakes(centre: Centre) -> None:
    centre.file = replace(centre.file, here=replace(centre.file.here, pause_taking_from=("any",)))
    target = centre.targets["b"]
    target.paused = True
    found = check(centre)
    assert found["a", "pause_taking_from"] == (True, "any")
    assert found["b", "answers"][0]
    assert "takes no jobs of this cluster at the moment" in found["b", "answers"][1]
