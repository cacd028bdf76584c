"""Who made a change is named only where the audit has a request for it."""

from __future__ import annotations

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import NOON_S, a_server_status, a_vnode, changed
from tui.audit.read_and_merge_audit_records import AuditRecord
from tui.pages.cluster.changes_since_opened import changed_lines
from tui.state.cluster_view import see
from tui.text.screen_line import plain

AT_S = NOON_S + 60


def record(command: str, user: str = "carol", stage: str = "done", at_s: float = AT_S - 10) -> AuditRecord:
    return AuditRecord(0, at_s, stage, user, "10.0.0.7", "hpc1", command, "", "", "")


def changes_of_vnodes(states: dict[str, tuple[str, str]], *records: AuditRecord) -> list[str]:
    """What is told once each of these vnodes goes from one state to another."""
    before, after = ({name: a_vnode(8, 0, each[at]) for name, each in states.items()} for at in (0, 1))
    first = see(changed(a_server_status(), vnodes=before), Settings(), Ledger(), 0.1)
    status = changed(a_server_status(), vnodes=after, time_s=AT_S)
    lines = changed_lines(see(status, Settings(), Ledger(), 0.1, before=first), records, 6)
    return [plain(line)[len("14:14 ") :] for line in lines[1:]]


OFFLINE = "set node n1 state += offline"


@pytest.mark.parametrize(
    ("made", "is_named"),
    [
        (record(OFFLINE), True),
        (record("qmgr -c 'set node n1 state += offline, comment = \"new disk\"'"), True),
        (record("pbsnodes -o n1"), True),
        (record("set node n10 state += offline"), False),
        (record("set node n1 comment = new disk"), False),
        (record("qdel 17.n1"), False),
        (record("set queue n1 state += offline"), False),
        (record(OFFLINE, stage="refused"), False),
        (record(OFFLINE, stage="failed"), False),
        (record(OFFLINE, stage="unconfirmed"), False),
        (record(OFFLINE, at_s=AT_S - 121), False),
        (record(OFFLINE, at_s=AT_S + 2), False),
    ],
)
def test_who_set_a_vnode_offline_is_named_by_a_request_for_that_alone(made: AuditRecord, is_named: bool) -> None:
    by = " by carol from 10.0.0.7" if is_named else ""
    assert changes_of_vnodes({"n1": ("free", "offline")}, made) == [f"n1 offline{by}"]


def test_nobody_has_set_a_vnode_down() -> None:
    made = record(OFFLINE), record("set node n1 state -= offline")
    assert changes_of_vnodes({"n1": ("free", "down")}, *made) == ["n1 down"]
    assert changes_of_vnodes({"n1": ("down", "free")}, *made) == ["n1 back"]
    assert changes_of_vnodes({"n1": ("offline", "free")}, *made) == ["n1 back by carol from 10.0.0.7"]
    assert changes_of_vnodes({"n1": ("offline", "down")}, *made) == ["n1 down"]
    assert changes_of_vnodes({"n1": ("down", "down,offline")}, *made) == ["n1 down,offline by carol from 10.0.0.7"]
    assert changes_of_vnodes({"n1": ("job-busy", "offline,job-busy")}, *made)[0].endswith(" by carol from 10.0.0.7")


def test_vnodes_that_several_people_set_offline_name_nobody() -> None:
    both = {"n1": ("free", "offline"), "n2": ("free", "offline")}
    hers, other = record(OFFLINE), "set node n2 state += offline"
    assert changes_of_vnodes(both, record(other), hers) == ["n[1-2] offline by carol from 10.0.0.7"]
    assert changes_of_vnodes(both, record(other, "erin"), hers) == ["n[1-2] offline"]
    assert changes_of_vnodes(both, hers) == ["n[1-2] offline"]


def test_of_two_requests_for_a_change_the_newer_made_it() -> None:
    made = record(OFFLINE, "erin", at_s=AT_S - 5), record(OFFLINE)
    assert changes_of_vnodes({"n1": ("free", "offline")}, *made) == ["n1 offline by erin from 10.0.0.7"]


def test_each_change_of_a_queue_names_who_asked_for_it() -> None:
    before = changed(a_server_status(), scheds={"default": {"scheduling": "False"}})
    workq = {
        **before.queues["workq"],
        "started": "False",
        "resources_available.pbsteer_mode": "observe",
        "max_run_res_soft.ncpus": "[u:alice=4],[u:bob=9]",
    }
    queues = {"workq": workq, "new": workq}
    after = changed(before, queues=queues, scheds={"default": {"scheduling": "True"}}, time_s=AT_S)
    records = [
        record("set queue workq started = False", "ann"),
        record("edit-settings /etc/p.toml workq mode observe", "ben"),
        record("qmgr -c 'set queue workq max_run_res_soft.ncpus += [u:bob=9]'", "cleo"),
        record("create queue new", "dora"),
        record("delete queue gpu", "emil"),
        record("set sched default scheduling = True", "fay"),
    ]
    first = see(before, Settings(), Ledger(), 0.1)
    lines = changed_lines(see(after, Settings(), Ledger(), 0.1, before=first), records, 12)
    told = [plain(line)[len("14:14 ") :].removesuffix(" from 10.0.0.7") for line in lines[1:]]
    assert told == [
        "scheduler default: scheduling False → True by fay",
        "queue gpu deleted by emil",
        "queue new created by dora",
        "u:PBS_GENERIC in workq: ncpus 2 → none",
        "u:bob in workq: ncpus 8 → 9 by cleo",
        "workq went from drive to observe by ben",
        "workq no longer starts jobs by ann",
    ]
