"""Faults that people make who know nothing of a preemption under way: they delete, requeue, hold and release the jobs
in it, and change the mode. What they did has to count."""

from __future__ import annotations

import random
import time
from typing import NamedTuple

from hooks.pbs.job_attributes.job_ids_and_states import index_of, parent_of
from hooks.pbs.job_attributes.victim_mark import MARK_ATTRIBUTE, MARK_KEY, MARK_RESOURCE, Mark, read_marks
from tests.faults.build_injector_into_hook import Missed
from tests.faults.kinds.registry import ASKING_S, demand, kind, linger, wait_for_asking
from tests.faults.testbed_under_faults import Ground


class Victim(NamedTuple):
    """A job that was asked to save, for whom, and the end of its time."""

    id: str
    beneficiary: str
    until_s: int


@kind("victim deleted in its grace", 25)
def delete_victim(ground: Ground, _number: int, _chance: random.Random) -> str:
    """It stays deleted, though its program saves and ends with the set exit status when it is to end."""
    size = len(ground.pbs.server_log())
    victim = find_victim(ground)
    deleted_s = time.time()
    delete(ground, victim.id, size)
    demand(ground, lambda: not _unfinished(ground, victim.id), f"{victim.id} is gone")
    return f"{victim.id} deleted {victim.until_s - deleted_s:.1f} s before the end of its time"


@kind("beneficiary deleted in the grace", 25)
def delete_beneficiary(ground: Ground, _number: int, _chance: random.Random) -> str:
    """No job needs the cores any more: the victim runs on, or again."""
    size = len(ground.pbs.server_log())
    victim = find_victim(ground)
    delete(ground, victim.beneficiary, size)
    return f"{victim.beneficiary} deleted, for which {victim.id} was saving"


@kind("victim requeued by hand in its grace", 25)
def requeue_victim(ground: Ground, _number: int, _chance: random.Random) -> str:
    """qrerun, by an administrator: before, beside or after the pass's own."""
    victim = find_victim(ground)
    done = ground.pbs.run(["qrerun", victim.id])
    if done.status != 0:
        raise Missed(f"{victim.id} had let go: {done.stderr.strip()}")
    return f"{victim.id} requeued, which had been asked to save for {victim.beneficiary}"


@kind("victim held by its user in its grace", 25)
def hold_victim(ground: Ground, _number: int, _chance: random.Random) -> str:
    """The user's hold stays until the user takes it off, whatever the pass does meanwhile."""
    victim = find_victim(ground, single=True)
    user = ground.books.lives[victim.id].user
    done = ground.pbs.run(["qhold", victim.id], user=user)
    try:
        if done.status != 0:
            raise Missed(f"{victim.id} had ended: {done.stderr.strip()}")
        linger(ground, max(0.0, victim.until_s - time.time()) + 2.0)
        holds = str(ground.pbs.job(victim.id).get("Hold_Types"))
    finally:
        # Also where its host refused: the server has the hold all the same.
        demand(ground, lambda: _is_released(ground, victim.id, user), f"{user}'s release of {victim.id}")
    return f"{victim.id} held by {user}, and then {holds}"


@kind("mode changed in a victim's grace", 25)
def change_mode(ground: Ground, number: int, _chance: random.Random) -> str:
    """To observe and to advise, in which no pass requeues what a driving pass has asked; then back."""
    victim = find_victim(ground)
    mode = ("observe", "advise")[number % 2]
    ground.set_mode(mode)
    try:
        left_s = victim.until_s - time.time()
        linger(ground, max(0.0, left_s) + 2.0)
        ground.demand_pass(time.time())
    finally:
        ground.set_mode("drive")
    ground.demand_driving(time.time())
    return f"{mode} {left_s:.1f} s before the end of {victim.id}'s time"


def delete(ground: Ground, job_id: str, log_size: int) -> None:
    """Delete a job, which has to stay deleted. Raises :class:`Missed` where it was ending.

    PBS refuses to delete such a one, but notes that somebody wanted it; where its host has asked for it to be queued
    again before it has answered, PBS takes the deletion and forgets it (OpenPBS 23.06).
    """
    done = ground.pbs.run(["qdel", job_id])
    before = ground.server_log_since(log_size).partition(f";{job_id};Job to be deleted at request")[0]
    if done.status != 0 or f"hook request rerun {job_id}" in before:
        ground.books.excused.add(job_id)
        raise Missed(f"{job_id} was ending when it was deleted: {done.stderr.strip() or 'it is requeued'}")
    ground.books.expect_deletion(job_id)


def find_victim(ground: Ground, *, single: bool = False) -> Victim:
    """A job that runs and still has time to save, for one other job; no subjob where it has to be a ``single`` one.
    Raises :class:`Missed` where no such job is found in time."""
    deadline = time.monotonic() + ASKING_S
    while True:
        asked = wait_for_asking(ground)
        for job_id in asked.split(", "):
            # Little is asked of the server, as time goes by meanwhile.
            texts = ground.pbs.job(job_id)
            marked = texts if index_of(job_id) is None else ground.pbs.job(parent_of(job_id))
            text = str(marked.get(MARK_ATTRIBUTE, {}).get(MARK_RESOURCE, ""))
            mark = read_marks({MARK_KEY: text}).get(index_of(job_id), Mark())
            is_alone = "[" not in mark.beneficiary + (job_id if single else "")
            if is_alone and mark.until_s > time.time() and texts["job_state"] == "R":
                return Victim(job_id, mark.beneficiary, mark.until_s)
        if time.monotonic() > deadline:
            raise Missed(f"{asked}: none of these has time left")


def _is_released(ground: Ground, job_id: str, user: str) -> bool:
    """Release the job; whether it has no hold of the user's any more. PBS refuses to release a job that is ending, and
    one that ends to be requeued keeps the hold."""
    if _unfinished(ground, job_id):
        ground.pbs.run(["qrls", job_id], user=user)
    return not _unfinished(ground, job_id) or "u" not in str(ground.pbs.job(job_id).get("Hold_Types"))


def _unfinished(ground: Ground, job_id: str) -> bool:
    ground.workload.top_up()
    ground.books.read()
    return job_id in ground.books.unfinished()
