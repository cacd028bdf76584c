"""``qmove`` to other servers on a real server in the mode that interferes least: refused to users before PBS looks up
the name, in all forms that its server reads, and let through for managers."""

from __future__ import annotations

import os
import time

from tests.hooks.deploy_on_testbed import deploy, quick_settings
from tests.pbs.cluster import PbsCluster

_PROGRAM = r"""
import ctypes, glob, os, sys

library = ctypes.CDLL(glob.glob(sys.argv[1] + "/lib/libpbs.so*")[0])
library.pbs_geterrmsg.restype = ctypes.c_char_p
server = library.pbs_connect(None)
print(library.pbs_movejob(server, sys.argv[2].encode(), os.fsencode(sys.argv[3]), None))
print((library.pbs_geterrmsg(server) or b"").decode())
"""


def move(pbs: PbsCluster, job: str, destination: str, user: str = "alice") -> str:
    argv = ["/usr/bin/python3", "-I", "-c", _PROGRAM, str(pbs.spec.pbs_exec), job, destination]
    return pbs.run(argv, user=user).demand_success().stdout


def test_users_move_jobs_within_the_server_alone_and_managers_anywhere(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("observe"))
    job = pbs.qsub("alice", options=("-h",))
    own = job.partition(".")[2]
    away = ["workq@x1.example.org", "@x2.example.org", f"workq@{own}:15005", f"workq@{own}@x3", "workq@x4+x"]
    for destination in away:
        begun_s = time.monotonic()
        assert "allowed are queues of this server" in move(pbs, job, destination), destination
        assert time.monotonic() - begun_s < 5
    # PBS shows the hook no text that is not UTF-8, and moves the job to the queue that it is in.
    move(pbs, job, "workq@x5" + os.fsdecode(b"\xff") + ".example.org")
    assert "x5" not in pbs.server_log()
    for destination in ("workq", f"workq@{own}"):
        pbs.run(["qmove", destination, job], user="alice").demand_success()
    assert "Unauthorized" in pbs.run(["qmove", "workq", job], user="bob").stderr
    assert "Unknown Job" in pbs.run(["qmove", "workq", f"999999.{own}"], user="bob").stderr
    told = move(pbs, job, "workq@localhost:1", user="root")
    assert "allowed are queues" not in told
    assert pbs.job_state(job) == "H"
