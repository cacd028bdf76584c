"""Jobs replayed per CPU second, reading excluded, on the trace that other simulators are measured on."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from sim.replay.named_policies import resolve
from sim.replay.replay import replay
from sim.traces.read_swf import read_swf

TRACE = Path(__file__).parents[2].parent / "shared" / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz"


@pytest.mark.skipif(not TRACE.exists(), reason="the shared trace KTH-SP2 is not here")
@pytest.mark.parametrize("policy", ["easy", "easy-sjbf", "quota", "checkpoint-sjbf", "checkpoint-rescue"])
def test_replay_speed(benchmark: BenchmarkFixture, policy: str) -> None:
    workload = read_swf(TRACE)
    assert workload.cluster is not None
    cluster = workload.cluster
    resolved = resolve(policy, workload, cluster)
    rates: list[float] = []

    def once() -> None:
        result = replay(workload, cluster, resolved)
        rates.append(len(result.records) / result.cpu_s)

    benchmark.pedantic(once, rounds=3)  # type: ignore[no-untyped-call]  # the library's own
    print(f"\n{policy}: {median(rates):,.0f} jobs per CPU second (median of {len(rates)})")  # noqa: T201 - a figure
