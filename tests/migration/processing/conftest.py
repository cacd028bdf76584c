from pathlib import Path

import pytest

from tests.migration.processing.fakes import FakeTarget


@pytest.fixture
def target(tmp_path: Path) -> FakeTarget:
    return FakeTarget(tmp_path)
