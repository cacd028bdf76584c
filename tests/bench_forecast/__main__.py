"""The figures of forecasts: CPU seconds for many waiting jobs, and on traces how well starts are forecast.

``python -m tests.bench_forecast [FILE[=NODESxCORES] ...]`` prints a line for each size, then for each trace and policy
the JSON of ``pbsteer forecast --evaluate``, and its error as a part of that of the estimate from requested walltimes.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from time import process_time

from policy import Finished, Job, Ledger, Request, Run, Settings, Snapshot, Vnode
from policy.forecast.forecast import Bounds, Forecaster
from policy.forecast.run_time_history import RunTimeHistory
from policy.model.allocation import Allocation, Spot
from policy.model.jobs_runs_vnodes_queues import Queue
from sim.forecast.evaluate_forecasts import evaluate
from sim.forecast.forecast_accuracy_report import to_json
from sim.replay.named_policies import find
from sim.traces.read_trace import read_trace
from sim.workload.workload import Cluster

CORES = 32
SIZES = ((1_000, 1_000), (10_000, 10_000))
POLICIES = ("easy", "checkpoint-sjbf")
MOMENTS = 600
NOW_S = 100_000.0


def busy_site(jobs: int, vnodes: int) -> tuple[Snapshot, RunTimeHistory]:
    """A full cluster with this queue; users ask for round times and use a part of them."""
    draw = random.Random(1)
    users = [f"u{number}" for number in range(50)]

    def asked(number: int, submit_s: float) -> Job:
        cores = draw.choice((1, 4, 16, 32, 64, 128))
        estimate_s = 3600.0 * draw.choice((1, 2, 4, 12, 24))
        return Job(
            str(number), draw.choice(users), Request.of_cores(cores), "workq", submit_s, estimate_s, sequence=number
        )

    names = [f"n{number:05}" for number in range(vnodes)]
    runs = []
    for number, name in enumerate(names):
        job = asked(number, 0)._replace(request=Request.of_cores(CORES))
        start_s = NOW_S - draw.random() * job.estimate_s * 0.9
        place = Allocation((Spot(name, (("ncpus", CORES),), 1),))
        runs.append(Run(job.id, job, start_s, place, start_s + job.estimate_s))
    waiting = [asked(vnodes + number, NOW_S - jobs + number) for number in range(jobs)]
    past = [Finished("0", user, "", 1, 0, 3600.0 * draw.random() ** 2, 3600.0) for user in users for _ in range(20)]
    nodes = [Vnode(name, {"ncpus": CORES}) for name in names]
    return Snapshot.build(NOW_S, nodes, [Queue("workq")], waiting, runs), RunTimeHistory(past)


def time_forecast(jobs: int, vnodes: int) -> str:
    """How long the first draws and all of them take."""
    snapshot, history = busy_site(jobs, vnodes)
    began_s = process_time()
    forecaster = Forecaster(snapshot, Ledger(), Settings(), history, bounds=Bounds(passes=10_000_000))
    first_s = 0.0
    while forecaster.step():
        first_s = first_s or process_time() - began_s
    result = forecaster.result()
    took_s = process_time() - began_s
    return (
        f"{jobs:,} waiting jobs on {vnodes:,} vnodes: {result.draws} draws, {result.passes:,} decisions,"
        f" {took_s:.1f} s CPU; the first {first_s:.2f} s"
    )


def judge(trace: str) -> None:
    """Print the figures of each policy on a trace."""
    path, _, size = trace.partition("=")
    given = Cluster.parse(size) if size else None
    workload = read_trace(Path(path), given)
    cluster = given or workload.cluster
    assert cluster is not None, f"{path}: say the cluster, as {path}=NODESxCORES"
    for name in POLICIES:
        began_s = process_time()
        judged = evaluate(workload, cluster, find(name)(workload, cluster), MOMENTS, Bounds())
        line = to_json(judged)
        values = json.loads(line)
        part = values["median_abs_error_s"] / values["walltime_median_abs_error_s"]
        say(f"{workload.name} {line} error {part:.2f} of walltimes', {process_time() - began_s:.0f} s CPU")


def say(line: str) -> None:
    """One figure."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for waiting, nodes in SIZES:
        say(time_forecast(waiting, nodes))
    for given in sys.argv[1:]:
        judge(given)
