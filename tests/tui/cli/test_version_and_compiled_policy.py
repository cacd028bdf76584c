"""``--version`` says what this Python decides with: a native module beside its source counts only where it fits."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ASK = "from tui.cli.version_and_compiled_policy import is_policy_compiled; print(is_policy_compiled())"


@pytest.mark.parametrize(
    ("suffix", "compiled"), [(EXTENSION_SUFFIXES[0], "True"), (".cpython-27-vax-bsd.so", "False"), ("", "False")]
)
def test_policy_is_compiled_where_a_native_module_is_what_would_be_imported(
    tmp_path: Path, suffix: str, compiled: str
) -> None:
    package = tmp_path / "policy" / "cycle"
    package.mkdir(parents=True)
    for file in (package.parent / "__init__.py", package / "__init__.py", package / "engine.py"):
        file.touch()
    (package / f"engine{suffix or '.py'}").touch()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", ASK], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == compiled
