"""What waits for PBS's scheduler: suspended jobs once their vnodes can take them again, by all that these have."""

from __future__ import annotations

import pytest

from hooks.control.pbs_scheduler.work_only_pbs_scheduler_can_do import find_pending_work
from tests.hooks.sample_server_statuses import job, queue, running, server_status, vnode

STARTS = "9.s/0, 9.s/1, 9.s/2"
"""The vnode's list of jobs when a job of three cores starts there."""


def is_ready(vnodes: dict[str, dict[str, str]], exec_vnode: str, released: str = "", in_queue: str = "workq") -> bool:
    """Whether a suspended job that was there can be resumed; reservation R7 runs on v1."""
    seen = server_status(
        {
            "9.s": running(3),
            "12.s": job("S", queue=in_queue, substate="45", exec_vnode=exec_vnode, resources_released=released),
        },
        vnodes,
        {"workq": queue(), "R7": queue()},
        reservations={"R7.s": {"queue": "R7", "reserve_state": "5", "resv_nodes": "(v1:ncpus=8)"}},
    )
    (work,) = find_pending_work(seen)
    assert work.what == "job 12.s waits to be resumed"
    return work.ready


@pytest.mark.parametrize(
    ("there", "ready"),
    [
        (vnode(8, used=4), True),
        (vnode(8, used=5), False),
        (vnode(8, used=4, state="job-busy"), True),
        (vnode(8, used=4, state="offline"), False),
        (vnode(8, used=4, state="free,maintenance"), False),
        (vnode(8, used=4, state="resv-exclusive"), False),
        (vnode(8, used=1, state="job-exclusive"), False),
        (vnode(8, resources_assigned__mem="28gb"), True),
        (vnode(8, resources_assigned__mem="29gb"), False),
        (vnode(8, resources_available__lic="1"), True),
        (vnode(8, resources_available__lic="1", resources_assigned__lic="1"), False),
        (vnode(8, resources_available__lic="@v2", resources_assigned__lic="9"), True),
        (vnode(7, jobs=STARTS), True),
        (vnode(6, jobs=STARTS), False),
    ],
)
def test_a_suspended_job_can_be_resumed_where_its_vnode_has_all_that_it_needs(
    there: dict[str, str], ready: bool
) -> None:
    assert is_ready({"v1": there}, "(v1:ncpus=4:mem=4194304kb:lic=1)") is ready


@pytest.mark.parametrize(
    ("placed", "ready"),
    [
        ("(v1:ncpus=2)+(v1:ncpus=2)+(v2:ncpus=1)", True),
        ("(v1:ncpus=2)+(v1:ncpus=3)+(v2:ncpus=1)", False),
        ("(v1:ncpus=2+v2:ncpus=2)", False),
        ("(v1:ncpus=1)+(gone:ncpus=1)", False),
        ("nonsense", False),
        ("", False),
    ],
)
def test_it_can_be_resumed_once_all_its_vnodes_have_room(placed: str, ready: bool) -> None:
    assert is_ready({"v1": vnode(8, used=4), "v2": vnode(8, used=7)}, placed) is ready


@pytest.mark.parametrize(
    ("there", "released", "ready"),
    [
        (vnode(8, used=8, resources_assigned__mem="28gb"), "(v1:mem=4194304kb)", True),
        (vnode(8, used=8, resources_assigned__mem="30gb"), "(v1:mem=4194304kb)", False),
        (vnode(8, used=4, resources_assigned__mem="32gb"), "(v1:ncpus=4)", True),
        (vnode(8, used=8, resources_assigned__mem="32gb"), "(v1:ncpus=0)", True),
    ],
)
def test_it_needs_only_what_was_released_where_the_server_says_that(
    there: dict[str, str], released: str, ready: bool
) -> None:
    assert is_ready({"v1": there}, "(v1:ncpus=4:mem=4194304kb)", released) is ready


@pytest.mark.parametrize(("state", "ready"), [("resv-exclusive", True), ("free", True), ("down", False)])
def test_a_job_of_a_reservation_finds_its_vnodes_taken_by_the_reservation(state: str, ready: bool) -> None:
    assert is_ready({"v1": vnode(8, used=8, state=state)}, "(v1:ncpus=4)", in_queue="R7") is ready
