"""A simulated cluster that is built by the first call that needs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.demo.demo_cluster_with_hooks import DemoCluster
from sim.demo.scratch_folder import Scratch
from tui.backends.interface.backend_protocol import BackendError
from tui.backends.simulated_cluster import SimulatedBackend


def never(path: Path, size: str) -> DemoCluster:
    raise AssertionError(f"no trace was to be loaded, this is {path} {size}")


def test_name_speed_and_whether_it_stands_still_are_known_before_it_is_built() -> None:
    built: list[DemoCluster] = []

    def build() -> DemoCluster:
        built.append(DemoCluster(vnodes=16))
        return built[-1]

    backend = SimulatedBackend(build, never, Scratch("pbsteer-test-"), "demo")
    assert (backend.name, backend.speed, backend.paused, built) == ("demo", 10, False, [])
    assert len(backend.poll().vnodes) == 16
    assert (backend.name, backend.speed, len(built)) == (built[0].name, 10, 1)
    backend.pause()
    assert (backend.paused, built[0].paused, len(built)) == (True, True, 1)
    backend.close()


def test_one_that_was_never_needed_is_never_built() -> None:
    def build() -> DemoCluster:
        raise AssertionError("it was built")

    backend = SimulatedBackend(build, never, Scratch("pbsteer-test-"), "demo")
    backend.start()
    backend.close()


def test_one_that_is_built_while_the_console_is_left_goes_with_it() -> None:
    clusters: list[DemoCluster] = []

    def build() -> DemoCluster:
        clusters.append(DemoCluster(vnodes=16))
        backend._closed.set()
        return clusters[-1]

    backend = SimulatedBackend(build, never, Scratch("pbsteer-test-"), "demo")
    with pytest.raises(BackendError, match="is being left"):
        backend.poll()
    assert not clusters[0].state_folder.parent.exists()
    backend.close()
