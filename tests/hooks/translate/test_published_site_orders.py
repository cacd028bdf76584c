"""The order of jobs that a pass publishes is the one that a reader of its file gets, but for fair share."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.translate.published_site_orders import orders_from_data, orders_to_data
from hooks.translate.site_order import read_site_orders
from policy.model.jobs_runs_vnodes_queues import Queue
from policy.order.site_order_settings import SiteOrder

STATUS = ServerStatus(
    time_s=0.0,
    server={"job_sort_formula": "ncpus + job_priority"},
    queues={"workq": {"Priority": "10"}, "express": {"Priority": "200"}},
    vnodes={},
    jobs={},
    resources={},
    scheds={"default": {"preempt_queue_prio": "180", "job_sort_formula_threshold": "3"}},
)


def order_by(sched_config: str, status: ServerStatus = STATUS) -> SiteOrder:
    order = read_site_orders(status, status.queues, {"default": {"sched_config": sched_config}})["workq"].order
    assert order is not None
    return order


@pytest.mark.parametrize(
    "sched_config",
    [
        "preemptive_sched: true ALL\nby_queue: True prime\nby_queue: True non_prime",
        "preemptive_sched: false ALL\nround_robin: True ALL",
        'by_queue: false\njob_sort_key: "ncpus HIGH" ALL\njob_sort_key: "job_priority LOW"',
    ],
)
def test_an_order_survives_being_published(sched_config: str) -> None:
    order = order_by(sched_config)
    data = json.loads(json.dumps(orders_to_data([Queue("workq", order=order), Queue("other")]), allow_nan=False))
    assert read_site_orders(STATUS, STATUS.queues, orders_from_data(data))["workq"].order == order


def test_fair_share_is_not_published() -> None:
    order = order_by("fair_share: True ALL\nby_queue: True ALL")
    assert order.fair_share is not None
    data = orders_to_data([Queue("workq", order=order)])
    found = read_site_orders(STATUS, STATUS.queues, orders_from_data(data))["workq"].order
    assert found == replace(order, fair_share=None, tree=None, needs=found.needs if found else ())


@pytest.mark.parametrize("data", [None, [], "x", {"default": 1}, {"default": ["by_queue: True"]}])
def test_other_data_is_no_order(data: object) -> None:
    assert not orders_from_data(data)
