"""A drain planned: who is there, until when, what ending it would cost, and which reservations are in the way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import NOON_S, PBS, a_server_status, changed, running
from tui.backends.interface.commands_interface import ChangeError
from tui.model.typed_attributes import is_draining
from tui.operations.by_target.drain_plan import drain_lines, plan_drain
from tui.operations.by_target.vnode_ops import clear, drain
from tui.state.cluster_view import ClusterView, see
from tui.text.screen_line import plain


def cluster(**parts: object) -> ClusterView:
    return see(changed(a_server_status(), **parts), Settings(), Ledger(), 0.0)


def test_the_plan_has_the_runs_on_the_vnodes_the_last_to_end_last() -> None:
    jobs = {
        "1.hpc1": running("alice", 8, "v1"),
        "2.hpc1": running("bob", 2, "v1", **{"Resource_List.soft_walltime": "00:45:00"}),
        "3.hpc1": running("carol", 2, "v2"),
    }
    plan = plan_drain(cluster(jobs=jobs), ["v1"])
    assert [(stay.job, stay.until_s) for stay in plan.stays] == [
        ("2.hpc1", NOON_S - 1800 + 2700),
        ("1.hpc1", NOON_S - 1800 + 7200),
    ]
    assert [stay.ran_core_s for stay in plan.stays] == [1800 * 2, 1800 * 8]


def test_a_run_without_an_estimate_comes_last_and_is_reported() -> None:
    lost = {key: text for key, text in running("bob", 2, "v1").items() if key != "Resource_List.walltime"}
    plan = plan_drain(cluster(jobs={"2.hpc1": lost, "1.hpc1": running("alice", 6, "v1")}), ["v1"])
    assert [stay.job for stay in plan.stays] == ["1.hpc1", "2.hpc1"]
    assert "some have no estimate" in plain(drain_lines(plan, NOON_S)[0])


def test_reservations_on_the_vnodes_are_named() -> None:
    reservation = {"resv_nodes": "(v1:ncpus=2)+(v2:ncpus=2)", "reserve_start": str(int(NOON_S + 600))}
    plan = plan_drain(cluster(reservations={"R7.hpc1": reservation}, jobs={}), ["v2", "v3"])
    assert plan.bookings[0][:3] == ("R7.hpc1", ("v2",), NOON_S + 600)
    lines = [plain(line) for line in drain_lines(plan, NOON_S)]
    assert lines[0] == "no job runs there: drained at once"
    assert lines[1].startswith("reservation R7.hpc1 has v2, ")


def test_a_drain_leaves_the_jobs_that_must_not_run_again() -> None:
    jobs = {"1.hpc1": running("alice", 4, "v1"), "2.hpc1": running("bob", 4, "v1", Rerunable="False")}
    operation = drain(cluster(jobs=jobs), PBS, ["v1"], "requeue", "eve")
    assert [change.line for change in operation.changes] == [
        "qmgr -c 'set node v1 state += offline, comment = \"pbsteer drain by eve\"'",
        "qrerun 1.hpc1",
    ]
    assert operation.ends_work
    assert not drain(cluster(jobs=jobs), PBS, ["v1"], "wait", "eve").ends_work


def test_vnodes_that_are_offline_already_keep_their_comment() -> None:
    operation = drain(cluster(), PBS, ["v1", "v3"], "wait", "eve")
    assert operation.targets == ("v1",)
    with pytest.raises(ChangeError, match="v3 is offline already, and there is nothing to requeue"):
        drain(cluster(), PBS, ["v3"], "requeue", "eve")


@pytest.mark.parametrize(
    ("before", "back"),
    [
        ("", 'state -= offline, comment = ""'),
        ('fan "2"', "state -= offline, comment = 'fan \"2\"'"),
        ("""it's "2\"""", "state -= offline"),
    ],
)
def test_undoing_a_drain_gives_back_the_comment_where_qmgr_can_be_given_it(before: str, back: str) -> None:
    server_status = a_server_status()
    vnodes = {**server_status.vnodes, "v1": {**server_status.vnodes["v1"], "comment": before}}
    seen = see(replace(server_status, vnodes=vnodes), Settings(), Ledger(), 0.0)
    undo = drain(seen, PBS, ["v1"], "wait", "eve").changes[0].undo()
    assert undo is not None
    assert undo.argv[2] == f"set node v1 {back}"


@pytest.mark.parametrize("before", ["", "fan broken, ticket 7", "it's hot", 'fan "2"'])
def test_putting_a_drained_vnode_back_restores_its_comment(before: str) -> None:
    server_status = a_server_status()
    vnode = {**server_status.vnodes["v1"], "comment": before}
    seen = see(replace(server_status, vnodes={**server_status.vnodes, "v1": vnode}), Settings(), Ledger(), 0.0)
    (drained,) = drain(seen, PBS, ["v1"], "wait", "eve").changes
    comment = (drained.after or "").partition(": ")[2]
    assert before in comment
    offline = {**vnode, "state": "offline", "comment": comment}
    again = see(replace(server_status, vnodes={**server_status.vnodes, "v1": offline}), Settings(), Ledger(), 0.0)
    (change,) = clear(again, PBS, ["v1"]).changes
    quote = "'" if '"' in before else '"'
    assert change.argv[2] == f"set node v1 state -= offline, comment = {quote}{before}{quote}"
    assert is_draining({**offline, "jobs": "1.hpc1/0"})


def test_putting_a_vnode_back_leaves_a_comment_that_no_drain_wrote() -> None:
    server_status = a_server_status()
    offline = {**server_status.vnodes["v1"], "state": "offline", "comment": "fan broken"}
    seen = see(replace(server_status, vnodes={**server_status.vnodes, "v1": offline}), Settings(), Ledger(), 0.0)
    (change,) = clear(seen, PBS, ["v1"]).changes
    assert change.argv[2] == "set node v1 state -= offline"


def test_the_users_name_is_no_way_into_the_line() -> None:
    operation = drain(cluster(), PBS, ["v1"], "wait", 'eve (sudo from "x")\n; print server')
    assert operation.changes[0].argv[2] == (
        'set node v1 state += offline, comment = "pbsteer drain by eve__sudo_from__x_____print_server"'
    )
