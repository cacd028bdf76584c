"""What a suspended job needs again is kept for it once it is to be resumed."""

from __future__ import annotations

import pytest

from hooks.translate.job.reserve_resources_for_suspended_jobs import find_resume_needs
from policy import Ledger, Settings, decide
from policy.model.job_request import Amounts
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from tests.hooks.sample_server_statuses import NOW_S, RESOURCES, job, queue, running, server_status, snapshot_of, vnode

TO_BE_RESUMED = "45"
PLACED = "(v1:ncpus=4:mem=1048576kb)+(v2:ncpus=2)"


def suspended(substate: str = TO_BE_RESUMED, **more: str) -> dict[str, str]:
    return job("S", cores=6, substate=substate, **{"exec_vnode": PLACED, **more})


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ({}, {"v1": (("mem", 1 << 20), ("ncpus", 4)), "v2": (("ncpus", 2),)}),
        ({"resources_released": "(v1:ncpus=4)+(v2:ncpus=2)"}, {"v1": (("ncpus", 4),), "v2": (("ncpus", 2),)}),
        ({"Resource_List__place": "free:excl"}, {"v1": None, "v2": None}),
    ],
)
def test_all_that_it_has_released_is_kept(more: dict[str, str], kept: dict[str, Amounts | None]) -> None:
    (found,) = find_resume_needs(server_status({"12.s": suspended(**more)}))
    assert {name: None if amounts is None else tuple(sorted(amounts)) for name, amounts in found.vnodes.items()} == kept
    assert (found.job_id, found.run_s) == ("12.s", 600)


def test_how_long_it_may_still_run_is_its_walltime_if_it_has_one() -> None:
    texts = suspended()
    del texts["Resource_List.walltime"]
    (found,) = find_resume_needs(server_status({"12.s": texts}))
    assert found.run_s == UNLIMITED_S


@pytest.mark.parametrize("texts", [suspended("43"), suspended(queue="R7")])
def test_nothing_is_kept_where_nobody_resumed_it_nor_within_a_reservation(texts: dict[str, str]) -> None:
    seen = server_status(
        {"12.s": texts},
        queues={"workq": queue(), "R7": queue()},
        reservations={"R7.s": {"queue": "R7", "reserve_state": "5"}},
    )
    assert not list(find_resume_needs(seen))


@pytest.mark.parametrize(
    ("more", "left"),
    [
        ({}, {"ncpus": 10, "lic": 3}),
        ({"substate": "43"}, {"ncpus": 16, "lic": 5}),
        ({"resources_released": "(v1:ncpus=4)"}, {"ncpus": 12, "lic": 5}),
    ],
)
def test_what_it_needs_of_the_server_is_kept_too(more: dict[str, str], left: dict[str, int]) -> None:
    """The server counts what it has released as free: 4 of 20 cores and nothing of 5 licences are in use."""
    server = {"name": "s", "resources_available.ncpus": "20", "resources_assigned.ncpus": "4"}
    texts = {**suspended(Resource_List__lic="2"), **more}
    seen = server_status(
        {"12.s": texts},
        {"v1": vnode(8), "v2": vnode(8), "v3": vnode(8)},
        server={**server, "resources_available.lic": "5"},
        resources={**RESOURCES, "lic": {"type": "long", "flag": "q"}},
    )
    assert snapshot_of(seen, Settings()).server.shared == left


def test_no_waiting_job_starts_on_what_is_kept() -> None:
    """Four of its six cores are idle, two are still another job's: 13 would fit now, and waits."""
    jobs = {
        "11.s": running(2, "v2"),
        "12.s": job("S", cores=6, substate=TO_BE_RESUMED, exec_vnode="(v1:ncpus=4)+(v2:ncpus=8)"),
        "13.s": job(cores=6),
        "14.s": job(cores=2),
    }
    seen = server_status(jobs, {"v1": vnode(8), "v2": vnode(8, used=2)}, {"workq": queue("drive")})
    plan = decide(snapshot_of(seen, Settings()), Ledger(), Settings())
    assert [(start.id, start.allocation.exec_vnode()) for start in plan.starts] == [("14.s", "(v1:ncpus=2)")]
    assert "suspended job 12" in plan.reasons()["13.s"][1].sentence(plan.reasons()["13.s"][0], NOW_S)
