"""A journal and an audit file as the hooks and the console write them, for views that show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hooks.store.state_files import State
from tests.tui.scripted_server import NOON_S
from tui.audit.audit_file import Actor, AuditLog

DAY = "2026-09-21"


def a_pass(ago_s: float, **more: Any) -> dict[str, Any]:
    """A pass of a driven ``workq``, so many seconds before the scripted noon, that did nothing but what is given."""
    return {
        "time_s": NOON_S - ago_s,
        "seconds": {"read_s": 0.12, "decide_s": 0.05, "act_s": 0.04},
        "modes": {"workq": "drive"},
        "acted": ["workq"],
        "waiting": 3,
        "running": 2,
        "idle_cores": 4,
        **{
            part: []
            for part in ("starts", "preempts", "estimates", "waits", "started", "requeued", "failures", "notes")
        },
        **more,
    }


def a_start(job: str, vnode: str = "v1", **more: Any) -> dict[str, Any]:
    return {"job": job, "queue": "workq", "user": "bob", "cores": 8, "exec_vnode": f"({vnode}:ncpus=8)", **more}


def a_preemption(job: str, beneficiary: str, why: str = "preempted for it: over quota") -> dict[str, Any]:
    return {"job": job, "queue": "workq", "user": "alice", "cores": 4, "beneficiary": beneficiary, "why": why}


def write_journal(folder: Path, *entries: dict[str, Any]) -> None:
    """Write passes as the periodic hook does."""
    state = State(folder)
    with state.locked():
        for entry in entries:
            state.write_journal(entry, DAY, keep_days=7)


def write_changes(
    path: Path,
    *stages: str,
    command: str = "qmgr -c 'set queue workq max_run_res_soft.ncpus += [u:carol=64]'",
    server: str = "hpc1",
) -> None:
    """One change for each stage; ``sending`` alone is one that was never confirmed."""
    log = AuditLog(path, Actor("root", "10.0.0.7 port 50022"), server)
    for number, stage in enumerate(stages):
        at_s = NOON_S - 3600 + 60 * number
        log.write(at_s, "sending", command, before="32", after="64", reply="")
        if stage != "sending":
            log.write(
                at_s + 1, stage, command, before="32", after="64", reply="" if stage == "done" else "Unauthorized"
            )
