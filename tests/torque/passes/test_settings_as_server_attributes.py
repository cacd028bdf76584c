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
    with_settings,
    without_unsafe_signal,
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
            {"checkpoint": {"method": "checkpoint", "grace_s": 60}},
            "checkpoint.method = 'checkpoint'; allowed on Torque is requeue or signal",
        ),
    ],
)
def test_what_only_pbs_can_is_refused_by_name(data: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingsError) as refused:
        check_for_torque(settings(**data), "site.toml")
    assert refused.value.problems == [f"site.toml: {problem}"]


@pytest.mark.parametrize(("status_set", "method"), [("85", "signal"), ("", "requeue"), ("86", "requeue")])
def test_jobs_are_asked_to_save_only_where_the_server_queues_them_again(status_set: str, method: str) -> None:
    server = {"automatic_requeue_exit_code": status_set} if status_set else {}
    found, why = without_unsafe_signal(settings(checkpoint={"method": "signal", "grace_s": 30}), server)
    assert (found.checkpoint.method, bool(why)) == (method, method == "requeue")


def test_unknown_queues_are_named() -> None:
    assert list(find_unknown_queues(settings(**QUEUES), {"batch"})) == []
    assert len(list(find_unknown_queues(settings(**QUEUES), {"other"}))) == 1
