"""What needs an administrator: shown where it is so, in the conditional where passes only observe."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.pbs.custom_resources import PAUSED_ATTRIBUTE
from hooks.pbs.pause_in_server_attributes import describe_pause
from hooks.record.day_of_activity import Day
from policy import Ledger, Settings
from policy.model.allocation import Allocation
from policy.model.ledger_between_passes import Earmark
from tests.tui.scripted_server import NOON_S, a_server_status, changed
from tests.tui.server_with_reservation import with_reservation
from tests.tui.written_journal_and_audit import a_pass
from tui.backends.idle_core_history import IdleHistory
from tui.backends.pass_journal import Pass, Passes
from tui.pages.cluster.needs_attention import attention
from tui.pages.cluster.overview_page import overview_rows
from tui.pages.tab_strip import counts_of_views
from tui.state.cluster_view import see
from tui.text.screen_line import plain


@pytest.mark.parametrize(("mode", "told"), [("drive", True), ("advise", True), ("observe", False)])
def test_victims_are_named_only_where_passes_preempt(mode: str, told: bool) -> None:
    server_status = a_server_status()
    workq = {**server_status.queues["workq"], "resources_available.pbsteer_mode": mode}
    server_status = changed(server_status, queues={**server_status.queues, "workq": workq})
    ledger = Ledger(earmarks={"13.hpc1": Earmark(Allocation(()), ("11.hpc1",), NOON_S)})
    lines = [plain(line) for line in attention(see(server_status, Settings(), ledger, 0.1))]
    assert any(line.startswith("13 gets the cores of 11, preempted ") for line in lines) is told


def needs(mode: str, **options: Any) -> list[str]:
    server_status = a_server_status()
    workq = {**server_status.queues["workq"], "resources_available.pbsteer_mode": mode}
    server_status = changed(server_status, queues={**server_status.queues, "workq": workq})
    cluster = see(server_status, Settings(), Ledger(), 0.1, **options).decided(lambda: 0.0)
    return [plain(line) for line in attention(cluster)]


def test_a_server_without_vnodes_is_named() -> None:
    cluster = see(changed(a_server_status(), jobs={}, vnodes={}), Settings(), Ledger(), 0.1)
    assert "the server has no vnodes: no job can start" in [plain(line) for line in attention(cluster)]


@pytest.mark.parametrize(
    ("mode", "words"), [("drive", "preemptible"), ("advise", "preemptible"), ("observe", "would be preemptible")]
)
def test_jobs_over_quota_are_preemptible_only_where_passes_preempt(mode: str, words: str) -> None:
    assert f"alice 12 of 4 in workq, 2 of 2 running jobs {words}" in needs(mode)


@pytest.mark.parametrize(
    ("where", "limits", "says"),
    [
        ("workq", {"max_run_res_soft.ncpus": "[g:users=4]"}, "g:users 12 of 4 in workq, 2 of 2 running jobs {words}"),
        (
            "@server",
            {"max_run_res_soft.ncpus": "[u:alice=4]"},
            "alice 12 of 4 in the whole cluster, 2 of 2 running jobs {words}",
        ),
        ("workq", {"max_run_res_soft.licences": "[u:alice=1]"}, "alice 3 of 1 licences in workq, 2 jobs run"),
    ],
)
@pytest.mark.parametrize(("mode", "words"), [("drive", "preemptible"), ("observe", "would be preemptible")])
def test_whoever_is_over_a_quota_is_counted_and_named_whichever_it_is(
    where: str, limits: dict[str, str], says: str, mode: str, words: str
) -> None:
    """Users, groups and projects, of a queue or the server, on cores or another resource: the overview, the tab of the
    quotas and ``pbsteer status`` have the same."""
    scripted = a_server_status()
    workq = {name: text for name, text in scripted.queues["workq"].items() if not name.startswith("max_run_res_soft")}
    workq["resources_available.pbsteer_mode"] = mode
    server = {**scripted.server, **(limits if where == "@server" else {})}
    queues = {"workq": {**workq, **(limits if where == "workq" else {})}}
    jobs = {job_id: {**job, "Resource_List.licences": "1"} for job_id, job in scripted.jobs.items()}
    jobs["11.hpc1"]["Resource_List.licences"] = "2"
    status = changed(scripted, server=server, queues=queues, jobs=jobs)
    cluster = see(status, Settings(), Ledger(), 0.1).decided(lambda: 0.0)
    over = [plain(line) for line in attention(cluster) if plain(line).startswith(("alice ", "g:users "))]
    assert over == [says.format(words=words)]
    assert counts_of_views(cluster)["quotas"] == "1 over"
    page = overview_rows(cluster, Day(), IdleHistory(), 100, 30)
    assert any("1 over quota" in plain(part.line) for row in page for part in row.parts)


def test_jobs_of_two_queues_are_preemptible_by_the_modes_of_both() -> None:
    scripted = a_server_status()
    server = {**scripted.server, "max_run_res_soft.ncpus": "[u:alice=1]"}
    modes = {"workq": "drive", "gpu": "observe"}
    queues = {
        name: {**scripted.queues[name], "max_run_res_soft.ncpus": "", "resources_available.pbsteer_mode": mode}
        for name, mode in modes.items()
    }
    jobs = {**scripted.jobs, "12.hpc1": {**scripted.jobs["12.hpc1"], "queue": "gpu"}}
    status = changed(scripted, server=server, queues=queues, jobs=jobs)
    cluster = see(status, Settings(), Ledger(), 0.1).decided(lambda: 0.0)
    words = "1 of 2 running jobs preemptible and 1 would be preemptible"
    assert f"alice 12 of 1 in the whole cluster, {words}" in [plain(line) for line in attention(cluster)]


@pytest.mark.parametrize(("ahead_s", "named"), [(15, False), (31, True), (3600, True)])
def test_a_last_pass_in_the_future_needs_attention(ahead_s: float, named: bool) -> None:
    entry = a_pass(-ahead_s)
    lines = needs("drive", passes=Passes((Pass(entry["time_s"], entry),)))
    assert any("in the future: the clock was set back" in line for line in lines) is named


def test_jobs_that_the_quota_of_their_group_or_a_vnode_that_is_down_keeps_are_not_counted() -> None:
    """Without either of alice's jobs her group is below its quota; then the vnode of one fails."""
    scripted = a_server_status()
    limits = {"max_run_res_soft.ncpus": "[u:alice=4],[g:users=10]"}
    grouped = changed(scripted, queues={"workq": {**scripted.queues["workq"], **limits}})
    failed = changed(scripted, vnodes={**scripted.vnodes, "v1": {**scripted.vnodes["v1"], "state": "down"}})
    for status, words in ((grouped, "2 jobs run"), (failed, "1 of 2 running jobs preemptible")):
        cluster = see(status, Settings(), Ledger(), 0.1).decided(lambda: 0.0)
        assert f"alice 12 of 4 in workq, {words}" in [plain(line) for line in attention(cluster)]


@pytest.mark.parametrize(
    ("stopped", "ends"),
    [
        (False, "pbsteer resume ends it"),
        (True, "pbsteer resume and set server scheduling = True end it"),
    ],
)
def test_a_pause_with_a_reason_has_one_line(stopped: bool, ends: str) -> None:
    status = a_server_status()
    paused = changed(status, server={**status.server, PAUSED_ATTRIBUTE: "water", "scheduling": "False"})
    sentence = describe_pause(paused, stopped=stopped)
    entry = a_pass(5, notes=["a note", sentence], paused=sentence, stopped=stopped)
    cluster = see(paused, Settings(), Ledger(), 0.1, passes=Passes((Pass(entry["time_s"], entry),)))
    lines = [plain(line) for line in attention(cluster)]
    assert [line for line in lines if "paused" in line] == [f"paused: water; {ends}"]
    assert "a note" in lines


def test_a_pause_that_only_the_last_pass_has_seen_is_named_by_its_note() -> None:
    sentence = "pbsteer is paused by set server scheduling = False: it starts and preempts nothing"
    entry = a_pass(5, notes=[sentence], paused=sentence, stopped=True)
    assert sentence in needs("drive", passes=Passes((Pass(entry["time_s"], entry),)))


@pytest.mark.parametrize(("ago_s", "late"), [(15, False), (30, False), (31, True), (300, True)])
def test_a_pass_is_late_when_two_intervals_went_by_without_one(ago_s: float, late: bool) -> None:
    entry = a_pass(ago_s)
    lines = needs("drive", passes=Passes((Pass(entry["time_s"], entry),)))
    assert any(line.startswith("no pass of the hooks for ") for line in lines) is late
    assert not late or "one is due every 15 s: pbsteer hooks status says why" in lines[0]


def of_reservation(**texts: str) -> list[str]:
    cluster = see(with_reservation(a_server_status(), **texts), Settings(), Ledger(), 0.1)
    return [plain(line) for line in attention(cluster) if "S13" in plain(line) or "stopped" in plain(line)]


def test_the_queue_of_a_reservation_is_stopped_until_that_begins_and_needs_no_attention() -> None:
    assert of_reservation() == []
    workq = {**a_server_status().queues["workq"], "started": "False"}
    cluster = see(changed(a_server_status(), queues={"workq": workq}), Settings(), Ledger(), 0.1)
    assert "queue workq is stopped, 12 jobs wait in it" in [plain(line) for line in attention(cluster)]


def test_a_reservation_that_runs_without_a_vnode_is_named() -> None:
    """v3 is offline. One that has not begun may get another vnode: PBS's scheduler looks for one."""
    lost = {"resv_nodes": "(v2:ncpus=4)+(v3:ncpus=8)", "reserve_substate": "10"}
    assert of_reservation(reserve_state="5", **lost) == ["reservation S13 runs degraded, without v3"]
    assert of_reservation(reserve_state="5", reserve_substate="5") == []
    assert of_reservation(reserve_state="10", **lost) == []
