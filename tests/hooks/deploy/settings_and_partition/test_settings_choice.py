"""Which settings an apply brings: those given, else those applied before, else the built-in ones; and what changes."""

from __future__ import annotations

import json

import pytest

from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.read_installed_server_state import DeployError
from hooks.deploy.settings_and_partition.settings_choice import BUILT_IN, Change, choose
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.simulated_queues import QueueSettings
from policy.settings.site_settings import BackfillSettings, Settings
from tests.hooks.fake_qmgr import FakeQmgr

FAST = Settings(schedule=ScheduleSettings(interval_s=5, budget_s=2), backfill=BackfillSettings(shrink_factor=0.5))


def silent(_: str) -> None:
    return


def test_a_first_install_without_a_file_has_the_built_in_settings(deployment: Deployment) -> None:
    chosen = deployment.choose(None, "")
    assert (chosen.settings, chosen.first, chosen.changes) == (Settings(), True, ())
    assert list(chosen.show()) == [f"# settings: {BUILT_IN}, as none have been applied yet"]


def test_what_was_applied_is_kept_by_an_apply_that_names_no_file(deployment: Deployment) -> None:
    deployment.apply(FAST, silent)
    chosen = deployment.choose(None, "")
    assert (chosen.settings, chosen.first, chosen.changes) == (FAST, False, ())
    assert list(chosen.show()) == [
        "# settings: those that the hooks have already", "#   nothing changes in them",
    ]  # fmt: skip
    assert deployment.plan_apply(chosen.settings) == []


def test_what_a_file_changes_is_listed_key_by_key(deployment: Deployment) -> None:
    deployment.apply(FAST, silent)
    chosen = deployment.choose(Settings(), BUILT_IN)
    assert chosen.changes == (
        Change("backfill.shrink_factor", "0.5", "none"),
        Change("schedule.interval_s", "5", "15"),
        Change("schedule.budget_s", "2", "10"),
    )
    assert list(chosen.show()) == [
        "# settings: the built-in ones",
        "#   changed:",
        "#   backfill.shrink_factor: 0.5 -> none",
        "#   schedule.interval_s: 5 -> 15",
        "#   schedule.budget_s: 2 -> 10",
    ]
    assert json.loads(json.dumps(chosen.to_data()))["changes"]["schedule.budget_s"] == {"old": "2", "new": "10"}


def test_on_a_first_install_a_file_is_compared_with_the_built_in_settings(deployment: Deployment) -> None:
    chosen = deployment.choose(FAST, "site.toml")
    assert chosen.first
    assert list(chosen.show())[:3] == [
        "# settings: site.toml", "#   other than built in:", "#   backfill.shrink_factor: none -> 0.5",
    ]  # fmt: skip


def test_tables_and_lists_are_shown_as_toml_writes_them(deployment: Deployment) -> None:
    formulas = {"compute+memory": "min(compute, memory)", "memory": "memory * 2"}
    file = {
        "quota": {"counted": ["ncpus", "ngpus"]},
        "ranking": {"formulas": formulas, "applications": {"wrf": {"rank": "memory", "max_temp": 72}}},
        "stripe": {"queues": {"workq": "auto"}},
    }
    changes = choose(deployment.read(), Settings.from_data(file, "f"), "f").changes
    assert {change.key: change.new for change in changes} == {
        "quota.counted": '["ncpus", "ngpus"]',
        "ranking.formulas": '{ memory = "memory * 2", "compute+memory" = "min(compute, memory)" }',
        "ranking.applications": '{ wrf = { max_temp = "72", rank = "memory" } }',
        "stripe.queues": '{ workq = "auto" }',
    }
    assert {change.old for change in changes} == {"none"}


def test_queues_of_a_simulated_cluster_are_counted(deployment: Deployment) -> None:
    changes = choose(deployment.read(), Settings(queues=(QueueSettings("q"),)), "f").changes
    assert changes == (Change("queue", "0 described", "1 described"),)


def test_where_an_apply_was_cut_off_the_settings_of_the_pass_count(deployment: Deployment, qmgr: FakeQmgr) -> None:
    deployment.apply(FAST, silent)
    (qmgr.files / "pbsteer_queuejob.CF").write_text("{}")
    assert deployment.choose(None, "").settings == FAST


def test_settings_that_cannot_be_read_are_not_silently_replaced(deployment: Deployment, qmgr: FakeQmgr) -> None:
    deployment.apply(FAST, silent)
    for path in qmgr.files.glob("*.CF"):
        path.write_text('{"of_a_newer_version": 1}')
    with pytest.raises(DeployError, match="cannot be read by this version: name a file with --settings"):
        deployment.choose(None, "")
    assert deployment.choose(Settings(), BUILT_IN).settings == Settings()


def test_hooks_that_have_no_settings_yet_get_the_built_in_ones(deployment: Deployment, qmgr: FakeQmgr) -> None:
    deployment.apply(FAST, silent)
    for path in qmgr.files.glob("*.CF"):
        path.unlink()
    assert deployment.choose(None, "").settings == Settings()
