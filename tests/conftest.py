"""What all tests share: an environment that is the same anywhere (``tests/clean_environment_for_tests.py``), examples
that are the same each time and may take theirs on a busy machine, and the word at the end on tests that could not run,
those of a real PBS or Torque server apart, and why, and on those that passed only when they ran again. New examples are
drawn with ``LAWS=thorough`` (``tests/property``).
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import clean_environment_for_tests
from tests.logs_of_failed_real_test import add_logs

if sys.flags.optimize:
    pytest.exit("tests are assertions, and this Python leaves them out: unset PYTHONOPTIMIZE, run without -O", 4)
clean_environment_for_tests.apply(os.environ)

# On a machine that is busy otherwise, nothing that an example takes says anything about the test.
settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")

REAL_SERVER_TESTS = {"PBS": Path(__file__).parent / "pbs", "Torque": Path(__file__).parent / "torque" / "server"}
SECOND_TRY = "PASSED ONLY AT THE SECOND TRY"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and any(folder in item.path.parents for folder in REAL_SERVER_TESTS.values()):
        add_logs(item, report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    skipped: dict[str, Counter[str]] = {f"tests of a real {system} server": Counter() for system in REAL_SERVER_TESTS}
    other = skipped.setdefault("other tests", Counter())
    for report in terminalreporter.stats.get("skipped", []):
        if not isinstance(report.longrepr, tuple):
            continue
        place, _, _ = report.nodeid.partition("::")
        reason = report.longrepr[2].removeprefix("Skipped: ")
        above = (config.rootpath / place).parents
        system = next((name for name, folder in REAL_SERVER_TESTS.items() if folder in above), None)
        if system is not None:
            skipped[f"tests of a real {system} server"][reason] += 1
        else:
            other[f"{reason} ({place})"] += 1
    if config.getoption("lf", default=False):
        # All that runs has failed the last time.
        for report in terminalreporter.stats.get("passed", []):
            terminalreporter.write_line(f"{SECOND_TRY} {report.nodeid}", yellow=True)
    for what, reasons in skipped.items():
        if reasons:
            terminalreporter.write_sep("!", f"{sum(reasons.values())} {what} DID NOT RUN", yellow=True)
        for reason, count in reasons.items():
            terminalreporter.write_line(f"{count} skipped: {reason}", yellow=True)
