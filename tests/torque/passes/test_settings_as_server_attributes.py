"""What of the settings file stands where PBS has it, and what Torque cannot do with it."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.translate.snapshot import translate
from policy.model.limit_attributes import parse_limits
from policy.settings.site_settings import Settings, SettingsError
from torque.passes.settings_as_server_attributes import (
    check_for_torque,
    find_unknown_queues,
    queues_saved_jobs,
    with_settings,
    without_unsafe_wishes,
)

QUEUES: dict[str, Any] = {
    "queue": [{"name": "batch", "quotas": "[u:alice=8]", "priorities": "[u:alice=5]", "priority": 70}],
    "cluster": {"quotas": "[u:PBS_GENERIC=16]"},
}


def settings(**data: Any) -> Settings:
    return Settings.from_data(data, "site.toml")


def status(**server: str) -> ServerStatus:
    queues = {"batch": {"started": "True", "Priority": "3"}, "other": {"started": "True"}}
    return ServerStatus(1.0, dict(server), queues, {}, {}, {})


def test_quotas_and_priorities_are_those_of_the_queues_as_in_pbs() -> None:
    mine = settings(**QUEUES)
    found = translate(with_settings(status(), mine, is_stopped=False), mine).snapshot
    batch = found.queues["batch"]
    assert (batch.quotas, batch.priorities) == (parse_limits("[u:alice=8]", ""), parse_limits("[u:alice=5]", ""))
    assert (batch.priority, found.queues["other"].priority) == (70, 0)
    assert found.server.quotas["ncpus"] == parse_limits("[u:PBS_GENERIC=16]", "")


@pytest.mark.parametrize(("mode", "scheduling"), [("observe", "True"), ("drive", "False")])
def test_in_drive_there_is_no_other_scheduler(mode: str, scheduling: str) -> None:
    found = with_settings(status(scheduling="True"), settings(server={"mode": mode}), is_stopped=False)
    assert found.scheds == {"default": {"scheduling": scheduling}}
    assert "scheduling" not in found.server


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"server": {"mode": "advise"}}, "server.mode = 'advise'; allowed on Torque is observe or drive"),
        (
            {"checkpoint": {"method": "signal", "grace_s": 60}},
            "checkpoint.method = 'signal'; allowed on Torque is requeue: a job asks for the signal by"
            " qsub -W x=pbsteer_save:signal",
        ),
    ],
)
def test_what_only_pbs_can_is_refused_by_name(data: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingsError) as refused:
        check_for_torque(settings(**data), "site.toml")
    assert refused.value.problems == [f"site.toml: {problem}"]


@pytest.mark.parametrize(
    ("status_set", "wish", "kept"),
    [("85", "signal", True), ("", "signal", False), ("86", "signal", False), ("85", "checkpoint", False)],
)
def test_jobs_are_asked_to_save_only_where_the_server_queues_them_again(
    status_set: str, wish: str, *, kept: bool
) -> None:
    may_signal = queues_saved_jobs(settings(), {"automatic_requeue_exit_code": status_set})
    jobs = {"1.tq": {"Resource_List.pbsteer_save": wish, "job_state": "R"}, "2.tq": {"job_state": "Q"}}
    found = without_unsafe_wishes(jobs, may_signal=may_signal)
    assert ("Resource_List.pbsteer_save" in found["1.tq"], found["2.tq"]) == (kept, jobs["2.tq"])


def test_unknown_queues_are_named() -> None:
    assert list(find_unknown_queues(settings(**QUEUES), {"batch"})) == []
    assert len(list(find_unknown_queues(settings(**QUEUES), {"other"}))) == 1
