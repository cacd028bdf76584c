"""The console's own forecasts: made beside it, begun when they are due, never waited for."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hooks.forecast.published_forecast import Estimate, PublishedForecast
from hooks.store.state_files import FORECAST, State
from tests.tui.scripted_server import NOON_S, ScriptedBackend, a_job, changed, with_job
from tests.tui.written_journal_and_audit import a_pass, write_journal
from tui.forecast.forecast_in_background import BackgroundForecasts, forecasts_of
from tui.forecast.past_runs_to_forecast_from import learn
from tui.pages.job.job_page import job_lines
from tui.state.cluster_view import ClusterView, see
from tui.tables.columns import fields
from tui.tables.columns_by_view.job_columns import job_columns
from tui.tables.filter_line import parse_filter
from tui.text.screen_line import plain


@pytest.fixture
def backend(tmp_path: Path) -> ScriptedBackend:
    scripted = ScriptedBackend(folder=tmp_path / "pbsteer")
    scripted.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:PBS_GENERIC=99]"})
    return scripted


def view(backend: ScriptedBackend, later_s: float = 0) -> ClusterView:
    status = changed(backend.poll(), time_s=NOON_S + later_s)
    return see(status, backend.settings(), backend.ledger(), 0.1, passes=backend.journal.read())


def is_busy(forecasts: BackgroundForecasts) -> bool:
    return forecasts.is_busy


def wait_for_one(forecasts: BackgroundForecasts, cluster: ClusterView) -> PublishedForecast:
    until_s = time.monotonic() + 60
    while True:
        found = forecasts(cluster)
        if found is not None and found.is_whole and not is_busy(forecasts):
            return found
        assert time.monotonic() < until_s
        time.sleep(0.02)


def test_after_the_console_was_left_none_is_begun(backend: ScriptedBackend) -> None:
    forecasts, cluster = BackgroundForecasts(backend), view(backend)
    forecasts.stop()
    assert forecasts(cluster) is None
    assert not is_busy(forecasts)


def test_it_is_made_in_another_process_and_is_what_this_one_would_make(backend: ScriptedBackend) -> None:
    forecasts, cluster = BackgroundForecasts(backend), view(backend)
    assert forecasts(cluster) is None
    found = wait_for_one(forecasts, cluster)
    *_, own = forecasts_of(cluster, learn(backend), 20.0)
    assert found._replace(cpu_s=0) == own._replace(cpu_s=0)
    forecasts.stop()


def test_the_next_one_comes_when_it_is_old_and_after_a_rest(backend: ScriptedBackend) -> None:
    now_s = 0.0
    forecasts = BackgroundForecasts(backend, clock=lambda: now_s)
    wait_for_one(forecasts, view(backend))
    forecasts(view(backend, 299))
    assert not is_busy(forecasts), "still young"
    now_s = 1000.0
    later = view(backend, 301)
    forecasts(later)
    assert is_busy(forecasts)
    second = wait_for_one(forecasts, later)
    assert second.time_s == NOON_S + 301
    now_s = 1001.0
    forecasts._not_before_s = 1010.0
    forecasts(view(backend, 1000))
    assert not is_busy(forecasts), "it rests"


def test_a_young_one_of_the_passes_is_enough_and_an_old_one_is_replaced(backend: ScriptedBackend) -> None:
    write_journal(backend.folder, a_pass(10))
    made = PublishedForecast(NOON_S - 10, NOON_S + 86400, 30, 30, 4, 1.0, {"13.hpc1": Estimate(NOON_S, NOON_S, None)})
    State(backend.folder).publish(FORECAST, made.to_data(), shared=True)
    forecasts = BackgroundForecasts(backend)
    assert forecasts(view(backend)) == made
    assert not is_busy(forecasts)
    assert forecasts(view(backend, 3600)) == made, "the old one is shown until there is a new one"
    assert wait_for_one(forecasts, view(backend, 3600)).time_s == NOON_S + 3600


def test_a_process_that_ends_without_a_word_leaves_nothing(
    backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.forecast.compute_in_forked_process._work", lambda *_: os._exit(3))
    forecasts, cluster = BackgroundForecasts(backend), view(backend)
    assert forecasts(cluster) is None
    worker = forecasts._worker
    assert worker is not None
    until_s = time.monotonic() + 30
    while is_busy(forecasts):
        assert forecasts(cluster) is None
        assert time.monotonic() < until_s
        time.sleep(0.02)
    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)


def shown(backend: ScriptedBackend, **jobs: Estimate) -> ClusterView:
    known = {f"{job[1:]}.hpc1": estimate for job, estimate in jobs.items()}
    made = PublishedForecast(NOON_S - 120, NOON_S + 86400, 30, 30, 4, 1.0, known)
    return replace(view(backend), forecast=made).decided(time.perf_counter)


def test_a_column_and_a_filter_go_by_the_forecast(backend: ScriptedBackend) -> None:
    soon, late = Estimate(NOON_S + 3600, NOON_S + 7200, None), Estimate(NOON_S + 20_000, None, None)
    backend.server_status = with_job(backend.server_status, "17.hpc1", a_job("bob", 8))
    cluster = shown(backend, j13=soon, j17=late)
    columns = {column.name: column for column in job_columns(cluster)}
    assert columns["starts"].value("13.hpc1") == NOON_S + 3600
    assert columns["starts-by"].value("13.hpc1") == NOON_S + 7200
    assert columns["starts-by"].value("17.hpc1") is None
    within = parse_filter("starts:<4h", fields(list(columns.values())))
    assert within.of(["13.hpc1", "17.hpc1"]) == ["13.hpc1"]


def test_the_jobs_page_has_the_forecast_with_its_age_and_the_place_in_line(backend: ScriptedBackend) -> None:
    cluster = shown(backend, j13=Estimate(NOON_S + 3600, NOON_S + 7200, None, "12.hpc1", 0.5, ("v2",), 1))
    text = " ".join("\n".join(plain(line) for line in job_lines(cluster, "13.hpc1", 100)).split())
    assert "in half of the cases by" in text
    assert "made 2 min ago by this console: 30 cases" in text
    assert "first: no job that waits for room comes before it" in text
    assert "cores coming free" in text
    running = "\n".join(plain(line) for line in job_lines(cluster, "11.hpc1", 100))
    assert "cases" not in running


def test_the_jobs_page_says_never_of_a_job_that_never_fits(backend: ScriptedBackend) -> None:
    cluster = shown(backend, j13=Estimate(None, None, None), j14=Estimate(None, None, None))
    page = {
        job: " ".join("\n".join(plain(line) for line in job_lines(cluster, job, 100)).split())
        for job in ("13.hpc1", "14.hpc1")
    }
    assert "starts never with the vnodes as they are waits for" in page["14.hpc1"]
    assert page["14.hpc1"].count("for lack of ncpus=64") == 1
    assert "starts later than" in page["13.hpc1"], "it waits for what runs"


def test_what_a_change_would_do_is_compared_in_another_process(backend: ScriptedBackend) -> None:
    cluster = view(backend)
    queues = {**cluster.server_status.queues}
    queues["workq"] = {**queues["workq"], "started": "False"}
    after = changed(cluster.server_status, queues=queues)
    forecasts = BackgroundForecasts(backend)
    found = list(forecasts.compare(cluster, after))
    assert [each.draws for each, _ in found] == [1, 2, 4, 8, 16, 30]
    last, runs = found[-1]
    assert runs == 0
    assert last.before.by_user["bob"].wait_s < 86400.0
    assert last.after.by_user["bob"].wait_s == 86400.0


def test_another_comparison_ends_the_one_before(backend: ScriptedBackend) -> None:
    cluster = view(backend)
    forecasts = BackgroundForecasts(backend)
    first = forecasts.compare(cluster, cluster.server_status)
    next(first)
    last, _ = list(forecasts.compare(cluster, cluster.server_status))[-1]
    assert last.draws == 30
    assert len(list(first)) < 6
    assert last.before == last.after, "the same on both sides, since the run times are the same"
