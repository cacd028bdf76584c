"""A batch of jobs that share one large file goes to another PBS cluster and to a Slurm cluster of a real centre.

Beside it, in the same run and over the same link, plain rsync copies the same folders. Needs root, PBS, Slurm, sshd and
rsync, as the tests in tests/pbs/centre do. A full source is not needed: the jobs name their target. That has an idle
core for each job, since a job is handed over only when it could start: waiting for cores is no part of copying.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from container.centre import centre as centres
from container.centre.centre_spec import CentreSpec
from container.hosts.machine_and_host_requirements import find_pbs_exec
from container.testbed import run_on
from tests.bench_pbs.benchmark_result import Figure
from tests.pbs.centre.act_as_user_and_service import HOME, SiteUser
from tests.pbs.centre.install_programs_for_all_accounts import usable_programs

_NAME = "bench-mg"
_PORT = "2222"
_MOST_OVERHEAD = 1.05
"""Bytes on the link against those of the files: packets' headers, lists of files, questions."""
_MOST_TIME = 1.3
_WITHIN_S = 3_600
_EVERY_S = 60.0
"""As the timers do. What comes sooner is an early pass."""
_WAITS = "is being brought by another job"
"""In the record of a job that waits for the shared file, and copies nothing."""


class Batch(NamedTuple):
    """``jobs`` folders side by side with links to one file of ``mib``, the batch at the source."""

    user: SiteUser
    jobs: int
    mib: int
    folder: str

    def make(self) -> None:
        """Make the folders."""
        script = """mkdir -p "$1" && cd "$1" && head -c "$2"M /dev/urandom > mesh.dat
for n in $(seq -w 1 "$3"); do
    mkdir case$n && head -c 100000 /dev/urandom > case$n/input.dat && ln -s ../mesh.dat case$n/mesh.dat
    printf '#!/bin/sh\\nwc -c < mesh.dat > result.dat\\n' > case$n/solver && chmod 755 case$n/solver
done"""
        self.user.sh(script, self.folder, str(self.mib), str(self.jobs))

    @property
    def bytes(self) -> int:
        """The bytes of its files, the shared one counted once."""
        return int(self.user.sh('du -sb --apparent-size "$1" | cut -f 1', self.folder))

    def submit(self) -> str:
        """Submit all as one list; the ticket."""
        script = """cd "$1"; for n in case*; do echo "-t $2 -n 1 -w 10:00 $n ./solver"; done > batch.txt
"$3" -f batch.txt"""
        return self.user.sh(script, self.folder, self.user.target, self.user.programs.path("mgsub")).strip()


class Followed(NamedTuple):
    """What has become of the batch, in seconds after its submission; ``most_uploads`` were under way at once."""

    first_local_s: float
    uploaded_s: float
    ended_s: float
    most_uploads: int
    jobs: Sequence[dict[str, Any]]


def measure(words: Sequence[str]) -> Iterator[Figure]:
    """The figures for each target."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench_migration batch_against_rsync", description=__doc__)
    parser.add_argument("--jobs", type=int, default=30)
    parser.add_argument("--mib", type=int, default=200, help="size of the shared file")
    parser.add_argument("--mbit", type=int, default=0, help="Mbit/s of the links; 0 for no limit")
    parser.add_argument("--cores", type=int, default=16, help="cores of each of the two vnodes of a cluster")
    parser.add_argument("--targets", default="bc", help="b is PBS, c is Slurm")
    arguments = parser.parse_args(words)
    spec = CentreSpec(
        _NAME, ("pbs", "pbs", "slurm"), cores=arguments.cores, pbs_exec=find_pbs_exec(None, os.environ)
    )  # fmt: skip
    with usable_programs(_NAME) as programs:
        try:
            centre = centres.up(spec, programs, _EVERY_S)
            for target in arguments.targets:
                user = SiteUser(centre, programs, "a", target)
                centres.limit_link(centre, "a", target, arguments.mbit * 1_000)
                batch = Batch(
                    user, arguments.jobs, arguments.mib, str(centre.clusters["a"].home("alice") / f"to-{target}")
                )
                yield from _measure(batch)
        finally:
            centres.down(spec.name)


def _measure(batch: Batch) -> Iterator[Figure]:
    batch.make()
    user, kind = batch.user, batch.user.centre.spec.find(batch.user.target).testbed.scheduler
    files = batch.bytes
    plain_s, plain_bytes = _copy_plainly(batch)
    before, begun = user.sent_bytes(), time.monotonic()
    ticket = batch.submit()
    followed = _follow(batch, ticket, begun)
    sent = user.sent_bytes() - before
    ended = [job for job in followed.jobs if (job["state"], job["exit"]) == ("End", "0")]
    back = user.sh('cd "$1"; cat case*/result.dat | sort | uniq -c', batch.folder).split()
    for job in followed.jobs:
        if job not in ended:
            sys.stderr.write(f"{job['gid']}: {job['state']} {job['exit']} {job['reason']}\n")
    what = f"{batch.jobs} jobs, {batch.mib} MiB, to {kind}"
    yield Figure(f"{what}: jobs without their result", batch.jobs - min(len(ended), int(back[0])), "", 0)
    yield Figure(f"{what}: jobs that brought the shared file", _bringers(followed, batch.mib), "", 1)
    yield Figure(f"{what}: uploads at once", followed.most_uploads, "", 4)
    yield Figure(f"{what}: bytes on the link / bytes of the files", sent / files, "", _MOST_OVERHEAD, f"{sent:,} bytes")
    yield Figure(f"{what}: plain rsync", plain_s, "s", None, f"{plain_bytes:,} bytes")
    yield Figure(f"{what}: mgsub to the first local job", followed.first_local_s, "s")
    yield Figure(f"{what}: mgsub to the last folder there", followed.uploaded_s, "s")
    yield Figure(f"{what}: the same / plain rsync", followed.uploaded_s / plain_s, "", _MOST_TIME)
    yield Figure(f"{what}: mgsub to the last result", followed.ended_s, "s")


def _bringers(followed: Followed, mib: int) -> int:
    return sum(job["shared_bytes"] >= mib << 20 for job in followed.jobs)


def _follow(batch: Batch, ticket: str, begun: float) -> Followed:
    """Look at the target's own files until all jobs are over; the passes run by themselves."""
    user = batch.user
    first = uploaded = 0.0
    most = 0
    looked = f"cat {HOME}/received.q {HOME}/done.q 2>/dev/null || true"
    while True:
        lines = [line for line in user.there(looked).splitlines() if "\tsrc=a\t" in line]
        now = time.monotonic() - begun
        uploading = sum("\tstate=Uploading\t" in line for line in lines)
        most = max(most, uploading - sum(_WAITS in line for line in lines))
        if not first and any("\tlocalid=" in line for line in lines):
            first = now
        on_the_way = sum("\tstate=Waiting\t" in line for line in lines) + uploading
        if not uploaded and len(lines) == batch.jobs and not on_the_way:
            uploaded = now
        if uploaded and all("\tstate=End\t" in line or "\tstate=Aborted\t" in line for line in lines):
            jobs = user.jobs(ticket)
            if all(job["state"] in ("End", "Aborted") for job in jobs):
                return Followed(first, uploaded, time.monotonic() - begun, most, jobs)
        if now > _WITHIN_S:
            raise TimeoutError(f"{len(lines)} of {batch.jobs} jobs are at {user.target} after {now:.0f} s")
        time.sleep(0.5)


def _copy_plainly(batch: Batch) -> tuple[float, int]:
    """Seconds and bytes of one rsync of the batch, by ssh and over the same link, to a folder of alice's there."""
    user = batch.user
    home = user.centre.clusters["a"].home("alice")
    there = user.centre.clusters[user.target]
    user.sh('[ -e "$1" ] || ssh-keygen -q -t ed25519 -N "" -f "$1"', f"{home}/plain-key")
    keys = there.home("alice") / "plain-keys"
    keys.write_text(user.read(f"{home}/plain-key.pub"))
    options = ["-o", "AllowUsers=alice", "-o", f"AuthorizedKeysFile={keys}", "-o", "StrictModes=no", "-o", "UsePAM=no"]
    own = ["-f", "/dev/null", "-h", "/etc/ssh/ssh_host_ed25519_key", "-o", "PidFile=none", "-p", _PORT]
    run_on(there, "server", ["/usr/sbin/sshd", *own, *options]).demand_success()
    name = there.spec.name
    ssh = f"ssh -p {_PORT} -i {home}/plain-key -o BatchMode=yes -o StrictHostKeyChecking=no"
    before, begun = user.sent_bytes(), time.monotonic()
    user.do("rsync", "-a", "-e", ssh, f"{batch.folder}/", f"alice@{name}:{there.home('alice')}/plain/")
    return time.monotonic() - begun, user.sent_bytes() - before
