"""Queues and the server as the policies see them: modes, limits, licences, priorities."""

from __future__ import annotations

import pytest

from hooks.translate.queues import read_modes
from hooks.translate.snapshot import translate
from policy.cycle.engine import decide
from policy.model.ledger_between_passes import Ledger
from policy.model.limit_attributes import ALL, Limits
from policy.settings.settings_of_server_and_passes import ServerSettings
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import (
    RESOURCES,
    job,
    only_job,
    problems_of,
    queue,
    running,
    server_status,
    snapshot_of,
    vnode,
)

SETTINGS = Settings()


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"site": "north"}, ""),
        ({"site": "south"}, "it asks for site=south, and queue workq has site=north"),
        ({"tested": "True"}, "it asks for tested=True, and the server has tested=False"),
        ({"tested": "False", "floor": "3"}, ""),
        ({"floor": "4"}, "it asks for floor=4, and the server has floor=3"),
        ({"unlisted": "b"}, ""),
        ({"licences": "9"}, ""),
    ],
)
def test_what_a_job_asks_for_as_a_whole_has_to_be_what_queue_and_server_say(asked: dict[str, str], why: str) -> None:
    kinds = {"site": "string", "tested": "boolean", "floor": "long", "unlisted": "string"}
    seen = server_status(
        {"1.s": job() | {f"Resource_List.{name}": text for name, text in asked.items()}},
        queues={"workq": queue(resources_available__site="north", resources_available__unlisted="a")},
        server={"name": "s", "resources_available.tested": "False", "resources_available.floor": "3"},
        resources={**RESOURCES, **{name: {"type": kind} for name, kind in kinds.items()}},
    )
    files = {"default": {"sched_config": 'resources: "ncpus, mem, site, tested,floor, licences"\n'}}
    assert translate(seen, SETTINGS, files).snapshot.jobs["1.s"].blocked == why
    assert translate(seen, SETTINGS).snapshot.jobs["1.s"].blocked == ""


def test_a_queues_limits_are_read_in_both_of_pbss_ways() -> None:
    texts = queue(
        max_run_res_soft__ncpus="[u:alice=4],[u:PBS_GENERIC=8]",
        max_run_res__mem="[g:chem=100]",
        max_user_run="3",
        resources_available__ncpus="20",
    )
    status = server_status(vnodes={f"v{number}": vnode() for number in range(3)}, queues={"workq": texts})
    seen = snapshot_of(status, SETTINGS).queues["workq"]
    assert seen.quotas == Limits({("u", "alice"): 4, ("u", "PBS_GENERIC"): 8})
    assert seen.hard.max_run == Limits({("u", "PBS_GENERIC"): 3})
    assert seen.hard.max_run_res == {"mem": Limits({("g", "chem"): 100}), "ncpus": Limits({ALL: 20})}


def test_limits_on_memory_are_read_as_the_server_writes_them() -> None:
    texts = queue(max_run_res__mem="[u:alice=1gb],[g:chem=2048b]", max_run_res_soft__mem="[u:PBS_GENERIC=3mb]")
    translation = translate(server_status(queues={"workq": texts}), SETTINGS)
    assert not translation.unread
    seen = translation.snapshot.queues["workq"]
    assert seen.hard.max_run_res == {"mem": Limits({("u", "alice"): 1 << 20, ("g", "chem"): 2})}
    assert seen.quotas_by_resource() == {"mem": Limits({("u", "PBS_GENERIC"): 3 << 10})}


def test_a_limit_that_cannot_be_read_is_reported_for_its_queue() -> None:
    translation = translate(server_status(queues={"workq": queue(max_run="[u:alice=few]"), "b": queue()}), SETTINGS)
    assert list(translation.unread) == ["workq"]
    assert "few" in translation.unread["workq"]


def test_what_is_left_of_the_servers_own_resources() -> None:
    server = {"name": "server", "resources_available.licences": "10", "resources_assigned.licences": "7"}
    assert snapshot_of(server_status(server=server), SETTINGS).server.shared == {"licences": 3}


def test_cores_of_the_server_bind_what_jobs_ask_for_in_their_chunks() -> None:
    """Of 8 cores a run has 4, and a reservation 2."""
    server = {"name": "server", "resources_available.ncpus": "8", "resources_assigned.ncpus": "6"}
    jobs = {"1.server": running(4), "2.server": job(cores=3), "3.server": job(cores=2)}
    snapshot = snapshot_of(server_status(jobs, vnodes={"v1": vnode(used=4), "v2": vnode()}, server=server), SETTINGS)
    assert snapshot.server.shared == {"ncpus": 6}
    plan = decide(snapshot, Ledger(), SETTINGS)
    assert [start.id for start in plan.starts] == ["3.server"]
    assert {job_id: reason.code for job_id, (_, reason) in plan.reasons().items()} == {"2.server": "server-resource"}


@pytest.mark.parametrize("owner", ["server", "queue"])
@pytest.mark.parametrize("limit", ["resources_available.ncpus {}", "max_run_res.ncpus [o:PBS_ALL={}]"])
@pytest.mark.parametrize(("amount", "victims"), [(7, 0), (8, 1), (9, 1)])
def test_what_server_or_queue_allow_switches_no_quota_off_where_the_vnodes_have_no_more(
    owner: str, limit: str, amount: int, victims: int
) -> None:
    """Alice holds all 8 cores, over her quota, and 3 is within bob's. At a limit of PBS no job preempts."""
    attribute, text = limit.format(amount).split()
    more = {"server": {}, "queue": {}, owner: {attribute: text}}
    seen = server_status(
        {"1.s": running(4, "v1"), "2.s": running(4, "v2"), "3.s": job(cores=4, user="bob")},
        vnodes={"v1": vnode(4, 4), "v2": vnode(4, 4)},
        queues={"workq": {**queue(max_run_res_soft__ncpus="[u:PBS_GENERIC=4]"), **more["queue"]}},
        server={"name": "s", "resources_assigned.ncpus": "8", **more["server"]},
    )
    assert len(decide(snapshot_of(seen, SETTINGS), Ledger(), SETTINGS).preempts) == victims


@pytest.mark.parametrize(("jobs", "left"), [({}, None), ({"1.s": running(2, "v2")}, 4)])
def test_a_queues_amount_is_compared_with_the_vnodes_that_its_jobs_may_be_on_or_are(
    jobs: dict[str, dict[str, str]], left: int | None
) -> None:
    """Only v1 is open to the queue; a run was sent to v2 by hand."""
    seen = server_status(
        jobs,
        vnodes={"v1": vnode(4, queue="workq"), "v2": vnode(4, queue="other")},
        queues={"workq": queue(resources_available__ncpus="4"), "other": queue()},
    )
    limits = snapshot_of(seen, SETTINGS).queues["workq"].hard.max_run_res["ncpus"]
    assert limits.entries.get(ALL) == left


def test_licences_of_the_server_are_counted() -> None:
    server = {"name": "server", "resources_available.licences": "10"}
    seen = snapshot_of(server_status({"1.server": job(Resource_List__licences="2")}, server=server), SETTINGS).jobs
    assert (seen["1.server"].job_wide, seen["1.server"].blocked) == ((("licences", 2),), "")


def test_licences_are_counted_for_those_who_hold_them() -> None:
    server = {"name": "server", "max_run_res.licences": "[u:PBS_GENERIC=3]"}
    jobs = {
        "1.server": running(1, Resource_List__licences="2"),
        "2.server": job(cores=1, Resource_List__licences="2"),
        "3.server": job(cores=1, Resource_List__licences="1"),
        "4.server": job(cores=1, user="bob", Resource_List__licences="3"),
        "5.server": job(cores=1, user="bob", Resource_List__licences="some"),
    }
    snapshot = snapshot_of(server_status(jobs, server=server), SETTINGS)
    plan = decide(snapshot, Ledger(), SETTINGS)
    assert [start.id for start in plan.starts] == ["3.server", "4.server"]
    left = {job_id: reason.code for job_id, (_, reason) in plan.reasons().items()}
    assert left == {"2.server": "hard-limit", "5.server": "blocked"}
    assert "licences=some as a whole" in snapshot.jobs["5.server"].blocked


@pytest.mark.parametrize(
    ("of_queue", "of_server", "sentence"),
    [
        (
            {"max_run_res.scratch": "[u:alice=1gb]"},
            {},
            "queue workq allows u:alice 1048576 kb of scratch: 0 are in use",
        ),
        ({}, {"resources_available.scratch": "1gb"}, "asks for 2097152 kb of scratch of the server: 1048576 are left"),
    ],
)
def test_a_reason_at_a_limit_on_a_sites_own_size_has_its_unit(
    of_queue: dict[str, str], of_server: dict[str, str], sentence: str
) -> None:
    seen = server_status(
        {"12.server": job(schedselect="1:ncpus=2:scratch=2gb")},
        vnodes={"v1": {**vnode(), "resources_available.scratch": "100gb"}},
        queues={"workq": {**queue(), **of_queue}},
        server={"name": "server", **of_server},
        resources={**RESOURCES, "scratch": {"type": "size", "flag": "hn"}},
    )
    left, reason = decide(snapshot_of(seen, SETTINGS), Ledger(), SETTINGS).reasons()["12.server"]
    assert reason.sentence(left, 0.0).startswith(sentence)


def test_a_job_in_a_routing_queue_is_said_to_be_moved() -> None:
    route = {"queue_type": "Route", "started": "False", "route_destinations": "workq,other"}
    seen = server_status({"12.server": job(queue="rt")}, queues={"workq": queue(), "rt": route})
    left, reason = decide(snapshot_of(seen, SETTINGS), Ledger(), SETTINGS).reasons()["12.server"]
    assert reason.sentence(left, 0.0).startswith("queue rt routes its jobs to workq, other, and is stopped: it moves")


def test_a_queue_has_its_own_mode_else_the_settings_and_route_queues_have_none() -> None:
    seen = server_status(
        queues={"a": queue("drive"), "b": queue(), "c": queue("off"), "route": {"queue_type": "Route"}, "R12": queue()}
    )
    settings = Settings(server=ServerSettings(mode="advise"))
    assert read_modes(seen, settings) == {"a": "drive", "b": "advise", "c": "observe"}
    assert "'off'" in problems_of(seen, settings)[0]
    managed = {name: each.managed for name, each in snapshot_of(seen, settings).queues.items()}
    assert managed == {"a": True, "b": True, "c": True, "route": False, "R12": False}


def test_priorities_are_read_like_quotas() -> None:
    texts = queue(
        max_run_res_soft__ncpus="[u:alice=4]",
        max_run_res_soft__user_priority="[u:alice=10],[g:chem=5],[u:PBS_GENERIC=1]",
    )
    seen = snapshot_of(server_status(queues={"workq": texts}), SETTINGS).queues["workq"]
    assert seen.quotas == Limits({("u", "alice"): 4})
    assert seen.priorities == Limits({("u", "alice"): 10, ("g", "chem"): 5, ("u", "PBS_GENERIC"): 1})


def test_priorities_that_cannot_be_read_make_the_queue_one_that_nobody_acts_for() -> None:
    found = translate(
        server_status(queues={"workq": queue(max_run_res_soft__user_priority="[u:alice=high]")}), SETTINGS
    )
    assert "max_run_res_soft.user_priority" in found.unread["workq"]
    assert not found.snapshot.queues["workq"].priorities


@pytest.mark.parametrize(("text", "is_so"), [("True", True), ("False", False), ("", False)])
def test_a_queue_or_a_job_can_be_marked_as_one_that_can_be_put_off(text: str, is_so: bool) -> None:
    marked = queue(resources_available__pbsteer_deferrable=text)
    assert snapshot_of(server_status(queues={"workq": marked}), SETTINGS).queues["workq"].deferrable is is_so
    assert only_job(job(Resource_List__pbsteer_deferrable=text)).deferrable is is_so
