"""Nothing is started where something holds that pbsteer would not honour, and no queue without the others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from hooks.control.pbs_scheduler.drive_mode_obstacles import find_obstacles
from hooks.translate.queues import read_modes
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import queue, server_status, vnode

SERVER = {"name": "server", "scheduling": "False"}
DEDICATED = "# month/day/year\n01/01/2020 10:00 01/01/2020 12:00\n"


def find_all(
    files: Mapping[str, Mapping[str, str]] | None = None, unread: Mapping[str, str] | None = None, **parts: Any
) -> dict[str, str]:
    seen = server_status(**parts)
    return find_obstacles(seen, read_modes(seen, Settings()), unread or {}, files or {})


def find(**parts: Any) -> str:
    parts.setdefault("queues", {"workq": queue("drive")})
    return find_all(**parts).get("workq", "")


def config(text: str) -> Mapping[str, Mapping[str, str]]:
    return {"default": {"sched_config": text}}


def test_a_queue_without_obstacles_is_driven_whether_its_scheduler_is_on_or_not() -> None:
    files = {"default": {"sched_config": "fair_share: false ALL\n#fair_share: true", "dedicated_time": DEDICATED}}
    for scheduling in ("True", "False"):
        assert find(files=files, scheds={"default": {"scheduling": scheduling, "partition": "pbs-default"}}) == ""
    assert find(files=files, scheds={}) == ""


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"files": config('server_dyn_res: "floatlic !/usr/bin/lic"\n')}, "there is no '/usr/bin/lic'"),
        ({"files": config('peer_queue: "workq workq@other"\n')}, "peer_queue is set"),
        ({"files": config('resource_unset_infinite: "ngpus, host"\n')}, "resource_unset_infinite names host"),
        ({"files": {"default": {"dedicated_time": "tomorrow"}}}, "dedicated_time .* cannot be read: 'tomorrow'"),
        ({"files": {"default": {"holidays": "weekday six"}}}, "holidays .* cannot be read: 'weekday six'"),
        ({"vnodes": {"v1": vnode(no_multinode_jobs="True")}}, "vnode v1 has no_multinode_jobs"),
        ({"vnodes": {"v1": vnode(provision_enable="True")}}, "vnode v1 has provision_enable"),
        (
            {"vnodes": {"v1": vnode(resources_available__lic="@v2"), "v2": vnode()}},
            "vnode v1 shares lic = @v2 with that vnode",
        ),
        ({"unread": {"workq": "queue workq: max_run: ..."}}, "max_run"),
        ({"unread": {"": "server: max_run: ..."}}, "server: max_run"),
        ({"queues": {"workq": queue("drive", partition="P9")}}, "no scheduler serves partition P9"),
    ],
)
def test_what_stands_in_the_way_is_named(parts: dict[str, Any], words: str) -> None:
    assert re.search(words, find(**parts))


@pytest.mark.parametrize(("state", "stands"), [("idle", True), ("scheduling", True), ("down", False)])
def test_a_scheduler_that_runs_by_a_config_nobody_can_read_is_an_obstacle(state: str, stands: bool) -> None:
    scheds = {"default": {"scheduling": "False", "partition": "pbs-default", "state": state}}
    assert ("cannot be read on this host" in find(scheds=scheds)) is stands
    assert find(scheds=scheds, files=config("fair_share: false ALL")) == ""


def test_consumables_and_unknown_names_without_limit_are_no_obstacle() -> None:
    assert find(files=config('resource_unset_infinite: "ngpus, licences, mpiprocs, nothing"\n')) == ""


def test_prime_time_placement_sets_and_run_limits_of_vnodes_are_no_obstacle() -> None:
    found = find_all(
        {"default": {"sched_config": "backfill_prime: true ALL", "holidays": "YEAR 2026\nweekday 0600 1730"}},
        queues={"p_fast": queue("drive"), "np_night": queue("drive", node_group_key="rack")},
        server={**SERVER, "node_group_enable": "True", "node_group_key": "switch"},
        scheds={"default": {"partition": "pbs-default", "do_not_span_psets": "True"}},
        vnodes={"v1": vnode(max_user_run="1")},
    )
    assert found == {}


def test_dedicated_time_and_its_queues_are_no_obstacle() -> None:
    files = {
        "default": {"sched_config": "dedicated_prefix: ded", "dedicated_time": "01/01/2090 10:00 01/01/2090 12:00"}
    }
    assert find_all(files, queues={"workq": queue("drive"), "dedq": queue("drive")}) == {}


def test_vnodes_that_the_queue_does_not_use_are_no_obstacle() -> None:
    vnodes = {
        "v1": vnode(),
        "v2": vnode(no_multinode_jobs="True", queue="other"),
        "v3": vnode(provision_enable="True", partition="P"),
        "v4": vnode(resources_available__lic="@v1", queue="other"),
    }
    assert find(vnodes=vnodes) == ""


def test_an_obstacle_to_one_queue_keeps_the_others_of_its_scheduler_with_it() -> None:
    scheds = {
        "default": {"scheduling": "True", "partition": "pbs-default"},
        "second": {"scheduling": "False", "partition": "P1,P2"},
    }
    queues = {
        "workq": queue("drive", partition="P2"),
        "free": queue("drive"),
        "fast": queue("drive", partition="P1"),
    }
    vnodes = {"v1": vnode(provision_enable="True", partition="P1")}
    found = find_all(queues=queues, scheds=scheds, vnodes=vnodes)
    assert sorted(found) == ["fast", "workq"]
    assert found["workq"] == (
        "scheduler second also serves queue fast (cannot be driven): drive all its queues or none"
    )


def test_a_queue_in_another_mode_is_named() -> None:
    found = find_all(queues={"workq": queue("drive"), "idle": queue("observe"), "route": {"queue_type": "Route"}})
    assert found == {"workq": "scheduler default also serves queue idle (in observe): drive all its queues or none"}


def test_a_queue_whose_mode_is_misspelt_is_named_with_what_it_says() -> None:
    found = find_all(queues={"workq": queue("drive"), "short": queue("Drive")})
    assert found == {
        "workq": "scheduler default also serves queue short (its mode 'Drive' is none of observe, advise, drive, so"
        " observe): drive all its queues or none"
    }
