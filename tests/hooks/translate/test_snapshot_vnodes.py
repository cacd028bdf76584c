"""Vnodes as the policies see them: what they have, what others hold of them, and whether they take jobs."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hooks.pbs.custom_resources import PLENTY
from hooks.translate.snapshot import Known, translate
from policy.model.job_request import parse_request
from policy.model.jobs_runs_vnodes_queues import RunLimits, Vnode
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import RESOURCES, job, problems_of, running, server_status, snapshot_of, vnode

SETTINGS = Settings()


def only_vnode(texts: dict[str, str], **more: Any) -> Vnode:
    return snapshot_of(server_status(vnodes={"v1": texts}, **more), SETTINGS).vnodes["v1"]


def test_what_others_hold_of_a_vnode_is_what_the_server_counts_beyond_the_runs() -> None:
    seen = snapshot_of(server_status({"12.server": running(2)}, {"v1": vnode(used=5)}), SETTINGS)
    assert seen.vnodes["v1"].elsewhere == {"ncpus": 3}


def test_a_start_that_the_server_does_not_count_yet_takes_its_cores_all_the_same() -> None:
    seen = snapshot_of(server_status({"12.server": running(2)}, {"v1": vnode(8, used=0)}), SETTINGS)
    assert seen.vnodes["v1"].elsewhere == {}
    assert seen.idle_cores() == 6


@pytest.mark.parametrize(
    ("state", "usable"),
    [
        ("free", True), ("job-busy", True), ("job-exclusive", True), ("resv-exclusive", False), ("offline", False),
        ("down", False), ("down,offline", False), ("state-unknown,down", False), ("Stale", False), ("busy", False),
        ("maintenance", False), ("provisioning", False), ("job-busy,offline", False), ("", False), ("new-word", False),
    ],
)  # fmt: skip
def test_only_a_vnode_that_is_simply_up_takes_jobs(state: str, usable: bool) -> None:
    assert only_vnode(vnode(state=state)).usable is usable


def test_a_vnode_held_alone_by_a_job_nobody_sees_has_nothing_left() -> None:
    seen = only_vnode(vnode(8, used=1, state="job-exclusive"))
    assert seen.elsewhere["ncpus"] == 8


def test_a_vnode_whose_resource_another_counts_takes_the_jobs_that_do_not_ask_for_it() -> None:
    seen = only_vnode(vnode(resources_available__ngpus="@v2", resources_assigned__ngpus="@v2"))
    assert seen.usable
    assert seen.available["ngpus"] == 0


def test_a_vnode_whose_cores_cannot_be_read_takes_no_job_and_is_listed() -> None:
    seen = server_status(vnodes={"v1": vnode(resources_available__ncpus="many")})
    assert not snapshot_of(seen, SETTINGS).vnodes["v1"].usable
    assert "'many'" in problems_of(seen, SETTINGS)[0]


def test_a_vnode_with_a_reservation_that_cannot_be_read_takes_no_job() -> None:
    (window,) = only_vnode(vnode(resv="R11.server")).closed
    assert (window.start_s, window.end_s, window.amounts) == (0, math.inf, None)


def test_fractions_are_rounded_so_that_nothing_is_given_out_twice() -> None:
    resources = {**RESOURCES, "tokens": {"type": "float", "flag": "q"}, "part": {"type": "float", "flag": "hn"}}
    server = {"name": "server", "resources_available.tokens": "2.5", "resources_assigned.tokens": "0.5"}
    parts = {"resources_available.part": "1.5", "resources_assigned.part": "0.5"}
    asking = job(Resource_List__tokens="1.2", Resource_List__select="1:ncpus=1:part=0.5")
    seen = snapshot_of(
        server_status({"1.s": asking}, vnodes={"v1": vnode() | parts}, server=server, resources=resources), SETTINGS
    )
    assert (seen.server.shared["tokens"], seen.jobs["1.s"].job_wide) == (1, (("tokens", 2),))
    assert (seen.vnodes["v1"].available["part"], seen.vnodes["v1"].elsewhere["part"]) == (1, 1)
    assert seen.jobs["1.s"].request.amount("part") == 1


def test_a_vnodes_other_resources_are_its_attributes() -> None:
    seen = only_vnode(
        vnode(resources_available__host="h1", resources_available__Qlist="a,b", partition="P1", queue="q")
    )
    assert (seen.host, seen.attributes["Qlist"], seen.partition, seen.queue) == ("h1", "a,b", "P1", "q")
    assert (seen.available["ncpus"], seen.available["mem"]) == (8, 32 << 20)


def test_of_a_number_that_is_not_used_up_a_job_gets_vnodes_that_have_at_least_so_much() -> None:
    kinds = {"speed": ("long", "h"), "disk": ("size", "h"), "ghz": ("float", "h"), "rack": ("string", "h")}
    resources = {**RESOURCES, **{name: {"type": kind, "flag": flag} for name, (kind, flag) in kinds.items()}}
    has = {f"resources_available.{name}": text for name, text in zip(kinds, ("5", "5gb", "2.5", "7"))}
    cluster = snapshot_of(
        server_status(vnodes={"v1": vnode() | has, "v2": vnode()}, resources=resources), SETTINGS
    ).cluster()

    def taken(wish: str) -> list[str]:
        chunk = parse_request(f"1:{wish}").chunks[0]
        return cluster.capacity.directory.named(cluster.capacity.inventory.matching(chunk))

    for wish in ("speed=5", "speed=3", "disk=5gb", "disk=5120mb", "disk=1024", "ghz=1", "rack=7"):
        assert taken(wish) == ["v1"], wish
    for wish in ("speed=6", "disk=6gb", "ghz=2.6", "speed=fast", "rack=6"):
        assert taken(wish) == [], wish


def test_what_no_vnode_has_and_no_scheduler_looks_at_is_not_counted() -> None:
    seen = server_status({"1.s": job(Resource_List__select="1:ncpus=1:ngpus=2")})
    assert translate(seen, SETTINGS).snapshot.vnodes["v1"].available["ngpus"] == PLENTY
    looked_at = {"default": {"sched_config": 'resources: "ncpus, mem, ngpus"\n'}}
    assert "ngpus" not in translate(seen, SETTINGS, looked_at).snapshot.vnodes["v1"].available
    counted = server_status(vnodes={"v1": vnode(resources_available__ngpus="1"), "v2": vnode()})
    vnodes = translate(counted, SETTINGS).snapshot.vnodes
    assert (vnodes["v1"].available["ngpus"], "ngpus" in vnodes["v2"].available) == (1, False)


def test_what_a_scheduler_takes_as_infinite_is_without_limit_on_its_vnodes_that_have_no_amount_of_it() -> None:
    counted = {"default": {"sched_config": 'resources: "ncpus, ngpus"\nresource_unset_infinite: "vmem,ngpus"\n'}}
    vnodes = {
        "v1": vnode(resources_available__ngpus="1"), "v2": vnode(), "p1": vnode(partition="part"),
    }  # fmt: skip
    scheds = {"default": {"partition": "pbs-default"}, "other": {"partition": "part"}}
    snapshot = translate(server_status(vnodes=vnodes, scheds=scheds), SETTINGS, counted).snapshot
    amounts = {name: each.available.get("ngpus") for name, each in snapshot.vnodes.items()}
    assert amounts == {"v1": 1, "v2": PLENTY, "p1": None}


def test_no_readings_are_made_up() -> None:
    texts = vnode(used=3) | {"resources_available.pbsteer_temperature": "60"}
    assert snapshot_of(server_status(vnodes={"v1": texts}), SETTINGS).readings == {}


def test_run_limits_of_vnodes_are_read_and_jobs_then_name_their_owners() -> None:
    seen = server_status(
        {"1.server": job(egroup="chem")}, {"v1": vnode(max_user_run="2", max_group_run="many"), "v2": vnode()}
    )
    snapshot = snapshot_of(seen, SETTINGS)
    limits = {name: each.run_limits for name, each in snapshot.vnodes.items()}
    assert limits == {"v1": RunLimits(of_user=2), "v2": None}
    assert snapshot.jobs["1.server"].request.owner == ("alice", "chem")
    without = snapshot_of(server_status({"1.server": job(egroup="chem")}, {"v2": vnode()}), SETTINGS)
    assert without.jobs["1.server"].request.owner is None


def test_jobs_translated_before_a_vnode_got_a_limit_are_translated_again() -> None:
    known = Known()
    texts = job(egroup="chem")
    before = translate(server_status({"1.server": texts}, {"v1": vnode()}), SETTINGS, known=known)
    after = translate(server_status({"1.server": texts}, {"v1": vnode(max_running="1")}), SETTINGS, known=known)
    owners = [each.snapshot.jobs["1.server"].request.owner for each in (before, after)]
    assert owners == [None, ("alice", "chem")]
