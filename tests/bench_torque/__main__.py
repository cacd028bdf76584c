"""``python -m tests.bench_torque``: passes on a real Torque server beside Torque's own scheduler, in one run.

Needs root and an installed Torque, as the tests in tests/torque/server do. Both schedulers get the same jobs on the
same testbed, one after the other. The jobs themselves tell what a start took: they write down when they began.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Iterator

from container import testbed as testbeds
from container.hosts.machine_and_host_requirements import find_torque_prefix, find_torque_shortcomings
from container.testbed_spec import TestbedSpec
from tests.bench_pbs.benchmark_result import HEADING, Figure, machine, median
from tests.torque.cluster import TorqueCluster
from tests.torque.server.pass_on_torque import DRIVE, Passes, forget_passes, without_pbs_sched

OURS, THEIRS = "pbsteer pass in drive", "pbs_sched"
_SETTLE_S = 1.0
_TICKS = os.sysconf("SC_CLK_TCK")


class Bench:
    """One testbed; :meth:`steered` has one of the two schedulers start its jobs."""

    def __init__(self, torque: TorqueCluster) -> None:
        self.torque = torque
        self.passes = Passes(torque)
        self.passes.configure(DRIVE)
        self.began = torque.testbed.home("alice") / "began"

    @contextlib.contextmanager
    def steered(self, by: str) -> Iterator[None]:
        """Whatever was submitted is started by ``by`` from now on, which the server wakes."""
        self.torque.reset()
        self.began.unlink(missing_ok=True)
        forget_passes(self.torque)
        if by == THEIRS:
            self.torque.qmgr("set server scheduling = True")
            yield
            return
        with without_pbs_sched(self.torque):
            self.torque.qmgr("set server scheduling = True")
            self.passes.start()
            try:
                yield
            finally:
                self.passes.stop()

    def submit(self, count: int, lines: str, request: str = "nodes=1") -> None:
        """Submit so many jobs of alice's, by one shell."""
        qsub = f"qsub -l {request},walltime=00:10:00 -o /dev/null -e /dev/null >/dev/null"
        script = f"i=0; while [ $i -lt {count} ]; do echo '{lines}' | {qsub} || exit 1; i=$((i+1)); done"
        self.torque.run(["sh", "-c", script], user="alice", timeout_s=3600).demand_success()

    def moments(self) -> list[float]:
        """When jobs began, as they wrote it down."""
        with contextlib.suppress(FileNotFoundError):
            return [float(line) for line in self.began.read_text().splitlines() if line]
        return []


def measure_latency(bench: Bench, jobs: int) -> dict[str, list[float]]:
    """Seconds from before qsub to a job's first command, one job at a time on an idle cluster."""
    script = f"date +%s.%N >> {bench.began}"
    took: dict[str, list[float]] = {}
    for by in (THEIRS, OURS):
        took[by] = []
        with bench.steered(by):
            for number in range(jobs):
                time.sleep(_SETTLE_S)
                asked_s = time.time()
                bench.submit(1, script)
                bench.torque.wait_until(lambda number=number: len(bench.moments()) > number, "a start")  # type: ignore[misc]
                took[by].append(bench.moments()[-1] - asked_s)
    return took


def measure_rate(bench: Bench, jobs: int) -> dict[str, float]:
    """Starts a second of jobs that end at once, from the first to the last, which wait when the scheduler is let go."""
    script = f"date +%s.%N >> {bench.began}"
    rates = {}
    for by in (THEIRS, OURS):
        with bench.steered(by):
            bench.torque.run(["qstop", "batch"]).demand_success()
            bench.submit(jobs, script)
            begun_s = time.time()
            bench.torque.run(["qstart", "batch"]).demand_success()
            bench.torque.qmgr("set server scheduling = True")
            bench.torque.wait_until(lambda: len(bench.moments()) >= jobs, f"{jobs} starts", 900)
            rates[by] = jobs / (max(bench.moments()) - begun_s)
    return rates


def measure_pass(bench: Bench, jobs: int) -> tuple[dict[str, float], list[Figure]]:
    """Processor seconds of one pass or cycle over jobs of which none can start, and how long each part of a pass takes.

    Ours are those of the process and of the children that it waited for, over the passes of a minute."""
    spent: dict[str, float] = {}
    figures = []
    bench.torque.reset()
    for name in bench.torque.mom_names:
        bench.torque.start("bob", "nodes=1:ppn=8", where=f"{name}:ppn=8")
    bench.submit(jobs, "sleep 600", "nodes=1:ppn=8")
    torque = bench.torque

    def cpu_s(pid: str) -> float:
        words = torque.run(["cat", f"/proc/{pid}/stat"]).stdout.rpartition(")")[2].split()
        return sum(map(int, words[11:15])) / _TICKS

    def cycles(pid: str, count: int) -> float:
        before_s = cpu_s(pid)
        for _ in range(count):
            torque.qmgr("set server scheduling = True")
            time.sleep(4)
        return (cpu_s(pid) - before_s) / count

    pid = torque.run(["pgrep", "-x", "pbs_sched"]).stdout.strip()
    cycles(pid, 2)
    spent[THEIRS] = cycles(pid, 3)
    with without_pbs_sched(torque):
        forget_passes(torque)
        torque.qmgr("set server scheduling = True")
        bench.passes.start()
        try:
            first, begun_s = len(bench.passes.journal()), cpu_s(bench.passes.pid)
            time.sleep(60)
            later = bench.passes.journal()[first:]
            spent[OURS] = (cpu_s(bench.passes.pid) - begun_s) / len(later)
        finally:
            bench.passes.stop()
    begun = time.monotonic()
    torque.run(["qstat", "-x", "-t"], timeout_s=600)
    figures.append(Figure(f"qstat -x over {jobs:,} jobs, wall clock", time.monotonic() - begun, "s"))
    for part in ("read_s", "decide_s", "act_s"):
        name = f"a pass over {jobs:,} jobs: {part.removesuffix('_s')}, wall clock, median of {len(later)}"
        figures.append(Figure(name, median([entry["seconds"][part] for entry in later]), "s"))
    return spent, figures


def main() -> int:
    """Measure, and print each figure beside pbs_sched's."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench_torque", description=__doc__)
    parser.add_argument("--latency-jobs", type=int, default=50)
    parser.add_argument("--rate-jobs", type=int, default=300)
    parser.add_argument("--pass-jobs", type=int, default=5000)
    arguments = parser.parse_args()
    shortcomings = find_torque_shortcomings()
    if shortcomings is not None:
        sys.stderr.write(f"nothing measured: {shortcomings}\n")
        return 1
    spec = TestbedSpec(name=f"tqb-{os.getpid()}", moms=2, pbs_exec=find_torque_prefix(None), scheduler="torque")
    built, _ = testbeds.up(spec)
    try:
        for figure in _measure(Bench(TorqueCluster(built)), arguments):
            sys.stdout.write(f"{figure.line()}\n")
            sys.stdout.flush()
    finally:
        testbeds.down(spec.name)
    return 0


def _measure(bench: Bench, arguments: argparse.Namespace) -> Iterator[Figure]:
    sys.stdout.write(f"{machine()}\n{HEADING}\n")
    for by, took in measure_latency(bench, arguments.latency_jobs).items():
        yield Figure(f"submit to start, idle cluster, median of {len(took)}: {by}", median(took), "s")
        yield Figure(f"the longest of these: {by}", max(took), "s")
    for by, rate in measure_rate(bench, arguments.rate_jobs).items():
        yield Figure(f"starts a second, {arguments.rate_jobs} jobs of 0 s: {by}", rate, "1/s")
    spent, figures = measure_pass(bench, arguments.pass_jobs)
    for by, seconds in spent.items():
        yield Figure(f"one pass over {arguments.pass_jobs:,} waiting jobs, processor: {by}", seconds, "s")
    yield from figures


if __name__ == "__main__":
    sys.exit(main())
