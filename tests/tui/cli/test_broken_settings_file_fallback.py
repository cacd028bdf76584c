"""A broken settings file of the host stops no look: the settings of the hooks are taken, and it is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hooks.store.state_files import LAST_PASS
from policy import Settings, SettingsError
from policy.settings.site_settings import BackfillSettings
from tui.cli.main import main
from tui.cli.open_backend import open_real
from tui.config import read_site_policy_toml

APPLIED = Settings(backfill=BackfillSettings(predictor="ratio"))


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A host with PBS and a broken policy.toml."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "qstat").symlink_to("/bin/true")
    conf = tmp_path / "pbs.conf"
    conf.write_text(f"PBS_EXEC={tmp_path}\nPBS_HOME={tmp_path}/home\nPBS_SERVER=hpc1\n")
    policy = tmp_path / "policy.toml"
    policy.write_text("[backfill\n")
    monkeypatch.setattr(read_site_policy_toml, "DEFAULT_POLICY", policy)
    monkeypatch.setenv("PBS_CONF_FILE", str(conf))
    return {"PBS_CONF_FILE": str(conf)}


def publish(tmp_path: Path, settings: object) -> None:
    folder = tmp_path / "home" / "pbsteer"
    folder.mkdir(parents=True)
    (folder / LAST_PASS).write_text(json.dumps({"settings": settings}))


def test_what_the_hooks_run_with_is_taken(environment: dict[str, str], tmp_path: Path) -> None:
    publish(tmp_path, APPLIED.to_data())
    backend = open_real(environment, "", None)
    assert backend.settings() == APPLIED
    assert "policy.toml: not TOML" in backend.complaint
    assert backend.complaint.endswith("going on with the settings that the hooks run with")


@pytest.mark.parametrize("published", [None, {"no": "such key"}, 7])
def test_else_the_built_in_ones(environment: dict[str, str], tmp_path: Path, published: object) -> None:
    if published is not None:
        publish(tmp_path, published)
    backend = open_real(environment, "", None)
    assert backend.settings() == Settings()
    assert backend.complaint.endswith("going on with the built-in settings")


def test_without_a_file_of_the_host_what_the_hooks_run_with_is_taken(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "policy.toml").unlink()
    assert open_real(environment, "", None).settings() == Settings()
    publish(tmp_path, APPLIED.to_data())
    backend = open_real(environment, "", None)
    assert (backend.settings(), backend.complaint) == (APPLIED, "")


def test_a_file_that_was_named_has_to_be_right(environment: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="not TOML"):
        open_real(environment, "", tmp_path / "policy.toml")


def test_the_command_line_says_so_and_goes_on(environment: dict[str, str], tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["audit", "--json"])
    assert result.exit_code == 0, result.output
    assert "policy.toml: not TOML" in result.output
