"""Settings that no server could go by, or that this host has not all for: refused, or told, before they are applied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.read_installed_server_state import DeployError
from hooks.deploy.settings_and_partition.check_settings_against_server import find_missing, find_unfit
from policy.settings.settings_of_server_and_passes import AlertSettings, ServerSettings
from policy.settings.site_settings import QuotaSettings, Settings
from tests.hooks.admin_steps_for_deploy_tests import SETTINGS, silent
from tests.hooks.fake_qmgr import FakeQmgr
from tui.cli.hooks_commands import hooks as hooks_cli


@pytest.fixture
def qmgr(tmp_path: Path) -> FakeQmgr:
    """A server with a consumable of vnodes, one of the server, and a resource that is only compared."""
    found = FakeQmgr(tmp_path)
    found.resources = {"ngpus": "type=long,flag=hn", "licences": "type=long,flag=q", "arch2": "type=string,flag=h"}
    return found


def counting(*names: str) -> Settings:
    return Settings(quota=QuotaSettings(counted=names))


@pytest.mark.parametrize("names", [(), ("ncpus",), ("mem", "ngpus")])
def test_resources_that_the_server_counts_are_good(qmgr: FakeQmgr, names: tuple[str, ...]) -> None:
    assert find_unfit(qmgr, counting(*names)) == ""


@pytest.mark.parametrize(
    ("name", "said"),
    [("ncpu", "is no resource of the server"), ("arch2", "is no consumable"), ("licences", "is no consumable")],
)
def test_quotas_that_would_count_nothing_are_not_applied(qmgr: FakeQmgr, tmp_path: Path, name: str, said: str) -> None:
    deployment, settings = Deployment(str(tmp_path), qmgr), counting("ncpus", name)
    before = qmgr.everything()
    assert said in deployment.find_obstacle(deployment.plan_apply(settings), settings)
    with pytest.raises(DeployError, match=f"quota.counted = '{name}': .*allowed are .*ncpus.*ngpus"):
        deployment.apply(settings, silent)
    assert (qmgr.everything(), qmgr.lines) == (before, [])
    deployment.apply(SETTINGS, silent)


def test_ngpus_is_the_sites_own(qmgr: FakeQmgr) -> None:
    del qmgr.resources["ngpus"]
    assert "ngpus is no resource of the server" in find_unfit(qmgr, counting("ngpus"))


def test_a_group_and_a_program_that_are_not_there_are_reported() -> None:
    settings = Settings(
        server=ServerSettings(journal_group="no such group"), alerts=AlertSettings(command=("/nofile/x", "root"))
    )
    group, program = find_missing(settings)
    assert "'no such group': no such group on this host" in group
    assert program.startswith("alerts.command: /nofile/x: No such file or directory")
    assert not list(find_missing(Settings(server=ServerSettings(journal_group="root"))))


def test_the_plan_says_both(qmgr: FakeQmgr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conf, policy = tmp_path / "pbs.conf", tmp_path / "policy.toml"
    conf.write_text(f"PBS_HOME={tmp_path}\nPBS_EXEC={tmp_path}/exec\n")
    policy.write_text('[quota]\ncounted = "ncpu"\n[server]\njournal_group = "no such group"\n')
    deployment = Deployment(str(tmp_path), qmgr)
    monkeypatch.setattr(hooks_cli, "_open", lambda _: (deployment, {}))
    words = ["plan", "--settings", str(policy), "--pbs-conf", str(conf)]
    output = CliRunner().invoke(hooks_cli.hooks, words).output.replace("\n#  ", "")
    assert "no such group on this host" in output
    assert "apply would stop here, before it changes anything: quota.counted = 'ncpu'" in output
    data = json.loads(CliRunner().invoke(hooks_cli.hooks, [*words, "--json"]).stdout)
    assert "ncpu is no resource" in data["obstacle"]
    assert len(data["missing"]) == 1
    applied = CliRunner().invoke(hooks_cli.hooks, ["apply", *words[1:]])
    assert (applied.exit_code, qmgr.lines) == (1, [])
