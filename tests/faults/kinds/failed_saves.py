"""Faults of saving itself: PBS has a job checkpointed, and it does not save, or its end does not say whether it did."""

from __future__ import annotations

import random

from tests.faults.endless_preempting_jobs import Shape
from tests.faults.kinds.registry import ASKING_S, demand, kind, linger
from tests.faults.testbed_under_faults import Ground, LostError
from tests.pbs.saving.checkpointing_test_jobs import reread, with_actions

_SAVERS = Shape("alice", 0, 1, (4,), (8,), saves=("stay",), wish="checkpoint")
"""Jobs whose programs save when they are asked to, and go on: for the checkpoint script that is no save."""
_SAVED = "exit code 0"
_WAYS = ("the job does not end in time", "the script is killed", "the MoM has no patience with the script")


@kind("a failed save", 25)
def fail_save(ground: Ground, number: int, _chance: random.Random) -> str:
    """The job runs on, is requeued, and is not restarted by its MoM in the middle of that."""
    way, hosts = _WAYS[number % len(_WAYS)], ground.pbs.mom_names
    with with_actions(ground.pbs, "save", "restart", moms=len(hosts)):
        _shorten(ground, way)
        savers = ground.workload.submit(_SAVERS, 4)
        asked: set[str] = set()

        def is_one_asked() -> bool:
            ground.workload.top_up()
            asked.update(set(savers) & set(ground.read_last_pass().get("asked", ())))
            return bool(asked)

        ground.wait_until(is_one_asked, ASKING_S, f"a pass that has PBS checkpoint one of {', '.join(savers)}")
        if way == _WAYS[1]:
            ground.wait_until(lambda: _kill_scripts(ground), ASKING_S, "a checkpoint script")
        demand(ground, lambda: all(_has_gone(ground, job) for job in asked), f"{', '.join(asked)} requeued, or ended")
        linger(ground, 2.0)
    lines = ground.pbs.mom_log().splitlines()
    # One that ended in its own way while the script waited is saved for all that the script can know.
    failed = {job for job in asked if not any(f";{job};checkpoint_abort" in line and _SAVED in line for line in lines)}
    wrong = [line for line in lines if "restart script" in line and any(f";{job};" in line for job in failed)]
    if wrong:
        raise LostError(f"a job that was not saved was restarted: {wrong[0]}")
    return f"{', '.join(asked)} asked by a checkpoint, and {way}"


def _shorten(ground: Ground, way: str) -> None:
    """Have the script wait, or the MoM for the script, no longer than a grace here."""
    for host in ground.pbs.spec.mom_hosts:
        home = ground.pbs.testbed.pbs_home(host)
        if way == _WAYS[0]:
            script = home / "checkpoint.py"
            script.write_text(script.read_text().replace("WAIT_S = 25.0", "WAIT_S = 1.0"))
        if way == _WAYS[2]:
            config = home / "mom_priv" / "config"
            config.write_text(config.read_text().replace("checkpoint_abort 40", "checkpoint_abort 2"))
    reread(ground.pbs, len(ground.pbs.mom_names))


def _kill_scripts(ground: Ground) -> bool:
    argv = ["pkill", "-KILL", "-f", "checkpoint.py save"]
    return any(ground.pbs.run(argv, host=host).status == 0 for host in ground.pbs.mom_names)


def _has_gone(ground: Ground, job: str) -> bool:
    ground.workload.top_up()
    ground.books.read()
    life = ground.books.lives[job]
    return life.ended is not None or life.reruns > 0
