"""Jobs that fit only once jobs have ended that the snapshot does not have, or that are suspended and keep a part."""

from __future__ import annotations

from policy import Job, Vnode, parse_request
from policy.model.jobs_runs_vnodes_queues import Server
from policy.model.pbs_units import SIZES
from policy.reasons.reason import Reason
from tests.policy.clusters import cluster, job, plan_for, run, vnode


def why(vnodes: list[Vnode], waiting: Job) -> Reason:
    plan = plan_for(cluster(vnodes, [waiting], [run("1", "alice", "v9=4", 0, 100)]))
    ((_, reason),) = plan.reasons().values()
    return reason


FULL = vnode("v9", partition="other")


def test_the_vnode_is_named_and_what_is_held_there_of_what_the_job_asks_for() -> None:
    kept = [vnode(f"v{n}", 4, has={"mem": 32}, elsewhere={"mem": 24, "ncpus": 1, "ngpus": 2}) for n in (1, 2)]
    for select, what, others in (
        ("1:ncpus=2:mem=16kb", "mem=24kb and ncpus=1", 1),
        ("2:ncpus=4", "ncpus=1", 1),
        ("8", "ncpus=1", 1),
    ):
        reason = why([FULL, *kept], job("3", select=select))
        expected = Reason("held-elsewhere", (("what", what), ("vnode", "v1"), ("others", others)))
        assert (reason.code, reason.numbers) == (expected.code, expected.numbers), select


def test_what_is_held_of_a_sites_own_size_has_its_unit() -> None:
    kept = vnode("v1", 4, has={"scratch": 32}, elsewhere={"scratch": 24})
    request = parse_request("1:ncpus=1:scratch=16kb", consumables=frozenset({"ncpus", "scratch"}))
    waiting = job("3")._replace(request=request)
    ((_, reason),) = plan_for(cluster([kept], [waiting], server=Server(sizes=SIZES | {"scratch"}))).reasons().values()
    assert (reason.code, reason.number("what")) == ("held-elsewhere", "scratch=24kb")


def test_what_would_not_fit_without_that_either_never_fits() -> None:
    kept = [vnode("v1", 4, elsewhere={"ncpus": 1}), vnode("v2", 4)]
    assert why([FULL, *kept], job("3", select="2:ncpus=3+1:ncpus=2")).code == "never-arranged"
    assert why([FULL, *kept], job("3", select="1:ncpus=4+1:ncpus=3+1:ncpus=1")).code == "held-elsewhere"


def test_what_others_hold_on_vnodes_that_are_not_open_is_not_waited_for() -> None:
    """v1 takes no jobs, and v3 belongs to another queue."""
    kept = [
        vnode("v1", 4, usable=False, elsewhere={"ncpus": 1}),
        vnode("v2", 4, elsewhere={"ncpus": 1}),
        vnode("v3", 4, queue="other", elsewhere={"ncpus": 1}),
    ]
    assert why([FULL, *kept], job("3", select="1:ncpus=4")).numbers == (
        ("what", "ncpus=1"), ("vnode", "v2"), ("others", 0),
    )  # fmt: skip


def test_a_job_that_goes_back_to_its_vnodes_waits_for_what_others_hold_there() -> None:
    waiting = job("3", select="1:ncpus=4:vnode=v1", pinned=("v1",))
    assert why([FULL, vnode("v1", 4, elsewhere={"ncpus": 1})], waiting).numbers == (("vnodes", "v1"),)
