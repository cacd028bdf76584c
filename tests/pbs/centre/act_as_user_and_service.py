"""Alice at one cluster of a centre, whose jobs may go to another: what she and the service do there, in the words of
PBS or of Slurm as the cluster has it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Callable, NamedTuple

from container.centre import centre as centres
from container.centre.centre import Centre
from container.centre.centre_spec import Programs
from container.run_program import Finished
from container.testbed import run_on
from migration.spool.record_as_key_value_line import from_line
from policy.migration.job_record_and_copy_updates import Record
from tests.pbs.idle_machine_deadline import Deadline

HOME = "/var/spool/pbsteer-mg"
WITHIN_S = 240
"""Most waits end in seconds; this is for a machine on which other testbeds run."""
QUEUE_FILES = f"cat {HOME}/received.q {HOME}/done.q 2>/dev/null || true"
"""Prints a target's records."""
_ENDED = ("End", "Aborted", "Stopped")


def read_record(lines: str, gid: str) -> Record:
    """A job's record among those of the queue files."""
    return next(record for record in map(from_line, lines.splitlines()) if record.gid == gid)


def wait_for_record(
    receive: Callable[[], object],
    read: Callable[[str], Record],
    gid: str,
    states: Collection[str],
    facts: Mapping[str, object],
) -> Record:
    """Passes at the target until its record of the job is in one of these states, with these facts."""
    deadline = Deadline(WITHIN_S)
    while True:
        receive()
        until = time.monotonic() + 3
        while time.monotonic() < until:
            record = read(gid)
            if record.state in states and all(getattr(record, name) == value for name, value in facts.items()):
                return record
            time.sleep(0.2)
        assert not deadline.has_passed(), record


class SiteUser(NamedTuple):
    """Alice at cluster ``source``, whose jobs go to ``target``."""

    centre: Centre
    programs: Programs
    source: str = "a"
    target: str = "b"

    def run(self, *argv: str, letter: str = "", user: str = "alice") -> Finished:
        """Run a command on a cluster's server, by default the source's."""
        as_user = None if user == "root" else user
        return run_on(self.centre.clusters[letter or self.source], "server", argv, user=as_user, timeout_s=180)

    def do(self, *argv: str, letter: str = "", user: str = "alice") -> str:
        """Run a command that must succeed."""
        return self.run(*argv, letter=letter, user=user).demand_success().stdout

    def sh(self, script: str, *words: str, letter: str = "", user: str = "alice") -> str:
        """Run a script that must succeed."""
        return self.do("sh", "-c", script, "sh", *words, letter=letter, user=user)

    def there(self, script: str, *words: str, user: str = "mg") -> str:
        """Run a script at the target."""
        return self.sh(script, *words, letter=self.target, user=user)

    def has_pbs(self, letter: str) -> bool:
        """Whether a cluster has PBS."""
        return self.centre.clusters[letter].spec.scheduler == "pbs"

    def cores(self, letter: str) -> int:
        """All cores of a cluster."""
        spec = self.centre.clusters[letter].spec
        return spec.cores * len(spec.mom_hosts)

    def folder(self, name: str, script: str) -> str:
        """A folder of alice's at the source, with the program ``run.sh``."""
        path = str(self.centre.clusters[self.source].home("alice") / name)
        write = 'mkdir -p "$1"; printf "#!/bin/sh\\n%s\\n" "$2" > "$1/run.sh"; chmod 755 "$1/run.sh"'
        self.sh(write, path, script)
        return path

    def submit(self, folder: str, *words: str, cores: int = 1) -> str:
        """A job with ``run.sh``; its ticket."""
        mgsub = self.programs.path("mgsub")
        return self.do(mgsub, "-n", str(cores), "-w", "10:00", *words, folder, "./run.sh").strip()

    def send(self) -> str:
        """A pass at the source."""
        return centres.run_pass(self.centre, self.source, self.programs, "mgsched", timeout_s=300)

    def receive(self) -> None:
        """A pass at the target."""
        centres.run_pass(self.centre, self.target, self.programs, "mgrecv", timeout_s=300)

    def jobs(self, *wanted: str) -> list[dict[str, Any]]:
        """What mgstat says."""
        shown = self.run(self.programs.path("mgstat"), "--json", *wanted).stdout
        jobs: list[dict[str, Any]] = json.loads(shown)["jobs"]
        return jobs

    def job(self, wanted: str) -> dict[str, Any]:
        """What mgstat says of one job."""
        (job,) = self.jobs(wanted)
        return job

    def wait_for(self, wanted: str, *states: str, **facts: Any) -> dict[str, Any]:
        """Passes at both ends until the job is in one of these states, by default a final one, with these facts."""
        deadline = Deadline(WITHIN_S)
        while True:
            self.send()
            job = self.job(wanted)
            if job["state"] in (states or _ENDED) and all(job[name] == value for name, value in facts.items()):
                return job
            assert not deadline.has_passed(), (job, self.there(QUEUE_FILES))
            assert job["state"] not in _ENDED, job
            self.receive()
            time.sleep(0.5)

    def wait_there(self, gid: str, *states: str, **facts: Any) -> Record:
        """Passes at the target alone until its record of the job is in one of these states, with these facts."""
        return wait_for_record(self.receive, self.record, gid, states, facts)

    def wait_until_empty(self, letter: str, *queues: str) -> None:
        """Wait, without another pass, until these queue files of a cluster have no job, nor their copies for users. A
        job that moves is written into its new file first, and shown there while the old one still has it."""
        names = " ".join(f"{name} shown/{name}" for name in queues)
        self.wait_until_silent(letter, f"cd {HOME}; cat {names} 2>/dev/null || true")

    def wait_until_silent(self, letter: str, script: str, user: str = "mg") -> None:
        """Wait, without another pass, until a script, by default of the service, prints nothing."""
        deadline = Deadline(WITHIN_S)
        while left := self.sh(script, letter=letter, user=user):
            assert not deadline.has_passed(), left
            time.sleep(0.2)

    def record(self, gid: str) -> Record:
        """The target's record of a job."""
        return read_record(self.there(QUEUE_FILES), gid)

    def sent(self, ticket: str) -> str:
        """Passes until the request goes out; the job's id. The first does not reach it while a target's scheduler
        still clears up after the jobs of an earlier test."""
        deadline = Deadline(WITHIN_S)
        self.send()
        while (job := self.job(ticket))["state"] != "Waiting":
            assert job["state"] == "Requested" and not deadline.has_passed(), job
            time.sleep(1)
            self.send()
        return str(job["gid"])

    def try_now(self, gid: str) -> None:
        """Let the pause before the target's next try be over."""
        self.there('rm -f "$1"/due.*', f"{HOME}/jobs/{gid}")

    def read(self, path: str) -> str:
        """A file at the source."""
        return self.sh('cat -- "$1"', path)

    def local_jobs(self, letter: str) -> dict[str, str]:
        """Name -> R, Q or H of the jobs that a cluster's scheduler has, R being anything that has started."""
        if not self.has_pbs(letter):
            rows = (line.split() for line in self.do("squeue", "-h", "-o", "%j %t", letter=letter).splitlines())
            return {name: "Q" if state == "PD" else "R" for name, state in rows}
        shown = json.loads(self.do("qstat", "-f", "-F", "json", letter=letter), strict=False)
        letters = {"Q": "Q", "H": "H", "W": "Q"}
        return {job["Job_Name"]: letters.get(job["job_state"], "R") for job in shown.get("Jobs", {}).values()}

    def start_local(self, letter: str, cores: int, seconds: int = 900, user: str = "carol") -> str:
        """A job of the cluster's own users that runs; its id."""
        if self.has_pbs(letter):
            select = ["-l", f"select={cores}:ncpus=1", "-l", "place=free", "-l", "walltime=1:00:00"]
            argv = ["qsub", "-q", "workq", *select, "--", "/bin/sleep", str(seconds)]
        else:
            argv = ["sbatch", "--parsable", "-n", str(cores), "-o", "/dev/null", "--wrap", f"sleep {seconds}"]
        job = self.do(*argv, letter=letter, user=user).strip()
        deadline = Deadline(WITHIN_S)
        while not self._runs(letter, job):
            assert not deadline.has_passed(), f"job {job} at {letter} does not start"
            time.sleep(0.3)
        return job

    def _runs(self, letter: str, job: str) -> bool:
        if self.has_pbs(letter):
            return "job_state = R" in self.do("qstat", "-f", job, letter=letter)
        return self.do("squeue", "-h", "-o", "%t", "-j", job, letter=letter).strip() == "R"

    def delete_local(self, letter: str, job: str) -> None:
        """Delete a local job of any user's."""
        argv = ["qdel", "-W", "force", job] if self.has_pbs(letter) else ["scancel", job]
        self.run(*argv, letter=letter, user="root")

    @contextmanager
    def full(self, letter: str = "") -> Iterator[None]:
        """A cluster, by default the source, without an idle core."""
        where = letter or self.source
        job = self.start_local(where, self.cores(where))
        try:
            yield
        finally:
            self.delete_local(where, job)

    def sent_bytes(self) -> int:
        """What the source has sent to the target over their link, ever."""
        shown = json.loads(self.do("ip", "-j", "-s", "link", "show", "dev", f"to-{self.target}", user="root"))
        return int(shown[0]["stats64"]["tx"]["bytes"])

    @contextmanager
    def cut(self) -> Iterator[None]:
        """The link between source and target is cut."""
        centres.cut_link(self.centre, self.source, self.target)
        try:
            yield
        finally:
            centres.restore_link(self.centre, self.source, self.target)

    @contextmanager
    def slow(self, kbit: int) -> Iterator[None]:
        """The link between source and target is slow."""
        centres.limit_link(self.centre, self.source, self.target, kbit)
        try:
            yield
        finally:
            centres.limit_link(self.centre, self.source, self.target, 0)

    @contextmanager
    def cluster_file(self, letter: str, edit: str) -> Iterator[None]:
        """A cluster file changed by a command of sed, for a while."""
        path = f"{HOME}/cluster.toml"
        self.sh('cp "$1" "$1.kept"; sed -i "$2" "$1"', path, edit, letter=letter, user="mg")
        try:
            yield
        finally:
            self.sh('mv "$1.kept" "$1"', path, letter=letter, user="mg")

    def clear(self) -> None:
        """Leave no job, record or process of migration at any cluster, whatever a test has left."""
        for letter in self.centre.clusters:
            with suppress(AssertionError):
                self.run("pkill", "-KILL", "-u", "mg", letter=letter, user="root")
                self._delete_all(letter)
            files = "request.q sent.q received.q done.q shown source.json hung.json jobs slots mgsched.lock"
            self.sh(f"cd {HOME} && rm -rf {files} && rm -f incoming/* *.call", letter=letter, user="root")

    def _delete_all(self, letter: str) -> None:
        deadline = Deadline(WITHIN_S)
        if not self.has_pbs(letter):
            self.run("scancel", "--state", "PENDING,RUNNING,SUSPENDED", letter=letter, user="root")
            return
        while ids := self.do("qselect", letter=letter, user="root").split():
            self.run("qdel", "-W", "force", *ids, letter=letter, user="root")
            assert not deadline.has_passed(), ids
