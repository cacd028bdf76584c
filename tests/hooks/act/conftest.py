"""Each test of what passes do to jobs has the stand-in of a server to itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hooks.stand_in import pbs_ifl


@pytest.fixture(autouse=True)
def fresh_server() -> Iterator[None]:
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.WORLD):
        log.clear()
    yield
