"""What of a scheduler's attributes and files becomes its order, and what is refused by name."""

from __future__ import annotations

import pytest

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.translate.site_order import needed_attributes, read_number, read_site_orders
from hooks.translate.snapshot import translate
from policy.order.site_order_settings import BY_QUEUE, ROUND_ROBIN, TOGETHER, SortKey
from policy.settings.site_settings import OrderSettings, Settings
from tests.hooks.sample_server_statuses import job, server_status, vnode

PRIV = "/var/spool/pbs/sched_priv"
INSTALLED = """
round_robin: False	all
by_queue: True		prime
by_queue: True		non_prime
fair_share: false	ALL
preemptive_sched: true	ALL
"""
TREE = "chem 10 root 60\nphys 20 root 40\nalice 11 chem 10\nbob 12 chem 20\n"


def seen(sched: dict[str, str] | None = None, **server: str) -> ServerStatus:
    status = server_status(
        vnodes={"v1": vnode()}, jobs={"1.s": job(user="alice"), "2.s": job(user="zoe")}, scheds={"default": sched or {}}
    )
    return ServerStatus.from_data({**status.to_data(), "server": {**status.server, **server}})


def order_of(config: str, sched: dict[str, str] | None = None, files: dict[str, str] | None = None, **server: str):  # type: ignore[no-untyped-def]
    given = {"default": {"sched_config": config, **(files or {})}}
    return read_site_orders(seen(sched, **server), ["workq"], given)["workq"]


def test_what_pbs_installs_takes_queues_one_by_one_and_says_nothing_more() -> None:
    order = order_of(INSTALLED).order
    assert (order.taken, order.is_explicit, order.express_from) == (BY_QUEUE, False, 150)


@pytest.mark.parametrize(
    ("config", "taken"), [("", TOGETHER), ("by_queue: False ALL", TOGETHER), ("round_robin: True\tALL", ROUND_ROBIN)]
)
def test_how_queues_are_taken(config: str, taken: str) -> None:
    assert order_of(config).order.taken == taken


def test_sort_keys_are_read_in_their_order_with_old_names() -> None:
    read = order_of('job_sort_key: "ncpus HIGH" ALL\njob_sort_key: "sort_priority low"\n')
    assert read.order.keys == (SortKey("ncpus", True), SortKey("job_priority", False))
    assert read.facts.is_explicit


def test_a_formula_of_the_scheduler_or_of_the_server_with_its_threshold() -> None:
    read = order_of(INSTALLED, {"job_sort_formula": "ncpus", "job_sort_formula_threshold": "5"})
    assert (read.order.formula.text, read.order.threshold) == ("ncpus", 5)
    assert order_of(INSTALLED, job_sort_formula="2*eligible_time").order.formula.uses == ("eligible_time",)


FAIR = "fair_share: True ALL\nfairshare_usage_res: ncpus*walltime\nfairshare_decay_time: 12:00:00\n"


def test_fair_share_has_its_tree_usage_and_decay() -> None:
    read = order_of(FAIR + "unknown_shares: 10\nfairshare_decay_factor: 0.7\n", files={"resource_group": TREE})
    fair_share = read.order.fair_share
    assert fair_share.usage.uses == ("ncpus", "walltime")
    assert (fair_share.decay_s, round(fair_share.decay_factor, 6), fair_share.enforced) == (43200, 0.7, True)
    assert fair_share.tree.nodes["zoe"].parent.name == "unknown"
    assert read.facts.entity == "euser"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ('job_sort_key: "arch HIGH" ALL\n', "job_sort_key arch is no number"),
        ('job_sort_key: "ncpus" ALL\n', "without HIGH or LOW"),
        ("fair_share: True ALL\nfairshare_entity: project\n", "fairshare_entity is project"),
        ("fair_share: True ALL\nfairshare_usage_res: open('x')\n", "fairshare_usage_res"),
        ("fair_share: True ALL\nround_robin: True ALL\n", "fair_share and round_robin are both true"),
    ],
)
def test_what_is_not_honoured_is_named(config: str, words: str) -> None:
    read = order_of(config)
    assert read.order is None
    assert words in read.obstacle
    assert read.obstacle.endswith("which pbsteer does not honour")


def test_the_order_is_that_of_the_present_time() -> None:
    config = 'by_queue: True prime\nby_queue: False non_prime\njob_sort_key: "ncpus HIGH" prime\n'
    always, never = "weekday all none\n", "YEAR 2026\nweekday none all\nsaturday none all\nsunday none all\n"
    found = {text: order_of(config, files={"holidays": text}).order for text in (always, never)}
    assert [(order.taken, len(order.keys)) for order in found.values()] == [(BY_QUEUE, 1), (TOGETHER, 0)]


def test_levels_of_preemption_by_fair_share_are_named() -> None:
    read = order_of(INSTALLED, {"preempt_prio": "express_queue, fairshare, normal_jobs"})
    assert read.obstacle == (
        "preempt_prio (express_queue, fairshare, normal_jobs) orders by fair share, which pbsteer does not honour"
    )


def test_express_queues_below_normal_jobs_are_named() -> None:
    assert (
        "express queues below normal jobs"
        in order_of(INSTALLED, {"preempt_prio": "normal_jobs, express_queue"}).obstacle
    )
    levels = "express_queue, normal_jobs, server_softlimits"
    assert order_of(INSTALLED, {"preempt_prio": levels}).order is not None


def test_a_formula_that_is_not_arithmetic_is_named() -> None:
    assert "job_sort_formula" in order_of(INSTALLED, job_sort_formula="ncpus if arch == 'x' else 1").obstacle


def test_a_tree_that_is_endlessly_deep_is_named() -> None:
    deep = "".join(f"g{number} {number + 2} {'root' if not number else f'g{number - 1}'} 1\n" for number in range(200))
    assert "more than 100 levels" in order_of(FAIR, files={"resource_group": deep}).obstacle


def test_without_the_file_there_is_neither_an_order_nor_an_obstacle() -> None:
    assert read_site_orders(seen(), ["workq"], {}) == {"workq": read_site_orders(seen(), ["workq"], {})["workq"]}
    assert read_site_orders(seen(), ["workq"], {})["workq"].order is None


def test_the_snapshots_jobs_have_what_the_order_needs_of_them() -> None:
    files = {"default": {"sched_config": FAIR, "resource_group": TREE}}
    snapshot = translate(seen(), Settings(), files).snapshot
    first = snapshot.jobs["1.s"]
    needs = snapshot.queues["workq"].order.needs  # type: ignore[union-attr]
    assert (first.entity, len(first.order_values)) == ("alice", len(needs))


def test_order_by_age_follows_no_site_order_and_has_no_obstacle_from_it() -> None:
    files = {"default": {"sched_config": "fairshare_entity: project\nfair_share: True\n"}}
    by_site = translate(seen(), Settings(), files)
    by_age = translate(seen(), Settings(order=OrderSettings(by="age")), files)
    assert "workq" in by_site.unread
    assert (by_age.unread, by_age.snapshot.queues["workq"].order) == ({}, None)


@pytest.mark.parametrize(
    ("text", "number"),
    [("", 0), ("4", 4), ("2gb", 2097152), ("100kb", 100), ("01:30:00", 5400), ("0.33333333", 0.3333), ("x", 0)],
)
def test_amounts_as_the_scheduler_puts_them_into_a_formula(text: str, number: float) -> None:
    assert read_number(text) == number


def test_only_attributes_that_an_order_uses_are_read() -> None:
    assert needed_attributes(seen(), {}) == ("queue_rank",)
    assert "eligible_time" in needed_attributes(seen({"job_sort_formula": "ncpus"}), {})
    assert "resources_used" in needed_attributes(seen(), {"default": {"resource_group": TREE}})
