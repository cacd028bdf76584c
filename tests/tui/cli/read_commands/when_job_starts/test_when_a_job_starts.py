"""``pbsteer when`` for a job on the server, by a published forecast and without one."""

from __future__ import annotations

import json

import pytest

from hooks.forecast.past_runs import PastRuns
from hooks.forecast.published_forecast import Estimate
from hooks.pbs.server_status_type_and_attributes import ENDED_ATTRIBUTES
from hooks.store.state_files import FORECAST, FORECAST_HISTORY, LAST_PASS, State
from policy.forecast.forecast_hits_and_correction import ForecastRecord
from policy.model.jobs_runs_vnodes_queues import Finished
from tests.tui.cli.read_commands.when_job_starts.when_command import ENDS_S, data, publish, unwrapped, when
from tests.tui.scripted_server import HOSTILE_NAMES, NOON_S, ScriptedBackend, a_job, changed, running, with_job
from tests.tui.server_with_reservation import BEGINS_S, UNTIL_S, WAITS, with_reservation
from tests.tui.written_journal_and_audit import a_pass, write_journal
from tui.text.times_and_durations import clock_time


def test_without_a_published_forecast_one_is_made_now(backend: ScriptedBackend) -> None:
    found = data("13")
    assert found["starts_half_s"] == found["starts_last_s"] == ENDS_S
    assert found["after"] in ("11.hpc1", "12.hpc1")
    assert found["jobs_ahead"] == 0
    assert found["forecast"]["by"] == "this command"
    assert found["forecast"]["past_runs"] == 0
    text = when("13.hpc1")
    assert "no past run is known here, so all jobs run as long as they asked for" in unwrapped(text)
    assert "first: no job that waits for room comes before it" in text


def test_a_forecast_made_now_knows_the_dedicated_time_that_the_last_pass_read(backend: ScriptedBackend) -> None:
    """Bob's job of two hours would start now on the vnode that is up, but dedicated time begins in five minutes."""
    backend.server_status = changed(backend.server_status, jobs={"13.hpc1": a_job("bob", 4)})
    write_journal(backend.folder, a_pass(20))
    assert data("13")["starts_half_s"] == NOON_S
    closed = {"workq": [[NOON_S + 300, NOON_S + 900, "dedicated time", "runs", 0]]}
    State(backend.folder).publish(LAST_PASS, {"closed": closed}, shared=True)
    assert data("13")["starts_half_s"] == NOON_S + 900


def test_the_servers_own_history_is_learned_from(backend: ScriptedBackend) -> None:
    ended = {"job_state": "F", "resources_used.walltime": "00:36:00", "Exit_status": "0", "run_count": "1"}
    backend.ended = {f"{n}.hpc1": a_job("alice", 8, **ended, obittime=str(int(NOON_S - n))) for n in range(1, 6)}
    found = data("13")
    assert found["starts_half_s"] == NOON_S - 1800 + 2160
    assert found["starts_last_s"] == ENDS_S
    assert found["forecast"]["past_runs"] == 5
    assert "5 past runs of the server's job history" in unwrapped(when("13"))


def test_the_rest_of_a_requeued_run_tells_no_run_time(backend: ScriptedBackend) -> None:
    ended = {"job_state": "F", "resources_used.walltime": "00:01:00", "Exit_status": "0", "run_count": "2"}
    whole = a_job("alice", 8, **ended, obittime=str(int(NOON_S)))
    backend.ended = {"1.hpc1": {name: text for name, text in whole.items() if name.split(".")[0] in ENDED_ATTRIBUTES}}
    assert data("13")["forecast"]["past_runs"] == 0


def test_the_passes_history_comes_first(backend: ScriptedBackend) -> None:
    write_journal(backend.folder, a_pass(10))
    past = PastRuns(tuple(Finished("", "alice", "", 8, 0.0, 3000.0, 7200.0) for _ in range(3)))
    kept = {**past.to_data(), "record": ForecastRecord().to_data()}
    State(backend.folder).publish(FORECAST_HISTORY, kept, shared=True)
    assert data("13")["starts_half_s"] == NOON_S - 1800 + 3000


def test_a_published_forecast_is_used_and_its_age_said(backend: ScriptedBackend) -> None:
    soon = Estimate(NOON_S + 600, NOON_S + 1200, ENDS_S, "12.hpc1", 0.6, ("v2",), 1)
    publish(backend, 120, j13=soon)
    found = data("13")
    assert (found["starts_half_s"], found["starts_nine_tenths_s"]) == (NOON_S + 600, NOON_S + 1200)
    assert found["forecast"] == {
        "by": "the passes", "made_s": NOON_S - 120, "age_s": 120.0, "horizon_s": NOON_S + 86400, "draws": 30,
        "draws_wanted": 30, "past_runs": 412, "jobs_left_out": 0,
    }  # fmt: skip
    text = when("13")
    assert "made 2 min ago by the passes" in text
    assert "the end of job 12, in 60% of the cases" in text


def test_a_moment_that_has_passed_since_a_forecast_is_not_now(backend: ScriptedBackend) -> None:
    publish(backend, 120, j13=Estimate(NOON_S - 120, NOON_S - 60, ENDS_S, "12.hpc1", 0.6, ("v2",), 1))
    text = unwrapped(when("13"))
    assert "in half of the cases now" in text
    assert "in nine of ten now" not in text
    assert ", which has passed since this was forecast" in text


def test_an_old_one_or_one_that_does_not_know_the_job_is_not(backend: ScriptedBackend) -> None:
    soon = Estimate(NOON_S + 600, NOON_S + 1200, ENDS_S)
    publish(backend, 3600, j13=soon)
    assert data("13")["starts_half_s"] == ENDS_S
    publish(backend, 60, j99=soon)
    assert data("13")["starts_half_s"] == ENDS_S
    publish(backend, 60, j13=soon)
    assert data("13", "--fresh")["starts_half_s"] == ENDS_S


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"version": 1, "jobs": {"13.hpc1": [1, 2]}}', "\x00\xff"])
def test_a_damaged_one_is_as_none(backend: ScriptedBackend, text: str) -> None:
    publish(backend, 60)
    (backend.folder / FORECAST).write_text(text)
    assert data("13")["starts_half_s"] == ENDS_S


def test_hostile_texts_in_a_published_forecast_are_shown_harmless(backend: ScriptedBackend) -> None:
    publish(backend, 60)
    written = json.loads((backend.folder / FORECAST).read_text())
    hostile = [name for name in HOSTILE_NAMES if "\ud800" not in name]
    written["jobs"]["13.hpc1"] = [NOON_S, NOON_S, NOON_S, "".join(hostile), 1.0, hostile, len(hostile)]
    written["unknown"]["14.hpc1"] = "".join(hostile)
    (backend.folder / FORECAST).write_text(json.dumps(written))
    for job in ("13", "14"):
        assert "\x1b" not in when(job)
        assert "\u202e" not in when(job)
        assert "\x1b" not in when(job, "--json")


def test_a_job_that_this_user_is_not_shown_is_not_named(backend: ScriptedBackend) -> None:
    publish(backend, 60, j13=Estimate(NOON_S + 1, NOON_S + 2, NOON_S + 3, "666.hpc1", 0.5))
    assert "666" not in when("13") + when("13", "--json")
    assert "the end of another job" in when("13")


def test_where_users_see_their_own_jobs_only_it_says_so(backend: ScriptedBackend) -> None:
    server = {**backend.server_status.server, "query_other_jobs": "False"}
    backend.server_status = changed(backend.server_status, server=server)
    assert "this server may show you your own jobs only" in when("13")


def test_a_job_that_does_not_start_by_itself(backend: ScriptedBackend) -> None:
    found = data("15")
    assert found["starts_half_s"] is None
    assert found["waits_for"] == "it is held by its owner: releasing it lets it run"
    assert "not by itself: it is held by its owner" in when("15")


def test_a_job_that_was_held_or_released_since_the_forecast(backend: ScriptedBackend) -> None:
    publish(backend, 60, j15=Estimate(NOON_S + 600, NOON_S + 1200, ENDS_S))
    assert data("15")["starts_half_s"] is None, "held now"
    released = a_job("carol", 2)
    backend.server_status = with_job(backend.server_status, "15.hpc1", released)
    written = json.loads((backend.folder / FORECAST).read_text())
    (backend.folder / FORECAST).write_text(json.dumps({**written, "jobs": {}, "unknown": {"15.hpc1": "held"}}))
    assert data("15")["starts_half_s"] == NOON_S


@pytest.mark.parametrize("change", ["queue stopped", "altered", "vnodes offline"])
def test_a_start_that_can_no_longer_come_is_not_repeated_from_a_published_forecast(
    backend: ScriptedBackend, change: str
) -> None:
    soon = Estimate(NOON_S + 600, NOON_S + 1200, ENDS_S)
    publish(backend, 60, j13=soon)
    assert data("13")["starts_half_s"] == NOON_S + 600
    if change == "queue stopped":
        backend.set_queue("workq", started="False")
    elif change == "altered":
        backend.server_status = with_job(backend.server_status, "13.hpc1", a_job("bob", 64))
    else:
        offline = {name: {**texts, "state": "offline"} for name, texts in backend.server_status.vnodes.items()}
        backend.server_status = changed(backend.server_status, vnodes=offline)
    found = data("13")
    assert (found["starts_half_s"], found["starts_last_s"]) == (None, None)
    assert found["forecast"]["by"] == "this command"
    assert "not by itself: queue workq, which is stopped" in when("13") or found["never"]


@pytest.mark.parametrize("published", [False, True])
def test_a_job_larger_than_what_is_up_can_never_start_and_what_it_lacks_is_reported(
    backend: ScriptedBackend, published: bool
) -> None:
    if published:
        publish(backend, 60, j14=Estimate(None, None, None))
    found, told = data("14"), unwrapped(when("14"))
    assert (found["starts_half_s"], found["starts_last_s"]) == (None, None)
    assert "for lack of ncpus=64 for each" in found["never"]
    assert "starts never with the vnodes as they are: needs 64 cores in 1 chunk" in told
    assert "as far as the forecast looks" not in told


def test_a_job_behind_one_without_an_end_could_start_and_is_later_than_the_forecast_looks(
    backend: ScriptedBackend,
) -> None:
    publish(backend, 60, j13=Estimate(None, None, None))
    assert "as far as the forecast looks" in unwrapped(when("13"))
    assert data("13")["never"] == ""


def test_a_request_that_no_vnodes_hold_can_never_start(backend: ScriptedBackend) -> None:
    found = data("-l", "select=1:ncpus=2:ngpus=64", "-q", "workq", "-u", "carol")
    assert "for lack of ngpus=64 for each" in found["never"]


def test_a_job_without_a_walltime_before_it_never_ends_as_far_as_is_known(backend: ScriptedBackend) -> None:
    for job in ("11.hpc1", "12.hpc1"):
        texts = {name: text for name, text in backend.server_status.jobs[job].items() if "walltime" not in name}
        backend.server_status = with_job(backend.server_status, job, texts)
    assert data("13")["starts_half_s"] is None


def test_a_stopped_queue_and_a_mode_that_starts_nothing_are_reported(backend: ScriptedBackend) -> None:
    backend.set_queue("workq", started="False")
    assert data("13")["starts_half_s"] is None
    backend.set_queue("workq", started="True", **{"resources_available.pbsteer_mode": "observe"})
    assert "observe: nothing of this is carried out" in when("13")


def test_a_running_job_has_started(backend: ScriptedBackend) -> None:
    assert data("11") == {"job": "11.hpc1", "running": True, "started_s": NOON_S - 1800, "ends_by_s": ENDS_S}
    assert "runs already" in when("11")


def test_a_job_in_a_reservation_is_started_by_pbs_at_its_begin(backend: ScriptedBackend) -> None:
    backend.server_status = with_reservation(backend.server_status)
    assert data(WAITS) == {
        "job": WAITS, "user": "carol", "queue": "S13", "reservation": "S13", "reservation_begins_s": BEGINS_S,
        "reservation_ends_s": UNTIL_S,
    }  # fmt: skip
    text = unwrapped(when(WAITS))
    assert "starts by PBS's scheduler: it is in reservation S13 of adm, which begins at " in text
    assert "not by itself" not in text
    assert "observe" not in text
    assert "held" not in text
    refused = unwrapped(when("-l", "select=1", "-q", "S13", status=1))
    assert refused.startswith("Error: -q S13: the queue of reservation S13 of adm, which begins at ")
    backend.set_job(WAITS, job_state="H", Hold_Types="u")
    assert "but it is held, and starts only after its release" in unwrapped(when(WAITS))


def test_an_array_at_its_limit_goes_on_when_one_of_its_subjobs_ends(backend: ScriptedBackend) -> None:
    array, subjobs = "16[].hpc1", ("16[1].hpc1", "16[2].hpc1")
    for subjob in subjobs:
        backend.server_status = with_job(backend.server_status, subjob, running("dave", 1, "v2"))
    backend.set_job(array, job_state="B", array_indices_remaining="3-9", max_run_subjobs="2")
    assert data("16[]")["after_subjobs"] == list(subjobs)
    text = unwrapped(when("16[]"))
    expected = f"expected by {clock_time(ENDS_S)} (in 1 h 30), as max_run_subjobs allows no more"
    assert f"starts when one of its 2 running subjobs ends, {expected}" in text
    assert "not by itself" not in text
    for subjob in subjobs:
        backend.set_job(subjob, **{"Resource_List.walltime": ""})
    assert "when one of its 2 running subjobs ends, as max_run_subjobs allows no more" in unwrapped(when("16[]"))
    # What keeps the array else is named, and that it does not start by itself.
    backend.set_queue("workq", started="False")
    assert "not by itself: queue workq, which is stopped" in unwrapped(when("16[]"))
    backend.set_queue("workq", started="True")
    backend.set_job(array, job_state="H", Hold_Types="u")
    assert "not by itself: it is held by its owner" in unwrapped(when("16[]"))
    assert data("16[]")["after_subjobs"] == []


def test_a_job_that_is_not_there(backend: ScriptedBackend) -> None:
    assert "job '999' is not on hpc1" in when("999", status=1)


def test_a_job_that_has_ended_is_named_with_its_end(backend: ScriptedBackend) -> None:
    failed = a_job("alice", 2, "F", Exit_status="2", obittime=str(int(NOON_S - 60)), exec_vnode="(v1:ncpus=2)")
    backend.ended = {"9.hpc1": failed}
    for name in ("9", "9.hpc1"):
        text = f"job '{name}' is no longer on hpc1: ended {clock_time(NOON_S - 60)}, exit 2 on v1"
        assert text in unwrapped(when(name, status=1))
