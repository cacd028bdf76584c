"""Starts down to the core, from one pass to the next, and the lists that are written of them: the worked example of
docs/policies.md, P4, as the whole pass decides it."""

from __future__ import annotations

import pytest

from policy import Changes, Job, Ledger, Plan, Reading, Run, Snapshot, parse_request
from policy.explain.hostfiles_for_mpi_and_openmp import Lists, lists_of
from policy.model.job_preferences import DETAILS, RankPreference, Requirements
from policy.settings.site_settings import QuotaSettings, Settings
from tests.policy.clusters import cluster, codes, job, place_of, plan_for, queue, vnode

GIB = 1 << 20
LEFT = {"n1": (24, 32, 63), "n2": (16, 96, 45), "n4": (8, 112, 54), "n5": (28, 64, 72)}
NEEDS = Requirements(memory_kib=48 * GIB, temperature=72)
LEDGER = Ledger(cores={"7": {"n2": tuple(range(16))}, "gone": {"n2": tuple(range(16, 32))}})
TWO_SOCKETS = {"sockets": "2"}


def site(*jobs: Job) -> Snapshot:
    """The vnodes of the example that have a recent reading; job 7 has cores 0 to 15 of n2."""
    readings = {
        name: Reading(990, compute, 32, memory * GIB, 128 * GIB, 50, 100, temperature, 90)
        for name, (compute, memory, temperature) in LEFT.items()
    }
    vnodes = [vnode(name, 32, has={"mem": 128 * GIB}, attributes=TWO_SOCKETS) for name in LEFT]
    runs = [Run("7", job("7"), 500, place_of("n2=16"), 5000)]
    return cluster(vnodes, jobs, runs, now_s=1000, readings=readings)


def eight(detail: str) -> Job:
    request = parse_request("2:ncpus=12:mem=24gb:mpiprocs=4:ompthreads=3", "scatter")
    return Job("8", "alice", request, "workq", 0, 3600, rank=RankPreference("compute+memory", NEEDS, detail))


def decided(detail: str) -> Plan:
    return plan_for(site(eight(detail)), ledger=LEDGER)


def test_a_start_has_the_cores_of_the_worked_example() -> None:
    plan = decided("core")
    cores = {"n2": tuple(range(16, 28)), "n4": tuple(range(12))}
    assert [start.cores for start in plan.starts] == [cores]
    assert plan.ledger.cores == {"7": LEDGER.cores["7"], "8": cores}


def test_a_start_that_wants_vnodes_alone_gets_no_list() -> None:
    plan = decided("vnode")
    assert [(start.allocation.vnodes, dict(start.cores)) for start in plan.starts] == [(("n2", "n4"), {})]
    assert "8" not in plan.ledger.cores


@pytest.mark.parametrize(
    ("detail", "ranked", "places"),
    [
        ("vnode", "n2\nn4\n", ""),
        ("socket", "n2 sockets 1\nn4 sockets 0\n", ""),
        (
            "core",
            "n2 sockets 1 cores 16-27\nn4 sockets 0 cores 0-11\n",
            "n2 {16:3},{19:3},{22:3},{25:3}\nn4 {0:3},{3:3},{6:3},{9:3}\n",
        ),
    ],
)
def test_its_lists_go_as_far_down_as_it_wants(detail: str, ranked: str, places: str) -> None:
    lists = Lists(ranked, "n2\n" * 4 + "n4\n" * 4, "n2 slots=4\nn4 slots=4\n", "n2:4\nn4:4\n", places)
    assert detail in DETAILS
    assert lists_of(decided(detail), "8") == {"8": lists}


def test_a_run_keeps_its_cores_and_leaves_them_at_its_end() -> None:
    first = decided("core")
    later = first.started.apply(Changes(1010, gone=["7"]))
    plan = plan_for(later, ledger=first.ledger)
    assert plan.ledger.cores == {"8": first.starts[0].cores}
    assert lists_of(plan, "8") == lists_of(first, "8")
    ended = plan_for(plan.started.apply(Changes(1020, gone=["8"])), ledger=plan.ledger)
    assert ended.ledger.cores == {}


def test_a_job_that_waits_has_no_list() -> None:
    too_large = eight("core")._replace(request=parse_request("9:ncpus=32"))
    plan = plan_for(site(too_large), ledger=LEDGER)
    assert not plan.starts
    assert lists_of(plan, "8") == {}


def test_an_array_has_a_list_for_each_subjob() -> None:
    array = job("9[]", select="1:ncpus=4", subjobs=(1, 2), rank=RankPreference("compute", detail="core"))
    plan = plan_for(cluster([vnode("a", 8, attributes=TWO_SOCKETS)], [array]))
    assert {run_id: lists.ranked for run_id, lists in lists_of(plan, "9[]").items()} == {
        "9[1]": "a sockets 0 cores 0-3\n",
        "9[2]": "a sockets 1 cores 4-7\n",
    }
    assert list(lists_of(plan, "9[2]")) == ["9[2]"]


def test_a_start_that_is_taken_back_leaves_its_cores_to_others() -> None:
    """alice, over her quota, would start and is passed over for bob, who is within his."""
    wish = RankPreference("compute", detail="core")
    jobs = [
        job("1", "alice", "4", rank=wish),
        job("2", "bob", "2", submit_s=1, rank=wish),
    ]
    settings = Settings(quota=QuotaSettings(exempt_s=0))
    vnodes, queues = [vnode("a", 4)], [queue("[u:alice=0],[u:bob=2]")]
    plan = plan_for(cluster(vnodes, jobs, queues=queues), settings)
    assert codes(plan) == {"1": "passed-over"}
    assert {start.id: start.cores for start in plan.starts} == {"2": {"a": (0, 1)}}
    assert plan.ledger.cores == {"2": {"a": (0, 1)}}
