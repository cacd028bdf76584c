"""A host whose disk is full takes no job: PBS holds a job after more than twenty starts, and passes say what is so."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests.hooks.deploy_on_testbed import deploy_and_drive, last_pass, quick_settings, wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.console.test_console_backend_and_commands import pbsteer


@contextlib.contextmanager
def full_disk(pbs: PbsCluster, host: str) -> Iterator[None]:
    """The MoM's folder of jobs on a file system without room."""
    folder = str(pbs.testbed.pbs_home(next(each for each in pbs.spec.mom_hosts if each.name == host)) / "mom_priv/jobs")
    pbs.run(["mount", "-t", "tmpfs", "-o", "size=16k", "full", folder], host=host).demand_success()
    pbs.run(["dd", "if=/dev/zero", f"of={folder}/filler", "bs=4k"], host=host)
    try:
        yield
    finally:
        pbs.run(["umount", "-l", folder], host=host).demand_success()


@pytest.mark.takes(90)
def test_its_reason_and_the_notes_say_that_its_starts_failed_until_it_is_released(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    host = pbs.mom_names[0]
    with full_disk(pbs, host):
        job = pbs.qsub("alice", select=f"1:ncpus=1:vnode={host}")
        pbs.wait_for_state(job, "H", 240.0)
        for _ in range(2):
            wait_for_pass(pbs)
        assert any("too many failed attempts to run" in note for note in last_pass(pbs)["notes"])
        assert "too many failed attempts to run" in str(pbs.job(job)["comment"])
        assert "too many failed attempts" in pbsteer(pbs, "status")
        assert "once its host can run it" in pbsteer(pbs, "explain", job)
    pbs.run(["qrls", "-h", "s", job]).demand_success()
    pbs.wait_for_state(job, "R", 60.0)
