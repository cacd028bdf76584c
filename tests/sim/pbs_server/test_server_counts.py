"""The simulated server counts jobs and held resources right, whatever is done to it."""

from __future__ import annotations

import contextlib
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from policy.model.allocation import parse_exec_vnode
from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.objects.errors import PbsError
from sim.pbs_server.requests.status_requests import stat_jobs, stat_server, stat_vnodes
from sim.pbs_server.server import SimServer
from tests.sim.pbs_server.vnode_that_recovers import BEGIN_S, ONE_CORE, recover_vnode

OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["submit", "array", "run", "rerun", "delete", "hold", "release", "wait", "fail", "recover"]),
        st.integers(0, 7),
        st.sampled_from(["(v1:ncpus=1)", "(v2:ncpus=3:mem=5kb)", "(v1:ncpus=2)+(v2:ncpus=1)"]),
    ),
    max_size=60,
)


@given(OPERATIONS)
def test_the_server_counts_what_its_jobs_are_and_hold(operations: list[tuple[str, int, str]]) -> None:
    server = SimServer("sim", Clock(BEGIN_S))
    server.add_queue("workq")
    for name in ("v1", "v2"):
        server.add_vnode(name, {"ncpus": "4", "mem": "16gb"})
    for operation, number, place in operations:
        with contextlib.suppress(PbsError):
            apply(server, operation, number, place)
    server.clock.run_until(server.clock.now_s)
    held: Counter[tuple[str, str]] = Counter()
    states: Counter[str] = Counter()
    for job_id, shown in stat_jobs(server, extend="tx"):
        is_waiting_subjob = "[" in job_id and "[]" not in job_id and "array_index" not in shown
        if not is_waiting_subjob:
            states[shown["job_state"]] += 1
        if shown["job_state"] == "R":
            for spot in parse_exec_vnode(shown["exec_vnode"]).spots:
                for resource, amount in spot.amounts:
                    held[spot.vnode, resource] += amount * spot.chunks
    for name, attributes in stat_vnodes(server):
        for resource, suffix in (("ncpus", ""), ("mem", "kb")):
            assert attributes[f"resources_assigned.{resource}"] == f"{held[name, resource]}{suffix}"
    counted = dict(stat_server(server)[0][1])["state_count"]
    for word, letter in (("Queued", "Q"), ("Held", "H"), ("Running", "R"), ("Begun", "B")):
        assert f"{word}:{states[letter]} " in counted


def apply(server: SimServer, operation: str, number: int, place: str) -> None:
    job = f"{number}.sim" if f"{number}.sim" in server.jobs else f"{number}[{number % 3 + 1}].sim"
    if operation == "submit":
        server.submit("alice", "chem", ONE_CORE, 100.0 * number)
    elif operation == "array":
        server.submit("alice", "chem", {**ONE_CORE, "array_indices_submitted": "1-3"}, 100.0 * number)
    elif operation == "run":
        server.run_job(job, place)
    elif operation == "rerun":
        server.rerun_job(job)
    elif operation == "delete":
        server.delete_job(job.replace(f"[{number % 3 + 1}]", "[]") if number % 2 else job)
    elif operation == "hold":
        server.hold_job(job, "u")
    elif operation == "release":
        server.release_job(job, "u")
    elif operation == "wait":
        server.clock.run_until(server.clock.now_s + 50 * number)
    elif operation == "fail":
        server.fail_vnode("v2")
    else:
        recover_vnode(server, "v2")
