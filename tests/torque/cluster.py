"""A running Torque testbed as tests speak to it: submit, look, change, wait, and put everything back as it was.

Its scheduler is switched off, so that a job starts where and when a test says. Commands are argument lists and scripts
go in by standard input, so any job name that a test invents arrives as it is.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Callable

from container import testbed as testbeds
from container.run_program import Finished
from container.testbed import Testbed
from tests.pbs.idle_machine_deadline import Deadline
from torque.read.parse_program_output import parse_objects, parse_texts

SLEEP = "sleep 600\n"


class TorqueCluster:
    """One testbed under test. Jobs are named by the ids that qsub prints, hosts ``server``, ``m1``, ``m2``."""

    def __init__(self, testbed: Testbed) -> None:
        self.testbed = testbed
        self.spec = testbed.spec
        self.server_home = self.home_of("server")
        self.qmgr("set server scheduling = False")

    @property
    def mom_names(self) -> list[str]:
        return [mom.name for mom in self.spec.mom_hosts]

    def home_of(self, host: str) -> Path:
        """A host's home of Torque, as the machine sees it."""
        return self.testbed.folder / self.spec.find_host(host).name / "spool" / "torque"

    def run(
        self, argv: Sequence[str], *, host: str = "server", user: str | None = None, stdin: str = "",
        timeout_s: float = 120.0,
    ) -> Finished:  # fmt: skip
        """Run a command on a host to its end, whatever its exit status."""
        return testbeds.run_on(self.testbed, host, argv, user=user, stdin=stdin, timeout_s=timeout_s)

    def qsub(self, user: str, request: str = "nodes=1", *options: str, script: str = SLEEP) -> str:
        """Submit a job that asks for ``request`` and return its id."""
        asked = ["-l", f"{request},walltime=00:10:00"] if request else []
        return self.run(["qsub", *asked, *options], user=user, stdin=script).demand_success().stdout.strip()

    def qrun(self, job_id: str, where: str = "") -> None:
        """Start a job, on a node list (``tq-m1:ppn=2``) if one is given."""
        self.run(["qrun", *(("-H", where) if where else ()), job_id]).demand_success()

    def start(self, user: str, request: str = "nodes=1", *options: str, script: str = SLEEP, where: str = "") -> str:
        """Submit a job, start it, and return its id once it runs."""
        job_id = self.qsub(user, request, *options, script=script)
        self.qrun(job_id, where)
        self.wait_for_state(job_id, "R")
        return job_id

    def qmgr(self, *commands: str) -> None:
        """Run qmgr commands as root on the server's host."""
        for command in commands:
            self.run(["qmgr", "-c", command]).demand_success()

    def jobs(self) -> dict[str, dict[str, str]]:
        """All jobs and subjobs in Torque's own words, by id."""
        return parse_objects(self.run(["qstat", "-x", "-t"]).stdout, "Job")

    def state_of(self, job_id: str) -> str:
        """The state's letter; empty if there is no such job."""
        return parse_objects(self.run(["qstat", "-x", "-t", job_id]).stdout, "Job").get(job_id, {}).get("job_state", "")

    def wait_for_state(self, job_id: str, states: str, timeout_s: float = 60.0) -> None:
        """Wait until the job is in one of the states ("RC": running or ended)."""
        self.wait_until(lambda: self.state_of(job_id) in tuple(states), f"{job_id} in state {states}", timeout_s)

    def wait_until(self, is_so: Callable[[], bool], what: str, timeout_s: float = 60.0) -> None:
        deadline = Deadline(timeout_s)
        while not is_so():
            if deadline.has_passed():
                raise AssertionError(f"not within {timeout_s:g} s: {what}\n{self.run(['qstat', '-t']).stdout}")
            time.sleep(0.1)

    def kill(self, daemon: str, host: str = "server") -> None:
        """End a daemon at once, as a crash would; returns when it has ended. Until then another one does not start."""
        self.run(["pkill", "-KILL", "-x", daemon], host=host).demand_success()
        self.wait_until(lambda: self.run(["pgrep", "-x", daemon], host=host).status != 0, f"the end of {daemon}")

    def restart_server(self) -> None:
        """Start the server, which had been stopped, and wait until it has heard from its MoMs."""
        testbeds.start_server(self.testbed)
        self.wait_until(lambda: all(self._is_up(name) for name in self.mom_names), "the nodes are up")

    def _is_up(self, name: str) -> bool:
        return "down" not in parse_objects(self.run(["pbsnodes", "-x", name]).stdout, "Node")[name]["state"]

    def reset(self) -> None:
        """No jobs, no offline nodes, no queue but ``batch``, which is as it was."""
        self.qmgr("set server scheduling = False", "set server keep_completed = 0")
        for job_id in self.jobs():
            self.run(["qdel", "-p", job_id])
        self.wait_until(lambda: not self.jobs(), "no job is left")
        queues = parse_texts(self.run(["qstat", "-Q", "-f"]).stdout)
        self.qmgr(*(f"delete queue {name}" for name in queues if name != "batch"))
        for name in self.mom_names:
            self.run(["pbsnodes", "-c", "-N", "", name]).demand_success()
        self.qmgr("set server keep_completed = 300", "set queue batch started = True", "set queue batch enabled = True")
        self.wait_until(lambda: all(self._is_free(name) for name in self.mom_names), "the nodes are free")

    def _is_free(self, name: str) -> bool:
        return parse_objects(self.run(["pbsnodes", "-x", name]).stdout, "Node")[name]["state"] == "free"
