"""Snapshots as values: what changes do, and that versions stay what they were."""

from __future__ import annotations

import pytest

from policy import Changes, Run, Snapshot
from policy.model.jobs_runs_vnodes_queues import HardLimits, Server
from policy.model.limit_attributes import ALL
from tests.policy.clusters import cluster, job, place_of, queue, quotas, run, vnode


def small() -> Snapshot:
    return cluster([vnode("v1")], [job("3")], [run("1", "alice", "v1=2")])


def test_a_start_an_end_and_a_requeue() -> None:
    first = small()
    running = first.apply(Changes(20, running=[Run("3", first.jobs["3"], 20, place_of("v1=1"), 120)]))
    assert (set(running.jobs), set(running.runs), running.idle_cores()) == (set(), {"1", "3"}, 1)
    ended = running.apply(Changes(30, gone=["1"]))
    assert (set(ended.runs), ended.idle_cores()) == ({"3"}, 3)
    requeued = ended.apply(Changes(40, [ended.runs["3"].job]))
    assert (set(requeued.jobs), set(requeued.runs), requeued.idle_cores()) == ({"3"}, set(), 4)
    assert (first, first.idle_cores()) == (small(), 2)
    assert (running.idle_cores(), ended.idle_cores(), requeued.idle_cores()) == (1, 3, 4)


def test_a_subjob_starts_and_its_array_waits_on() -> None:
    array = job("5[]", subjobs=(2, 3))
    first = cluster([vnode("v1")], [array])
    one = Run("5[1]", array, 10, place_of("v1=1"), 110, False, 1)
    assert set(first.apply(Changes(20, running=[one])).jobs) == {"5[]"}


def test_a_job_that_is_altered_takes_its_new_place() -> None:
    first = cluster([vnode("v1")], [job("3"), job("4", submit_s=5)])
    altered = first.apply(Changes(20, [job("4", submit_s=5, priority=9)]))
    assert [waiting.id for *_, waiting in altered.cluster().order] == ["4", "3"]
    assert [waiting.id for *_, waiting in first.cluster().order] == ["3", "4"]


def test_vnodes_come_go_and_change() -> None:
    first = small()
    more = first.apply(Changes(20, vnodes=[vnode("v0", 8)]))
    assert more.idle_cores() == 10
    assert more.apply(Changes(30, gone_vnodes=["v1"])).idle_cores() == 8
    assert more.apply(Changes(30, vnodes=[vnode("v0", 8, usable=False)])).idle_cores() == 2
    assert more.apply(Changes(30, vnodes=[vnode("v0", 8, elsewhere={"ncpus": 3})])).idle_cores() == 7
    assert (more.idle_cores(), first.idle_cores()) == (10, 2)


def test_the_server_and_queues_change() -> None:
    first = small()
    server = Server("s", HardLimits(quotas("[o:PBS_ALL=1]")))
    changed = first.apply(Changes(20, queues=[queue("[u:alice=1]")], server=server))
    assert (changed.server, changed.queues["workq"]) == (server, queue("[u:alice=1]"))
    assert (first.server, first.queues["workq"]) == (Server(), queue())


def test_what_never_was_may_go() -> None:
    assert small().apply(Changes(10, gone=["99"])) == small()


def test_use_by_user_group_project_and_in_all() -> None:
    runs = [run("1", "alice", "v1=2", group="chem"), run("2", "bob", "v1=1", group="chem", project="p")]
    snapshot = cluster([vnode("v1", 8)], runs=runs)
    assert snapshot.use("workq") == {
        ("u", "alice"): 2, ("u", "bob"): 1, ("g", "chem"): 3, ("p", ""): 2, ("p", "p"): 1, ALL: 3,
    }  # fmt: skip
    assert snapshot.use("other") == {}
    later = snapshot.apply(Changes(20, gone=["1"]))
    assert later.use("workq") == {("u", "bob"): 1, ("g", "chem"): 1, ("p", "p"): 1, ALL: 1}


def test_tables_are_copies() -> None:
    snapshot = small()
    for table in (snapshot.jobs, snapshot.runs, snapshot.vnodes, snapshot.queues):
        table.clear()
    assert snapshot == small()


def test_no_key_and_no_other_thing() -> None:
    assert small() != 3
    with pytest.raises(TypeError):
        hash(small())


def test_queues_on_bound_vnodes_of_a_partition_and_regions() -> None:
    snapshot = cluster(
        [vnode("v1"), vnode("v2", queue="a,b"), vnode("v3", queue="b"), vnode("v4", partition="P")],
        queues=[queue("", "workq"), queue("", "a"), queue("", "b"), queue("", "p", partition="P")],
    )
    index = snapshot.cluster()
    allowed = {name: index.vnodes_of(name) for name in ("workq", "a", "b", "p")}
    assert allowed == {"workq": 0b0001, "a": 0b0010, "b": 0b0110, "p": 0b1000}
    assert index.regions() == {"workq": 0b0001, "a": 0b0110, "b": 0b0110, "p": 0b1000}
