"""Placement sets: whose key counts for a job, and what the scheduler says besides."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.translate.placement_sets import NO_SETS, read_placement_sets
from policy.model.job_request import Grouping, parse_request
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import job, queue, server_status, snapshot_of

ON = {"name": "server", "node_group_enable": "True", "node_group_key": "rack"}
SCHED = {"partition": "pbs-default", "scheduling": "True"}


def grouping_of(place: str = "free", server: dict[str, str] = ON, **parts: Any) -> Grouping | None:
    parts = {"queues": {"workq": queue()}, "scheds": {"default": SCHED}, **parts}
    asked = job(Resource_List__place=place, schedselect="1:ncpus=1")
    seen = server_status({"1.server": asked}, server=server, **parts)
    return snapshot_of(seen, Settings()).jobs["1.server"].request.group


def test_the_servers_key_counts_where_it_is_switched_on() -> None:
    assert grouping_of() == Grouping(("rack",))
    assert grouping_of(server={**ON, "node_group_key": "rack, row"}) == Grouping(("rack", "row"))
    assert grouping_of(server={**ON, "node_group_enable": "False"}) is None
    assert grouping_of(server={"name": "server", "node_group_enable": "True"}) is None


def test_the_queues_key_replaces_the_servers_and_the_jobs_own_both() -> None:
    rows = {"workq": queue(node_group_key="row")}
    assert grouping_of(queues=rows) == Grouping(("row",))
    assert grouping_of("scatter:group=host", queues=rows) == Grouping(("host",))
    assert grouping_of("group=host", server={"name": "server"}) == Grouping(("host",))


@pytest.mark.parametrize("place", ["free", "group=rack"])
def test_what_the_scheduler_says_holds_for_every_key(place: str) -> None:
    scheds = {"default": {**SCHED, "only_explicit_psets": "True", "do_not_span_psets": "True"}}
    assert grouping_of(place, scheds=scheds) == Grouping(("rack",), has_rest=False, may_span=False)


def test_a_site_without_sets_reads_none_and_leaves_requests_as_they_are() -> None:
    assert read_placement_sets(server_status(server={"name": "server"})) == {}
    request = parse_request("2:ncpus=1")
    assert NO_SETS.apply(request) is request
