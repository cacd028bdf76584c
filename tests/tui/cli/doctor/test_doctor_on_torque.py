"""``pbsteer doctor`` on a host of Torque's: nothing to do where all is well, and each broken thing named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hooks.pbs.server_status_type_and_attributes import NAME
from policy.settings.site_settings import Settings
from tests.tui.scripted_server import NOON_S
from torque.passes.settings_as_server_attributes import with_settings
from torque.translate.server_status import read_server_status
from tui.backends.find_torque import TorquePlace
from tui.cli.doctor.check_torque import examine_torque
from tui.cli.doctor.finding import Finding, Level
from tui.cli.doctor.observe_torque import ObservedTorque
from tui.cli.doctor.support_bundle import bundle_members

SERVER = {NAME: "tq", "pbs_version": "6.1.3.h5", "scheduling": "True", "automatic_requeue_exit_code": "85"}
QUEUES = {"batch": {"queue_type": "Execution", "started": "True", "enabled": "True"}}
NODES = {name: {"np": "8", "state": "free"} for name in ("n1", "n2")}
DRIVE: dict[str, object] = {"server": {"mode": "drive"}}


def torque(
    home: Path, data: dict[str, object] = DRIVE, *, other: str = "", late_s: float = 5.0, **server: str
) -> ObservedTorque:
    """A server that is driven well, with a pass of ``late_s`` ago."""
    settings = Settings.from_data(data, "policy.toml")
    texts = {**SERVER, **server}
    status = read_server_status(NOON_S, texts, QUEUES, NODES, {})
    return ObservedTorque(
        NOON_S,
        home / "policy.toml",
        TorquePlace(Path("/opt/torque"), None, home, "tq"),
        with_settings(status, settings, is_stopped=texts["scheduling"] == "False"),
        passes=({"time_s": NOON_S - late_s, "seconds": {"read_s": 0.1}, "failures": []},),
        site_settings=settings,
        in_use=settings,
        reports_s={"n1": NOON_S - 20, "n2": NOON_S - 40},
        other_scheduler=other,
    )


def bad(observed: ObservedTorque) -> list[Finding]:
    here = ("disk", "state folder")
    return [each for each in examine_torque(observed) if each.level is not Level.OK and each.about not in here]


def test_where_all_is_well_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert bad(torque(tmp_path)) == []
    assert bad(torque(tmp_path, {}, other="maui (process 7)")) == []
    about = {each.about for each in examine_torque(torque(tmp_path))}
    assert about >= {"versions", "server", "queues", "schedulers", "MoMs", "clocks", "passes", "settings", "disk"}


@pytest.mark.parametrize(
    ("data", "more", "level", "words", "remedy"),
    [
        (DRIVE, {"other": "maui (process 7)"}, Level.WRONG, "maui (process 7) starts jobs", "stop it, or set the mode"),
        ({}, {}, Level.WARN, "no queue is in drive, and no scheduler", "start one here"),
        (DRIVE, {"late_s": 900.0}, Level.WRONG, "the last pass was 900 s ago: no job is started", "pbsteer-pass"),
        (DRIVE, {"scheduling": "False"}, Level.WARN, "paused by set server", 'qmgr -c "set server scheduling = True"'),
        ({**DRIVE, "cluster": {"paused": "a while"}}, {}, Level.WARN, "is paused (a while)", "pbsteer resume"),
        (DRIVE, {"automatic_requeue_exit_code": "9"}, Level.WARN, "jobs that ask for a signal get none", "code = 85"),
        ({**DRIVE, "queue": [{"name": "bacth"}]}, {}, Level.WARN, "limits for queue 'bacth'", "mend "),
    ],
)
def test_each_broken_thing_is_named_with_what_mends_it(
    tmp_path: Path, data: dict[str, object], more: dict[str, object], level: Level, words: str, remedy: str
) -> None:
    (finding,) = bad(torque(tmp_path, data, **more))  # type: ignore[arg-type]
    assert (finding.level, words in finding.text, remedy in finding.remedy) == (level, True, True), finding


def test_a_mom_that_reports_no_more_is_named_though_its_node_is_free(tmp_path: Path) -> None:
    (finding,) = bad(replace(torque(tmp_path), reports_s={"n1": NOON_S - 400, "n2": NOON_S - 10}))
    assert finding.text == "1 MoM silent, though the server shows the nodes as up: n1"


def test_without_any_pass_and_with_a_wrong_file_both_are_reported(tmp_path: Path) -> None:
    observed = replace(torque(tmp_path), passes=None, site_settings=None, site_problems=("policy.toml: mode = 'x'",))
    texts = [finding.text for finding in bad(observed)]
    assert texts == ["no pass has been made: no job is started", "policy.toml: mode = 'x'"]


def test_a_server_that_is_away_is_reported_and_the_rest_is_still_looked_at(tmp_path: Path) -> None:
    observed = replace(torque(tmp_path), server_status=None, away="is down · start pbs_server there")
    (finding,) = bad(observed)
    assert (finding.about, finding.level) == ("server", Level.WRONG)


def test_a_bundle_has_no_reason_of_a_pause(tmp_path: Path) -> None:
    observed = torque(tmp_path, {**DRIVE, "cluster": {"paused": "for zoe"}})
    members = bundle_members(observed, list(examine_torque(observed)))
    assert "for zoe" not in "".join(members.values())
