"""One pass after another over a Torque server that is not there: what is decided, done, refused and recorded."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hooks.audit.shared_audit_file import CHANGES
from hooks.control.early_pass import EarlyPass
from hooks.quota_plan.quota_plan_files import QUOTA_PLAN_SHOWN, write_plan
from hooks.store.state_files import ALERTS, DAY, LAST_PASS, State
from policy.quota_plan.planned_quotas import LimitKey, PlannedQuota
from policy.settings.site_settings import Settings
from tests.torque.fake_torque import FakeTorque, as_pbs_ifl, job, node, running
from torque.passes import run_passes
from torque.passes.run_passes import PassProcess
from torque.passes.wake_ups import PortTakenError, WakeUps
from torque.passes.watched_settings import WatchedSettings
from tui.backends.torque.settings_file import edit_settings_file
from tui.config.read_site_policy_toml import read_settings

DRIVE = "[server]\nmode = 'drive'\n"
FILL = "nodes=1:ppn=4"
SAVES = {"x": "pbsteer_save:signal"}
QUOTAS = "[[queue]]\nname = 'batch'\nquotas = '[u:alice=4],[u:bob=4]'\n"


class Site:
    """A server, its settings file, and the state of its passes."""

    def __init__(self, folder: Path, stop: int) -> None:
        self.torque = FakeTorque()
        self.file = folder / "policy.toml"
        self.state = State(folder / "pbsteer")
        self.said: list[str] = []
        self._stop = stop
        self._process: PassProcess | None = None

    def configure(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8")

    def run_pass(self) -> dict[str, Any]:
        """One pass; what it published."""
        if self._process is None:
            self.restart()
        assert self._process is not None
        with self.state.locked():
            self._process.run_once()
        return self.state.read_published(LAST_PASS)

    def run_passes(self, *, early: int) -> dict[str, Any]:
        """A process of its own with a due pass and so many early ones at once after it; what the last one published."""
        self.restart()
        assert self._process is not None
        stops = iter([*[False] * (1 + early), True])
        with self.state.locked(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(self._process, "_wait", lambda *_: EarlyPass(9.0))
            self._process.run(lambda: next(stops))
        return self.state.read_published(LAST_PASS)

    def restart(self) -> None:
        settings = WatchedSettings(self.file, read_settings, edit_settings_file)
        module = as_pbs_ifl(self.torque)
        self._process = PassProcess(module, self.state, settings, self._stop, self.said.append, port=0)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(run_passes, "find_other_scheduler", lambda _: "")
    readable, writable = os.pipe()
    yield Site(tmp_path, readable)
    os.close(readable)
    os.close(writable)


def test_observe_does_nothing_and_says_what_it_would(site: Site) -> None:
    site.torque.jobs = {"1.tq": job()}
    site.torque.server["scheduling"] = "True"
    found = site.run_pass()
    assert site.torque.calls == []
    assert (found["modes"], found["acted"]) == ({"batch": "observe"}, [])
    assert [start["job"] for start in found["starts"]] == ["1.tq"]
    assert found["notes"] == []


def test_drive_starts_jobs_where_the_plan_says(site: Site) -> None:
    site.configure(DRIVE)
    site.torque.jobs = {
        "1.tq": job(request="nodes=2:ppn=3"),
        "2.tq": job(request="procs=2"),
        "3.tq": job(state="H", Hold_Types="u"),
    }
    found = site.run_pass()
    runs = [call for call in site.torque.calls if call[0] == "run"]
    assert runs == [("run", "1.tq", "n1:ppn=3+n2:ppn=3"), ("run", "2.tq", "n1:ppn=1+n2:ppn=1")]
    assert found["started"] == ["1.tq", "2.tq"]
    assert [entry["started"] for entry in site.state.read_journal(9)] == [["1.tq", "2.tq"]]


def test_the_last_days_activity_has_all_early_passes_once_the_process_has_ended(site: Site) -> None:
    site.configure(DRIVE)
    site.torque.jobs = {"1.tq": job(), "2.tq": job()}
    last = site.run_passes(early=2)
    assert last["early"]
    assert site.state.read_published(DAY)["last_s"] == last["time_s"]


def bob_on_alices_share(**more: str) -> dict[str, dict[str, str]]:
    """Bob's two jobs, with ``more`` attributes, fill both nodes, and alice's waits for one."""
    return {
        "1.tq": running("bob", "n1/0-3", FILL, **more),
        "2.tq": running("bob", "n2/0-3", FILL, **more),
        "3.tq": job("alice", FILL),
    }


def test_alice_gets_her_quota_back_and_bob_returns(site: Site) -> None:
    """Bob runs on alice's share: her job preempts his newest run, starts, and his waits for its own share again."""
    site.configure(DRIVE + QUOTAS)
    site.torque.jobs = bob_on_alices_share()
    first = site.run_pass()
    assert first["requeued"] == first["preempted"]
    (victim,) = first["preempted"]
    assert ("rerun", victim) in site.torque.calls
    second = site.run_pass()
    assert second["started"] == ["3.tq"]
    assert (site.torque.jobs["3.tq"]["job_state"], site.torque.jobs[victim]["job_state"]) == ("R", "Q")
    site.torque.change("3.tq", job_state="C", exit_status="0")
    assert site.run_pass()["started"] == [victim]


def test_a_preemption_goes_on_after_the_process_was_killed_in_the_middle(site: Site) -> None:
    site.configure(DRIVE + QUOTAS)
    site.torque.jobs = bob_on_alices_share()
    (victim,) = site.run_pass()["preempted"]
    # Another job of bob's comes first in the queue: the ledger says for which job the slots are.
    site.torque.jobs["4.tq"] = job("bob", FILL, qtime="1", mtime=str(site.torque.clock_s))
    site.restart()
    assert site.run_pass()["started"] == ["3.tq"]
    assert site.torque.jobs[victim]["job_state"] == "Q"


def test_signal_asks_first_and_requeues_after_the_grace(site: Site) -> None:
    site.configure(DRIVE + QUOTAS + "[checkpoint]\ngrace_s = 30\n")
    site.torque.server["automatic_requeue_exit_code"] = "85"
    site.torque.jobs = bob_on_alices_share(**SAVES)
    found = site.run_pass()
    (victim,) = found["asked"]
    assert [call[0] for call in site.torque.calls if call[1] == victim] == ["alter", "alter", "signal"]
    assert site.torque.jobs[victim]["sched_hint"].startswith("pbsteer for=3.tq how=signal")
    assert site.run_pass()["asked"] == []


def test_the_mark_of_a_subjob_is_its_own_and_those_of_its_array_are_read_from_all(site: Site) -> None:
    """Torque would give the marks of an array to all of its subjobs; then the request to one would be withdrawn by the
    run of another."""
    site.configure(DRIVE + QUOTAS + "[checkpoint]\ngrace_s = 30\n")
    site.torque.server["automatic_requeue_exit_code"] = "85"
    site.torque.jobs = {
        "1[0].tq": running("bob", "n1/0-3", FILL, **SAVES),
        "1[1].tq": running("bob", "n2/0-3", FILL, **SAVES),
        "3.tq": job("alice", FILL),
    }
    (victim,) = site.run_pass()["asked"]
    (other,) = {"1[0].tq", "1[1].tq"} - {victim}
    mark = site.torque.jobs[victim]["sched_hint"]
    assert mark.startswith(f"pbsteer [{victim[2]}] for=3.tq how=signal")
    assert "sched_hint" not in site.torque.jobs[other]
    again = site.run_pass()
    assert (again["asked"], again["failures"]) == ([], [])
    assert site.torque.jobs[victim]["sched_hint"] == mark
    assert [call for call in site.torque.calls if call[0] == "signal"] == [("signal", victim, "SIGUSR2")]


def test_signal_is_not_used_while_the_server_would_lose_what_saved_itself(site: Site) -> None:
    """Without automatic_requeue_exit_code a job that saves and ends is over for good."""
    site.configure(DRIVE + QUOTAS + "[checkpoint]\ngrace_s = 30\n")
    site.torque.jobs = bob_on_alices_share(**SAVES)
    found = site.run_pass()
    assert (found["asked"], len(found["requeued"])) == ([], 1)


def test_nothing_is_driven_beside_another_scheduler(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_passes, "find_other_scheduler", lambda _: "maui (process 77)")
    site.configure(DRIVE)
    site.torque.jobs = {"1.tq": job()}
    found = site.run_pass()
    assert (site.torque.calls, found["acted"]) == ([], [])
    stop = "stop it, or set the mode to observe"
    assert found["notes"] == [f"queue batch is not driven: maui (process 77) starts jobs of this server: {stop}"]
    assert any(said.startswith("nothing is driven: maui (process 77)") for said in site.said)


@pytest.mark.parametrize(
    ("listener", "is_driven"), [("python3 (process 77)", False), ("", True)], ids=["a scheduler", "a user's process"]
)
def test_only_who_may_start_jobs_keeps_passes_from_driving_by_taking_the_port(
    site: Site, monkeypatch: pytest.MonkeyPatch, listener: str, is_driven: bool
) -> None:
    def refuse(_: WakeUps) -> None:
        raise PortTakenError("port 15004: Address already in use")

    monkeypatch.setattr(WakeUps, "listen", refuse)
    monkeypatch.setattr(run_passes, "find_listener", lambda _, __: listener)
    site.configure(DRIVE)
    site.torque.jobs = {"1.tq": job()}
    assert site.run_pass()["started"] == (["1.tq"] if is_driven else [])
    (said,) = (said for said in site.said if "port" in said)
    assert said.startswith("port 15004: Address already in use, by" if is_driven else f"nothing is driven: {listener}")


def test_scheduling_false_of_an_administrator_pauses_and_true_resumes(site: Site) -> None:
    site.configure(DRIVE)
    site.torque.server["scheduling"] = "True"
    site.run_pass()
    site.torque.jobs = {"1.tq": job()}
    site.torque.server["scheduling"] = "False"
    assert "paused by set server scheduling = False" in str(site.run_pass()["paused"])
    assert not [call for call in site.torque.calls if call[0] == "run"]
    site.torque.server["scheduling"] = "True"
    assert site.run_pass()["started"] == ["1.tq"]


def test_a_pause_of_the_settings_file_is_named_and_starts_nothing_until_it_is_taken_out(site: Site) -> None:
    site.configure(DRIVE + QUOTAS + "[cluster]\npaused = 'new switches'\n")
    site.torque.jobs = bob_on_alices_share()
    found = site.run_pass()
    assert found["paused"].startswith("pbsteer is paused (new switches): it starts and preempts nothing until")
    assert [call[:3] for call in site.torque.calls] == [("alter", "3.tq", "comment")]
    site.configure(DRIVE + QUOTAS)
    assert len(site.run_pass()["requeued"]) == 1


def plan(site: Site, quota: int | None, *, ends_in_s: float, resource: str = "ncpus") -> None:
    """Alice's quota, planned from a minute ago until then."""
    now_s = time.time()
    limit = LimitKey("batch", resource, ("u", "alice"))
    write_plan(site.state, [PlannedQuota(1, limit, quota, now_s - 60, now_s + ends_in_s, "carol")])


def states_of_plan(site: Site) -> list[tuple[str, str]]:
    shown = site.state.read_published(QUOTA_PLAN_SHOWN)["quotas"]
    return [(each["state"], each["why"]) for each in shown]


@pytest.mark.parametrize(("quota", "line"), [(8, "'[u:alice=8],[u:bob=4]'"), (None, "'[u:bob=4]'")])
def test_a_planned_quota_is_set_in_the_file_and_put_back_at_its_end(site: Site, quota: int | None, line: str) -> None:
    before = "# ours\n" + DRIVE + QUOTAS.replace("'", '"')
    site.configure(before)
    site.run_pass()
    plan(site, quota, ends_in_s=60)
    found = site.run_pass()
    assert len(found["quotas_set"]) == 1
    assert site.file.read_text() == before.replace('"[u:alice=4],[u:bob=4]"', line.replace("'", '"'))
    assert site.run_pass()["quotas_set"] == []
    assert states_of_plan(site) == [("in force", "")]
    plan(site, quota, ends_in_s=-1)
    assert len(site.run_pass()["quotas_set"]) == 1
    assert site.file.read_text() == before
    changes = [json.loads(line) for line in (site.state.path / CHANGES).read_text().splitlines()]
    assert [(each["stage"], each["user"]) for each in changes[:2]] == [
        ("sending", "root (quota plan by carol)"), ("done", "root (quota plan by carol)"),
    ]  # fmt: skip
    wanted = "none" if quota is None else quota
    assert changes[0]["command"] == f"edit-settings {site.file} batch quotas.ncpus '[u:alice={wanted}]'"


def test_a_planned_quota_is_what_the_next_pass_decides_by(site: Site) -> None:
    site.configure(DRIVE + QUOTAS.replace("alice=4", "alice=0"))
    site.torque.jobs = bob_on_alices_share()
    assert site.run_pass()["requeued"] == []
    plan(site, 4, ends_in_s=60)
    site.run_pass()
    assert len(site.run_pass()["requeued"]) == 1


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (QUOTAS, "queue batch is in observe"),
        (DRIVE + QUOTAS + "[cluster]\npaused = 'a while'\n", "pbsteer is paused (a while)"),
    ],
)
def test_no_planned_quota_is_set_in_observe_or_during_a_pause(site: Site, settings: str, why: str) -> None:
    site.configure(settings)
    site.run_pass()
    plan(site, 8, ends_in_s=60)
    assert site.run_pass()["quotas_set"] == []
    assert site.file.read_text() == settings
    ((state, said),) = states_of_plan(site)
    assert (state, why in said) == ("waits", True)


def test_a_limit_that_was_changed_by_hand_stays_as_it_was_changed(site: Site) -> None:
    site.configure(DRIVE + QUOTAS)
    site.run_pass()
    plan(site, 8, ends_in_s=60)
    site.run_pass()
    by_hand = DRIVE + QUOTAS.replace("alice=4", "alice=6")
    site.configure(by_hand)
    site.run_pass()
    plan(site, 8, ends_in_s=-1)
    site.run_pass()
    assert site.file.read_text() == by_hand


def test_a_file_that_cannot_be_edited_is_reported_and_the_pass_goes_on(site: Site) -> None:
    odd = "server.mode = 'drive'\nqueue = [{name = 'batch', quotas = '[u:alice=4]'}]\n"
    site.configure(odd)
    site.torque.jobs = {"1.tq": job()}
    site.run_pass()
    plan(site, 8, ends_in_s=60)
    site.torque.jobs["2.tq"] = job()
    found = site.run_pass()
    assert found["started"] == ["2.tq"]
    assert any("is written in a way that is not changed here" in failure for failure in found["failures"])
    assert site.file.read_text() == odd


def test_changed_settings_hold_from_the_next_pass_and_invalid_ones_leave_those_before(site: Site) -> None:
    site.configure("")
    site.torque.jobs = {"1.tq": job()}
    site.run_pass()
    site.configure(DRIVE + "[quota]\nexempt_s = -1\n")
    (note,) = site.run_pass()["notes"]
    assert "quota.exempt_s = -1" in note
    assert "going on with the settings before" in note
    assert site.torque.calls == []
    site.configure(DRIVE)
    assert site.run_pass()["started"] == ["1.tq"]


def test_a_queue_of_the_settings_that_the_server_lacks_is_named(site: Site) -> None:
    site.configure("[[queue]]\nname = 'bacth'\nquotas = '[u:alice=4]'\n")
    assert site.run_pass()["notes"] == ["the settings have limits for queue 'bacth', which the server does not have"]


def test_a_server_that_is_away_is_reported_once_and_the_next_pass_begins_anew(site: Site) -> None:
    site.configure(DRIVE)
    site.torque.jobs = {"1.tq": job()}
    site.torque.silent = True
    site.run_pass()
    site.run_pass()
    assert [said for said in site.said if said.startswith("no pass")] == ["no pass: no answer"]
    site.torque.silent = False
    assert site.run_pass()["started"] == ["1.tq"]


def test_a_record_of_alerts_that_cannot_be_read_ends_no_process(site: Site) -> None:
    site.configure(DRIVE)
    site.torque.jobs = {"1.tq": job()}
    assert site.run_pass()["started"] == ["1.tq"]
    (site.state.path / ALERTS).write_text("[" * 200_000)
    site.torque.jobs = {"2.tq": job()}
    assert site.run_pass()["started"] == ["2.tq"]


def test_a_failure_of_ours_is_reported_with_its_traceback_and_the_process_goes_on(site: Site) -> None:
    site.torque.nodes = {"n1": None}  # type: ignore[dict-item]
    site.run_pass()
    assert any("Traceback" in said for said in site.said)
    site.torque.nodes = {"n1": node(4)}
    site.torque.jobs = {"1.tq": job()}
    assert [start["job"] for start in site.run_pass()["starts"]] == ["1.tq"]


def test_the_built_in_settings_observe() -> None:
    assert Settings().server.mode == "observe"


def test_a_job_that_the_server_shows_as_waiting_after_its_start_is_not_called_refused(site: Site) -> None:
    """As Torque does for a moment."""
    site.configure(DRIVE)
    site.torque.jobs = {"1.tq": job()}
    site.torque.starts_late = True
    found = site.run_pass()
    assert (found["started"], found["failures"]) == (["1.tq"], [])
