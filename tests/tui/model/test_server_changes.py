"""What changed between two looks at the server is told in a few events."""

from __future__ import annotations

from tests.tui.scripted_server import NOON_S, a_job, a_server_status, a_vnode, changed, running, with_job
from tui.model.server_changes import ServerChanges


def seen(before: object, after: object, cut: dict[str, int] | None = None) -> ServerChanges:
    return ServerChanges(NOON_S).compared(before, after, {}, cut or {})  # type: ignore[arg-type]


def texts(watched: ServerChanges) -> list[str]:
    return [event.text for event in watched.events]


def test_jobs_that_come_start_end_and_go_back_are_counted() -> None:
    before = a_server_status()
    jobs = dict(before.jobs)
    del jobs["11.hpc1"]
    jobs["12.hpc1"] = a_job("alice", 4)
    jobs["13.hpc1"] = running("bob", 8, "v1")
    jobs["17.hpc1"] = a_job("erin", 1)
    after = seen(before, changed(before, jobs=jobs))
    assert (after.submitted, after.started, after.ended, after.requeued, after.preempted) == (1, 1, 1, 1, 0)
    after = seen(before, changed(before, jobs=jobs), {"12.hpc1": 1})
    assert (after.requeued, after.preempted) == (0, 1)


def test_a_subjob_that_starts_was_not_submitted_anew() -> None:
    before = a_server_status()
    after = seen(before, with_job(before, "16[3].hpc1", running("dave", 1, "v2")))
    assert (after.submitted, after.started) == (0, 1)
    array = {**before.jobs["16[].hpc1"], "array_indices_remaining": "0-2,4-9"}
    before = with_job(before, "16[].hpc1", array)
    after = seen(with_job(before, "16[3].hpc1", running("dave", 1, "v2")), before)
    assert (after.ended, after.requeued) == (1, 0)


def test_a_subjob_that_waits_again_was_preempted_or_requeued_and_has_not_ended() -> None:
    before = with_job(a_server_status(), "16[3].hpc1", running("dave", 1, "v2"))
    array = {**before.jobs["16[].hpc1"], "array_indices_remaining": "0-2,4-9"}
    before = with_job(before, "16[].hpc1", array)
    array = {**array, "array_indices_remaining": "0-9"}
    jobs = {job_id: job for job_id, job in before.jobs.items() if job_id != "16[3].hpc1"}
    after = seen(before, changed(before, jobs={**jobs, "16[].hpc1": array}), {"16[3].hpc1": 1})
    assert (after.ended, after.preempted, after.requeued) == (0, 1, 0)
    after = seen(before, changed(before, jobs={**jobs, "16[].hpc1": array}))
    assert (after.ended, after.preempted, after.requeued) == (0, 0, 1)
    # One that a pass preempts may end before it has saved.
    after = seen(before, changed(before, jobs=jobs), {"16[3].hpc1": 1})
    assert (after.ended, after.preempted, after.requeued) == (1, 0, 0)


def test_vnodes_that_go_down_together_are_one_event_and_busy_ones_none() -> None:
    before = changed(a_server_status(), vnodes={f"v{n}": a_vnode(8) for n in range(1, 9)})
    vnodes = {**before.vnodes, **{f"v{n}": a_vnode(8, 0, "down") for n in (2, 3, 4)}, "v8": a_vnode(8, 8, "job-busy")}
    went = seen(before, changed(before, vnodes=vnodes))
    assert texts(went) == ["v[2-4] down"]
    assert went.events[0].bad
    assert texts(seen(changed(before, vnodes=vnodes), before)) == ["v[2-4] back"]


def test_vnodes_that_are_deleted_or_created_are_reported() -> None:
    before = a_server_status()
    after = changed(before, vnodes={**{n: v for n, v in before.vnodes.items() if n != "v1"}, "v9": a_vnode(8)})
    assert sorted(texts(seen(before, after))) == ["v1 gone", "v9 added"]


def test_each_entry_of_a_quota_that_changed_is_told_from_what_to_what() -> None:
    before = a_server_status()
    workq = {**before.queues["workq"], "max_run_res_soft.ncpus": "[u:alice=9],[g:chem=512]"}
    queues = {**before.queues, "workq": workq}
    assert sorted(texts(seen(before, changed(before, queues=queues)))) == [
        "g:chem in workq: ncpus none → 512",
        "u:PBS_GENERIC in workq: ncpus 2 → none",
        "u:alice in workq: ncpus 4 → 9",
        "u:bob in workq: ncpus 8 → none",
    ]


def test_switches_modes_and_schedulers_are_reported() -> None:
    before = changed(a_server_status(), scheds={"default": {"scheduling": "False"}})
    workq = {**before.queues["workq"], "started": "False", "resources_available.pbsteer_mode": "observe"}
    after = changed(before, queues={"workq": workq}, scheds={"default": {"scheduling": "True"}})
    assert texts(seen(before, after)) == [
        "workq no longer starts jobs",
        "workq went from drive to observe",
        "queue gpu deleted",
        "scheduler default: scheduling False → True",
    ]


def test_the_same_picture_again_changes_nothing() -> None:
    assert seen(a_server_status(), a_server_status()) == ServerChanges(NOON_S)
