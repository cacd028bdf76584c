"""A short form of `make faults` on Torque: the pass, the server or a MoM is killed or hangs in the middle of a
preemption. No job is lost, none that the server knows to have ended runs again, and no more runs are cut than alice's
jobs need; but for what Torque itself loses as its server dies (docs/torque.md, "What Torque loses").

bob's four jobs fill both nodes, half of them over his quota; alice's two need two of them gone. Then comes the fault.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Callable

import pytest

from container import testbed as testbeds
from tests.torque.cluster import TorqueCluster
from tests.torque.server.pass_on_torque import DRIVE, Passes
from tests.torque.server.pass_that_dies import DIES

pytestmark = pytest.mark.slow

SETTINGS = (
    DRIVE
    + "[[queue]]\nname = 'batch'\nquotas = '[u:alice=8],[u:bob=8]'\n"
    + "[checkpoint]\ngrace_s = 6\n[torque]\ntimeout_s = 5\n[schedule]\ninterval_s = 5\n"
)
HALF = "nodes=1:ppn=4"
SIGNAL = ("-W", "x=pbsteer_save:signal")
NEEDED = 2
"""Runs of bob's that alice's jobs need gone."""
HANGS_S = 8.0
POINTS = (
    "ledger", "before:pbs_rerunjob", "after:pbs_rerunjob", "before:pbs_asyrunjob", "after:pbs_asyrunjob",
    "before:pbs_alterjob", "after:pbs_alterjob", "before:pbs_sigjob", "after:pbs_sigjob",
)  # fmt: skip
_LOG = "faults.log"


def script(seconds: int) -> str:
    """Writes down when it begins, when it is asked to save, and when it ends."""
    return (
        f'note() {{ echo "$1 $PBS_JOBID" >>$HOME/{_LOG}; }}\n'
        "trap 'note saved; exit 85' USR2\nnote began\n"
        f"i=0; while [ $i -lt {seconds * 5} ]; do sleep 0.2; i=$((i+1)); done\nnote ended\n"
    )


class Round:
    """The jobs of a round, and what they wrote down."""

    def __init__(self, torque: TorqueCluster, passes: Passes, *, saving: bool) -> None:
        self._torque, self._passes = torque, passes
        self._options: Sequence[str] = SIGNAL if saving else ()
        self.bobs: list[str] = []
        self.alices: list[str] = []
        for user in ("alice", "bob"):
            (torque.testbed.home(user) / _LOG).unlink(missing_ok=True)

    def fill(self) -> None:
        """bob's jobs run everywhere."""
        self.bobs = [self._torque.qsub("bob", HALF, *self._options, script=script(8)) for _ in range(4)]
        self._torque.wait_until(lambda: self.count("bob", "began") == Counter(self.bobs), "bob's jobs have begun")

    def ask_back(self) -> None:
        """alice submits hers."""
        self.alices = [self._torque.qsub("alice", HALF, script=script(2)) for _ in range(NEEDED)]

    def count(self, user: str, word: str) -> Counter[str]:
        """How often each job of a user wrote a word."""
        log = self._torque.testbed.home(user) / _LOG
        lines = log.read_text().splitlines() if log.exists() else []
        return Counter(line.partition(" ")[2] for line in lines if line.startswith(f"{word} "))

    def demand_nothing_lost_nor_repeated(self, *, but_by_torque: bool = False) -> None:
        """Wait until all have ended, and look at what was run. ``but_by_torque``: its server died in the middle, and
        what it lost of itself then is not looked at; it is named in the output."""
        everything = [*self.bobs, *self.alices]
        lost: set[str] = set()

        def is_over(job_id: str) -> bool:
            if but_by_torque and self._is_lost_by_torque(job_id):
                lost.add(job_id)
            return job_id in lost or self._torque.state_of(job_id) == "C"

        self._torque.wait_until(lambda: all(is_over(job_id) for job_id in everything), "all jobs have ended", 150)
        time.sleep(2)  # a job that has ended and is started again would do so now
        if lost:
            sys.stderr.write(f"Torque itself lost {', '.join(sorted(lost))}\n")
        assert len(lost) <= NEEDED
        jobs = self._torque.jobs()
        kept = [job_id for job_id in everything if job_id not in lost]
        assert {job_id: jobs[job_id]["exit_status"] for job_id in kept} == dict.fromkeys(kept, "0")
        ended = self.count("bob", "ended") + self.count("alice", "ended")
        assert ended.keys() | lost == set(everything)
        assert [job_id for job_id in everything if "S" in self._records(job_id).partition("E")[2]] == []
        assert {job_id: times for job_id, times in self.count("alice", "began").items() if job_id not in lost} == (
            dict.fromkeys((job_id for job_id in self.alices if job_id not in lost), 1)
        )
        assert self.count("bob", "began").total() - len(self.bobs) <= NEEDED

    def _is_lost_by_torque(self, job_id: str) -> bool:
        """Whether Torque's records show that its server lost the job. Either the server aborted the job, which no test
        asks for, or the MoM killed the run for a requeue and the server recorded an end with status 0."""
        records = self._records(job_id)
        if records.endswith("A"):
            return True
        if not records.endswith("E") or records.count("S") != 1 or self.count("bob", "ended")[job_id]:
            return False
        killed = any(f";{job_id};kill_task: " in self._mom_log(name) for name in self._torque.mom_names)
        return killed and self._torque.jobs().get(job_id, {}).get("exit_status") == "0"

    def _mom_log(self, host: str) -> str:
        files = sorted((self._torque.home_of(host) / "mom_logs").iterdir())
        return "".join(file.read_text(encoding="utf-8", errors="replace") for file in files)

    def _records(self, job_id: str) -> str:
        """The kinds of a job's records in the accounting log, in their order: ``QSRSE``."""
        files = sorted((self._torque.server_home / "server_priv" / "accounting").iterdir())
        records = (line.split(";", 3) for file in files for line in file.read_text().splitlines())
        return "".join(kind for _, kind, of, _ in records if of == job_id)


@pytest.fixture
def steered(torque: TorqueCluster, passes: Passes) -> Iterator[Passes]:
    passes.configure(SETTINGS)
    passes.start()
    yield passes


@pytest.mark.parametrize("point", POINTS)
def test_a_pass_is_killed_at_a_point(torque: TorqueCluster, steered: Passes, point: str) -> None:
    this = Round(torque, steered, saving=point.endswith(("alterjob", "sigjob")))
    this.fill()
    steered.stop()
    steered.start_dying(point)
    this.ask_back()
    torque.wait_until(lambda: DIES in steered.said(), f"the pass dies at {point}", 30)
    steered.stop()
    steered.start()
    this.demand_nothing_lost_nor_repeated()


def kill_pass(_torque: TorqueCluster, passes: Passes) -> None:
    passes.stop("KILL")
    passes.start()


def kill_server(torque: TorqueCluster, _passes: Passes) -> None:
    torque.kill("pbs_server")
    torque.restart_server()


def kill_both(torque: TorqueCluster, passes: Passes) -> None:
    torque.kill("pbs_server")
    passes.stop("KILL")
    torque.restart_server()
    passes.start()


def restart_server(torque: TorqueCluster, _passes: Passes) -> None:
    testbeds.stop_server(torque.testbed)
    torque.restart_server()


def kill_mom(torque: TorqueCluster, _passes: Passes) -> None:
    torque.kill("pbs_mom", "m1")
    mom = f"{torque.spec.pbs_exec}/sbin/pbs_mom"
    torque.run(["sh", "-c", f"{mom} >/dev/null 2>&1"], host="m1").demand_success()


def hang_mom(torque: TorqueCluster, _passes: Passes) -> None:
    hang(torque, "pbs_mom", "m1")


def hang_server(torque: TorqueCluster, _passes: Passes) -> None:
    hang(torque, "pbs_server", "server")


def hang(torque: TorqueCluster, program: str, host: str) -> None:
    torque.run(["pkill", "-STOP", "-x", program], host=host).demand_success()
    try:
        time.sleep(HANGS_S)
    finally:
        torque.run(["pkill", "-CONT", "-x", program], host=host).demand_success()


def break_settings(_torque: TorqueCluster, passes: Passes) -> None:
    passes.configure("[quota]\nexempt_s = -1\n")
    passes.stop("TERM")
    passes.configure(SETTINGS)
    passes.start()


END_THE_SERVER = (kill_server, kill_both, restart_server)
FAULTS = (kill_pass, kill_server, kill_both, restart_server, kill_mom, hang_mom, hang_server, break_settings)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("saving", [False, True])
def test_a_fault_in_the_middle_of_a_preemption(
    torque: TorqueCluster, steered: Passes, fault: Callable[[TorqueCluster, Passes], None], *, saving: bool
) -> None:
    chance = random.Random(f"{fault.__name__} {saving}")
    this = Round(torque, steered, saving=saving)
    this.fill()
    this.ask_back()
    time.sleep(chance.uniform(0.0, 0.8))
    fault(torque, steered)
    this.demand_nothing_lost_nor_repeated(but_by_torque=fault in END_THE_SERVER)
