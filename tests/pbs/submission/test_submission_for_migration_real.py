"""How migration submits a user's job to a real server and follows it, whatever other users, or that user, do."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from migration.programs.run_external_program_with_limits import Finished
from migration.schedulers.pbs import PbsScheduler
from migration.schedulers.scheduler_interface import LocalJob
from policy.migration.job_demand import Demand
from tests.pbs.cluster import PbsCluster

LISTEN = """\
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
listener.listen()
print("listens", flush=True)
listener.accept()
open(sys.argv[1] + ".took", "w").close()
"""


def scheduler(pbs: PbsCluster) -> PbsScheduler:
    def run(argv: Sequence[str], *, user: str | None = None, cwd: str | None = None, **_: Any) -> Finished:
        inside = ["sh", "-c", 'cd "$0" && exec "$@"', cwd, *argv] if cwd else argv
        done = pbs.run(inside, user=user)
        return Finished(done.status, done.stdout.encode(), done.stderr.encode())

    return PbsScheduler(run, "workq")


def job_of(user: str, pbs: PbsCluster, name: str) -> LocalJob:
    home = pbs.run(["sh", "-c", "cd && pwd"], user=user).stdout.strip()
    pbs.run(["sh", "-c", "printf '#!/bin/sh\\nsleep 600\\n' > ~/w && chmod 700 ~/w"], user=user)
    return LocalJob(name, user, Demand(1, walltime_s=600), home, f"{home}/w", f"{home}/o", f"{home}/e")


@contextlib.contextmanager
def socket_of(taker: str, victim: str, pbs: PbsCluster) -> Iterator[str]:
    """The socket on which the victim's own background ``qsub`` would listen, made by another user."""
    path = f"/var/tmp/pbs_default_{pbs.run(['id', '-u'], user=victim).stdout.strip()}____"  # noqa: S108 - PBS's own
    # That of the victim's earlier submissions may listen still.
    pbs.run(["rm", "-f", path])
    listener = f"python3 -c {shlex.quote(LISTEN)} {path} > {path}.said 2>&1 & echo $!"
    process = pbs.run(["sh", "-c", listener], user=taker).stdout.strip()
    try:
        pbs.wait_until(lambda: "listens" in pbs.run(["cat", f"{path}.said"]).stdout, 30, "the socket is there")
        yield path
    finally:
        pbs.run(["sh", "-c", f"kill {process}; rm -f {path} {path}.*"])


def test_another_user_takes_no_submission_by_the_socket_of_a_background_qsub(pbs: PbsCluster) -> None:
    with socket_of("bob", "alice", pbs) as path:
        local_id = scheduler(pbs).submit(job_of("alice", pbs, "mg_a.1_1"))
        assert pbs.run(["test", "-e", f"{path}.took"]).status, "bob's process has got the submission"
    assert pbs.job(local_id)["Job_Owner"].split("@")[0] == "alice"


@pytest.mark.parametrize("text", ["[" * 3000 + "]" * 3000, "1" * 5000, "x\n    job_state = F\nJob Id: 0.x"])
def test_what_one_user_writes_into_a_job_keeps_no_other_from_being_followed(pbs: PbsCluster, text: str) -> None:
    local = scheduler(pbs)
    odd = pbs.qsub("bob", options=("-v", f"A={text}"))
    local_id = local.submit(job_of("alice", pbs, "mg_a.1_1"))
    for job_id in (odd, local_id):
        pbs.wait_for_state(job_id, "R")
    states = local.states([odd, "99999999999999999999", "1.nohost.example", "999999", local_id])
    assert {one: (state.state, state.runs) for one, state in states.items()} == {
        odd: ("running", 1), local_id: ("running", 1),
    }  # fmt: skip
    assert local.free().idle == 22
    many = [f"{number}.nohost.example" for number in range(900, 920)]
    assert local.states([odd, local_id, *many]).keys() == {odd, local_id}
    local.delete(odd, "bob")
    pbs.wait_until(lambda: odd not in local.states([odd]), 60, "the job is gone")
