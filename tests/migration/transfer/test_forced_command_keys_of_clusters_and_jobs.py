"""Each SSH key of a cluster or a job forces its one program, and other keys get none."""

from dataclasses import replace

from migration.config.read_cluster_file import parse_cluster_file
from migration.transfer.forced_command_keys_of_clusters_and_jobs import write_lines
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.job_states_and_transitions import ABORTED, DOWNLOADING, END, OFFERED, STOPPED, WAITING

OF_B, OF_JOB = "ssh-ed25519 " + "B" * 68, "ssh-ed25519 " + "J" * 68
FILE = parse_cluster_file(
    {
        "this": "a",
        "cluster": [
            {"name": "a", "scheduler": "pbs", "landing": "/l"},
            {"name": "b", "ssh": "mg@b", "key": OF_B},
        ],
    },
    "test",
)
JOB = Record(gid="a.7", src="a", dst="b", attempt=2, state=WAITING, datakey=OF_JOB)


def lines(offered: str, *records: Record) -> str:
    return "".join(write_lines(FILE, records, "/p/{}".format, offered))


def test_each_key_forces_its_program() -> None:
    assert lines(OF_B, JOB) == f'restrict,command="/p/mgserve b" {OF_B}\n'
    assert lines(OF_JOB, JOB) == f'restrict,command="/p/mgdata a.7 2" {OF_JOB}\n'


def test_an_unknown_key_an_empty_one_and_that_of_a_job_that_is_over_give_nothing() -> None:
    assert lines("ssh-ed25519 " + "X" * 68, JOB) == ""
    assert lines("", replace(JOB, datakey="")) == ""
    for state, given in ((OFFERED, False), (END, False), (STOPPED, False), (DOWNLOADING, True), (ABORTED, False)):
        assert bool(lines(OF_JOB, replace(JOB, state=state))) is given, state
    assert lines(OF_JOB, replace(JOB, dst="a")) == ""
