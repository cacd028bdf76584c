"""A driven queue whose scheduler's order reads users' own priorities is remarked on, with what ends the remark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hooks.control.pbs_scheduler.qsub_priority_orders_all_users import find_queues_ordered_by_users
from hooks.translate.snapshot import translate
from policy.settings.site_settings import OrderSettings, Settings
from tests.hooks.sample_server_statuses import queue, server_status

AS_ADVISE_WANTS_IT = 'job_sort_key: "job_priority HIGH"\tALL\n'


def find(
    mode: str = "drive",
    config: str = AS_ADVISE_WANTS_IT,
    order: OrderSettings = OrderSettings(),  # noqa: B008 - a frozen value
    **sched: str,
) -> dict[str, str]:
    seen = server_status(
        queues={"workq": queue(mode)},
        scheds={"default": {"scheduling": "False", "partition": "pbs-default", **sched}},
    )
    settings = replace(Settings(), order=order)
    found = translate(seen, settings, {"default": {"sched_config": config}})
    return find_queues_ordered_by_users(found.snapshot.cluster().queues, found.modes, settings)


def test_the_line_that_advise_demands_is_remarked_on_in_drive_with_what_ends_the_remark() -> None:
    found = find()
    assert found.keys() == {"workq"}
    for words in ("job_sort_key", "scheduler default", "qsub -p", 'order.by = "age"', 'order.user_priority = "all"'):
        assert words in found["workq"]
    by_formula = find(config="", job_sort_formula="10*job_priority + ncpus")
    assert "the job_sort_formula of scheduler default" in by_formula["workq"]


@pytest.mark.parametrize(
    ("mode", "config", "order"),
    [
        ("advise", AS_ADVISE_WANTS_IT, OrderSettings()),
        ("observe", AS_ADVISE_WANTS_IT, OrderSettings()),
        ("drive", 'job_sort_key: "walltime LOW"\tALL\n', OrderSettings()),
        ("drive", "", OrderSettings()),
        ("drive", AS_ADVISE_WANTS_IT, OrderSettings(by="age")),
        ("drive", AS_ADVISE_WANTS_IT, OrderSettings("all")),
    ],
)
def test_no_other_queue_is_remarked_on(mode: str, config: str, order: OrderSettings) -> None:
    assert find(mode, config, order) == {}
