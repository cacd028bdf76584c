"""What the tests of a job at its target share: a target in a folder of the test's own."""

from pathlib import Path

import pytest

from tests.migration.target_job.fake_target import FakeTarget


@pytest.fixture
def target(tmp_path: Path) -> FakeTarget:
    return FakeTarget(tmp_path)
