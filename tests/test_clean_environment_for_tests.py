"""The test run can be believed anywhere: what is set in the caller's environment changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import clean_environment_for_tests

ROOT = Path(__file__).parents[1]
HOSTILE = {
    "PBS_EXEC": "/nonexistent", "PBS_SERVER": "elsewhere", "PBS_HOME": "/nonexistent", "PBS_CONF_FILE": "/etc/passwd",
    "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "20", "LINES": "5", "LC_ALL": "C", "LANG": "tr_TR.UTF-8",
    "TZ": "Pacific/Chatham", "PYTHONPATH": "/nonexistent", "PYTHONWARNINGS": "error", "PYTHONUTF8": "0",
    "XDG_CONFIG_HOME": "/etc", "XDG_STATE_HOME": "/proc", "SUDO_USER": "eve", "SSH_CONNECTION": "1 2 3 4",
    "USER": "eve", "LOGNAME": "eve",
    "TEXTUAL_ANIMATIONS": "none", "TEXTUAL_DRIVER": "no.such:Driver", "FORCE_COLOR": "1",
}  # fmt: skip
FRAGILE = (
    "tests/tui/screen/test_typed_ahead_on_delayed_line.py::test_what_is_typed_ahead_of_every_answer_is_honoured_in_its_order",
    "tests/tui/cli/read_commands/test_table_commands.py",
    "tests/tui/cli/test_command_output_and_errors.py",
    "tests/tui/screen/test_themes_and_sizes.py",
    "tests/tui/config/test_production_servers_and_server_list.py",
    "tests/tui/operations/by_target/test_soft_quota_priority_and_import_ops.py",
    "tests/tui/cli/change_commands/test_change_commands.py",
    "tests/tui/tables/columns_by_view/test_job_start_and_end.py",
    "tests/sim/cli/test_compare.py",
)
"""Tests of what reads the environment: the console, its files, the tables, the times and the drawings."""


def test_only_what_is_named_is_taken_over() -> None:
    given = {**HOSTILE, "PATH": "/bin", "LAWS": "first", "PYTEST_XDIST_WORKER": "gw0"}
    wanted = {
        "PATH": "/bin",
        "LAWS": "first",
        "PYTEST_XDIST_WORKER": "gw0",
        clean_environment_for_tests.PBS_EXEC: "/nonexistent",
    }
    cleaned = clean_environment_for_tests.cleaned(given)
    assert cleaned == {**clean_environment_for_tests.FIXED, **wanted}
    assert clean_environment_for_tests.cleaned(cleaned) == cleaned, "a worker of the run gets the same"
    assert clean_environment_for_tests.for_testbeds(cleaned)["PBS_EXEC"] == "/nonexistent"


def test_this_run_has_only_that() -> None:
    assert set(os.environ) <= {
        *clean_environment_for_tests.KEPT,
        *clean_environment_for_tests.FIXED,
        clean_environment_for_tests.PBS_EXEC,
    } | {name for name in os.environ if name.startswith(clean_environment_for_tests.KEPT_PREFIX)}


@pytest.mark.slow
def test_what_reads_the_environment_passes_in_a_hostile_one(tmp_path: Path) -> None:
    options = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-p", "no:cacheprovider"]
    argv = [sys.executable, "-m", "pytest", *options, *(str(ROOT / name) for name in FRAGILE)]
    given = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        argv, env={**given, **HOSTILE}, cwd=tmp_path, umask=0o077, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.slow
def test_a_run_without_assertions_is_refused() -> None:
    argv = [sys.executable, "-O", "-m", "pytest", str(ROOT / "tests" / "docs")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout
    assert "leaves them out" in done.stdout + done.stderr
