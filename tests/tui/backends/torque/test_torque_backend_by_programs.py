"""The backend on programs that print what Torque's printed (``tests/torque/recorded``), or fail as Torque's do (the
messages and exit statuses are Torque 6.1.3's). ``tests/torque/server`` has the same on a real server."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from policy import Settings
from policy.settings.settings_of_server_and_passes import TorqueSettings
from tests.torque.record_status import RECORDED
from tests.torque.recorded_status import recorded_text, status_by_programs
from torque.passes.settings_as_server_attributes import with_settings
from torque.read.parse_program_output import parse_objects
from tui.backends.find_torque import TorquePlace
from tui.backends.interface.backend_protocol import BackendError, Reply
from tui.backends.torque.server import TorqueBackend


class Programs:
    """A prefix whose programs are scripts; ``qstat`` and ``pbsnodes -x`` print what was recorded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        self.write(
            "qstat",
            f"""case "$*" in
            "-B -f") cat {RECORDED}/server.txt;;
            "-Q -f") cat {RECORDED}/queues.txt;;
            "-Q -f batch") cat {RECORDED}/queues.txt;;
            "-x -t") cat {RECORDED}/jobs.xml;;
            "-x "*) for last; do :; done; cat "{folder}/job.xml.$last" 2>/dev/null && exit
                echo "qstat: Unknown Job Id Error $last" >&2; exit 153;;
            *) echo "qstat: Unknown queue MSG=cannot locate queue" >&2; exit 172;;
            esac""",
        )
        self.write("pbsnodes", f"cat {RECORDED}/nodes.xml")

    def write(self, name: str, script: str) -> None:
        program = self.folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def job(self, job_id: str, **changes: str) -> None:
        """Let ``qstat -x`` show this recorded job, changed so."""
        texts = {**parse_objects(recorded_text("jobs.xml"), "Job")[job_id], **changes}
        plain = {name: text for name, text in texts.items() if "." not in name and name != "Variable_List"}
        body = "".join(f"<{name}>{text}</{name}>" for name, text in plain.items())
        (self.folder / f"job.xml.{job_id}").write_text(f"<Data><Job><Job_Id>{job_id}</Job_Id>{body}</Job></Data>")

    def backend(self) -> TorqueBackend:
        settings = replace(Settings(), torque=TorqueSettings(timeout_s=2))
        return TorqueBackend(TorquePlace(self.folder, None, self.folder, "tq"), settings)


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return Programs(tmp_path)


def test_the_status_is_that_of_the_programs(programs: Programs) -> None:
    backend = programs.backend()
    assert backend.way == "qstat"
    found = backend.poll()
    told = status_by_programs()
    stopped = told.server.get("scheduling") == "False"
    assert replace(found, time_s=0.0) == with_settings(told, Settings(), is_stopped=stopped)
    assert backend.names()[0] == "tq"


def test_no_jobs_are_not_believed_from_a_server_that_counts_some(programs: Programs) -> None:
    programs.write("qstat", f"case $1 in -B) cat {RECORDED}/server.txt;; -Q) cat {RECORDED}/queues.txt;; esac")
    with pytest.raises(BackendError, match="listed 0 jobs and counts 26"):
        programs.backend().poll()


def test_a_program_that_fails_is_an_error_whatever_it_printed_before(programs: Programs) -> None:
    programs.write("pbsnodes", f"cat {RECORDED}/nodes.xml; echo 'pbsnodes: Time out' >&2; exit 1")
    with pytest.raises(BackendError, match="Time out"):
        programs.backend().poll()


def test_one_object_is_read_or_not_there(programs: Programs) -> None:
    backend = programs.backend()
    programs.job("0.tq")
    programs.job("15.tq")
    job = backend.read("job", "0.tq")
    assert job is not None
    assert job["exec_vnode"] == "(tq-m1:ncpus=2)+(tq-m2:ncpus=2)"
    assert backend.read("job", "15.tq") is None
    ended = backend.read("ended job", "15.tq")
    assert ended is not None
    assert ended["job_state"] == "F"
    queue = backend.read("queue", "batch")
    assert queue is not None
    assert queue["started"] == "True"
    for kind, name in (("job", "99.tq"), ("queue", "nosuch"), ("vnode", "nosuch"), ("job", "-x")):
        assert backend.read(kind, name) is None


@pytest.mark.parametrize("state", ["C", "Q", "H", "E"])
def test_a_job_that_does_not_run_is_not_requeued(programs: Programs, state: str) -> None:
    programs.write("qrerun", f"touch {shlex.quote(str(programs.folder))}/ran")
    programs.job("0.tq", job_state=state)
    reply = programs.backend().run(("qrerun", "0.tq"))
    assert not reply.ok
    assert "does not run, and Torque runs a job again" in reply.text
    assert not (programs.folder / "ran").exists()


def test_a_run_is_requeued_and_its_end_waited_for(programs: Programs) -> None:
    programs.job("0.tq", job_state="Q")
    (programs.folder / "job.xml.0.tq").rename(programs.folder / "after")
    programs.job("0.tq")
    programs.write("qrerun", f"mv {programs.folder}/after {programs.folder}/job.xml.0.tq")
    backend = programs.backend()
    assert backend.run(("qrerun", "0.tq")).ok
    job = backend.read("job", "0.tq")
    assert job is not None
    assert job["job_state"] == "Q"


def test_a_refusal_of_pbsnodes_is_one_although_it_ends_well(programs: Programs) -> None:
    said = "Error setting note attribute for a - Unauthorized Request  MSG=error in permissions (PERM_OPorMGR)"
    programs.write("pbsnodes", f"echo '{said}' >&2")
    reply = programs.backend().run(("pbsnodes", "-o", "a"))
    assert reply == Reply(ok=False, text=" ".join(said.split()))


def test_a_request_that_was_not_answered_is_not_known_to_have_failed(programs: Programs) -> None:
    programs.write("qdel", "echo 'qdel: Time out 0.tq' >&2; exit 237")
    with pytest.raises(BackendError, match="qdel: the server did not answer within 2 s"):
        programs.backend().run(("qdel", "0.tq"))
    # The value is read back and tells whether it was set.
    programs.write("qalter", "exit 237")
    assert not programs.backend().run(("qalter", "-l", "walltime=01:00:00", "0.tq")).ok


def test_a_program_that_hangs_ends_soon_after_the_setting(programs: Programs) -> None:
    programs.write("qsig", "exec sleep 60")
    with pytest.raises(BackendError, match="qsig did not answer within 4 s"):
        programs.backend().run(("qsig", "-s", "suspend", "0.tq"))


def test_programs_get_torques_own_time_limit_and_server(programs: Programs) -> None:
    programs.write("qhold", 'echo "{\\"timeout\\": \\"$PBSAPITIMEOUT\\", \\"server\\": \\"$PBS_DEFAULT\\"}"')
    assert json.loads(programs.backend().run(("qhold", "0.tq")).text) == {"timeout": "2", "server": "tq"}


def test_only_programs_that_change_something_are_run(programs: Programs) -> None:
    with pytest.raises(BackendError, match="'qterm' is none of the programs"):
        programs.backend().run(("qterm", "-t", "immediate"))
