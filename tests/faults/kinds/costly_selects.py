"""Faults that one user makes on purpose: requests that cost the passes more than those of everybody else together."""

from __future__ import annotations

import random
import time

from hooks.store.state_files import PASSES, State
from policy.settings.settings_of_server_and_passes import SubmissionSettings
from tests.faults.build_injector_into_hook import Missed
from tests.faults.kinds.registry import kind, linger
from tests.faults.testbed_under_faults import Ground, LostError

_JOBS = 100
_LINGER_S = 6.0
_KINDS = SubmissionSettings().select_kinds - 1
_COSTLY = "+".join(f"1:ncpus=0:mem={kib + 1}kb" for kib in range(_KINDS))


@kind("a user's 100 costly selects", 3)
def submit_costly_jobs(ground: Ground, number: int, _chance: random.Random) -> str:
    """A hundred jobs with as many kinds of chunks as are allowed, by turns of a user within quota and of one over it;
    passes come to their end all the same, and decide in time."""
    user = ("dave", "alice")[number % 2]
    since_s = time.time()
    jobs: list[str] = []
    try:
        for index in range(_JOBS):
            jobs.append(ground.workload.submit_alien(user, ["-l", f"select={_COSTLY}+1:ncpus=8:mem={index + 1}mb"]))
            ground.workload.top_up()
        linger(ground, _LINGER_S)
        ground.demand_pass(time.time())
        entry = ground.read_last_pass()
        if State(ground.state_path).read_published(PASSES).get("setbacks"):
            raise LostError("passes failed beside them, and the queue was handed back")
        if entry.get("waiting", 0) < _JOBS // 2:
            raise Missed(f"only {entry.get('waiting')} jobs were waiting")
        decide_s = entry["seconds"]["decide_s"]
    finally:
        for first in range(0, len(jobs), _JOBS // 4):
            ground.pbs.run(["qdel", *jobs[first : first + _JOBS // 4]])
        for job_id in jobs:
            ground.books.expect_deletion(job_id)
    seconds = time.time() - since_s
    return f"{len(jobs)} jobs of {_KINDS + 1} kinds of chunks by {user}, {seconds:.0f} s; decided in {decide_s:.2f} s"
