"""The package's names are those of its modules, and none is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import policy


def test_every_name_is_there_and_no_other() -> None:
    assert all(getattr(policy, name).__name__ == name for name in policy.__all__)
    with pytest.raises(AttributeError, match="no attribute 'decides'"):
        policy.decides  # noqa: B018


def test_a_program_that_needs_one_module_loads_no_engine() -> None:
    text = "import sys, policy.migration.job_states_and_transitions; print('policy.cycle.engine' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
