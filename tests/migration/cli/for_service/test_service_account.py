"""The service's programs are for the account to which the files belong: what another one made there would be lost."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from migration.cli.for_service import mgproc_job_process_at_target, mgrecv_pass_at_target, mgsched_pass_at_source
from migration.cli.migrate_check_and_plan import migrate

FILE = """
this = "a"
[[cluster]]
name = "a"
scheduler = "slurm"
landing = "/scratch"
[[cluster]]
name = "b"
ssh = "mg@b"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another account")
@pytest.mark.parametrize(
    ("program", "words"),
    [
        (mgrecv_pass_at_target.main, ()),
        (mgproc_job_process_at_target.main, ("a.1",)),
        (mgproc_job_process_at_target.main, ("resume", "a.1")),
        (mgsched_pass_at_source.main, ()),
        (mgsched_pass_at_source.main, ("--forget", "a.1")),
        (migrate, ("plan",)),
        (migrate, ("check", "--user", "alice")),
    ],
)
def test_another_account_root_too_is_told_so_and_leaves_nothing(
    tmp_path: Path, program: click.Command, words: tuple[str, ...]
) -> None:
    (tmp_path / "cluster.toml").write_text(FILE)
    os.chown(tmp_path, 61_234, -1)
    done = CliRunner().invoke(program, words, env={"MG_HOME": str(tmp_path)})
    assert done.exit_code == 1
    assert f"Error: {tmp_path} belongs to #61234: run this as #61234, with sudo -u #61234\n" == done.output
    assert [one.name for one in tmp_path.iterdir()] == ["cluster.toml"]
