"""A MoM's report as a reading by which vnodes are ranked."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.translate.snapshot import translate
from policy.settings.site_settings import Settings
from tests.torque.fake_torque import FakeTorque, as_pbs_ifl, node
from torque.passes.connection_for_pass import PassConnection
from torque.passes.watched_settings import WatchedSettings
from torque.read.believe_job_list import ReadingUser
from torque.read.known_jobs import KnownJobs
from torque.translate.node_reading import read_reading
from tui.backends.torque.settings_file import edit_settings_file
from tui.config.read_site_policy_toml import read_settings

REPORT = "opsys=linux,totmem=24684084kb,availmem=6291456kb,physmem=8388608kb,ncpus=8,loadave=2.00,rectime=1795347867"


@pytest.mark.parametrize(
    ("status", "reading"),
    [
        (REPORT, "t=1795347867;idle=0.75;mem=6144/8192"),
        (REPORT.replace("loadave=2.00", "loadave=20.5"), "t=1795347867;idle=0.00;mem=6144/8192"),
        # Free swap is no memory.
        (REPORT.replace("6291456kb", "20000000kb"), "t=1795347867;idle=0.75;mem=8192/8192"),
        (REPORT.replace("loadave=2.00,", ""), "t=1795347867;mem=6144/8192"),
        (REPORT.replace("physmem=8388608kb", "physmem=lots"), "t=1795347867;idle=0.75"),
        ("opsys=linux,loadave=nan,ncpus=0,rectime=5", "t=5"),
        ("opsys=linux", ""),
        ("", ""),
    ],
)
def test_what_is_reported_is_the_reading(status: str, reading: str) -> None:
    assert read_reading(status) == reading


def test_a_pass_ranks_by_it(tmp_path: Path) -> None:
    torque = FakeTorque(nodes={"n1": node(4, status=REPORT), "n2": node(4)})
    known = KnownJobs(ReadingUser("root", "tq"))
    file = WatchedSettings(tmp_path / "policy.toml", read_settings, edit_settings_file)
    with PassConnection(as_pbs_ifl(torque), known, file.current(), file) as connection:
        status = connection.read_server_status(1795347870.0)
    readings = translate(status, Settings()).snapshot.readings
    assert readings["n1"].compute == 3.0
    assert "n2" not in readings
