"""Jobs go from cluster a to cluster b of a real centre and come back; the source's part is done by hand."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from container.centre import centre as centres
from container.centre.centre import Centre
from container.centre.centre_spec import Programs
from container.testbed import run_on
from policy.migration.job_record_and_copy_updates import Record
from tests.pbs.centre.act_as_user_and_service import HOME, QUEUE_FILES, read_record, wait_for_record
from tests.pbs.idle_machine_deadline import Deadline

BY_HAND = str(Path(__file__).with_name("offer_job_without_source_pass.py"))


class Target(NamedTuple):
    """The centre with a as the source and b as the target."""

    centre: Centre
    programs: Programs

    def on(self, letter: str, user: str, script: str, *words: str) -> str:
        argv = ["sh", "-c", script, "sh", *words]
        as_user = None if user == "root" else user
        return run_on(self.centre.clusters[letter], "server", argv, user=as_user).demand_success().stdout

    def by_hand(self, *words: str) -> str:
        argv = [self.programs.path("python"), BY_HAND, *words]
        return run_on(self.centre.clusters["a"], "server", argv, user="mg").demand_success().stdout

    def folder(self, name: str, run: str, **files: str) -> str:
        """A job's folder of alice's at the source, with the program ``run.sh``."""
        path = str(self.centre.clusters["a"].home("alice") / name)
        for file, text in {"run.sh": f"#!/bin/sh\n{run}\n", **files}.items():
            self.on(
                "a",
                "alice",
                'mkdir -p "$(dirname "$1")"; printf %s "$2" > "$1"; chmod 755 "$1"',
                f"{path}/{file}",
                text,
            )
        return path

    def offer(self, folder: str, **fields: Any) -> str:
        record = {"user": "alice", "dir": folder, "prog": "run.sh", "cores": 1, "walltime": 600, **fields}
        said = self.by_hand("offer", "b", json.dumps(record))
        assert "Taken(" in said, said
        return said.split()[0]

    def receive(self) -> None:
        centres.run_pass(self.centre, "b", self.programs, "mgrecv")

    def wait_for(self, gid: str, *states: str, **facts: Any) -> Record:
        """Passes until the job is in a state, with these facts."""
        return wait_for_record(self.receive, self.record, gid, states, facts)

    def record(self, gid: str) -> Record:
        return read_record(self.on("b", "mg", QUEUE_FILES), gid)

    def end(self, gid: str) -> Record:
        record = self.wait_for(gid, "End", "Aborted", "Stopped")
        self.by_hand("ask", "b", "query", json.dumps({"gids": [gid]}))
        return record

    def read(self, path: str) -> str:
        return self.on("a", "alice", 'cat -- "$1"', path)


@pytest.fixture
def target(slurm_centre: Centre, programs: Programs) -> Target:
    return Target(slurm_centre, programs)


def test_a_job_goes_out_is_built_runs_with_its_shared_input_and_comes_back_with_its_status(target: Target) -> None:
    folder = target.folder(
        "a b/job 'ü'", 'cat input mesh; ./tool "$@"; mkdir d; echo result > d/r; ln -s r d/l; exit 3', input="in\n"
    )
    target.on("a", "alice", 'mkdir grid; echo mesh > grid/m; ln -s ../../grid/m "$1/mesh"', folder)
    build = 'printf "#!/bin/sh\\necho built; echo \\"\\$1 \\$A\\"\\n" > tool; chmod 755 tool; echo building'
    gid = target.offer(folder, build=[build], args=["x ' $y"], env=["A=1 2"])
    record = target.end(gid)
    assert (record.state, record.exit, record.reason) == ("End", "3", "")
    assert target.read(f"{folder}/mg.{gid}.out") == "in\nmesh\nbuilt\nx ' $y 1 2\n"
    assert target.read(f"{folder}/d/l") == "result\n"
    assert target.read(f"{folder}/mg-build.log") == "building\n"
    left = target.on("a", "alice", 'cd "$1"; ls -A; readlink mesh', folder).split("\n")
    names = ["d", "input", "mesh", "mg-build.log", f"mg.{gid}.err", f"mg.{gid}.out", "run.sh", "tool"]
    assert left == [*names, "../../grid/m", ""]
    assert min(record.uploaded_bytes, record.shared_bytes, record.downloaded_bytes) > 0


def test_shared_input_crosses_once_and_a_changed_file_stands_beside(target: Target) -> None:
    target.on("a", "alice", "mkdir big; head -c 3000000 /dev/urandom > big/m")
    gids = []
    for number in (1, 2):
        folder = target.folder(f"share{number}", "cat mesh | wc -c")
        target.on("a", "alice", 'ln -s ../big/m "$1/mesh"', folder)
        gids.append(target.offer(folder))
    first, second = map(target.end, gids)
    assert sorted([first.shared_bytes > 3_000_000, second.shared_bytes > 3_000_000]) == [False, True]
    target.on("a", "alice", "echo new > big/m")
    folder = target.folder("share3", "cat mesh")
    target.on("a", "alice", 'ln -s ../big/m "$1/mesh"', folder)
    gid = target.offer(folder)
    assert target.end(gid).state == "End"
    assert target.read(f"{folder}/mg.{gid}.out") == "new\n"


def test_what_the_user_changed_meanwhile_is_kept(target: Target) -> None:
    folder = target.folder(
        "edited", "while [ ! -e go ]; do sleep 0.2; done; echo from the job > input", input="uploaded\n"
    )
    gid = target.offer(folder)
    there = target.wait_for(gid, "Submitted", ran=1).dstdir
    target.on("a", "alice", 'echo by the user > "$1/input"', folder)
    target.on("b", "alice", 'touch "$1/go"', there)
    record = target.end(gid)
    assert record.reason == f"changed at the source and kept: input (ours: input.mg-{gid})"
    assert target.read(f"{folder}/input") == "by the user\n"
    assert target.read(f"{folder}/input.mg-{gid}") == "from the job\n"


def test_a_build_that_fails_brings_its_log_back(target: Target) -> None:
    folder = target.folder("bad-build", "true")
    gid = target.offer(folder, build=["echo first", "echo no compiler; exit 2", "echo never"])
    record = target.end(gid)
    assert (record.state, record.reason) == ("Aborted", "build failed with 2")
    assert target.read(f"{folder}/mg-build.log") == "first\nno compiler\n"


def test_a_build_as_a_local_job_runs_where_compilers_are(target: Target) -> None:
    folder = target.folder("build-job", "./tool")
    build = ["echo $SLURM_JOB_NAME; printf '#!/bin/sh\necho made\n' > tool", "chmod 755 tool"]
    edit = f"sed -i '$2' {HOME}/cluster.toml"
    target.on("b", "mg", edit.replace("$2", 's/^\\[here\\]/&\\nbuild_on = "job"/'))
    try:
        gid = target.offer(folder, build=build)
        record = target.end(gid)
    finally:
        target.on("b", "mg", edit.replace("$2", "/^build_on/d"))
    assert (record.state, record.exit) == ("End", "0")
    assert target.read(f"{folder}/mg-build.log") == f"mg_{gid}_1_build\n"
    assert target.read(f"{folder}/mg.{gid}.out") == "made\n"


def test_a_link_that_leads_elsewhere_is_refused_with_its_path(target: Target) -> None:
    folder = target.folder("leads-out", "true")
    target.on("a", "alice", 'ln -s /etc/passwd "$1/p"', folder)
    record = target.end(target.offer(folder))
    assert (record.state, record.localid) == ("Aborted", "")
    assert record.reason == "p: leads to /etc/passwd, outside the job's folder"


@pytest.mark.parametrize(("discard", "state_of_out"), [(False, "partial\n"), (True, None)])
def test_a_stopped_job_leaves_no_local_job(target: Target, discard: bool, state_of_out: str | None) -> None:
    folder = target.folder(f"stopped-{discard}", "echo partial; exec sleep 500")
    gid = target.offer(folder)
    target.wait_for(gid, "Submitted", ran=1)
    time.sleep(1)
    target.by_hand("ask", "b", "stop", json.dumps({"gid": gid, "attempt": 1, "discard": discard}))
    record = target.end(gid)
    assert record.state == "Stopped"
    assert target.on("b", "mg", "squeue -h -n $1 -t PD,R,CG", record.local_name) == ""
    out = target.on("a", "alice", 'cat "$1" 2>/dev/null || true', f"{folder}/mg.{gid}.out")
    assert out == (state_of_out or "")


def test_a_processing_killed_during_the_upload_and_the_build_goes_on(target: Target) -> None:
    folder = target.folder("killed", "./tool")
    target.on("a", "alice", 'head -c 2000000 /dev/urandom > "$1/data"', folder)
    build = "echo x >> begun; sleep 4; printf '#!/bin/sh\\nwc -l < begun\\n' > tool; chmod 755 tool"
    centres.limit_link(target.centre, "a", "b", 4000)
    try:
        gid = target.offer(folder, build=[build])
        target.wait_for(gid, "Uploading")
        time.sleep(1.5)
        kill(target, gid)
    finally:
        centres.limit_link(target.centre, "a", "b", 0)
    target.wait_for(gid, "Making")
    there = target.record(gid).dstdir
    target.on("b", "alice", 'until [ -e "$1/begun" ]; do sleep 0.2; done', there)
    kill(target, gid)
    record = target.end(gid)
    assert (record.state, record.exit) == ("End", "0")
    assert target.read(f"{folder}/mg.{gid}.out") == "2\n"


def kill(target: Target, gid: str) -> None:
    """kill -9 of the job's process; what it has started as the user ends with it."""
    target.on("b", "mg", 'kill -9 "$(sed "s/pid=//;s/\\t.*//" "$1")"', f"{HOME}/jobs/{gid}/lease")
    deadline = Deadline(20)
    while target.on("b", "mg", "pgrep -u alice -f 'rsync|begun' || true"):
        assert not deadline.has_passed()
        time.sleep(0.2)


TIMES = r"\b(?:created|since|offered)=\d+"


def test_an_offer_repeated_has_the_same_answer_and_one_withdrawn_is_refused(target: Target) -> None:
    folder = target.folder("twice", "true")
    record = {"user": "alice", "dir": folder, "prog": "run.sh", "cores": 1, "walltime": 600, "gid": "a.900"}
    first, again = (target.by_hand("offer", "b", json.dumps(record)) for _ in range(2))
    # Replies have ages in whole seconds, so a time read from two of them differs by a second at times.
    assert re.sub(TIMES, "", again) == re.sub(TIMES, "", first)
    assert len(re.findall(TIMES, first)) == 3
    target.end("a.900")
    about = json.dumps({"gid": "a.901", "attempt": 1})
    assert "Unknown(" in target.by_hand("ask", "b", "withdraw", about)
    assert "Refused(code='attempt'" in target.by_hand("offer", "b", json.dumps({**record, "gid": "a.901"}))
    assert "no account" in target.by_hand("offer", "b", json.dumps({**record, "gid": "a.902", "user": "nobody-here"}))
    assert "not a job of cluster a" in target.by_hand("ask", "b", "stop", json.dumps({"gid": "b.1", "attempt": 1}))


def try_now(target: Target, gid: str) -> None:
    """Let the pause before the next try be over."""
    target.on("b", "mg", 'rm -f "$1"/due.*', f"{HOME}/jobs/{gid}")


def test_an_upload_that_breaks_is_resumed(target: Target) -> None:
    folder = target.folder("broken", "cksum < data")
    target.on("a", "alice", 'head -c 3000000 /dev/urandom > "$1/data"', folder)
    centres.limit_link(target.centre, "a", "b", 4000)
    try:
        gid = target.offer(folder)
        target.wait_for(gid, "Uploading")
        target.on("a", "alice", "until pgrep -x -u alice rsync; do sleep 0.2; done; sleep 2; pkill -x -u alice rsync")
        record = target.wait_for(gid, "Uploading", tries=1)
        assert "tried again: rsync" in record.reason
    finally:
        centres.limit_link(target.centre, "a", "b", 0)
    try_now(target, gid)
    record = target.end(gid)
    assert (record.state, record.reason, record.tries) == ("End", "", 0)
    assert target.read(f"{folder}/mg.{gid}.out") == target.on("a", "alice", 'cksum < "$1/data"', folder)


def test_results_wait_until_their_folder_is_there_again(target: Target) -> None:
    folder = target.folder("away", "while [ ! -e go ]; do sleep 0.2; done; echo r > r; exit 4")
    gid = target.offer(folder)
    there = target.wait_for(gid, "Submitted", ran=1).dstdir
    target.on("a", "alice", 'mv "$1" "$1.away"', folder)
    target.on("b", "alice", 'touch "$1/go"', there)
    record = target.wait_for(gid, "Downloading", tries=1)
    assert record.reason.startswith("tried again: mg state: ")
    target.on("a", "alice", 'mv "$1.away" "$1"', folder)
    try_now(target, gid)
    record = target.end(gid)
    assert (record.state, record.exit, record.reason) == ("End", "4", "")
    assert target.read(f"{folder}/r") == "r\n"


def test_a_guest_that_is_preempted_waits_and_runs_again(target: Target) -> None:
    cores = target.centre.spec.cores
    folder = target.folder("guest", "echo x >> runs; while [ ! -e go ]; do sleep 0.2; done; cat runs | wc -l")
    gid = target.offer(folder, cores=cores)
    there = target.wait_for(gid, "Submitted", ran=1).dstdir
    submit = 'sbatch --parsable -p workq -n "$1" --output /dev/null --wrap "sleep 3600"'
    carols = target.on("b", "carol", submit, str(cores)).strip()
    record = target.wait_for(gid, "Submitted", requeues=1, reason="requeued, 1 times")
    target.on("b", "carol", 'scancel "$1"', carols)
    target.on("b", "alice", 'touch "$1/go"', there)
    # Slurm lets a requeued job wait for two minutes.
    target.on("b", "root", 'scontrol update jobid="$1" StartTime=now', record.localid)
    record = target.end(gid)
    assert (record.state, record.exit, record.reason) == ("End", "0", "")
    assert target.read(f"{folder}/mg.{gid}.out").split()[-1] == "2"


def test_two_jobs_of_one_folder_have_their_own_and_keep_each_others_results(target: Target) -> None:
    # Results of one size and one time, as those of jobs that end within a tick of the clock may be.
    folder = target.folder("same", 'echo "$1" > result; touch -d @1700000000 result')
    gids = [target.offer(folder, args=[name]) for name in ("one", "two")]
    records = [target.end(gid) for gid in gids]
    assert records[0].dstdir != records[1].dstdir
    assert [record.state for record in records] == ["End", "End"]
    first, second = sorted(records, key=lambda record: bool(record.reason))
    assert second.reason == f"changed at the source and kept: result (ours: result.mg-{second.gid})"
    texts = {target.read(f"{folder}/result"), target.read(f"{folder}/result.mg-{second.gid}")}
    assert texts == {"one\n", "two\n"}
    assert first.reason == ""


def test_a_job_whose_folder_was_here_before_does_not_find_what_its_user_has_removed(target: Target) -> None:
    folder = target.folder("afresh", 'cat restart || echo none; echo "$1" > restart')
    first = target.end(target.offer(folder, args=["one"]))
    assert target.read(f"{folder}/restart") == "one\n"
    target.on("a", "alice", 'rm "$1/restart"', folder)
    second = target.end(target.offer(folder, args=["two"]))
    assert target.read(f"{folder}/mg.{second.gid}.out") == "none\n"
    assert target.read(f"{folder}/restart") == "two\n"
    assert second.dstdir == f"{first.dstdir}.{second.gid}"
