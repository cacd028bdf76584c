"""The forecast is made beside the passes in a process of its own, goes by the site's past runs, and is published
whole or not at all."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Callable

import pytest

from hooks.forecast.forecast_due import is_forecast_due
from hooks.forecast.forecast_history_file import read_history
from hooks.forecast.make_forecast_in_background_and_publish import (
    Files,
    _note_starts,
    publish_forecast,
    start_forecast,
)
from hooks.forecast.published_forecast import PublishedForecast
from hooks.forecast.scale_forecast_to_cpu_time import Within, forecast_within
from hooks.store.detached_process import start_detached
from hooks.store.folder_lock import locked
from hooks.store.forecast_run_and_write_locks import MAKING, make_lock_files, no_forecast_written, open_lock_file
from hooks.store.state_files import FORECAST, FORECAST_BEGUN, FORECAST_HISTORY, State
from policy.forecast.forecast_hits_and_correction import ForecastRecord, Noted
from policy.forecast.run_time_history import RunTimeHistory
from policy.forecast.simulate_forward import LimitsFrom
from policy.model.jobs_runs_vnodes_queues import Run
from policy.model.ledger_between_passes import Ledger
from policy.settings.settings_of_server_and_passes import ForecastSettings
from policy.settings.site_settings import Settings
from policy.state.cluster_snapshot import Snapshot
from tests.hooks.forecast.test_past_runs import end, log, start
from tests.policy.clusters import cluster, job, place_of, queue, quota_settings, run, vnode

SETTINGS = Settings()


@pytest.fixture
def state(tmp_path: Path) -> State:
    (tmp_path / "server_priv" / "accounting").mkdir(parents=True)
    state = State(tmp_path / "pbsteer")
    with state.locked():
        make_lock_files(state.path)
    return state


def one_behind_one(waiting: str = "2.server", now_s: float = 0) -> Snapshot:
    runs = [run("1.server", "alice", "n1=4", estimate_s=3600)]
    return cluster([vnode("n1")], [job(waiting, select="4")], runs, now_s=now_s)


def published(state: State) -> PublishedForecast:
    found = PublishedForecast.from_data(state.read_published(FORECAST))
    assert found is not None
    return found


def test_a_forecast_goes_by_the_accounting_log(state: State) -> None:
    log(state.path.parent / "server_priv" / "accounting", "20261126", end("8") + end("9"))
    publish_forecast(Files(state), one_behind_one(), Ledger(), SETTINGS)
    found = published(state)
    assert found.is_whole
    assert found.runs == 2
    estimate = found.jobs["2.server"]
    assert (estimate.half_s, estimate.last_s, estimate.after) == (600.0, 3600.0, "1.server")


def test_a_planned_quota_lets_a_job_start_before_the_run_of_an_over_quota_user_ends(state: State) -> None:
    def forecast(*planned: LimitsFrom) -> float | None:
        publish_forecast(Files(state), snapshot, Ledger(), quota_settings(), planned)
        return published(state).jobs["2.server"].half_s

    queues = [queue("[u:alice=4],[u:bob=0]")]
    runs = [run("1.server", "alice", "n1=4", estimate_s=3600)]
    snapshot = cluster([vnode("n1")], [job("2.server", "bob", "4")], runs, queues=queues, now_s=0)
    assert forecast() == 3600
    assert forecast(LimitsFrom(900, [queue("[u:alice=0],[u:bob=4]")])) == 900


def test_without_a_log_it_goes_by_what_the_jobs_asked_for(state: State) -> None:
    (state.path.parent / "server_priv" / "accounting").rmdir()
    publish_forecast(Files(state), one_behind_one(), Ledger(), SETTINGS)
    assert published(state).jobs["2.server"].half_s == 3600.0
    assert published(state).runs == 0


def test_the_record_is_kept_and_learns_what_has_started_and_what_is_gone(state: State) -> None:
    publish_forecast(Files(state), one_behind_one(), Ledger(), SETTINGS)
    _, record = read_history(state.read_published(FORECAST_HISTORY))
    assert record.waiting() == ["2.server"]
    publish_forecast(Files(state), one_behind_one("3.server"), Ledger(), SETTINGS)
    _, record = read_history(state.read_published(FORECAST_HISTORY))
    assert record.waiting() == ["3.server"]
    log(state.path.parent / "server_priv" / "accounting", "20261126", start("3", 50))
    publish_forecast(Files(state), one_behind_one("4.server"), Ledger(), SETTINGS)
    _, record = read_history(state.read_published(FORECAST_HISTORY))
    assert record.waiting() == ["4.server"]
    assert record.hits() == (1, 1, 1)


@pytest.mark.parametrize(("starts_s", "hits"), [((), (0, 0, 0)), ((3600.0,), (1, 0, 0)), ((3600.0, 90.0), (1, 1, 1))])
def test_of_an_array_the_next_start_after_its_forecast_counts(
    starts_s: tuple[float, ...], hits: tuple[int, ...]
) -> None:
    """A subjob that began before it, which the server and its log show too, is not what was forecast."""
    record = ForecastRecord()
    record.note([Noted("2[].server", 0, 100, 200)])
    array = job("2[].server", select="1")
    began = enumerate((-1800.0, *starts_s))
    runs = [Run(f"2[{n}].server", array, at_s, place_of("n1=1"), at_s + 100, subjob=n) for n, at_s in began]
    _note_starts(record, {"2[].server": -7200.0}, cluster([vnode("n1")], [array], runs))
    assert record.hits() == hits


def test_an_unreadable_history_is_begun_anew(state: State) -> None:
    for text in ("", "{", "[]", '{"version": 1, "runs": {}, "record": {"version": 1, "noted": [[1]]}}'):
        (state.path / FORECAST_HISTORY).write_text(text)
        publish_forecast(Files(state), one_behind_one(), Ledger(), SETTINGS)
        assert published(state).jobs["2.server"].half_s == 3600.0


def test_one_is_due_an_interval_after_the_last_was_begun(state: State) -> None:
    assert is_forecast_due(state, ForecastSettings(), 1000.0)
    start_forecast(state, one_behind_one(now_s=1000.0), Ledger(), SETTINGS, start=lambda work: None)
    assert not is_forecast_due(state, ForecastSettings(), 1299.0)
    assert is_forecast_due(state, ForecastSettings(), 1300.0)
    assert is_forecast_due(state, ForecastSettings(), 900.0), "the clock went back"
    assert not is_forecast_due(state, ForecastSettings(interval_s=0), 1300.0)


def wait_for(ready: Callable[[], object]) -> None:
    until_s = time.monotonic() + 30
    while not ready():
        assert time.monotonic() < until_s
        time.sleep(0.02)


def test_it_is_made_in_a_process_that_has_nothing_of_this_one(state: State, tmp_path: Path) -> None:
    assert start_forecast(state, one_behind_one(), Ledger(), SETTINGS) == []
    wait_for((state.path / FORECAST).exists)
    own = os.open(tmp_path / "own", os.O_RDWR | os.O_CREAT)
    session, told = os.getsid(0), tmp_path / "told"

    def tell() -> None:
        is_open = Path(f"/proc/self/fd/{own}").exists() and "own" in str(Path(f"/proc/self/fd/{own}").readlink())
        (tmp_path / "new").write_text(f"{os.getsid(0) == session} {is_open}")
        (tmp_path / "new").rename(told)

    start_detached(tell)
    wait_for(told.exists)
    os.close(own)
    assert told.read_text() == "False False"


def test_only_one_is_made_at_a_time(state: State) -> None:
    with locked(open_lock_file(state.path, MAKING)):
        start_forecast(state, one_behind_one(), Ledger(), SETTINGS)
        time.sleep(0.3)
        assert not (state.path / FORECAST).exists()


def test_a_failure_is_reported_by_the_next_pass(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no\x1b good")

    monkeypatch.setattr("hooks.forecast.make_forecast_in_background_and_publish.publish_forecast", fail)
    start_forecast(state, one_behind_one(), Ledger(), SETTINGS)
    wait_for(lambda: state.read_published(FORECAST_BEGUN).get("failed"))
    notes = start_forecast(state, one_behind_one(), Ledger(), SETTINGS, start=lambda work: None)
    assert notes == ["the last forecast failed: ValueError: no\\x1b good"]


def test_no_process_no_forecast_and_the_pass_goes_on(state: State) -> None:
    def refuse(work: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    notes = start_forecast(state, one_behind_one(), Ledger(), SETTINGS, start=refuse)
    assert notes == ["no forecast could be begun: Resource temporarily unavailable"]


def test_nothing_is_written_during_a_removal_or_after(state: State) -> None:
    files = Files(state)
    with no_forecast_written(state.path):
        child = os.fork()
        if not child:
            try:
                files.replace(FORECAST, {}, shared=True)
            finally:
                os._exit(0)
        time.sleep(0.2)
        for path in state.path.iterdir():
            path.unlink()
        state.path.rmdir()
    os.waitpid(child, 0)
    assert not state.path.exists()
    with pytest.raises(FileNotFoundError):
        Files(state)


def test_a_kill_leaves_the_forecast_before(state: State) -> None:
    publish_forecast(Files(state), one_behind_one(), Ledger(), SETTINGS)
    before = (state.path / FORECAST).read_bytes()
    child = os.fork()
    if not child:
        try:
            files = Files(state)
            while True:
                publish_forecast(files, one_behind_one(), Ledger(), SETTINGS)
        finally:
            os._exit(0)
    time.sleep(0.2)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert json.loads((state.path / FORECAST).read_bytes())["jobs"] == json.loads(before)["jobs"]
    publish_forecast(Files(state), one_behind_one(), Ledger(), SETTINGS)


def many(count: int) -> Snapshot:
    return cluster([vnode("n1")], [job(str(number), select="4", estimate_s=100) for number in range(count)])


def test_with_too_little_time_it_looks_less_far_ahead_rather_than_at_fewer_jobs() -> None:
    # Each reading of this clock is a second: a try of how far to look takes one, and the time is over after twelve.
    ticks = iter(range(10_000))
    *_, (last, _) = forecast_within(
        many(2000), Ledger(), SETTINGS, RunTimeHistory(), None, Within(cpu_s=10.0), clock=lambda: next(ticks)
    )
    assert last.draws >= 1
    assert last.horizon_s < 2000 * 100.0
    known = [each for each in last.jobs.values() if each.half_s is not None]
    assert len(last.jobs) == 2000
    assert 0 < len(known) < 2000
    assert all(each.half_s <= last.horizon_s for each in known if each.half_s is not None)


def test_first_forecasts_come_after_few_draws() -> None:
    draws = [each.draws for each, _ in forecast_within(many(3), Ledger(), SETTINGS, RunTimeHistory(), None, Within())]
    assert draws == [1, 3, 7, 15, 30]


def test_draws_that_need_few_decisions_are_as_many_as_there_is_time_for() -> None:
    # A try of all 30 jobs takes a second of this clock: there is time for 900 decisions, 30 in each draw.
    ticks = iter(range(10_000))
    *_, (last, _) = forecast_within(
        many(30), Ledger(), SETTINGS, RunTimeHistory(), None, Within(cpu_s=40.0), clock=lambda: next(ticks)
    )
    assert last.is_whole
    assert 10 < last.draws < 30


def test_of_very_many_jobs_the_first_in_line_are_run_forward_and_the_others_are_later(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hooks.forecast.scale_forecast_to_cpu_time.MOST_JOBS", 3)
    publish_forecast(Files(state), many(10), Ledger(promises={"9": 5000.0}), SETTINGS)
    found = published(state)
    assert found.left_out == 7
    assert sorted(job for job, each in found.jobs.items() if each.half_s is not None) == ["0", "1", "9"]
    assert len(found.jobs) == 10
