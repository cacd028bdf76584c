"""A driven queue whose scheduler has an order of vnodes is remarked on: a pass places jobs by its own rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hooks.control.pbs_scheduler.vnode_order_of_pbs_sched import find_vnode_orders_not_followed
from hooks.translate.queues import read_modes
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import queue, server_status, vnode

INSTALLED = 'node_sort_key: "sort_priority HIGH"\tALL\nsmp_cluster_dist: pack\n'


def find(config: str = INSTALLED, mode: str = "drive", rank: str = "none", **vnode_texts: str) -> str:
    seen = server_status(
        queues={"workq": queue(mode)}, vnodes={"v1": vnode(8, 0, "free", **vnode_texts), "v2": vnode()}
    )
    settings = replace(Settings(), ranking=RankingSettings(mode=rank))
    files = {"default": {"sched_config": config}}
    return find_vnode_orders_not_followed(seen, read_modes(seen, settings), settings, files).get("workq", "")


@pytest.mark.parametrize(
    ("config", "priority", "words"),
    [
        ('node_sort_key: "mem LOW" ALL\n', "", "takes vnodes by node_sort_key (mem LOW); in drive a pass does not"),
        (INSTALLED, "10", "takes vnodes by their Priority; in drive"),
        ("smp_cluster_dist: round_robin\n", "", "by smp_cluster_dist (round_robin)"),
        ('node_sort_key: "sort_priority HIGH"\nnode_sort_key: "ncpus LOW"\n', "", "(sort_priority HIGH, ncpus LOW)"),
        (
            'node_sort_key: "mem LOW" ALL\nsmp_cluster_dist: lowest_load\n',
            "",
            "node_sort_key (mem LOW) and smp_cluster_dist",
        ),
    ],
)
def test_an_order_of_vnodes_is_named(config: str, priority: str, words: str) -> None:
    assert words in find(config, Priority=priority)


def test_nothing_is_said_of_a_scheduler_as_installed_nor_where_a_pass_does_not_place_jobs() -> None:
    assert find() == find(Priority="0") == find("") == ""
    by_memory = 'node_sort_key: "mem LOW" ALL\n'
    assert find(by_memory, mode="observe") == find(by_memory, mode="advise") == ""


def test_a_site_that_ranks_its_vnodes_has_chosen_their_order() -> None:
    assert find('node_sort_key: "mem LOW" ALL\n', rank="memory") == ""


def test_priorities_of_another_schedulers_vnodes_are_not_its_own() -> None:
    assert find(Priority="10", partition="elsewhere") == ""
