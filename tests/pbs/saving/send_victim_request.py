"""Sends one victim's request as a pass does, with the mark that a pass has written before, and prints what came of it.

Usage: PYTHON -I send_victim_request.py SOURCES PBS_EXEC JOB METHOD
With the method ``released`` it only writes the mark of a pass that has released the job, with ``withdrawn`` that of
one that has withdrawn its request to save.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    """Wait for a line on standard input between the mark and the request."""
    sources, pbs_exec, job_id, method = sys.argv[1:]
    sys.path[:0] = [sources, str(Path(pbs_exec) / "lib" / "python" / "altair")]
    import pbs_ifl  # type: ignore[import-not-found, unused-ignore]

    from hooks.checkpoint.save_method.read_save_method_job_asked_for import CHECKPOINT, SIGNAL
    from hooks.checkpoint.victims.plan_victim_requests import VictimRequest
    from hooks.checkpoint.victims.victim_requests_in_parallel import VictimRequests
    from hooks.pbs.client.pbs_ifl_client import Connection
    from hooks.pbs.job_attributes.job_ids_and_states import read_start_s
    from hooks.pbs.job_attributes.victim_mark import Mark, show_marks

    with Connection(pbs_ifl) as connection:
        asked_s = int(time.time())
        if method == "released":
            connection.set_mark(job_id, show_marks({None: Mark("", CHECKPOINT, asked_s, asked_s + 60)}))
            return
        if method == "withdrawn":
            withdrawn = Mark("9.s", SIGNAL, asked_s, asked_s, why="beneficiary-gone")
            connection.set_mark(job_id, show_marks({None: withdrawn}))
            return
        mark = Mark("9.s", method, asked_s, asked_s + 60, held=method != SIGNAL)
        connection.set_mark(job_id, show_marks({None: mark}))
        start_s = read_start_s(connection.read_job(job_id, ("job_state", "stime")))
    sys.stdin.readline()
    signal = "USR2" if method == SIGNAL else ""
    victim_requests = VictimRequests(pbs_ifl, [VictimRequest(job_id, method, signal, start_s)], lambda: None)
    victim_requests.wait(60)
    json.dump({"skipped": sorted(victim_requests.skipped), "failures": victim_requests.failures}, sys.stdout)


if __name__ == "__main__":
    main()
