"""Faults inside pbsteer's hooks: exceptions at any line, and writes that fail. No job may suffer from one."""

from __future__ import annotations

import random

from tests.faults.build_injector_into_hook import Missed
from tests.faults.kinds.registry import ERRORS, HIT_S, WRITES, kind, linger, wait_for_asking
from tests.faults.testbed_under_faults import GRACE_S, Ground, LostError

_FIRST_OF_EPILOGUE = 6
"""Of its lines: before, it does not know yet how the job ended."""

_ENOSPC, _EIO, _EROFS, _EMFILE = 28, 5, 30, 24


# Errors inside


@kind("disk error at each write", 60)
def disk_error(ground: Ground, number: int, chance: random.Random) -> str:
    """One call that writes fails: no space, input/output error, read-only, no descriptors."""
    code = (_ENOSPC, _EIO, _EROFS, _EMFILE)[number % 4]
    order = ground.orders.give("periodic", "disk-error", at="step", among=WRITES, nth=chance.randint(1, 24), errno=code)
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    return f"{hit.show()}, which failed with errno {code}"


@kind("exception in a pass", 60)
def raise_in_pass(ground: Ground, _number: int, chance: random.Random) -> str:
    """At any line of pbsteer's own code."""
    error = chance.choice(ERRORS)
    order = ground.orders.give("periodic", "raise", at="line", nth=int(10 ** chance.uniform(0.0, 3.9)), error=error)
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    return f"{error}: {hit.show()}"


@kind("exception in queuejob", 35)
def raise_in_queuejob(ground: Ground, _number: int, chance: random.Random) -> str:
    """The submission must be taken all the same."""
    error = chance.choice(ERRORS)
    order = ground.orders.give("queuejob", "raise", at="line", nth=chance.randint(1, 40), error=error)
    job_id = ground.workload.submit_alien("bob")
    ground.orders.withdraw("queuejob")
    hit = ground.orders.find_hit(order)
    if hit is None:
        raise Missed("the hook had fewer lines than that")
    return f"{error}: {hit.show()}, {job_id} was taken"


@kind("exception in modifyjob", 25)
def raise_in_modifyjob(ground: Ground, _number: int, chance: random.Random) -> str:
    """A user's alteration of a job that waits must be taken all the same."""
    error = chance.choice(ERRORS)
    job_id = ground.workload.submit_alien("bob", ["-h"])
    order = ground.orders.give("modifyjob", "raise", at="line", nth=chance.randint(1, 20), error=error)
    altered = ground.pbs.run(["qalter", "-l", "walltime=00:00:30", job_id], user="bob")
    ground.orders.withdraw("modifyjob")
    released = ground.pbs.run(["qrls", job_id], user="bob")
    hit = ground.orders.find_hit(order)
    if altered.status != 0 or released.status != 0:
        raise LostError(f"an alteration was refused: {altered.stderr.strip()[:300]} {released.stderr.strip()[:300]}")
    if hit is None:
        raise Missed("the hook had fewer lines than that")
    return f"{error}: {hit.show()}, and the alteration was taken"


@kind("exception in runjob", 35)
def raise_in_runjob(ground: Ground, _number: int, chance: random.Random) -> str:
    """The start must go on all the same."""
    error = chance.choice(ERRORS)
    size = len(ground.pbs.server_log())
    with ground.guarded_starts():
        order = ground.orders.give("runjob", "raise", at="line", nth=chance.randint(1, 60), error=error)
        hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    log = ground.server_log_since(size)
    if f"on purpose ({order})" in log and "the runjob hook failed and lets PBS go on" not in log:
        raise LostError(f"the runjob hook failed in another way: {log[-400:]}")
    if "request rejected by 'pbsteer_runjob'" in log and "pbsteer: vnode" not in log:
        raise LostError(f"a start was refused for an error of pbsteer's: {log[-400:]}")
    return f"{error}: {hit.show()}"


@kind("exception in exechost_periodic", 20)
def raise_in_readings(ground: Ground, _number: int, chance: random.Random) -> str:
    """On a MoM's host, as it reports its readings."""
    error = chance.choice(ERRORS)
    order = ground.orders.give(
        "exechost_periodic", "raise", at="line", nth=int(10 ** chance.uniform(0.0, 1.7)), error=error
    )
    hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
    return f"{error}: {hit.show()}"


@kind("exception in execjob_epilogue", 25)
def raise_in_epilogue(ground: Ground, _number: int, chance: random.Random) -> str:
    """On the MoM's host: jobs that saved and ended as asked must be requeued all the same, and no others."""
    error = chance.choice(ERRORS)
    asked = wait_for_asking(ground)
    nth = chance.randint(_FIRST_OF_EPILOGUE, 40)
    order = ground.orders.give("execjob_epilogue", "raise", at="line", nth=nth, error=error, lasting=True)
    try:
        hit = ground.orders.wait_for_hit(order, HIT_S, ground.workload.top_up)
        linger(ground, GRACE_S)
    finally:
        ground.orders.withdraw("execjob_epilogue")
    return f"{asked} asked: {error} in each epilogue, first {hit.show()}"
