"""A source with targets in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.migration.passes.simulated_centre import Centre


@pytest.fixture
def centre(tmp_path: Path) -> Centre:
    return Centre(tmp_path)
