"""A job's page tells the reason of the pass that decided it, from when, and this console's own where they differ."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from hooks.pbs.job_attributes.job_comment_format import show_moment
from hooks.store.state_files import REASONS, State
from policy import Ledger, Settings
from tests.tui.scripted_server import a_job, a_server_status, changed, with_job
from tui.backends.pass_journal import JournalReader, Passes, PassReason, PassReasons
from tui.pages.job.job_explanation import explanation_data, refused_lines
from tui.pages.job.job_page import job_lines
from tui.state.cluster_view import ClusterView, see
from tui.tables.columns_by_view.planned_job_outcome import outcome_of
from tui.text.screen_line import plain
from tui.text.times_and_durations import clock_time

WAITS, STARTS = "14.hpc1", "17.hpc1"
BLOCKED = "may not start: it is held by its owner: releasing it lets it run"


def reasons(job_id: str, code: str, text: str, time_s: float) -> PassReasons:
    line = {"time_s": time_s, "code": code, "text": text, "jobs": ["9.hpc1", job_id]}
    return PassReasons(b"".join(json.dumps(each).encode() + b"\n" for each in ({**line, "jobs": ["8.hpc1"]}, line)))


def cluster_with(found: PassReasons, mode: str = "drive", **more: str) -> ClusterView:
    starts = a_job("carol", 1, **{"Resource_List.walltime": "00:01:00"}, **more)
    server_status = with_job(a_server_status(), STARTS, starts)
    queue = {**server_status.queues["workq"], "resources_available.pbsteer_mode": mode, "max_run_res_soft.ncpus": ""}
    kept = {job_id: server_status.jobs[job_id] for job_id in (STARTS, WAITS, "12.hpc1")}
    server_status = changed(server_status, queues={"workq": queue}, jobs=kept)
    return see(server_status, Settings(), Ledger(), 0.1, passes=Passes(reasons=found)).decided(lambda: 0.0)


def page_of(cluster: ClusterView, job_id: str) -> str:
    return " ".join(" ".join(plain(line) for line in job_lines(cluster, job_id, 400)).split())


def own_reason(cluster: ClusterView) -> tuple[str, str, float]:
    """Code and dated text of the console's reason for the job that waits, and the time of its plan."""
    assert cluster.decision is not None
    job, reason = cluster.decision.plan.reasons()[WAITS]
    now_s = cluster.decision.plan.time_s
    return reason.code, reason.sentence(job, now_s, moment=partial(show_moment, now_s=now_s)), now_s


def test_a_job_that_the_scheduler_s_files_keep_is_not_said_to_start_in_the_next_pass() -> None:
    text = "its value by job_sort_formula is 1, and only jobs above job_sort_formula_threshold (5) may run"
    kept = cluster_with(reasons(STARTS, "under-threshold", text, 0.0))
    assert plain(outcome_of(kept, STARTS)) == text
    assert plain(outcome_of(kept, STARTS, briefly=True)) == "under job_sort_formula_threshold"
    for found in (PassReasons(), reasons(STARTS, "too-few-idle", "needs 1 core: 0 are idle", 0.0)):
        assert "in the next pass on" in plain(outcome_of(cluster_with(found), STARTS))


def test_a_start_that_pbs_refused_is_named_beside_the_next_one() -> None:
    why = "site: project has no core-hours left"
    refused = cluster_with(PassReasons(), comment=f"Not Running: PBS Error: {why}")
    for lines in (job_lines(refused, STARTS, 400), refused_lines(refused, STARTS, 400)):
        assert f"PBS refused its last start: {why}; the start is tried again" in "".join(map(plain, lines))
    assert not refused_lines(cluster_with(PassReasons()), STARTS, 400)


def test_a_reserved_start_that_the_mode_leaves_undone_is_said_to_be_so() -> None:
    for mode, undone in (
        ("observe", "but workq is in observe: nothing of this is carried out"),
        ("advise", "but workq is in advise: PBS's scheduler starts jobs"),
        ("drive", ""),
    ):
        status = cluster_with(PassReasons(), mode).server_status
        cluster = see(with_job(status, WAITS, a_job("carol", 8)), Settings(), Ledger(), 0.1).decided(lambda: 0.0)
        assert own_reason(cluster)[0] == "reserved"
        page = page_of(cluster, WAITS)
        assert undone in page and (" but " in page) is bool(undone)


def test_one_sentence_where_the_pass_and_the_console_agree() -> None:
    code, text, now_s = own_reason(cluster_with(PassReasons()))
    cluster = cluster_with(reasons(WAITS, code, text, now_s - 30))
    pass_at, plan_at = (clock_time(time_s, seconds=True) for time_s in (now_s - 30, now_s))
    page = page_of(cluster, WAITS)
    assert f"waits for By the pass of {pass_at} and this console's plan of {plan_at}: " in page
    assert page.count("waits for By") == 1
    data = explanation_data(cluster, WAITS)
    assert data["agree"]
    assert (data["by_pass"]["time_s"], data["by_console"]["time_s"]) == (now_s - 30, now_s)


def test_one_sentence_of_each_where_they_differ_and_that_of_the_pass_first() -> None:
    code, _, now_s = own_reason(cluster_with(PassReasons()))
    cluster = cluster_with(reasons(WAITS, "blocked", BLOCKED, now_s - 30))
    pass_at, plan_at = (clock_time(time_s, seconds=True) for time_s in (now_s - 30, now_s))
    page = page_of(cluster, WAITS)
    own = page.index(f"waits for By this console's plan of {plan_at}: ")
    assert page.index(f"waits for By the pass of {pass_at}: {BLOCKED}") < own
    data = explanation_data(cluster, WAITS)
    assert not data["agree"]
    assert data["by_pass"] == {"time_s": now_s - 30, "code": "blocked", "sentence": BLOCKED}
    assert data["by_console"]["code"] == code


def test_a_job_that_the_pass_left_waiting_and_the_console_would_start() -> None:
    cluster = cluster_with(reasons(STARTS, "blocked", BLOCKED, 1_795_207_200.0))
    page = page_of(cluster, STARTS)
    assert page.index(f"waits for By the pass of {clock_time(1_795_207_200.0, seconds=True)}: ") < page.index(
        "starts By this console's plan of "
    )
    assert explanation_data(cluster, STARTS)["by_console"] is None


def test_without_a_reason_of_a_pass_the_page_is_the_consoles_alone() -> None:
    page = page_of(cluster_with(reasons("99.hpc1", "blocked", BLOCKED, 0.0)), WAITS)
    assert "By the pass" not in page
    assert explanation_data(cluster_with(PassReasons()), WAITS)["by_pass"] is None


def test_a_code_without_a_text_is_reported_as_such_and_a_torn_file_tells_nothing() -> None:
    page = page_of(cluster_with(reasons(WAITS, "blocked", "", 0.0)), WAITS)
    assert "blocked (the pass wrote down no more)" in page
    whole = json.dumps({"time_s": 1, "code": "blocked", "text": "", "jobs": [WAITS]}).encode()
    for text in (b"", whole[:-5], b'"14.hpc1"\n', b"[1]\n", whole.replace(b'"code"', b'"no"')):
        assert PassReasons(text).of(WAITS) is None
    assert PassReasons(whole).of("4.hpc1") is None


def test_the_journal_reads_the_file_again_when_a_pass_has_replaced_it(tmp_path: Path) -> None:
    state, journal = State(tmp_path), JournalReader(tmp_path)
    assert journal.read().reasons.of(WAITS) is None
    for time_s in (10.0, 20.0):
        state.publish_lines(
            REASONS, [{"time_s": time_s, "code": "blocked", "text": BLOCKED, "jobs": [WAITS]}], shared=True
        )
        assert journal.read().reasons.of(WAITS) == PassReason(time_s, "blocked", BLOCKED)
    assert journal.read().reasons is journal.read().reasons
