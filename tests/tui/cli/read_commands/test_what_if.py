"""``pbsteer whatif``: both sides of a change over the hours ahead, on a cluster small enough to count by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hooks.pbs.custom_resources import MODE_ATTRIBUTE
from tests.tui.scripted_server import NOON_S, ScriptedBackend, a_job, a_server_status, a_vnode, changed, running
from tui.cli.main import main

PAGE = (Path(__file__).parents[4] / "docs" / "whatif.md").read_text(encoding="utf-8")


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedBackend:
    """Alice runs on all 12 cores in use of 16, each run for an hour and a half yet. Bob and carol wait for 8 and 4."""
    status = a_server_status()
    jobs = {
        **{job: status.jobs[job] for job in ("11.hpc1", "12.hpc1")},
        "13.hpc1": a_job("bob", 8),
        "14.hpc1": a_job("carol", 8, qtime=str(int(NOON_S - 60))),
    }
    scripted = ScriptedBackend(changed(status, jobs=jobs), folder=tmp_path / "pbsteer")
    scripted.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:PBS_GENERIC=99]"})
    monkeypatch.setattr("tui.cli.read_commands.what_if.open_backend_by_options", lambda **_: scripted)
    return scripted


def run(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(main, ["whatif", *words])
    assert result.exit_code == status, result.output
    return result.output


def data(*words: str) -> dict[str, Any]:
    found = json.loads(run(*words, "--json"))
    assert isinstance(found, dict)
    return found


def waits(found: dict[str, Any], name: str, what: str = "users") -> tuple[float, float]:
    return found["before"][what][name]["wait_s"], found["after"][what][name]["wait_s"]


def test_a_quota_by_user_and_queue_with_preemptions_and_repeated_work(backend: ScriptedBackend) -> None:
    found = data("quota", "workq", "alice", "4")
    assert waits(found, "bob") == (5400.0, 0.0), "her run of 4 beside 4 idle cores is preempted"
    assert found["before"]["preemptions"] == 0
    assert found["after"]["preemptions"] == 1
    assert found["after"]["repeated_core_s"] == 4 * 1800, "half an hour on 4 cores, saved nowhere"
    assert (found["span_s"], found["before"]["all"]["jobs"]) == (86400.0, 2)
    assert waits(found, "workq", "queues")[1] < waits(found, "workq", "queues")[0]
    text = run("quota", "workq", "alice", "4")
    assert "what if: " in text
    assert "1 h 30 less" in text
    assert text in PAGE, "the page's example"


def idle_cores(found: dict[str, Any]) -> tuple[float, float]:
    return round(found["before"]["idle_cores"], 6), round(found["after"]["idle_cores"], 6)


def test_cores_that_further_subjobs_and_preempted_jobs_use_are_not_idle(backend: ScriptedBackend) -> None:
    array = a_job("dave", 8, array="True", array_indices_remaining="0-11")
    vnodes = {"v1": a_vnode(8)}
    backend.server_status = changed(backend.server_status, jobs={"16[].hpc1": array}, vnodes=vnodes)
    assert idle_cores(data("priority", "workq", "zoe", "3")) == (0, 0), "12 subjobs of 2 hours one after the other"
    # Two runs with 20 hours to go on 8 cores each; with a quota of 8 one of them begins anew after bob's 2 hours.
    jobs = {
        **{f"1{n}.hpc1": {**running("alice", 8, f"v{n}"), "Resource_List.walltime": "20:30:00"} for n in (1, 2)},
        "13.hpc1": a_job("bob", 8),
    }
    vnodes = {f"v{n}": a_vnode(8, 8, jobs=f"1{n}.hpc1/0") for n in (1, 2)}
    backend.server_status = changed(backend.server_status, jobs=jobs, vnodes=vnodes)
    found = data("quota", "workq", "alice", "8")
    assert found["after"]["preemptions"] == 1
    before, after = 16 - 8 * (20 + 20 + 2) / 24, 16 - 8 * (20 + 2 + 20.5) / 24
    assert idle_cores(found) == (round(before, 6), round(after, 6))


def test_a_drain_makes_all_wait_longer(backend: ScriptedBackend) -> None:
    found = data("offline", "v2")
    assert waits(found, "bob") == (5400.0, 5400.0)
    assert waits(found, "carol") == (5400.0, 5400.0 + 7200.0), "both on v1 now, one after the other"
    assert found["after"]["idle_cores"] < found["before"]["idle_cores"]


def test_runs_on_vnodes_that_take_no_jobs_use_none_of_the_idle_cores(backend: ScriptedBackend) -> None:
    long = {**running("alice", 8, "v2"), "Resource_List.walltime": "48:00:00"}
    vnodes = {"v1": a_vnode(8), "v2": a_vnode(8, 8, jobs="11.hpc1/0")}
    jobs = {"11.hpc1": long, "13.hpc1": a_job("bob", 1)}
    backend.server_status = changed(backend.server_status, jobs=jobs, vnodes=vnodes)
    bobs = round(8 - 2 / 24, 6)
    assert idle_cores(data("offline", "v2")) == (bobs, bobs), "alice's has all of v2, bob's a core of v1 for 2 hours"


def test_a_reservation_ahead_keeps_its_vnodes_free_before_it(backend: ScriptedBackend) -> None:
    found = data("reservation", "v2", "--in", "2h", "--for", "10h")
    assert waits(found, "carol") == (5400.0, 5400.0 + 7200.0)
    assert "the supposed reservation" not in run("reservation", "v2", "--for", "1h")


def test_a_setting(backend: ScriptedBackend) -> None:
    backend.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:alice=4],[u:PBS_GENERIC=8]"})
    found = data("setting", "quota.preempt=false")
    assert found["before"]["preemptions"] == 1
    assert found["after"]["preemptions"] == 0
    assert waits(found, "bob") == (0.0, 5400.0)


def test_a_mode_says_how_it_is_understood(backend: ScriptedBackend) -> None:
    backend.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:alice=4],[u:PBS_GENERIC=8]"})
    found = data("mode", "workq", "observe")
    assert found["after"]["preemptions"] == 0
    assert waits(found, "bob") == (0.0, 5400.0)
    assert "in observe PBS's scheduler starts the jobs" in found["notes"][0]
    assert data("stop", "workq")["notes"] == []


def test_a_stopped_queue_and_a_held_job_wait_until_the_end(backend: ScriptedBackend) -> None:
    assert waits(data("stop", "workq"), "bob")[1] == 86400.0
    assert waits(data("hold", "13"), "bob")[1] == 86400.0
    assert waits(data("hold", "13", "--hours", "2"), "bob")[1] == 7200.0


def test_where_very_many_wait_the_jobs_that_the_change_lifts_are_compared_and_the_others_named(
    backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hooks.forecast.scale_forecast_to_cpu_time.MOST_JOBS", 5)
    jobs = {f"{number}.hpc1": a_job("dave", 8, qtime=str(int(NOON_S - 90 + number))) for number in range(20, 27)}
    jobs["99.hpc1"] = a_job("zoe", 8, qtime=str(int(NOON_S - 5)))
    backend.server_status = changed(backend.server_status, jobs=jobs, vnodes={"v1": a_vnode(8)})
    backend.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:PBS_GENERIC=0],[u:zoe=8]"})
    found = data("quota", "workq", "zoe", "0")
    assert waits(found, "zoe") == (0, 5 * 7200), "behind the five first jobs of dave"
    assert found["left_out"] == 2
    backend.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:PBS_GENERIC=0]"})
    assert waits(data("quota", "workq", "zoe", "8"), "zoe")[1] == 0
    assert "left out on both sides: 2 jobs further back in line" in run("quota", "workq", "zoe", "8")
    monkeypatch.setattr("hooks.forecast.scale_forecast_to_cpu_time.MOST_JOBS", 8)
    assert "left out on both sides" not in run("quota", "workq", "zoe", "8")


def test_a_priority_of_a_user(backend: ScriptedBackend) -> None:
    backend.set_queue("workq", **{"max_run_res_soft.ncpus": "[u:PBS_GENERIC=8]"})
    found = data("priority", "workq", "carol", "10")
    assert waits(found, "carol") == (5400.0, 0.0) or found["after"]["preemptions"] >= 1


def test_nothing_is_sent_to_the_server(backend: ScriptedBackend) -> None:
    run("quota", "workq", "alice", "4")
    run("delete", "13")
    assert backend.lines == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("setting", "backfill.kind=never"), "backfill.kind = 'never'"),
        (("setting", "nonsense"), "allowed is TABLE.KEY=VALUE"),
        (("setting", "nonsense.key=1"), "unknown key 'nonsense'"),
        (("reservation", "v9", "--for", "1h"), "vnode 'v9' is not on the server"),
        (("reservation", "v1", "--for", "soon"), "is no length of time"),
        (("reservation", "v1", "--for", "0"), "--for must be more than 0"),
        (("quota", "nowhere", "alice", "4"), "nowhere"),
        (("quota", "workq", "alice", "many"), "many"),
        (("offline", "\x1b[2J"), "is not on the server"),
    ],
)
def test_what_is_not_understood_is_named(backend: ScriptedBackend, words: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(main, ["whatif", *words])
    assert result.exit_code != 0
    assert said in " ".join(result.output.split())
    assert "\x1b" not in result.output


def test_a_queue_whose_jobs_pbsteer_does_not_start_is_named(backend: ScriptedBackend) -> None:
    assert data("quota", "workq", "alice", "4")["notes"] == []
    for mode in ("observe", "advise"):
        backend.set_queue("workq", **{MODE_ATTRIBUTE: mode})
        for words in (("quota", "workq", "alice", "4"), ("setting", "backfill.order=shortest-first")):
            (note,) = data(*words)["notes"]
            assert f"workq is in {mode}" in note
            assert "both sides are what pbsteer would do" in note
            assert note in run(*words)


def test_a_job_that_the_vnodes_could_never_hold_waits_on_no_side(backend: ScriptedBackend) -> None:
    huge = {**backend.server_status.jobs, "15.hpc1": a_job("dave", 64)}
    backend.server_status = changed(backend.server_status, jobs=huge)
    found = data("quota", "workq", "alice", "4")
    assert found["before"]["all"]["jobs"] == 2
    assert "dave" not in found["before"]["users"]
