"""A failing pass on a real server, a hand-back and an unconfirmed change reach syslog and the site's command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from policy.settings.settings_of_server_and_passes import AlertSettings
from tests.hooks.deploy_on_testbed import LATE_S, deploy, deploy_and_drive, is_scheduling, quick_settings, wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.console.test_audit_of_qmgr_and_console import AS_USER, ROOT

PBSTEER = str(Path(sys.executable).with_name("pbsteer"))
COVER = (
    "mkdir /run/cover && mount -t tmpfs tmpfs /run/cover && mkdir /run/cover/upper /run/cover/work"
    " && mount -t overlay overlay -o lowerdir=/dev,upperdir=/run/cover/upper,workdir=/run/cover/work /dev"
)
UNCOVER = "umount -l /dev; umount -l /run/cover; rmdir /run/cover"
LISTEN = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind("/dev/log")
os.chmod("/dev/log", 0o666)
if os.fork():
    os._exit(0)
os.setsid()
for number in range(3):
    os.dup2(os.open(os.devnull, os.O_RDWR), number)
with open(sys.argv[1], "wb", buffering=0) as kept:
    while True:
        said = listener.recv(65536)
        if said == b"end":
            break
        kept.write(said + b"\\n")
"""
END = 'import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"end", "/dev/log")'


@pytest.fixture
def syslog(pbs: PbsCluster) -> Iterator[Path]:
    """What a syslog of the server's host gets. The host's /dev is the machine's, so it is covered by one of its own."""
    kept = pbs.server_home / "syslog"
    pbs.run(["sh", "-c", COVER]).demand_success()
    try:
        pbs.run([sys.executable, "-c", LISTEN, str(kept)]).demand_success()
        yield kept
        pbs.run([sys.executable, "-c", END])
    finally:
        pbs.run(["sh", "-c", UNCOVER])


FILL = (
    "cp -a {folder} /run/kept && size=$(du -sk {folder} | cut -f1)"
    " && mount -t tmpfs -o size=$((size + 24))k,mode=700 tmpfs {folder} && cp -a /run/kept/. {folder}/"
    " && {{ dd if=/dev/zero of={folder}/fill bs=1k || true; }}"
)


def test_a_full_disk_hands_the_queues_back_and_runs_the_command(pbs: PbsCluster) -> None:
    """No pass can be counted then, and no alert recorded."""
    told = pbs.server_home / "told"
    deploy_and_drive(pbs, quick_settings(alerts=AlertSettings(("/usr/bin/tee", "-a", str(told)))))
    folder = pbs.server_home / "pbsteer"
    pbs.run(["sh", "-c", FILL.format(folder=folder)]).demand_success()
    try:
        pbs.wait_until(lambda: is_scheduling(pbs), LATE_S, "PBS's scheduler has its queues back")
        pbs.wait_until(lambda: told.exists() and "is switched on again" in told.read_text(), LATE_S, "it is told")
        pbs.wait_for_state(pbs.qsub("alice"), "R")
    finally:
        pbs.run(["umount", "-l", str(folder)]).demand_success()
    pbs.wait_until(lambda: not is_scheduling(pbs), LATE_S, "the queue is driven again")


def test_failing_passes_and_the_hand_back_are_reported_by_syslog_and_by_the_command(
    pbs: PbsCluster, syslog: Path
) -> None:
    told = pbs.server_home / "told"
    command = ("/usr/bin/tee", "-a", str(told))
    deploy_and_drive(pbs, quick_settings(alerts=AlertSettings(command)))
    assert not told.exists()
    tested = pbs.run([PBSTEER, "hooks", "alert", "--pbs-conf", "/etc/pbs.conf"]).demand_success().stdout
    assert "command /usr/bin/tee: ended with 0" in tested
    assert "a test of alerts" in syslog.read_text()

    # On a busy host passes may be late before; what they told of that is not of this test.
    before = [len(path.read_text().splitlines()) for path in (told, syslog)]
    broken = pbs.server_home / "server_priv" / "hooks" / "pbsteer_periodic.CF"
    text = broken.read_text()
    broken.write_text("{ cut o")
    pbs.wait_until(lambda: "is switched on again" in told.read_text(), LATE_S, "the command gets the hand-back")
    assert is_scheduling(pbs)
    status = pbs.run([PBSTEER, "hooks", "status", "--pbs-conf", "/etc/pbs.conf"])
    assert status.status == 1
    assert "last alert: " in status.stdout
    assert "an alert lasts (handed back, passes fail)" in status.stdout
    severities = []
    for path, count in zip((told, syslog), before):
        lines = path.read_text().splitlines()[count:]
        (failing,) = [line for line in lines if "a pass failed: JSONDecodeError" in line]
        (handed_back,) = [line for line in lines if "scheduler default is switched on again" in line]
        severities = [line.partition(">")[0] for line in (failing, handed_back)]
    assert severities == ["<28", "<27"]

    broken.write_text(text)
    wait_for_pass(pbs)
    pbs.wait_until(lambda: "may drive its queues again" in told.read_text(), 2 * LATE_S, "word that it is over")
    assert "<29>pbsteer" in syslog.read_text().splitlines()[-1]


LOSES_THE_ANSWER = """#!/bin/sh
REAL/bin/qmgr "$@"
exec sleep 600
"""
"""A qmgr whose server does what it was asked for, and whose answer never comes."""


def test_an_unconfirmed_change_is_reported_by_the_command_with_the_administrators_own_rights(
    pbs: PbsCluster, syslog: Path
) -> None:
    home = pbs.testbed.home("alice")
    told = home / "told"
    command = ("/bin/sh", "-c", f"cat >> {told}; id -un >> {told}")
    settings = quick_settings(alerts=AlertSettings(command))
    deploy(pbs, replace(settings, server=replace(settings.server, journal_group="chem")))
    pbs.qmgr("set server managers = alice@*")
    own, real = home / "exec", Path(pbs.spec.pbs_exec)
    (own / "bin").mkdir(parents=True)
    for entry in real.iterdir():
        if entry.name != "bin":
            (own / entry.name).symlink_to(entry)
    for program in (real / "bin").iterdir():
        if program.name != "qmgr":
            (own / "bin" / program.name).symlink_to(program)
    qmgr = own / "bin" / "qmgr"
    qmgr.write_text(LOSES_THE_ANSWER.replace("REAL", str(real)))
    qmgr.chmod(0o755)
    environment = [
        "LOGNAME=alice",
        f"HOME={home}",
        f"PYTHONPATH={ROOT}",
        f"XDG_STATE_HOME={home / 'unconfirmed'}",
        f"PBS_EXEC={own}",
    ]
    change = ["quota", "set", "workq", "dave", "8", "--yes"]
    done = pbs.run(["env", *environment, sys.executable, "-c", AS_USER, "alice", *change])
    assert done.status == 1
    assert "sent, but not confirmed: qmgr did not answer" in done.stderr
    # On a busy host the hooks may tell of late passes too, by the same command and as root.
    lines = told.read_text().splitlines()
    unconfirmed = "never confirmed: qmgr -c 'set queue workq max_run_res_soft.ncpus += [u:dave=8]', by alice from"
    assert [user for text, user in zip(lines, lines[1:]) if unconfirmed in text] == ["alice"], lines
    pbs.wait_until(lambda: "never confirmed" in syslog.read_text(), LATE_S, "syslog has it")
    assert "[u:dave=8]" in pbs.qmgr("list queue workq max_run_res_soft"), "the server had done it"
