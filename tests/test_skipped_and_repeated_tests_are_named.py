"""What is skipped, and what passed only when it ran again, is named at the end of a test run, and in the closing lines
of CI (``.ci/run``).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
OF_CRIU = "tests/hooks/scripts/test_criu_restore_opens_no_file_as_root.py"
ANY = "tests/policy/model/test_pbs_units.py"


def run_pytest(*words: str, **environment: str) -> list[str]:
    argv = [sys.executable, "-m", "pytest", *words]
    done = subprocess.run(
        argv, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines()


def is_shown_by_ci(line: str) -> bool:
    of_ci = re.search(r"grep -aE '(.+)' ", (ROOT / ".ci/run").read_text(encoding="utf-8"))
    assert of_ci is not None
    return re.search(of_ci[1], line) is not None


def test_where_there_is_no_criu_the_closing_lines_say_which_tests_did_not_run() -> None:
    lines = run_pytest("-p", "no:cacheprovider", OF_CRIU, PBSTEER_CRIU="/nonexistent/criu")
    line = next(line for line in lines if "no CRIU that works here" in line)
    assert re.match("[0-9]+ skipped: ", line)
    assert line.endswith(f"({OF_CRIU})")
    assert is_shown_by_ci(line)


def test_what_failed_at_first_and_passed_when_it_ran_again_is_named(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    collected = run_pytest("--collect-only", "-o", f"cache_dir={cache}", ANY)
    failed = next(line for line in collected if line.startswith(f"{ANY}::"))
    (cache / "v" / "cache").mkdir(parents=True, exist_ok=True)
    (cache / "v" / "cache" / "lastfailed").write_text(json.dumps({failed: True}))
    again = ("-n", "2", "--last-failed", "--last-failed-no-failures", "none", "-o", f"cache_dir={cache}", ANY)
    named = [line for line in run_pytest(*again) if line.startswith("PASSED ONLY")]
    assert named == [f"PASSED ONLY AT THE SECOND TRY {failed}"]
    assert is_shown_by_ci(named[0])
    assert not [line for line in run_pytest("-o", f"cache_dir={cache}", ANY) if line.startswith("PASSED ONLY")]
