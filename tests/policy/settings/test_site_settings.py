"""Settings: defaults, every bad value with its key and what is allowed, and all problems at once."""

from __future__ import annotations

from typing import Any

import pytest

from policy.model.limit_attributes import parse_limits
from policy.settings.ranking_and_stripe_settings import RankingSettings, StripeSettings
from policy.settings.settings_of_server_and_passes import ScheduleSettings, ServerSettings
from policy.settings.simulated_queues import QueueSettings
from policy.settings.site_settings import (
    BackfillSettings,
    CheckpointSettings,
    PrioritySettings,
    QuotaSettings,
    RescueSettings,
    Settings,
    SettingsError,
    describe_settings,
)


def problems(data: Any) -> list[str]:
    with pytest.raises(SettingsError) as refused:
        Settings.from_data(data, "policy.toml")
    assert str(refused.value) == "\n".join(refused.value.problems)
    return refused.value.problems


def test_nothing_said_means_the_defaults() -> None:
    assert Settings.from_data({}, "policy.toml") == Settings()
    assert Settings().to_data() == {}


def test_everything_said() -> None:
    data = {
        "backfill": {"kind": "checkpoint", "order": "shortest-first", "shrink_factor": 0.5, "predictor": "ratio"},
        "quota": {"preempt": False, "victim_order": "newest", "exempt_s": 1.5, "urgent_priority": -3},
        "priority": {"preempt": False, "deferrable_first": True},
        "checkpoint": {"saves": True, "cost_s": 60, "cost_per_core_s": 0.5, "grace_s": 30, "method": "signal"},
        "rescue": {"enabled": True, "short_s": 900, "left_least_s": 14400, "max_cuts": 2},
        "ranking": {"mode": "compute+memory", "interval_s": 30},
        "stripe": {"layout": "learn", "width_factor": 3, "stagger_s": 20},
        "schedule": {"max_starts": 7},
        "server": {"mode": "drive", "journal_group": "pbs"},
        "queue": [
            {"name": "workq", "quotas": "[u:alice=4]", "max_run_res": "[u:bob=2]", "priorities": "[g:chem=7]"},
            {"name": "x", "quotas": {"ncpus": "[u:alice=4]", "ngpus": "[u:alice=1]"}, "priority": 50},
        ],
        "cluster": {"quotas": {"ngpus": "[u:alice=1]"}, "max_run_res": "[u:bob=2]", "paused": "new switches"},
        "order": {"user_priority": "all"},
    }
    settings = Settings.from_data(data, "policy.toml")
    assert settings.backfill == BackfillSettings("checkpoint", "shortest-first", 0.5, predictor="ratio")
    assert settings.quota == QuotaSettings(preempt=False, victim_order="newest", exempt_s=1.5, urgent_priority=-3)
    assert settings.priority == PrioritySettings(preempt=False, deferrable_first=True)
    assert settings.checkpoint == CheckpointSettings(True, 60, 0.5, grace_s=30, method="signal")
    assert settings.rescue == RescueSettings(enabled=True, short_s=900, left_least_s=14400, max_cuts=2)
    assert settings.ranking == RankingSettings("compute+memory", 30)
    assert settings.stripe == StripeSettings("learn", 3, 20)
    assert settings.schedule == ScheduleSettings(max_starts=7)
    assert settings.server == ServerSettings("drive", "pbs")
    limits = [parse_limits(text, "") for text in ("[u:alice=4]", "[u:bob=2]", "[g:chem=7]", "[u:alice=1]")]
    assert settings.queues == (
        QueueSettings("workq", {"ncpus": limits[0]}, {"ncpus": limits[1]}, limits[2]),
        QueueSettings("x", {"ncpus": limits[0], "ngpus": limits[3]}, priority=50),
    )
    assert settings.cluster == QueueSettings("", {"ngpus": limits[3]}, {"ncpus": limits[1]}, paused="new switches")
    assert settings.order.user_priority == "all"
    assert Settings.from_data(settings.to_data(), "policy.toml") == settings


@pytest.mark.parametrize(
    ("table", "key", "value", "allowed"),
    [
        ("backfill", "shrink_factor", 0, "greater than 0 and less than 1"),
        ("backfill", "shrink_factor", 1, "greater than 0 and less than 1"),
        ("backfill", "shrink_factor", -0.5, "greater than 0 and less than 1"),
        ("backfill", "shrink_factor", float("nan"), "greater than 0 and less than 1"),
        ("backfill", "shrink_factor", "0.5", "greater than 0 and less than 1"),
        ("backfill", "shrink_factor", True, "greater than 0 and less than 1"),
        ("backfill", "shrink_threshold_s", -1, "from 0"),
        ("backfill", "shrink_threshold_s", float("inf"), "from 0"),
        ("backfill", "kind", "conservative", "none, easy, checkpoint"),
        ("backfill", "kind", ["easy"], "none, easy, checkpoint"),
        ("backfill", "order", None, "first-come, shortest-first"),
        ("backfill", "predictor", "mean", "none, last-two, ratio"),
        ("priority", "preempt", "on", "true or false"),
        ("priority", "deferrable_first", 1, "true or false"),
        ("checkpoint", "saves", "yes", "true or false"),
        ("checkpoint", "cost_s", -1, "from 0"),
        ("checkpoint", "cost_per_core_s", float("nan"), "from 0"),
        ("checkpoint", "restart_s", "1", "from 0"),
        ("checkpoint", "restart_per_core_s", None, "from 0"),
        ("checkpoint", "grace_s", float("inf"), "from 0"),
        ("checkpoint", "repeat_at_most_s", -0.1, "from 0"),
        ("rescue", "enabled", 0, "true or false"),
        ("rescue", "short_s", 0, "from 1"),
        ("rescue", "wait_factor", -1, "from 0"),
        ("rescue", "wait_least_s", "60", "from 0"),
        ("rescue", "exempt_s", True, "from 0"),
        ("rescue", "max_cuts", 0, "1 to 1000000"),
        ("rescue", "left_least_s", -1, "from 0"),
        ("ranking", "mode", "cores", "none, composite, compute, memory"),
        ("ranking", "interval_s", 0, "from 1"),
        ("ranking", "stale_intervals", 0.5, "from 1"),
        ("stripe", "layout", "wide", "none, pack, stripe, learn"),
        ("stripe", "width_factor", 0.9, "from 1 to 1000"),
        ("stripe", "stagger_s", -1, "from 0"),
        ("stripe", "learn_runs", 0, "1 to 1000000"),
        ("stripe", "idle_within_s", float("nan"), "from 0"),
        ("stripe", "prefer", "full", "idle, shared"),
        ("stripe", "queues", {"big": "wide"}, "a table by queue, each one of none, pack, stripe, learn"),
        ("stripe", "queues", {"": "pack"}, "a table by queue"),
        ("stripe", "queues", "pack", "a table by queue"),
        ("quota", "preempt", 1, "true or false"),
        ("quota", "preempt", "yes", "true or false"),
        ("quota", "counted", "", "consumable"),
        ("quota", "counted", 3, "consumable"),
        ("quota", "victim_order", "random", "smallest-sufficient"),
        ("quota", "delay_s", -1, "from 0"),
        ("quota", "delay_s", "60", "from 0"),
        ("quota", "delay_per_core_s", float("nan"), "from 0"),
        ("quota", "exempt_s", 10**400, "from 0"),
        ("quota", "exempt_s", False, "from 0"),
        ("quota", "max_preemptions", -1, "0 to 1000000"),
        ("quota", "max_preemptions", 1.5, "0 to 1000000"),
        ("quota", "max_preemptions", True, "0 to 1000000"),
        ("quota", "urgent_priority", 1025, "-1024 to 1024"),
        ("quota", "give_up_s", 0, "from 1"),
        ("schedule", "interval_s", 0, "1 to 9999"),
        ("schedule", "interval_s", 10000, "1 to 9999"),
        ("schedule", "budget_s", 0, "from 0.1"),
        ("schedule", "max_starts", 0, "1 to"),
        ("server", "mode", "Drive", "observe, advise, drive"),
        ("server", "journal_group", 7, "group"),
        ("server", "journal_group", "hpc\0", "group"),
        ("server", "journal_days", 0, "1 to 3650"),
    ],
)
def test_a_bad_value_is_named_with_its_key_and_what_is_allowed(
    table: str, key: str, value: object, allowed: str
) -> None:
    (problem,) = problems({table: {key: value}})
    assert problem.startswith(f"policy.toml: {table}.{key} = ")
    assert repr(value) in problem
    assert allowed in problem


def test_every_key_is_described() -> None:
    described = [key for key, _, _ in describe_settings()]
    assert len(described) == len(set(described))
    assert {key.partition(".")[0] for key in described} == Settings.__dataclass_fields__.keys() - {"queues", "cluster"}
    for key, default, allowed in describe_settings():
        table, _, name = key.partition(".")
        value = getattr(getattr(Settings(), table), name)
        assert (default, bool(allowed)) == ("none" if value in (None, "", ()) else str(value), True)


def test_a_rescue_where_jobs_start_strictly_in_order_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"test: rescue.enabled = True with backfill.kind = 'none'.*allowed"):
        Settings.from_data({"rescue": {"enabled": True}, "backfill": {"kind": "none"}}, "test")


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({"checkpoint": {"grace_s": 600}}, "policy.toml: checkpoint.grace_s = 600 with quota.give_up_s = 600"),
        (
            {"checkpoint": {"grace_s": 40, "method": "checkpoint"}},
            "policy.toml: checkpoint.grace_s = 40 with checkpoint",
        ),
    ],
)
def test_a_time_to_save_that_cannot_work_is_refused(tables: dict[str, dict[str, object]], told: str) -> None:
    (problem,) = problems(tables)
    assert problem.startswith(told)
    assert "allowed is a number" in problem
    assert Settings.from_data({**tables, "checkpoint": {**tables["checkpoint"], "grace_s": 41}}, "policy.toml")


@pytest.mark.parametrize("data", [{"queues": []}, {"Quota": {}}, {"policy": 1}])
def test_an_unknown_table_is_named(data: dict[str, object]) -> None:
    (problem,) = problems(data)
    assert problem.startswith("policy.toml: unknown key ")
    assert problem.endswith(
        ", ".join(
            [*(key for key in Settings.__dataclass_fields__ if key not in ("queues", "cluster")), "queue", "cluster"]
        )
    )


def test_an_unknown_key_is_named_with_those_there_are() -> None:
    (problem,) = problems({"quota": {"victims": "newest"}})
    assert problem.startswith("policy.toml: unknown key quota.victims; allowed are preempt, counted, victim_order")


@pytest.mark.parametrize("data", [[], "x", 3, None])
def test_what_is_no_table_at_all(data: object) -> None:
    assert "allowed is a table" in problems(data)[0]


def test_a_table_that_is_none() -> None:
    assert problems({"quota": 3}) == ["policy.toml: quota = 3; allowed is a table, [quota]"]
    assert "allowed is a list of tables" in problems({"queue": {"name": "a"}})[0]
    assert "allowed is a list of tables" in problems({"queue": ["a"]})[0]


@pytest.mark.parametrize(
    ("queue", "said"),
    [
        ({}, "name = None"),
        ({"name": ""}, "name = ''"),
        ({"name": 3}, "name = 3"),
        ({"name": "a", "quotas": "[u:alice=-1]"}, "'-1'; allowed is a whole number, 0 or more"),
        ({"name": "a", "quotas": "alice=1"}, "cannot read 'alice=1'"),
        ({"name": "a", "quotas": {"ngpus": 1}}, "allowed is a text like"),
        ({"name": "a", "max_run_res": 3}, "allowed is a text like"),
        ({"name": "a", "priorities": "[u:alice=high]"}, "'high'"),
        ({"name": "a", "priority": 1025}, "priority = 1025; allowed is a whole number from -1024 to 1024"),
        ({"name": "a", "priorty": 3}, "unknown key 'priorty'"),
        ({"name": "a", "paused": "x"}, "unknown key 'paused'"),
    ],
)
def test_a_bad_queue_is_named(queue: dict[str, object], said: str) -> None:
    (problem,) = problems({"queue": [queue]})
    assert problem.startswith("policy.toml: queue ")
    assert said in problem


@pytest.mark.parametrize(
    ("said", "counted"),
    [("ngpus", ("ngpus",)), (["ncpus", "ngpus"], ("ncpus", "ngpus")), ([], ())],
)
def test_one_resource_may_count_or_several(said: object, counted: tuple[str, ...]) -> None:
    settings = Settings.from_data({"quota": {"counted": said}, "queue": [{"name": "a", "quotas": "[u:x=1]"}]}, "test")
    assert settings.quota.counted == counted
    assert list(settings.queues[0].quotas) == ["ngpus" if counted == ("ngpus",) else "ncpus"]
    assert Settings.from_data(settings.to_data(), "test") == settings


@pytest.mark.parametrize("said", ["", [""], [1], 1, {"a": 1}, "mem space", ["ncpus", "ncpus"]])
def test_what_names_no_resource_is_refused(said: object) -> None:
    (problem,) = problems({"quota": {"counted": said}})
    assert problem.endswith("allowed is the name of a consumable resource, or a list of names, each once")


@pytest.mark.parametrize(
    "data", [3, [], {"priorities": "[u:a=1]"}, {"name": "x"}, {"quotas": {"ngpus": "x"}}, {"paused": 1}]
)
def test_a_bad_cluster_is_named(data: object) -> None:
    (problem,) = problems({"cluster": data})
    assert problem.startswith("policy.toml: cluster")


def test_all_problems_of_a_queue_are_named_at_once() -> None:
    """Also those of a queue without a name, and each entry of a limit."""
    queue = {"priority": 5000, "quotas": "[u:alice=x],[y:bob=1]", "max_run_res": 3, "color": "red"}
    said = problems({"queue": [queue]})
    assert [problem.partition("; allowed")[0] for problem in said] == [
        "policy.toml: queue 1: name = None",
        "policy.toml: queue 1: unknown key 'color'",
        "policy.toml: queue 1: quotas: u:alice has 'x'",
        "policy.toml: queue 1: quotas: 'y:bob' is no entity",
        "policy.toml: queue 1: max_run_res = 3",
        "policy.toml: queue 1: priority = 5000",
    ]


def test_two_queues_of_one_name() -> None:
    (problem,) = problems({"queue": [{"name": "a"}, {"name": "b"}, {"name": "a"}]})
    assert problem == "policy.toml: queue 3: two queues are named 'a'; a name is allowed once"


def test_all_problems_are_reported_at_once() -> None:
    assert len(problems({"quota": {"delay_s": -1, "x": 2}, "y": 3, "queue": [{}]})) == 4


@pytest.mark.parametrize(
    ("cores", "charge_s"),
    [(1, 10 + 20 + 3 * 1), (64, 10 + 20 + 3 * 64)],
)
def test_a_cut_is_charged_for_saving_and_restarting_by_size(cores: int, charge_s: float) -> None:
    checkpoint = CheckpointSettings(cost_s=10, cost_per_core_s=1, restart_s=20, restart_per_core_s=2)
    assert checkpoint.charge_s(cores) == charge_s
