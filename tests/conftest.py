"""What all tests share: an environment that is the same anywhere (``tests/clean_environment_for_tests.py``), examples
that are the same each time and may take theirs on a busy machine, and the word at the end on tests that could not run,
those of a real PBS server apart, and why. New examples are drawn with ``LAWS=thorough`` (``tests/property``).
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from tests import clean_environment_for_tests

if sys.flags.optimize:
    pytest.exit("tests are assertions, and this Python leaves them out: unset PYTHONOPTIMIZE, run without -O", 4)
clean_environment_for_tests.apply(os.environ)

settings.register_profile("same", deadline=None, derandomize=True)
settings.load_profile("same")

REAL_SERVER_TESTS = Path(__file__).parent / "pbs"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    real: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        if not isinstance(report.longrepr, tuple):
            continue
        place, _, _ = report.nodeid.partition("::")
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if REAL_SERVER_TESTS in (config.rootpath / place).parents:
            real[reason] += 1
        else:
            other[f"{reason} ({place})"] += 1
    for reasons, what in ((real, "tests of a real PBS server"), (other, "other tests")):
        if reasons:
            terminalreporter.write_sep("!", f"{sum(reasons.values())} {what} DID NOT RUN", yellow=True)
        for reason, count in reasons.items():
            terminalreporter.write_line(f"{count} skipped: {reason}", yellow=True)
