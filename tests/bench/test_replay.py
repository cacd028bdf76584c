"""Jobs replayed per CPU second, reading excluded, on the trace that other simulators are measured on; and that as a
share of a bare EASY loop's, which counts cores alone, without vnodes and reasons, in turns with it in the same run."""

from __future__ import annotations

import time
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from sim.replay.named_policies import resolve
from sim.replay.replay import replay
from sim.traces.read_swf import read_swf
from tests.sim.easy_by_counting import count
from tests.sim.small_jobs_and_replays import KTH, needs
from tui.cli.version_and_compiled_policy import is_policy_compiled


@needs(KTH)
@pytest.mark.parametrize("policy", ["easy", "easy-sjbf", "quota", "checkpoint-sjbf", "checkpoint-rescue"])
def test_replay_speed(benchmark: BenchmarkFixture, policy: str) -> None:
    workload = read_swf(KTH)
    assert workload.cluster is not None
    cluster = workload.cluster
    resolved = resolve(policy, workload, cluster)
    rates: list[float] = []
    of_loop: list[float] = []

    def loop() -> None:
        begun_s = time.process_time()
        records = count(workload, cluster.cores, "easy")
        of_loop.append(len(records) / (time.process_time() - begun_s))

    def once() -> None:
        result = replay(workload, cluster, resolved)
        rates.append(len(result.records) / result.cpu_s)

    benchmark.pedantic(once, setup=loop, rounds=3)  # type: ignore[no-untyped-call]  # the library's own
    rate, bare = median(rates), median(of_loop)
    policy_is = "compiled" if is_policy_compiled() else "from source"
    print(  # noqa: T201 - a figure
        f"\n{policy}, policy {policy_is}: {rate:,.0f} jobs per CPU second (median of {len(rates)}), "
        f"{rate / bare:.2f} of a bare EASY loop's {bare:,.0f}"
    )
