"""What users' reservations keep counts for their owners' quotas while they run, and what the site's keep does not."""

from __future__ import annotations

import pytest

from policy.cycle.engine import decide
from policy.model.ledger_between_passes import Ledger
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import NOW_S, job, queue, running, server_status, snapshot_of, vnode


def reservation(owner: str, **more: str) -> dict[str, str]:
    times = {"reserve_start": str(int(NOW_S) - 60), "reserve_end": str(int(NOW_S) + 36_000)}
    return {
        "queue": "R1", "reserve_state": "5", "Reserve_Owner": owner, "resv_nodes": "(v1:ncpus=4)", **times, **more,
    }  # fmt: skip


def used(owner: str, user: str = "alice", scope: str = "workq", **more: str) -> int:
    quotas = {"max_run_res_soft.ncpus": "[u:alice=8],[u:olga=8]"}
    long = {"max_run_res_soft.ncpus": "[u:alice=4],[g:chem=6]"}
    seen = server_status(
        {},
        vnodes={"v1": vnode(8, 4, resv="R1.s"), "v2": vnode()},
        queues={"workq": {**queue("drive"), **quotas}, "long": {**queue("drive"), **long}, "R1": queue()},
        reservations={"R1.s": reservation(owner, **more)},
        server={"managers": "olga@*"},
    )
    return snapshot_of(seen, Settings()).use(scope).get(("u", user), 0)


@pytest.mark.parametrize(
    ("more", "amount"),
    [
        ({}, 4),
        ({"Resource_List.place": "excl"}, 8),
        ({"resv_nodes": "(v1:ncpus=0:mem=1gb)+(v1:ncpus=2)"}, 3),
        ({"reserve_state": "2"}, 0),
        ({"resv_nodes": "nonsense"}, 0),
    ],
)
def test_a_users_running_reservation_counts_with_all_that_it_keeps(more: dict[str, str], amount: int) -> None:
    assert used("alice@login", **more) == amount


def test_it_counts_once_where_the_owner_may_keep_most() -> None:
    assert (used("alice@login", scope="long"), used("alice@login", scope="")) == (0, 4)


def test_reservations_of_the_site_count_for_nobody() -> None:
    assert (used("olga@login", user="olga"), used("root@s", user="root")) == (0, 0)


def test_jobs_beyond_what_a_reservation_leaves_of_the_quota_make_room() -> None:
    """alice has 8, reserves 8 and runs 8 more: bob, within quota, gets the cores of her job."""
    quotas = {"max_run_res_soft.ncpus": "[u:alice=8],[u:bob=8]"}
    seen = server_status(
        {"1.s": {**running(8), "exec_vnode": "(v2:ncpus=8)"}, "9.s": job(cores=8, user="bob")},
        vnodes={"v1": vnode(8, 8, resv="R1.s"), "v2": vnode(8, 8, jobs="1.s/0")},
        queues={"workq": {**queue("drive"), **quotas}, "R1": queue()},
        reservations={"R1.s": reservation("alice@login", resv_nodes="(v1:ncpus=8)")},
    )
    plan = decide(snapshot_of(seen, Settings()), Ledger(), Settings())
    assert [preempt.id for preempt in plan.preempts] == ["1.s"]
