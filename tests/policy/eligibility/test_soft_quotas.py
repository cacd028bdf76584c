"""P1's arithmetic: within quota after the start, and what may be taken from whom."""

from __future__ import annotations

import pytest

from policy import Changes, Run
from policy.eligibility.soft_quotas import Quotas, Standing
from policy.fit.best_fit import fit
from policy.model.jobs_runs_vnodes_queues import Server
from policy.model.limit_attributes import parse_limits
from tests.policy.clusters import cluster, job, queue, run, vnode


def quotas(text: str, *held: int) -> Quotas:
    """alice of chem in project p runs jobs of these sizes."""
    runs = [
        run(str(number), "alice", f"v1={cores}", group="chem", project="p")
        for number, cores in enumerate(held, start=1)
    ]
    return Quotas(cluster([vnode("v1", 99)], runs=runs, queues=[queue(text)]).cluster())


def test_within_quota_means_with_the_job() -> None:
    of = quotas("[u:alice=8]", 6)
    assert of.exceeded_by(job("9", "alice", "2")) is None
    assert of.exceeded_by(job("9", "alice", "3")) == Standing(("u", "alice"), 8, 6, "ncpus", "workq")


def test_every_entry_binds() -> None:
    of = quotas("[u:alice=8],[g:chem=7],[p:p=6]", 6)
    assert of.exceeded_by(job("9", "alice", "2", group="chem", project="p")) == Standing(
        ("g", "chem"), 7, 6, "ncpus", "workq"
    )
    assert of.exceeded_by(job("9", "alice", "1", group="chem", project="p")) == Standing(
        ("p", "p"), 6, 6, "ncpus", "workq"
    )
    assert of.exceeded_by(job("9", "alice", "1", group="phys", project="q")) is None


@pytest.mark.parametrize(
    ("text", "held", "taken", "by"),
    [
        ("[u:alice=4]", (4, 4), 4, Standing(("u", "alice"), 4, 8)),
        ("[u:alice=4]", (6, 2), 6, None),
        ("[u:alice=4]", (6, 2), 2, Standing(("u", "alice"), 4, 8)),
        ("[u:alice=8]", (4, 4), 4, None),
        ("[u:alice=0]", (4,), 4, Standing(("u", "alice"), 0, 4)),
        ("[u:PBS_GENERIC=1]", (1, 1), 1, Standing(("u", "alice"), 1, 2)),
        ("[g:chem=4]", (4, 4), 4, Standing(("g", "chem"), 4, 8)),
        ("[g:chem=4],[u:alice=8]", (4, 4), 4, None),
        ("[g:chem=4],[u:alice=4]", (4, 4), 4, Standing(("u", "alice"), 4, 8)),
        ("[g:chem=8],[u:alice=4]", (4, 4), 4, None),
        ("[g:chem=9],[u:alice=4]", (4, 4), 4, Standing(("u", "alice"), 4, 8)),
        ("[p:p=0],[u:alice=9]", (4,), 4, None),
        ("[u:bob=4]", (4,), 4, None),
        ("", (4,), 4, None),
    ],
)
def test_what_may_be_taken(text: str, held: tuple[int, ...], taken: int, by: Standing | None) -> None:
    of = quotas(text, *held)
    assert of.surplus(job("1", "alice", str(taken), group="chem", project="p")) == (by and by._replace(scope="workq"))


def test_a_job_that_holds_nothing_of_the_counted_resource_is_not_over_by_it() -> None:
    snapshot = cluster(
        [vnode("v1", 9, has={"ngpus": 1})], runs=[run("1", "alice", "v1=4")], queues=[queue("[u:alice=0]")]
    )
    of = Quotas(snapshot.cluster(), ("ngpus",))
    assert of.surplus(snapshot.runs["1"].job) is None


def test_what_the_pass_has_booked_counts() -> None:
    of = quotas("[u:alice=4]", 4, 4)
    victim = job("1", "alice", "4", group="chem", project="p")
    of.shift(victim, -1)
    assert of.used("workq", ("u", "alice")) == 4
    assert of.surplus(victim) is None
    of.shift(victim, 1)
    assert of.surplus(victim) is not None


def test_a_quota_that_changes_counts_from_the_next_pass_on() -> None:
    """What follows from quotas alone is kept from pass to pass, and forgotten with them."""
    asked = job("9", "alice", "2")
    before = cluster([vnode("v1", 99)], [asked], [run("1", "alice", "v1=6")], queues=[queue("[u:alice=8]")])
    assert Quotas(before.cluster()).exceeded_by(asked) is None
    after = before.apply(Changes(20, queues=[queue("[u:alice=7]")]))
    assert Quotas(after.cluster()).exceeded_by(asked) == Standing(("u", "alice"), 7, 6, "ncpus", "workq")
    of_server = before.apply(Changes(20, server=Server(quotas={"ncpus": parse_limits("[u:alice=7]", "test")})))
    assert Quotas(of_server.cluster()).exceeded_by(asked) == Standing(("u", "alice"), 7, 6)
    assert Quotas(before.cluster()).exceeded_by(asked) is None


def test_what_is_left_is_looked_up_once_and_again_when_something_has_changed() -> None:
    snapshot = cluster([vnode("v1", 99)], runs=[run("1", "alice", "v1=6")], queues=[queue("[u:alice=8]")])
    index = snapshot.cluster()
    of, asked = Quotas(index), job("9", "alice", "2")
    left = of.headroom("workq")
    assert left.first_exceeded(asked) is None
    assert of.headroom("workq") is left
    of.shift(job("2", "alice", "1"), 1)
    assert of.headroom("workq").first_exceeded(asked) == ("u", "alice")
    of.shift(job("2", "alice", "1"), -1)
    assert of.headroom("workq").first_exceeded(asked) is None
    index.set_run("3", run("3", "alice", "v1=1"))
    assert of.headroom("workq").first_exceeded(asked) == ("u", "alice")


@pytest.mark.parametrize(
    ("select", "place", "amount"),
    [
        ("3:ncpus=0:mem=1gb", "scatter", 3),
        ("1:ncpus=2+4:ncpus=0:mem=1gb", "", 6),
        ("1:ncpus=0:mem=1gb", "excl", 9),
        ("1:ncpus=2", "", 2),
    ],
)
def test_a_chunk_without_cores_counts_as_one(select: str, place: str, amount: int) -> None:
    """In each look-up: what a job needs, what runs use, what is left. A vnode of nine cores for it alone counts as
    these."""
    asked = job("9", "alice", select, place=place)
    there = [vnode(f"v{number}", 9, has={"mem": 4 << 20}) for number in range(1, 4)]
    for limit in (amount, amount - 1):
        index = cluster(there, [asked], queues=[queue(f"[u:alice={limit}]")]).cluster()
        of = Quotas(index)
        assert of.needs(asked) == {"ncpus": amount}
        assert (
            (of.exceeded_by(asked) is None) == (of.headroom("workq").first_exceeded(asked) is None) == (limit == amount)
        )
    where = fit(index.capacity, asked.request, index.vnodes_of("workq"))
    assert where is not None
    index.set_run("9", Run("9", asked, 0, where, 100))
    assert of.used("workq", ("u", "alice")) == amount
    over = of.surplus(asked, where)
    assert over is None, "the floor is the quota"


def test_jobs_of_as_many_cores_count_by_what_else_they_ask_for() -> None:
    limits = {"ncpus": parse_limits("[u:alice=8]", "test"), "ngpus": parse_limits("[u:alice=1]", "test")}
    snapshot = cluster([vnode("v1", 9, has={"ngpus": 2})], queues=[queue()])
    of = Quotas(snapshot.apply(Changes(20, server=Server(quotas=limits))).cluster())
    assert of.needs(job("1", "alice", "1:ncpus=4")) == {"ncpus": 4}
    assert of.needs(job("2", "alice", "1:ncpus=4:ngpus=1")) == {"ncpus": 4, "ngpus": 1}
