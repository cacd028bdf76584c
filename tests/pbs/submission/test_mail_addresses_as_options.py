"""Mail addresses that root's mail program would take for options, on a real server in the mode that interferes least:
none reaches the program, in any form that the server reads; other addresses do."""

from __future__ import annotations

import time
from pathlib import Path

from tests.hooks.deploy_on_testbed import deploy, quick_settings
from tests.pbs.ask_by_pbs_library import ask_by_library
from tests.pbs.cluster import PbsCluster

PLAIN = (
    "Job_Name=x", "Resource_List.select=1:ncpus=1", "Resource_List.walltime=00:10:00",
    "Variable_List=PBS_O_HOME=/tmp,PBS_O_WORKDIR=/tmp,PBS_O_HOST=server", "Mail_Points=b",
)  # fmt: skip
REFUSED = "which the server's mail program would take for an option"
NOT_UTF8 = "\udcff"


def test_no_mail_address_is_an_option_of_roots_mail_program(pbs: PbsCluster, tmp_path: Path) -> None:
    deploy(pbs, quick_settings("observe"))
    received, mailer = tmp_path / "received", tmp_path / "mailer"
    mailer.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {received}\ncat > /dev/null\n')
    mailer.chmod(0o755)
    pbs.qmgr(f"set server mailer = {mailer}")
    try:
        for addresses in ("-X/tmp/x", " -X/tmp/x", "bob,-X/tmp/x", "bob\n-X/tmp/x"):
            asked = f"Mail_Users={addresses}"
            assert REFUSED in ask_by_library(pbs, "alice", "submit", "", *PLAIN, asked), addresses
        assert REFUSED in pbs.try_qsub("alice", options=("-m", "b", "-M", "-X/tmp/x")).stderr
        good = pbs.qsub("alice", options=("-h", "-m", "b", "-M", "bob@some-site.org"))
        for altered in (
            ["Mail_Users=-X/tmp/x"],
            # PBS shows the hook nothing of the job then, and carries out the rest.
            [f"Account_Name={NOT_UTF8}", "Mail_Users=-X/tmp/x"],
            ["Mail_Users=-X/tmp/x", f"Account_Name={NOT_UTF8}"],
        ):
            assert REFUSED in ask_by_library(pbs, "alice", "alter job", good, *altered)
        # PBS drops an address that is not UTF-8.
        ask_by_library(pbs, "alice", "submit", "", *PLAIN, f"Mail_Users=-X/tmp/{NOT_UTF8}")
        check_reservation(pbs)
        pbs.run(["qrls", good], user="alice").demand_success()
        pbs.wait_until(lambda: received.exists() and "bob@some-site.org" in received.read_text(), 60.0, "bob's mail")
        assert "-X" not in received.read_text()
    finally:
        pbs.qmgr("unset server mailer")


def check_reservation(pbs: PbsCluster) -> None:
    begin = int(time.time()) + 7200
    plain = [f"reserve_start={begin}", f"reserve_end={begin + 600}", "Resource_List.select=1:ncpus=1"]
    assert REFUSED in ask_by_library(pbs, "alice", "reserve", "", *plain, "Mail_Users=-X/tmp/x")
    name = ask_by_library(pbs, "alice", "reserve", "", *plain, "Mail_Users=bob@some-site.org").split()[0]
    assert REFUSED in ask_by_library(pbs, "alice", "alter", name, "Mail_Users=bob,-X/tmp/x")
    pbs.run(["pbs_rdel", name], user="alice").demand_success()
