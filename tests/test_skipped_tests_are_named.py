"""What is skipped is named at the end of a test run, and in the closing lines of CI (``.ci/run``)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
OF_CRIU = "tests/hooks/scripts/test_criu_restore_opens_no_file_as_root.py"


def test_where_there_is_no_criu_the_closing_lines_say_which_tests_did_not_run() -> None:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", OF_CRIU]
    environment = {**os.environ, "PBSTEER_CRIU": "/nonexistent/criu"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    line = next(line for line in done.stdout.splitlines() if "no CRIU that works here" in line)
    assert re.match("[0-9]+ skipped: ", line)
    assert line.endswith(f"({OF_CRIU})")
    of_ci = re.search(r"grep -aE '(.+)' ", (ROOT / ".ci/run").read_text(encoding="utf-8"))
    assert of_ci is not None
    assert re.search(of_ci[1], line), "CI shows the lines that match this"
