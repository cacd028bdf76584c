"""Vnodes by application: runs of before, starts of the pass, and cancelled starts."""

from __future__ import annotations

from policy.striping.vnodes_of_applications import VnodesOfApplications
from tests.policy.clusters import cluster, place_of, run, vnode


def test_starts_are_added_and_cancelled_ones_are_gone() -> None:
    first = run("1", "a", "v1=1")
    first = first._replace(job=first.job._replace(application="cfd"))
    index = cluster([vnode("v1"), vnode("v2"), vnode("v3")], [], [first]).cluster()
    vnodes = VnodesOfApplications(index)
    vnodes.note("cfd", place_of("v3=1"))
    assert (vnodes.of("cfd"), vnodes.of("md")) == (0b001, 0)
    second = run("2", "a", "v2=1")
    second = second._replace(job=second.job._replace(application="cfd"))
    index.set_run("2", second)
    vnodes.note("cfd", second.allocation)
    assert vnodes.of("cfd") == 0b011
    vnodes.forget("cfd")
    index.set_run("2", None)
    assert vnodes.of("cfd") == 0b001
